import type { OnUncompiled } from "../../ingest/alerts/compiled-rules.js";
import type { Logger } from "../observability/log.js";

/** Rules that are remembered as logged; beyond it the oldest is logged again. */
const loggedMax = 10_000;

/** Logs each stored rule that does not compile once for each reason: rules are compiled again at every change of their product. */
export function createUncompiledLog(log: Pick<Logger, "warn">): OnUncompiled {
  const logged = new Map<number, string>();
  return ({ id, alertName }, reason) => {
    if (logged.get(id) === reason) return;
    logged.delete(id);
    logged.set(id, reason);
    const [oldest] = logged.keys();
    if (logged.size > loggedMax && oldest !== undefined) logged.delete(oldest);
    log.warn("an alert rule does not compile and has no effect", { rule: id, alertName, reason });
  };
}
