/** The event logs of the shards that this process has, which come and go. */
import type { EventPage, EventQuery } from "../../store/events/event-pages.js";
import type { EventLogReading } from "../../store/events/events.js";
import { mergeEventLogs } from "../../store/events/merged-logs.js";

export interface LocalLogPage extends EventPage {
  /** The numbers of the shards that it is of. */
  readonly shards: readonly number[];
}

export interface LocalLogs {
  /** The lists of these shards, as far as they stay on this node while a list is read. */
  of(shards: readonly number[]): { list(query: EventQuery): Promise<LocalLogPage> };
}

/**
 * @param here the numbers of the shards that are here for certain
 * @param logs of all shards that are here
 */
export function createLocalLogs(
  here: () => readonly number[],
  logs: () => readonly EventLogReading[],
): LocalLogs {
  async function list(requested: readonly number[], query: EventQuery): Promise<LocalLogPage> {
    const shards = here().filter((shard) => requested.includes(shard));
    const read = logs().filter((log) => log.shards.some((shard) => shards.includes(shard)));
    try {
      return { ...(await mergeEventLogs(read).list(query)), shards };
    } catch (error) {
      // The log of a shard that has gone is closed: it is missing, and the others are read again without it.
      const left = here();
      if (shards.every((shard) => left.includes(shard))) throw error;
      return list(
        shards.filter((shard) => left.includes(shard)),
        query,
      );
    }
  }
  return { of: (shards) => ({ list: (query) => list(shards, query) }) };
}
