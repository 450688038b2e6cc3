/** The journal of a shard and the index of its events, which follows it. */
import { join } from "node:path";
import type { IndexThread } from "../../store/events/event-indexer.js";
import { type EventLog, openEventLog } from "../../store/events/events.js";
import type { DamageLog } from "../../store/files/damage.js";
import { type Journal, openJournal } from "../../store/journal/journal.js";
import type { SegmentKeeping } from "../../store/journal/segment-keeping.js";
import type { Closers } from "../../store/lib/closers.js";
import { StoreError } from "../../store/lib/errors.js";
import type { Config } from "../config/config.js";
import { spareBytes } from "../http/disk-space.js";
import type { Logger } from "../observability/log.js";
import type { Faults } from "./faults.js";

export interface ShardPlace {
  readonly number: number;
  /** Holds the files of the shard. */
  readonly dir: string;
}

/** What the shards of a process share. */
export interface FilesDeps {
  readonly config: Config;
  readonly damage: DamageLog;
  /** Indexes records after their acknowledgement: nothing on the path of a message waits for it. */
  readonly indexThread: IndexThread;
  readonly log: Logger;
  readonly faults: Faults;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface Ways {
  /** Where the journal is kept; undefined: on this disk alone. */
  readonly keep: () => Promise<SegmentKeeping | undefined>;
  /** Called after each commit of the journal. */
  readonly onCommit?: () => void;
}

const segmentBytesMax = 64 * 1024 * 1024;
const segmentAgeMaxMs = 3_600_000;
/** Appended and not yet on disk, in all shards together. */
const pendingBytesMax = 32 * 1024 * 1024;

export const journalDir = ({ dir }: ShardPlace): string => join(dir, "journal");

export function troubleLog(log: Logger): (part: string) => (error: Error) => void {
  return (part) => (error) => log.warn(`${part}: ${error.message}`);
}

/** On a full disk it would open, and take nothing. @throws StoreError UNAVAILABLE */
export async function refuseFullDisk({ dataDir, freeBytesMin }: Config): Promise<void> {
  const spare = await spareBytes(dataDir, freeBytesMin);
  if (spare < 0) throw new StoreError("UNAVAILABLE", "disk full: a shard needs room for its journal");
}

/** The index is still to be attached. */
export async function openShardFiles(
  place: ShardPlace,
  { config, damage, indexThread, log, faults, now }: FilesDeps,
  closers: Closers,
  { keep, onCommit }: Ways,
): Promise<{ readonly journal: Journal; readonly events: EventLog }> {
  const trouble = troubleLog(log);
  const events = await openEventLog({
    path: join(place.dir, "events.db"),
    onDamage: damage.report,
    onTrouble: trouble("event index"),
    thread: indexThread,
  });
  closers.add(events.close);
  const keeping = await keep();
  const journal = await openJournal({
    dir: journalDir(place),
    ...(keeping === undefined ? {} : { keeping }),
    shard: place.number,
    now,
    segmentBytesMax,
    segmentAgeMaxMs,
    pendingBytesMax: pendingBytesMax / (config.ownShards ?? config.shards).length,
    freeBytesMin: config.freeBytesMin,
    onRecord: events.onRecord,
    onSegmentClosed: events.onSegmentClosed,
    ...(onCommit === undefined ? {} : { onCommit }),
    onTrouble: trouble("journal"),
    onFault: faults("at a record of the journal"),
    onDamage: damage.report,
  });
  closers.add(journal.close);
  return { journal, events };
}
