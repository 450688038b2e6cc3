import { nextTurn } from "../../store/lib/scheduling.js";
import { alertBeyond, removeAlertsUpTo, removeOldAlerts } from "../../store/metadata/alerts/alerts.js";
import type { Db } from "../../store/metadata/db/db.js";
import { listTenants } from "../../store/metadata/users/tenants.js";
import { logRemoved } from "../background/log-removed.js";
import type { Logger } from "../observability/log.js";

interface AlertRetentionOptions {
  /** Days that an alert is kept after it has ended; 0 keeps it for ever. */
  readonly days: number;
  /** Ended alerts that a tenant may keep; beyond them the oldest are removed. */
  readonly rowsMax: number;
  /** By which it removes, milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Pick<Logger, "info">;
}

const dayMs = 86_400_000;
/** Rows that one statement examines or removes, and statements in one round. */
const rowsPerStep = 1000;
const rowsPerLook = 5000;
const stepsPerRound = 100;

/** Removes, round by round, the alerts whose retention is over; it yields between steps. */
export function createAlertRetention(db: Db, options: AlertRetentionOptions): () => Promise<void> {
  const { days, rowsMax, now, log } = options;
  /** Where the next round continues: the oldest alerts may have to stay because they have not ended. */
  let from = 0;

  async function dropOld(): Promise<void> {
    const before = now() - days * dayMs;
    let rows = 0;
    for (let step = 0; step < stepsPerRound; step++) {
      const { next, removed } = await removeOldAlerts(db, before, from, rowsPerStep);
      rows += removed;
      from = next ?? 0;
      if (next === null) break;
      await nextTurn();
    }
    logRemoved(log, "alerts", rows, before);
  }

  async function dropBeyond(tenant: number): Promise<void> {
    const beyond = await alertBeyond(db, tenant, rowsMax, rowsPerLook, nextTurn);
    if (beyond === null) return;
    for (let step = 0; step < stepsPerRound; step++) {
      if ((await removeAlertsUpTo(db, tenant, beyond, rowsPerStep)) < rowsPerStep) return;
      await nextTurn();
    }
  }

  return async () => {
    if (days > 0) await dropOld();
    for (const { id } of await listTenants(db)) await dropBeyond(id);
  };
}
