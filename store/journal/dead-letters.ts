import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { JournalRecord } from "./record.js";
import { decodeRecord, encodedRecord, toFrameInput } from "./record-codecs.js";
import { shardOfID } from "./shard-ids.js";

/** The consumers of the journal's records. */
export const followers = ["series", "alerts", "sessions"] as const;
export type Follower = (typeof followers)[number];

/** A record that a follower has left without effect, because the record ended the process that worked on it. */
export interface DeadLetter {
  readonly follower: Follower;
  /** Journal id. */
  readonly id: number;
  readonly device: number;
  readonly topic: string;
  /** Microseconds since 1970. */
  readonly receivedAt: number;
  /** How the record ended its trial. */
  readonly reason: string;
  /** When it became a dead letter, milliseconds since 1970. */
  readonly asideAt: number;
}

/** The dead letters: records that crash a follower. */
export interface DeadLetters {
  has(follower: Follower, id: number): boolean;
  /** Ordered by journal id and follower. */
  all(): readonly DeadLetter[];
  add(follower: Follower, record: JournalRecord, reason: string, now: number): Promise<DeadLetter>;
  /** @throws if it is gone, or is not one of ours */
  read(deadLetter: DeadLetter): Promise<JournalRecord>;
  remove(deadLetter: DeadLetter): Promise<void>;
}

/** Where they are kept: the journal drops its segments. */
interface DeadLetterStorage {
  add(deadLetter: DeadLetter, record: Buffer): Promise<void>;
  read(deadLetter: DeadLetter): Promise<Buffer>;
  remove(deadLetter: DeadLetter): Promise<void>;
}

/** Those of the shards that are open here. */
interface OpenDeadLetters extends DeadLetters {
  open(deadLetters: readonly DeadLetter[]): void;
  letGo(shard: number): void;
}

const charactersShown = 200;
const fileName = /^\d+\.(series|alerts|sessions)\.json$/;

const formatKey = ({ follower, id }: Pick<DeadLetter, "follower" | "id">): string => `${id}.${follower}`;

export function createDeadLetters(keeping: DeadLetterStorage): OpenDeadLetters {
  const found = new Map<string, DeadLetter>();
  return {
    has: (follower, id) => found.size > 0 && found.has(formatKey({ follower, id })),
    all: () => [...found.values()].sort((a, b) => a.id - b.id || (a.follower < b.follower ? -1 : 1)),
    add: async (follower, record, reason, now) => {
      const { id, device, receivedAt } = record;
      const topic = toFrameInput(record).text.slice(0, charactersShown);
      const deadLetter: DeadLetter = { follower, id, device, topic, receivedAt, reason, asideAt: now };
      await keeping.add(deadLetter, encodedRecord(record));
      found.set(formatKey(deadLetter), deadLetter);
      return deadLetter;
    },
    read: async (deadLetter) => decodeRecord(await keeping.read(deadLetter), 0),
    remove: async (deadLetter) => {
      await keeping.remove(deadLetter);
      found.delete(formatKey(deadLetter));
    },
    open: (deadLetters) => {
      for (const deadLetter of deadLetters) found.set(formatKey(deadLetter), deadLetter);
    },
    letGo: (shard) => {
      for (const [key, { id }] of found) if (shardOfID(id) === shard) found.delete(key);
    },
  };
}

/** The file of a dead letter: its fields, which are shown, and the record as the journal has it. */
type Saved = DeadLetter & { readonly record: string };

/** Opens the dead letters of a folder: it has one file for each. */
export async function openDeadLetters(dir: string): Promise<DeadLetters> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const formatPath = (deadLetter: DeadLetter): string => join(dir, `${formatKey(deadLetter)}.json`);
  const deadLetters = createDeadLetters({
    add: async (deadLetter, record) => {
      const saved: Saved = { ...deadLetter, record: record.toString("base64") };
      await mkdir(dir, { recursive: true, mode: 0o700 });
      await writeWhole(formatPath(deadLetter), JSON.stringify(saved));
    },
    read: async (deadLetter) => {
      const { record } = JSON.parse(await readFile(formatPath(deadLetter), "utf8")) as Saved;
      return Buffer.from(record, "base64");
    },
    remove: (deadLetter) => rm(formatPath(deadLetter), { force: true }),
  });
  for (const name of names.filter((one) => fileName.test(one))) {
    const { record: _, ...deadLetter } = JSON.parse(await readFile(join(dir, name), "utf8")) as Saved;
    deadLetters.open([deadLetter]);
  }
  return deadLetters;
}

async function writeWhole(path: string, text: string): Promise<void> {
  const made = `${path}.new`;
  const handle = await open(made, "w", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(made, path);
}
