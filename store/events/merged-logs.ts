import type { JournalRecord } from "../journal/record.js";
import { shardOfID } from "../journal/shard-ids.js";
import { createPacer } from "../lib/scheduling.js";
import type { EventLogReading } from "./events.js";
import { byReceipt, mergeNewest } from "./merge-newest.js";
import { type MergeBounds, mergeBounds, pageOfMerged } from "./merged-pages.js";

/**
 * The event logs of several shards read as one: newest first by time of receipt, then by id. Records of one shard stay
 * in the order of their ids, however its clock was set. One log is returned as it is. Lists fail where one of the logs
 * does. The array is looked at anew by each call.
 */
export function mergeEventLogs(
  logs: readonly EventLogReading[],
  bounds: MergeBounds = mergeBounds,
): EventLogReading {
  const [only] = logs;
  if (only !== undefined && logs.length === 1) return only;
  const sequences: EventLogReading["sequences"] = async (query) => {
    const inTurn = createPacer();
    return (await Promise.all(logs.map((log) => inTurn(() => log.sequences(query))))).flat();
  };
  const merged = (ask: (log: EventLogReading) => AsyncIterable<JournalRecord>, recordsMax?: number) =>
    mergeNewest(logs.map(ask), byReceipt, recordsMax);
  return {
    get shards() {
      return logs.flatMap((log) => log.shards);
    },
    sequences,
    list: async (query) => pageOfMerged(await sequences(query), query, bounds),
    find: async (device, id) => {
      const shard = shardOfID(id);
      const log = logs.find(({ shards }) => shards.includes(shard));
      return log === undefined ? null : log.find(device, id);
    },
    history: (device, recordsMax) => merged((log) => log.history(device, recordsMax), recordsMax),
    batches: (device, recordsMax) => merged((log) => log.batches(device, recordsMax), recordsMax),
    kept: (device, start, stop) => merged((log) => log.kept(device, start, stop)),
  };
}
