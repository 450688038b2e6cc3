/** Tasks as the API returns them. */

import { call, type Page } from "../api.js";
import { api } from "../base.js";
import { shownHeaders } from "../shown.js";

export const taskStates = ["PENDING", "STARTED", "PROGRESS", "SUCCESS", "FAILURE"] as const;
export type TaskState = (typeof taskStates)[number];

interface TaskStatus {
  readonly state: TaskState;
  /** 0 to 100. */
  readonly current: number;
  readonly msg: unknown;
  /** Relative to /api/v1; null without a file, and for users who may not have it. */
  readonly excelPath?: string | null;
}

export interface ListedTask {
  readonly taskID: string;
  readonly kind: string;
  readonly state: TaskState;
  readonly current: number;
  readonly msg: string | null;
  readonly createUser: string | null;
  readonly createAt: number;
  readonly endAt: number | null;
}

export const hasEnded = ({ state }: { readonly state: TaskState }): boolean =>
  state === "SUCCESS" || state === "FAILURE";

export const taskStatus = (taskID: string, signal: AbortSignal): Promise<TaskStatus> =>
  call("GET", `/task_status/${encodeURIComponent(taskID)}`, { signal });

export const listTasks = (
  query: Readonly<Record<string, string | number | undefined>>,
  signal: AbortSignal,
): Promise<Page<ListedTask>> => call("GET", "/tasks", { query, headers: shownHeaders(), signal });

/** Where the answer to a request says that its task is. */
export const parseTaskID = ({ statusUrl }: { readonly statusUrl: string }): string =>
  statusUrl.slice(statusUrl.lastIndexOf("/") + 1);

export const downloadHref = (excelPath: string): string => `${api}/${excelPath}`;
