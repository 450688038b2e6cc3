import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { logs } from "../../store/event-postings.js";
import { type EventLog, type EventQuery, openEventLog, scanRowsMax } from "../../store/events.js";
import type { Journal } from "../../store/journal.js";
import { type JournalInput, type JournalRecord, recordKinds } from "../../store/journal-record.js";
import { assert, suite, until, withTempDir } from "../suite.js";
import { journalInput, keep, openTestJournal, readAll } from "./journal-support.js";

interface Opened {
  readonly journal: Journal;
  readonly events: EventLog;
  readonly troubles: Error[];
  close(): Promise<void>;
}

async function open(dir: string, segmentBytesMax: number): Promise<Opened> {
  const troubles: Error[] = [];
  const events = await openEventLog(join(dir, "events.db"), (error) => troubles.push(error));
  const journal = await openTestJournal(join(dir, "journal"), {
    segmentBytesMax,
    onRecord: events.onRecord,
    onSegmentClosed: events.onSegmentClosed,
  });
  await events.attach(journal);
  const close = async (): Promise<void> => {
    await journal.close();
    await events.close();
    assert.equal(troubles.map(String), []);
  };
  return { journal, events, troubles, close };
}

type Query = Omit<EventQuery, "matches"> & { readonly topic?: string };

const logOfKind = new Map<number, number>([
  [recordKinds.uplink, logs.events],
  [recordKinds.connect, logs.connects],
  [recordKinds.disconnect, logs.connects],
]);

/** What a list should answer, from everything that the journal holds. */
function oracle(all: readonly JournalRecord[], query: Query): { ids: number[]; count: number } {
  const { log, tenant, devices, topic, page, limit } = query;
  const found = all
    .filter((record) => logOfKind.get(record.kind) === log)
    .filter((record) => (devices === null ? record.tenant === tenant : devices.includes(record.device)))
    .filter((record) => topic === undefined || record.topic === topic)
    .map(({ id }) => id)
    .reverse();
  return { ids: found.slice((page - 1) * limit, page * limit), count: found.length };
}

async function check(events: EventLog, all: readonly JournalRecord[], query: Query): Promise<void> {
  const { topic, ...plain } = query;
  const matches = (record: JournalRecord): boolean => record.topic === topic;
  const page = await events.list(topic === undefined ? plain : { ...plain, matches });
  assert.equal(
    { ids: page.items.map(({ id }) => id), count: page.count },
    oracle(all, query),
    JSON.stringify(query),
  );
}

const inputs: fc.Arbitrary<Partial<JournalInput>> = fc
  .record({
    kind: fc.constantFrom(1, 1, 1, 2, 3, 4) as fc.Arbitrary<1 | 2 | 3 | 4>,
    device: fc.integer({ min: 1, max: 6 }),
    topic: fc.constantFrom("a", "b"),
    payload: fc.uint8Array({ maxLength: 120 }),
  })
  // Devices 1 to 3 are the first tenant's, the others the second's.
  .map((fields) => ({ ...fields, tenant: fields.device <= 3 ? 1 : 2 }));

const queries: fc.Arbitrary<Query> = fc
  .record({
    log: fc.constantFrom(logs.events, logs.connects),
    tenant: fc.constantFrom(1, 2),
    devices: fc.oneof(fc.constant(null), fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { maxLength: 3 })),
    page: fc.integer({ min: 1, max: 4 }),
    limit: fc.integer({ min: 1, max: 15 }),
    topic: fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }),
  })
  .map(({ topic, ...rest }) => (topic === undefined ? rest : { ...rest, topic }));

