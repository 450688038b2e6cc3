/** What a task for many devices is about: the service keeps its counts, this tab what it was asked for. */
import { me } from "../session.js";

export interface Begun {
  readonly action: BulkAction;
  /** Of a command. */
  readonly topic?: string;
  readonly payload?: string;
}

export const bulkActions = [
  "command",
  "block",
  "unblock",
  "addToGroup",
  "removeFromGroup",
  "delete",
] as const;
export type BulkAction = (typeof bulkActions)[number];

/** Whoever logs in next in this tab has no part in it; a logout removes it. */
const storageKey = (taskID: string): string =>
  `tidemark.task.${me.value?.tenantID}.${me.value?.userIntID}.${taskID}`;

export function remember(taskID: string, begun: Begun): void {
  try {
    sessionStorage.setItem(storageKey(taskID), JSON.stringify(begun));
  } catch {
    // Without room, or where the browser keeps nothing, receipts are not counted.
  }
}

/** Null for a task that another tab has begun. */
export function begunAs(taskID: string): Begun | null {
  const found = sessionStorage.getItem(storageKey(taskID));
  return found === null ? null : (JSON.parse(found) as Begun);
}
