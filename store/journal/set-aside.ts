import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { JournalRecord } from "./record.js";
import { decodeRecord, encodedRecord, frameOf } from "./record-codecs.js";

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

/** Records that were set aside, a file each: the files stay when the journal drops its segments. */
export interface SetAside {
  has(follower: Follower, id: number): boolean;
  /** Ordered by journal id and follower. */
  all(): readonly Aside[];
  add(follower: Follower, record: JournalRecord, reason: string, now: number): Promise<Aside>;
  /** @throws if the file is gone or is not one of ours */
  read(aside: Aside): Promise<JournalRecord>;
  remove(aside: Aside): Promise<void>;
}

const charactersShown = 200;
const fileName = /^\d+\.(series|alerts|sessions)\.json$/;

/** The file of an aside: its fields, which are shown, and the record as the journal has it. */
type Saved = Aside & { readonly record: string };

export async function openSetAside(dir: string): Promise<SetAside> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const found = new Map<string, Aside>();
  const key = (follower: Follower, id: number): string => `${id}.${follower}`;
  const pathOf = ({ follower, id }: Pick<Aside, "follower" | "id">): string =>
    join(dir, `${key(follower, id)}.json`);
  for (const name of names.filter((one) => fileName.test(one))) {
    const { record: _, ...aside } = JSON.parse(await readFile(join(dir, name), "utf8")) as Saved;
    found.set(key(aside.follower, aside.id), aside);
  }

  return {
    has: (follower, id) => found.size > 0 && found.has(key(follower, id)),
    all: () => [...found.values()].sort((a, b) => a.id - b.id || (a.follower < b.follower ? -1 : 1)),
    add: async (follower, record, reason, now) => {
      const { id, device, receivedAt } = record;
      const topic = frameOf(record).text.slice(0, charactersShown);
      const aside: Aside = { follower, id, device, topic, receivedAt, reason, asideAt: now };
      const saved: Saved = { ...aside, record: encodedRecord(record).toString("base64") };
      await mkdir(dir, { recursive: true, mode: 0o700 });
      await writeWhole(pathOf(aside), JSON.stringify(saved));
      found.set(key(follower, id), aside);
      return aside;
    },
    read: async (aside) => {
      const { record } = JSON.parse(await readFile(pathOf(aside), "utf8")) as Saved;
      return decodeRecord(Buffer.from(record, "base64"), 0);
    },
    remove: async (aside) => {
      await rm(pathOf(aside), { force: true });
      found.delete(key(aside.follower, aside.id));
    },
  };
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
