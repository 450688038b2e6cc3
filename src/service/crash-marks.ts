/** Stores which records are in work, and which are dead letters because they end the process. */
import { join } from "node:path";
import type { IsolationPace } from "../../ingest/followers/crash-isolation.js";
import {
  type DeadLetter,
  type DeadLetters,
  type Follower,
  openDeadLetters,
} from "../../store/journal/dead-letters.js";
import { openWorkMark, type WorkMark } from "../../store/journal/work-mark.js";

export interface CrashMarks {
  readonly pace: IsolationPace;
  /** Those of the shards that are here. */
  readonly asides: DeadLetters;
  /** Those of all shards, wherever they are; null: each process has its own. */
  everywhere(): Promise<readonly DeadLetter[] | null>;
  /** A shard is about to be opened: what is known of its records is needed from here on. */
  open(shard: number): Promise<void>;
  workMark(place: ShardPlace, follower: Follower): WorkMark;
  forget(shard: number): void;
}

/** Where the files of a shard are. */
export interface ShardPlace {
  readonly number: number;
  readonly dir: string;
}

/** Marks of shards that stay at this process: files in its folder. */
export async function folderCrashMarks(dir: string): Promise<CrashMarks> {
  return {
    pace: { notesMax: Number.POSITIVE_INFINITY, aloneAtOnceMax: 0, endsMax: 2 },
    asides: await openDeadLetters(join(dir, "set-aside")),
    everywhere: async () => null,
    open: async () => undefined,
    workMark: (place, follower) => openWorkMark(join(place.dir, "work", `${follower}.json`)),
    forget: () => undefined,
  };
}
