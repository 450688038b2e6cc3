import { publishStatuses } from "../../store/metadata/commands/control-logs.js";
import {
  issuedAmong,
  lastLogID,
  logsAfter,
  logsByID,
  type WatchedLog,
} from "../../store/metadata/commands/log-watch.js";
import { addBounded, keepOnly, rowsPerLook, type WatchDeps, type Watched, watchedMax } from "./watched.js";

interface Seen {
  last: number;
  /** Those that wait for their receipt, in the order of their ids. */
  readonly issued: Set<number>;
}

const isIssued = ({ publishStatus }: WatchedLog): boolean => publishStatus === publishStatuses.issued;

export function commandsWatched({ db, feed }: WatchDeps): Watched<Seen> {
  function publishCommand(tenant: number, { id, deviceIntID, publishStatus, at }: WatchedLog): void {
    feed.tell(tenant, { topic: "commands", id, deviceIntID, publishStatus, time: at });
  }

  async function lookForReceipts(tenant: number, issued: Set<number>): Promise<void> {
    if (issued.size === 0) return;
    const there = await logsByID(db, [...issued]);
    for (const one of there) if (!isIssued(one)) publishCommand(tenant, one);
    keepOnly(
      issued,
      there.filter(isIssued).map(({ id }) => id),
    );
  }

  return {
    topic: "commands",
    begin: async (tenant) => {
      const last = await lastLogID(db);
      const issued = await issuedAmong(db, tenant, watchedMax);
      return { last, issued: new Set(issued.map(({ id }) => id).reverse()) };
    },
    look: async (tenant, seen) => {
      await lookForReceipts(tenant, seen.issued);
      for (const one of await logsAfter(db, tenant, seen.last, rowsPerLook)) {
        seen.last = one.id;
        publishCommand(tenant, one);
        if (isIssued(one)) addBounded(seen.issued, one.id);
      }
    },
  };
}
