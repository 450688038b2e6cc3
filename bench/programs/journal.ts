import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { frameBytesMax } from "../../store/journal/frame.js";
import { openJournal } from "../../store/journal/journal.js";
import { toFrameInput } from "../../store/journal/record-codecs.js";
import { openBareFile } from "../baselines/bare-file.js";
import { openBareLog } from "../baselines/bare-libsql.js";
import { createUplink } from "../load/uplink.js";
import { type BenchOptions, wants } from "../options.js";
import type { Figure } from "../report.js";
import { type Contender, compareAll } from "../rounds.js";

const commits = [1_000, 50, 1];

const record = createUplink(Buffer.from('{"temp":21.50,"hum":40.10,"volt":3.300}'));

/** Makes `records` durable in one commit; calls follow one another. */
type Commit = (records: number) => Promise<void>;

/** Append alone, a commit of so many records after the other: the journal, a bare file, and a libSQL table. */
export async function benchJournal(options: BenchOptions): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const size of commits.filter((commit) => wants(options, String(commit)))) {
    const openers = [
      () => contender("bare writev + fdatasync", openFileCommit, size, options),
      () => contender("journal", openJournalCommit, size, options),
      () => contender("libSQL table", openTableCommit, size, options),
    ];
    figures.push(...(await compareAll(openers, options.rounds)));
  }
  return figures;
}

type Opener = (dir: string) => Promise<{ commit: Commit; close(): Promise<void> }>;

async function contender(
  name: string,
  opener: Opener,
  size: number,
  options: BenchOptions,
): Promise<Contender> {
  const dir = await mkdtemp(join(options.dir, "tidemark-bench-"));
  const log = await opener(dir);
  const commitsOf = `commits of ${size.toLocaleString("en-US")}`;
  return {
    async run() {
      const started = performance.now();
      let records = 0;
      while (performance.now() - started < options.seconds * 1000) {
        await log.commit(size);
        records += size;
      }
      const seconds = (performance.now() - started) / 1000;
      const detail = { "ms/commit": (seconds * 1000 * size) / records };
      const baseline = `${commitsOf}: bare writev + fdatasync`;
      return [
        { name: `${commitsOf}: ${name}`, value: records / seconds, unit: "records/s", baseline, detail },
      ];
    },
    async close() {
      await log.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function openJournalCommit(dir: string) {
  const journal = await openJournal({
    dir,
    shard: 0,
    now: Date.now,
    segmentBytesMax: 64 * 1024 * 1024,
    segmentAgeMaxMs: 3_600_000,
    pendingBytesMax: 64 * 1024 * 1024,
    freeBytesMin: 0,
  });
  let before: Promise<void> = Promise.resolve();
  // One commit is written while the next is appended, as under load: a call waits for the one before it.
  const commit: Commit = async (records) => {
    const earlier = before;
    before = new Promise((resolve) => {
      for (let i = 1; i < records; i++) journal.append(record);
      journal.append(record, () => resolve());
    });
    await earlier;
  };
  return { commit, close: journal.close };
}

async function openFileCommit(dir: string) {
  const file = await openBareFile(dir);
  const commit: Commit = (records) => file.commit(records * frameBytesMax(toFrameInput(record)));
  return { commit, close: file.close };
}

async function openTableCommit(dir: string) {
  const log = await openBareLog(dir);
  const payload = Buffer.from(record.payload).toString();
  const commit: Commit = (records) =>
    log.append(Array.from({ length: records }, () => [Date.now(), record.device, record.topic, payload]));
  return { commit, close: async () => log.close() };
}
