import type { PendingReceipts } from "../../ingest/sessions/pending-receipts.js";
import { nextTurn } from "../../store/lib/scheduling.js";
import {
  expiredLogs,
  findGroupLogs,
  type IssuedLog,
  issuedLogs,
  moveControlLogs,
  publishStatuses,
} from "../../store/metadata/commands/control-logs.js";
import type { Db } from "../../store/metadata/db/db.js";
import { every } from "../background/every.js";
import type { Logger } from "../observability/log.js";
import type { Receipts } from "./receipts.js";

/** What happens to commands that no call of this run waits for. */

const logsPerStep = 1000;

interface IssuedDeps {
  readonly db: Db;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * At a start, a command that an earlier run of this process issued is confirmed if its receipt had come,
 * stays issued while a session holds it, and has failed otherwise, because nobody is left to deliver it.
 */
export async function settleIssued({
  db,
  now,
  node,
  held,
  receipts,
}: IssuedDeps & { node: number; held: PendingReceipts; receipts: Receipts }): Promise<void> {
  for (let after = 0; ; ) {
    const logs = await issuedLogs(db, node, after, logsPerStep);
    const lost = logs.filter(({ id }) => !held.known.has(id));
    if (lost.length > 0) await moveControlLogs(db, now(), lost.map(givenUp));
    if (logs.length < logsPerStep) break;
    after = logs.at(-1)?.id ?? after;
  }
  const groups = await countGroups(db, [...held.known]);
  const { confirmed, failed } = publishStatuses;
  held.listen((id, acknowledged) => {
    const groupLogIntID = groups.get(id) ?? null;
    receipts.add({ id, groupLogIntID, publishStatus: acknowledged ? confirmed : failed });
  });
}

/** At QoS 0 too: nobody knows whether it was sent. A receipt that comes later is believed. */
function givenUp({ id, groupLogIntID }: IssuedLog) {
  return { id, groupLogIntID, publishStatus: publishStatuses.failed };
}

async function countGroups(db: Db, ids: readonly number[]): Promise<Map<number, number>> {
  const groups = new Map<number, number>();
  for (let at = 0; at < ids.length; at += logsPerStep) {
    const some = await findGroupLogs(db, ids.slice(at, at + logsPerStep));
    for (const [id, group] of some) groups.set(id, group);
  }
  return groups;
}

const expiryLookMs = 1000;

/** Fails commands that have waited for their whole ttl. A receipt that comes later still confirms them. */
export function startExpiry({ db, now, log }: IssuedDeps & { log: Logger }): { close(): Promise<void> } {
  let closed = false;
  const job = every(expiryLookMs, "end expired commands", log, async () => {
    while (!closed) {
      const logs = await expiredLogs(db, now(), logsPerStep);
      if (logs.length > 0) await moveControlLogs(db, now(), logs.map(givenUp));
      if (logs.length < logsPerStep) break;
      await nextTurn();
    }
  });
  return {
    close: () => {
      closed = true;
      return job.stop();
    },
  };
}
