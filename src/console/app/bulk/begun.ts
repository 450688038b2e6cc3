/** What a task for many devices is about: the service keeps its counts, this tab what it was asked for. */
import { me } from "../session.js";

export interface Begun {
  readonly action: BulkAction;
  /** Topic and payload are present only if the action is a command. */
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

/** The key has the user in it: the next user of this tab does not see the task. A logout removes it. */
const storageKey = (taskID: string): string =>
  `tidemark.task.${me.value?.tenantID}.${me.value?.userIntID}.${taskID}`;

export function remember(taskID: string, begun: Begun): void {
  try {
    sessionStorage.setItem(storageKey(taskID), JSON.stringify(begun));
  } catch {
    // If the browser's storage is full or disabled, receipts are not counted.
  }
}

/** Null for a task that another tab has begun. */
export function begunAs(taskID: string): Begun | null {
  const found = sessionStorage.getItem(storageKey(taskID));
  return found === null ? null : (JSON.parse(found) as Begun);
}
