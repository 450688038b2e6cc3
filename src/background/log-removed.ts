import type { Logger } from "../observability/log.js";

/** Says what retention has removed: how many, and from before which time, milliseconds since 1970. */
export function logRemoved(
  log: Pick<Logger, "info">,
  what: string,
  rows: number,
  before: number,
  more: Readonly<Record<string, unknown>> = {},
): void {
  if (rows > 0)
    log.info("retention has removed", { what, rows, before: new Date(before).toISOString(), ...more });
}
