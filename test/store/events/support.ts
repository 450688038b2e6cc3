/** Event logs with their journals for tests. */
import { join } from "node:path";
import { createClient } from "@libsql/client";
import { createIndexThread, type IndexThread } from "../../../store/events/event-indexer.js";
import { logs } from "../../../store/events/event-postings.js";
import { type EventLog, openEventLog } from "../../../store/events/events.js";
import type { Damage } from "../../../store/files/damage.js";
import type { Journal } from "../../../store/journal/journal.js";
import { recordKinds } from "../../../store/journal/record-kinds.js";
import { assert } from "../../suite.js";
import { openTestJournal } from "../journal/support.js";

export interface OpenedLog {
  readonly journal: Journal;
  readonly events: EventLog;
  readonly damages: Damage[];
  close(): Promise<void>;
}

/** A journal with its log; closing it fails if the log was in trouble. */
export async function openLog(
  dir: string,
  segmentBytesMax: number,
  now = Date.now,
  node = 0,
  thread: IndexThread = createIndexThread(),
): Promise<OpenedLog> {
  const troubles: Error[] = [];
  const damages: Damage[] = [];
  const events = await openEventLog({
    path: join(dir, "events.db"),
    onTrouble: (error) => troubles.push(error),
    onDamage: (damage) => damages.push(damage),
    thread,
  });
  const journal = await openTestJournal(join(dir, "journal"), {
    segmentBytesMax,
    now,
    shard: node,
    onDamage: (damage) => damages.push(damage),
    onRecord: events.onRecord,
    onSegmentClosed: events.onSegmentClosed,
  });
  await events.attach(journal);
  const close = async (): Promise<void> => {
    await journal.close();
    await events.close();
    assert.equal(troubles.map(String), []);
  };
  return { journal, events, damages, close };
}

/** The log that holds records of a kind. */
export const logOfKind = new Map<number, number>([
  [recordKinds.uplink, logs.events],
  [recordKinds.entry, logs.events],
  [recordKinds.connect, logs.connects],
  [recordKinds.disconnect, logs.connects],
  [recordKinds.batch, logs.batches],
]);

/** Whether the index file covers so many segments. */
export async function indexed(dir: string, segments: number): Promise<boolean> {
  const file = createClient({ url: `file:${join(dir, "events.db")}` });
  const { rows } = await file.execute("select count(*) n from segment");
  file.close();
  return Number(rows[0]?.n) >= segments;
}
