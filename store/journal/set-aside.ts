import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { JournalRecord } from "./record.js";
import { decodeRecord, encodedRecord, frameOf } from "./record-codecs.js";
import { shardOfID } from "./shard-ids.js";

/** The consumers of the journal's records. */
export const followers = ["series", "alerts", "sessions"] as const;
export type Follower = (typeof followers)[number];

/** A record that a follower has left without effect, because the record ended the process that worked on it. */
export interface Aside {
  readonly follower: Follower;
  /** Journal id. */
  readonly id: number;
  readonly device: number;
  readonly topic: string;
  /** Microseconds since 1970. */
  readonly receivedAt: number;
  /** How the record ended its trial. */
  readonly reason: string;
  /** When it was set aside, milliseconds since 1970. */
  readonly asideAt: number;
}

/** Records that were set aside. */
export interface SetAside {
  has(follower: Follower, id: number): boolean;
  /** Ordered by journal id and follower. */
  all(): readonly Aside[];
  add(follower: Follower, record: JournalRecord, reason: string, now: number): Promise<Aside>;
  /** @throws if it is gone, or is not one of ours */
  read(aside: Aside): Promise<JournalRecord>;
  remove(aside: Aside): Promise<void>;
}

/** Where they are kept: the journal drops its segments. */
interface AsideKeeping {
  add(aside: Aside, record: Buffer): Promise<void>;
  read(aside: Aside): Promise<Buffer>;
  remove(aside: Aside): Promise<void>;
}

/** Those of the shards that are open here. */
interface OpenSetAside extends SetAside {
  open(asides: readonly Aside[]): void;
  letGo(shard: number): void;
}

const charactersShown = 200;
const fileName = /^\d+\.(series|alerts|sessions)\.json$/;

const keyOf = ({ follower, id }: Pick<Aside, "follower" | "id">): string => `${id}.${follower}`;

export function createSetAside(keeping: AsideKeeping): OpenSetAside {
  const found = new Map<string, Aside>();
  return {
    has: (follower, id) => found.size > 0 && found.has(keyOf({ follower, id })),
    all: () => [...found.values()].sort((a, b) => a.id - b.id || (a.follower < b.follower ? -1 : 1)),
    add: async (follower, record, reason, now) => {
      const { id, device, receivedAt } = record;
      const topic = frameOf(record).text.slice(0, charactersShown);
      const aside: Aside = { follower, id, device, topic, receivedAt, reason, asideAt: now };
      await keeping.add(aside, encodedRecord(record));
      found.set(keyOf(aside), aside);
      return aside;
    },
    read: async (aside) => decodeRecord(await keeping.read(aside), 0),
    remove: async (aside) => {
      await keeping.remove(aside);
      found.delete(keyOf(aside));
    },
    open: (asides) => {
      for (const aside of asides) found.set(keyOf(aside), aside);
    },
    letGo: (shard) => {
      for (const [key, { id }] of found) if (shardOfID(id) === shard) found.delete(key);
    },
  };
}

/** The file of an aside: its fields, which are shown, and the record as the journal has it. */
type Saved = Aside & { readonly record: string };

/** Opens a folder with one file for each of them. */
export async function openSetAside(dir: string): Promise<SetAside> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const pathOf = (aside: Aside): string => join(dir, `${keyOf(aside)}.json`);
  const asides = createSetAside({
    add: async (aside, record) => {
      const saved: Saved = { ...aside, record: record.toString("base64") };
      await mkdir(dir, { recursive: true, mode: 0o700 });
      await writeWhole(pathOf(aside), JSON.stringify(saved));
    },
    read: async (aside) => {
      const { record } = JSON.parse(await readFile(pathOf(aside), "utf8")) as Saved;
      return Buffer.from(record, "base64");
    },
    remove: (aside) => rm(pathOf(aside), { force: true }),
  });
  for (const name of names.filter((one) => fileName.test(one))) {
    const { record: _, ...aside } = JSON.parse(await readFile(join(dir, name), "utf8")) as Saved;
    asides.open([aside]);
  }
  return asides;
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
