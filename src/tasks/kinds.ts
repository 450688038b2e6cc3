import type { TaskKind } from "./runner.js";

/** Every kind of task, by the name that its row carries. */
export function taskKinds(): Readonly<Record<string, TaskKind>> {
  return {};
}