suite("event log", (test) => {
  test(
    "lists as a naive reading of the journal would, while segments close, reopened and rebuilt",
    async () => {
      const runs = fc.array(
        fc.tuple(fc.array(inputs, { maxLength: 60 }), fc.constantFrom("keep", "rebuild")),
        {
          minLength: 1,
          maxLength: 3,
        },
      );
      await fc.assert(
        fc.asyncProperty(runs, fc.array(queries, { minLength: 3, maxLength: 12 }), (all, asked) =>
          withTempDir(async (dir) => {
            for (const [run, index] of all) {
              if (index === "rebuild") {
                for (const name of await readdir(dir)) {
                  if (name.startsWith("events.db")) await rm(join(dir, name));
                }
              }
              const { journal, events, close } = await open(dir, 1500);
              for (const [i, input] of run.entries()) {
                // A segment closes at a commit: every fourth record gets one of its own.
                if (i % 4 === 3) await keep(journal, input);
                else journal.append(journalInput(input));
              }
              await journal.waitFor(journal.appendedID - 1);
              const records = await readAll(journal);
              for (const query of asked) await check(events, records, query);
              await close();
            }
          }),
        ),
        { numRuns: 15 },
      );
    },
    { timeoutMs: 300_000 },
  );

  test("forgets dropped segments, also those dropped while it was closed", async () => {
    await withTempDir(async (dir) => {
      const first = await open(dir, 500);
      for (let i = 0; i < 40; i++) await keep(first.journal, { payload: Buffer.alloc(100, i) });
      const query = { log: logs.events, tenant: 1, devices: null, page: 1, limit: 100 } as const;
      for (let i = 0; i < 3; i++) {
        const [oldest] = first.journal.segments;
        if (oldest === undefined) throw new Error("no segment");
        await first.journal.drop(oldest);
        if (i < 2) first.events.forget(oldest);
      }
      await until(
        async () => (await first.events.list(query)).count === (await readAll(first.journal)).length,
        {
          what: "the list to follow",
        },
      );
      await first.close();
      const second = await open(dir, 500);
      await check(second.events, await readAll(second.journal), query);
      await second.close();
    });
  });

  test("history holds both logs of one device, newest first, bounded", async () => {
    await withTempDir(async (dir) => {
      const { journal, events, close } = await open(dir, 1000);
      const kinds = [recordKinds.connect, recordKinds.uplink, recordKinds.release, recordKinds.disconnect];
      for (let i = 0; i < 60; i++) await keep(journal, { kind: kinds[i % 4] as 1, device: 1 + (i % 3) });
      const own = (await readAll(journal))
        .filter(({ device, kind }) => device === 2 && kind !== recordKinds.release)
        .map(({ id }) => id)
        .reverse();
      const idsOf = async (recordsMax: number): Promise<number[]> => {
        const ids: number[] = [];
        for await (const { id } of events.history(2, recordsMax)) ids.push(id);
        return ids;
      };
      assert.equal(await idsOf(1000), own);
      assert.equal(await idsOf(5), own.slice(0, 5));
      await close();
    });
  });

  test("a filter looks at so many rows and says when it stopped", async () => {
    await withTempDir(async (dir) => {
      const { journal, events, close } = await open(dir, 4 * 2 ** 20);
      const rows = scanRowsMax + 2500;
      let last = 0;
      for (let i = 0; i < rows; i++) {
        // The only match of the oldest 2,500 lies beyond the bound.
        last = journal.append(
          journalInput({ topic: i === 10 || i === rows - 10 ? "rare" : "data", payload: Buffer.alloc(0) }),
        );
      }
      await journal.waitFor(last - 1);
      const matches = (record: JournalRecord): boolean => record.topic === "rare";
      const query = { log: logs.events, tenant: 1, devices: null, page: 1, limit: 10 } as const;
      const cut = await events.list({ ...query, matches });
      assert.equal({ ids: cut.items.map(({ id }) => id), count: cut.count }, { ids: [rows - 9], count: 1 });
      assert.ok(cut.truncated);
      const plain = await events.list(query);
      assert.equal({ count: plain.count, truncated: plain.truncated }, { count: rows, truncated: false });
      await close();
    });
  });

  test("payloads come back byte for byte, wherever records lie in a segment", async () => {
    await withTempDir(async (dir) => {
      const { journal, events, close } = await open(dir, 64 * 2 ** 20);
      const sizes = [0, 1, 4000, 4096, 262_144, 3, 100_000, 262_144, 262_144, 10];
      for (const [i, size] of sizes.entries()) await keep(journal, { payload: Buffer.alloc(size, i) });
      const { items } = await events.list({ log: logs.events, tenant: 1, devices: [7], page: 1, limit: 100 });
      assert.equal(
        items.map(({ payload }) => [payload.length, payload[0] ?? null]),
        sizes.map((size, i) => [size, size === 0 ? null : i]).reverse(),
      );
      await close();
    });
  });
});
