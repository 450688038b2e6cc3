import { mkdir, rm, truncate } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@libsql/client";
import fc from "fast-check";
import type { EventQuery } from "../../../store/events/event-pages.js";
import { logs } from "../../../store/events/event-postings.js";
import type { EventLogReading } from "../../../store/events/events.js";
import { mergeEventLogs } from "../../../store/events/merged-logs.js";
import { mergeBounds } from "../../../store/events/merged-pages.js";
import { isMessage, type JournalInput, type JournalRecord } from "../../../store/journal/record.js";
import { contentBytes } from "../../../store/journal/record-codecs.js";
import { recordKinds } from "../../../store/journal/record-kinds.js";
import { idsPerShard, shardOfID } from "../../../store/journal/shard-ids.js";
import { StoreError } from "../../../store/lib/errors.js";
import { pageBytesMax } from "../../../store/metadata/db/page-bytes.js";
import { assert, suite, until, withTempDir } from "../../suite.js";
import { journalInput, journalRecord, keep, readAll } from "../journal/support.js";
import { inMergedOrder } from "./merge-oracle.js";
import { indexed, logOfKind, type OpenedLog, openLog } from "./support.js";

type Query = Omit<EventQuery, "matches"> & { readonly topic?: string };

const isOn = (record: JournalRecord, topic: string): boolean => isMessage(record) && record.topic === topic;

/** Some records of several journals as a list shows them: each journal's in the order of its ids. */
function newestFirst(
  journals: readonly (readonly JournalRecord[])[],
  wanted: (record: JournalRecord) => boolean,
): JournalRecord[] {
  const sequences = journals.map((records, shard) => ({ shard, items: records.filter(wanted).reverse() }));
  return inMergedOrder(sequences, ({ receivedAt }) => receivedAt);
}

const isOf =
  (query: Query) =>
  (record: JournalRecord): boolean =>
    logOfKind.get(record.kind) === query.log &&
    (query.devices === null ? record.tenant === query.tenant : query.devices.includes(record.device));

async function check(
  events: EventLogReading,
  journals: readonly (readonly JournalRecord[])[],
  query: Query,
): Promise<void> {
  const { topic, page, limit } = query;
  const matches = (record: JournalRecord): boolean => isOn(record, topic ?? "");
  const found = await events.list(topic === undefined ? query : { ...query, matches });
  const all = newestFirst(journals, isOf(query)).filter(
    (record) => topic === undefined || isOn(record, topic),
  );
  assert.equal(
    { ids: idsOf(found.items), count: found.count, truncated: found.truncated },
    { ids: idsOf(all.slice((page - 1) * limit, page * limit)), count: all.length, truncated: false },
    JSON.stringify(query),
  );
}

const idsOf = (records: readonly JournalRecord[]): number[] => records.map(({ id }) => id);

async function taken(records: AsyncIterable<JournalRecord>): Promise<number[]> {
  const ids: number[] = [];
  for await (const { id } of records) ids.push(id);
  return ids;
}

/** What happens to one of the journals: its clock moves by milliseconds, and a record comes. */
interface Step {
  readonly journal: number;
  readonly move: number;
  readonly input: JournalInput;
}

const steps: fc.Arbitrary<Step> = fc
  .record({
    journal: fc.nat({ max: 2 }),
    move: fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 0, max: 30 }) },
      { weight: 1, arbitrary: fc.integer({ min: -300, max: 300 }) },
    ),
    kind: fc.constantFrom(1, 1, 1, 1, 2, 3, 4, recordKinds.batch),
    device: fc.integer({ min: 1, max: 6 }),
    topic: fc.constantFrom("a", "b"),
    payload: fc.uint8Array({ maxLength: 60 }),
  })
  .map(({ journal, move, ...fields }) => {
    const tenant = fields.device <= 3 ? 1 : 2;
    return { journal, move, input: journalInput({ ...fields, tenant } as Partial<JournalInput>) };
  });

const queries: fc.Arbitrary<Query> = fc
  .record({
    log: fc.constantFrom(logs.events, logs.events, logs.connects),
    tenant: fc.constantFrom(1, 2),
    devices: fc.oneof(fc.constant(null), fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { maxLength: 3 })),
    page: fc.integer({ min: 1, max: 12 }),
    limit: fc.integer({ min: 1, max: 9 }),
    topic: fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }),
  })
  .map(({ topic, ...rest }) => (topic === undefined ? rest : { ...rest, topic }));

const start = Date.UTC(2026, 0, 1);

/** Opens so many journals, each with a clock of its own; `segmentBytes` is small so that segments close. */
async function openLogs(dir: string, count: number, segmentBytes = 1200) {
  const clocks = Array.from({ length: count }, () => start);
  const opened: OpenedLog[] = [];
  for (let node = 0; node < count; node++) {
    await mkdir(join(dir, `${node}`), { recursive: true });
    opened.push(await openLog(join(dir, `${node}`), segmentBytes, () => clocks[node] ?? start, node));
  }
  const close = async (): Promise<void> => {
    for (const one of opened) await one.close();
  };
  const at = (i: number): OpenedLog => {
    const one = opened[i];
    if (one === undefined) throw new Error(`no journal ${i}`);
    return one;
  };
  return { opened, at, clocks, logs: opened.map(({ events }) => events), close };
}

const readEach = (opened: readonly OpenedLog[]): Promise<JournalRecord[][]> =>
  Promise.all(opened.map(({ journal }) => readAll(journal)));

suite("event logs of several journals read as one", (test) => {
  test("lists, histories and messages of a span are as the sorted turns of all records, live, closed and reopened", async () => {
    const bounds = { ...mergeBounds, nearRows: 4 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(steps, { minLength: 10, maxLength: 150 }),
        fc.array(queries, { minLength: 8, maxLength: 8 }),
        fc.boolean(),
        (all, asked, reopens) =>
          withTempDir(async (dir) => {
            let made = await openLogs(dir, 3);
            for (const [i, { journal, move, input }] of all.entries()) {
              made.clocks[journal] = (made.clocks[journal] ?? start) + move;
              made.at(journal).journal.append(input);
              // A segment closes at a commit.
              if (i % 5 === 4)
                await made.at(journal).journal.waitFor(made.at(journal).journal.appendedID - 1);
            }
            for (const { journal } of made.opened) {
              if (journal.appendedID % idsPerShard > 0) await journal.waitFor(journal.appendedID - 1);
            }
            if (reopens) {
              await made.close();
              made = await openLogs(dir, 3);
            }
            const journals = await readEach(made.opened);
            const events = mergeEventLogs(made.logs, bounds);
            for (const query of asked) await check(events, journals, query);

            const isOwn = ({ device }: JournalRecord) => device === 2;
            const ofLogs = (...wanted: number[]) =>
              idsOf(
                newestFirst(
                  journals,
                  (record) => isOwn(record) && wanted.includes(logOfKind.get(record.kind) ?? 0),
                ),
              );
            const history = ofLogs(logs.events, logs.connects);
            assert.equal(await taken(events.history(2, 1000)), history);
            assert.equal(await taken(events.history(2, 3)), history.slice(0, 3));
            assert.equal(await taken(events.batches(2, 1000)), ofLogs(logs.batches));
            const from = start * 1000 + 200_000;
            const to = start * 1000 + 900_000;
            const inSpan = ({ receivedAt }: JournalRecord) => receivedAt >= from && receivedAt < to;
            assert.equal(
              await taken(events.kept(2, from, to)),
              idsOf(
                newestFirst(
                  journals,
                  (record) => isOwn(record) && inSpan(record) && logOfKind.get(record.kind) === logs.events,
                ),
              ),
            );
            // Segments outside the span are not read, so only the records and their number are compared.
            const found = await events.list({
              ...{ log: logs.events, tenant: 1, devices: [2], page: 1, limit: 1000 },
              ...{ received: { start: from, stop: to }, matches: inSpan },
            });
            assert.equal(
              idsOf(found.items).sort((a, b) => a - b),
              (await taken(events.kept(2, from, to))).sort((a, b) => a - b),
            );
            await made.close();
          }),
      ),
      { numRuns: 25, endOnFailure: true },
    );
  });

  test("one log is returned as it is, none gives empty lists", async () => {
    const only = { shards: [4] } as unknown as EventLogReading;
    assert.is(mergeEventLogs([only]), only);
    const none = mergeEventLogs([]);
    const query = { log: logs.events, tenant: 1, devices: null, page: 1, limit: 10 };
    assert.equal(await none.list(query), { items: [], count: 0, truncated: false });
    assert.equal(await none.list({ ...query, matches: () => true }), {
      items: [],
      count: 0,
      truncated: false,
    });
    assert.is(await none.find(7, 1), null);
  });

  test("a message is looked for in the log of its shard alone", async () => {
    const asked: string[] = [];
    const logOf = (name: string, shards: number[]) =>
      ({
        shards,
        find: async (device: number, id: number) => {
          asked.push(`${name} for ${device}`);
          return journalRecord(id, 1);
        },
      }) as unknown as EventLogReading;
    const events = mergeEventLogs([logOf("own", [0, 3]), mergeEventLogs([logOf("a", [1]), logOf("b", [2])])]);
    const id = 2 * idsPerShard + 17;
    assert.is((await events.find(7, id))?.id, id);
    assert.is((await events.find(8, 3 * idsPerShard))?.id, 3 * idsPerShard);
    assert.is(await events.find(7, 9 * idsPerShard + 1), null);
    assert.equal(asked, ["b for 7", "own for 8"]);
    assert.equal(events.shards, [0, 3, 1, 2]);
  });

  test("real logs know their shard and find their messages", () =>
    withTempDir(async (dir) => {
      const { at, logs: all, close } = await openLogs(dir, 3);
      for (let i = 0; i < 30; i++) await keep(at(i % 3).journal, { payload: Buffer.from(`${i}`) });
      const events = mergeEventLogs(all);
      assert.equal(events.shards, [0, 1, 2]);
      const { items } = await events.list({
        log: logs.events,
        tenant: 1,
        devices: null,
        page: 1,
        limit: 100,
      });
      assert.equal(
        items
          .map(({ id }) => shardOfID(id))
          .sort()
          .join(""),
        "0".repeat(10) + "1".repeat(10) + "2".repeat(10),
      );
      for (const record of items) assert.equal(await events.find(7, record.id), record);
      await close();
    }));

  test("records that come while a page is read change nothing of it", () =>
    withTempDir(async (dir) => {
      const { at, logs: all, clocks, close } = await openLogs(dir, 2, 2 ** 20);
      for (let i = 0; i < 40; i++) {
        clocks.fill(start + i);
        await keep(at(i % 2).journal, { device: 7 + (i % 3) });
      }
      const journals = await readEach([at(0), at(1)]);
      for (const devices of [null, [7, 8, 9]]) {
        const query = { log: logs.events, tenant: 1, devices, page: 3, limit: 8 };
        const late: EventLogReading[] = all.map((log, i) => ({
          ...log,
          sequences: async (asked) => {
            const found = await log.sequences(asked);
            await keep(at(i).journal, { device: 8 });
            return found;
          },
        }));
        const { items } = await mergeEventLogs(late, { ...mergeBounds, nearRows: 0 }).list(query);
        const before = newestFirst(journals, (record) => logOfKind.get(record.kind) === logs.events);
        assert.equal(idsOf(items), idsOf(before.slice(16, 24)), JSON.stringify(devices));
        // The next round begins with the two that came.
        for (const [i, records] of (await readEach([at(0), at(1)])).entries()) journals[i] = records;
      }
      await close();
    }));

  test("a page ends before it grows too large, and says so", () =>
    withTempDir(async (dir) => {
      const { at, opened, logs: all, clocks, close } = await openLogs(dir, 2, 4 * 2 ** 20);
      for (let i = 0; i < 44; i++) {
        clocks.fill(start + i);
        await keep(at(i % 2).journal, { payload: Buffer.alloc(200_000 + i * 1000, i) });
      }
      const expected = newestFirst(await readEach(opened), () => true);
      for (const matches of [undefined, () => true]) {
        const plain = { log: logs.events, tenant: 1, devices: null, page: 1, limit: 100 };
        const found = await mergeEventLogs(all).list(matches === undefined ? plain : { ...plain, matches });
        const { length } = found.items;
        assert.equal(found.items, expected.slice(0, length));
        assert.equal([found.count, found.truncated], [44, true]);
        const bytes = expected.map(contentBytes);
        const sum = (end: number) => bytes.slice(0, end).reduce((total, one) => total + one, 0);
        assert.ok(sum(length) <= pageBytesMax && sum(length + 1) > pageBytesMax, `${length} records`);
      }
      await close();
    }));

  test("pages neither repeat nor lose a record where a segment has lost half of itself", () =>
    withTempDir(async (dir) => {
      const first = await openLogs(dir, 2, 1500);
      for (let i = 0; i < 80; i++) {
        first.clocks.fill(start + i);
        await keep(first.at(i % 2).journal, { payload: Buffer.alloc(80, i) });
      }
      const hurt = first.at(0).journal.segments[1];
      const closed = first.at(0).journal.segments.length - 1;
      await until(() => indexed(join(dir, "0"), closed), { what: "the index" });
      await first.close();
      await truncate(hurt?.path ?? "", Math.floor((hurt?.bytes ?? 0) / 2));
      const again = await openLogs(dir, 2, 1500);
      const kept = newestFirst(await readEach(again.opened), () => true);
      assert.ok(kept.length < 80 && kept.length > 60, `${kept.length} kept`);
      for (const near of [0, 1000]) {
        const events = mergeEventLogs(again.logs, { ...mergeBounds, nearRows: near });
        const ids: number[] = [];
        for (let page = 1; page <= 27; page++) {
          const asked = { log: logs.events, tenant: 1, devices: null, page, limit: 3 };
          const { items, count } = await events.list(asked);
          assert.is(count, 80);
          ids.push(...idsOf(items));
        }
        assert.equal(ids, idsOf(kept));
      }
      await again.close();
    }));

  test("pages neither repeat nor lose a record where retention has just unlinked a segment", () =>
    withTempDir(async (dir) => {
      const { at, opened, logs: all, clocks, close } = await openLogs(dir, 2, 1500);
      for (let i = 0; i < 80; i++) {
        clocks.fill(start + i);
        await keep(at(i % 2).journal, { payload: Buffer.alloc(80, i) });
      }
      const journals = await readEach(opened);
      const { segments } = at(0).journal;
      await until(() => indexed(join(dir, "0"), segments.length - 1), { what: "the index" });
      const [, gone, next] = segments;
      await rm(gone?.path ?? "");
      const isLeft = ({ id }: JournalRecord) => id < (gone?.firstID ?? 0) || id >= (next?.firstID ?? 0);
      const left = newestFirst(journals, isLeft);
      assert.ok(left.length < 80 && left.length > 60, `${left.length} left`);
      for (const near of [0, 1000]) {
        const events = mergeEventLogs(all, { ...mergeBounds, nearRows: near });
        const ids: number[] = [];
        for (let page = 1; page <= 27; page++) {
          const asked = { log: logs.events, tenant: 1, devices: null, page, limit: 3 };
          ids.push(...idsOf((await events.list(asked)).items));
        }
        assert.equal(ids, idsOf(left));
      }
      await close();
    }));

  test("deep pages are right in segments of many records, in memory and in the file, of one owner and of several", () =>
    withTempDir(async (dir) => {
      const { at, opened, logs: all, clocks, close } = await openLogs(dir, 3, 60_000);
      for (let i = 0; i < 3000; i++) {
        // The journals' clocks run at different speeds; a record in fifty is an entry received earlier.
        const journal = i % 3;
        clocks[journal] = start + i * (4 + journal);
        const device = 1 + (i % 5);
        const earlier = { kind: recordKinds.entry, receivedAt: (clocks[journal] - 60) * 1000 };
        at(journal).journal.append(journalInput(i % 50 === 49 ? { ...earlier, device } : { device }));
        if (i % 100 < 97) continue;
        const { appendedID, waitFor } = at(journal).journal;
        await waitFor(appendedID - 1);
      }
      for (const { journal } of opened) await journal.waitFor(journal.appendedID - 1);
      for (const [i, { journal }] of opened.entries()) {
        const closed = journal.segments.length - 1;
        assert.ok(closed >= 1 && closed < 10, `${closed} closed segments`);
        await until(() => indexed(join(dir, `${i}`), closed), { what: "the index" });
      }
      const journals = await readEach(opened);
      const events = mergeEventLogs(all, { scanRowsMax: 300, nearRows: 20 });
      for (const devices of [null, [2], [1, 4, 5]]) {
        const share = devices === null ? 5 : devices.length;
        for (const part of [0, 0.1, 0.3, 0.55, 0.8, 0.99]) {
          const page = 1 + Math.floor((part * share * 600) / 10);
          await check(events, journals, { log: logs.events, tenant: 1, devices, page, limit: 10 });
        }
      }
      await close();
    }));

  test("an index file of a version that kept no disorder still gives every page", () =>
    withTempDir(async (dir) => {
      const first = await openLogs(dir, 2, 1000);
      for (let i = 0; i < 60; i++) {
        first.clocks.fill(start + i);
        await keep(first.at(i % 2).journal);
      }
      const closed = first.at(0).journal.segments.length - 1;
      await until(() => indexed(join(dir, "0"), closed), { what: "the index" });
      await first.close();
      const file = createClient({ url: `file:${join(dir, "0", "events.db")}` });
      await file.execute("alter table segment drop column disorder");
      file.close();
      const again = await openLogs(dir, 2, 1000);
      const journals = await readEach(again.opened);
      const events = mergeEventLogs(again.logs, { ...mergeBounds, nearRows: 0 });
      for (const page of [1, 4, 9]) {
        await check(events, journals, { log: logs.events, tenant: 1, devices: null, page, limit: 7 });
      }
      await again.close();
    }));

  test("a list fails while the index of one log is made again, and comes back as it was", () =>
    withTempDir(async (dir) => {
      const { at, logs: all, close } = await openLogs(dir, 2, 1500);
      for (let i = 0; i < 40; i++) await keep(at(i % 2).journal, { payload: Buffer.alloc(100, i) });
      await until(() => indexed(join(dir, "1"), at(1).journal.segments.length - 1), { what: "the index" });
      const events = mergeEventLogs(all);
      const query = { log: logs.events, tenant: 1, devices: null, page: 1, limit: 100 };
      const before = idsOf((await events.list(query)).items);
      assert.is(before.length, 40);
      const file = createClient({ url: `file:${join(dir, "1", "events.db")}` });
      await file.execute("drop table posting");
      file.close();
      const refusals: unknown[] = [];
      for (const asking of [
        () => events.list(query),
        () => events.list({ ...query, matches: () => true }),
        () => taken(events.history(7, 10)),
        () => taken(events.kept(7, 0, Number.MAX_SAFE_INTEGER)),
      ]) {
        await asking().catch((error: unknown) => refusals.push(error));
      }
      assert.is(refusals.length, 4);
      assert.ok(refusals.every((error) => error instanceof StoreError && error.code === "UNAVAILABLE"));
      const list = (): Promise<number[] | null> =>
        events.list(query).then(
          ({ items }) => idsOf(items),
          () => null,
        );
      await until(async () => (await list()) !== null, { what: "the index" });
      assert.equal(await list(), before);
      await close();
    }));

  /** Logs whose iterators are counted while they lie open. */
  function counted(count: number, fails: number | null) {
    const state = { open: 0, begun: 0 };
    async function* records(shard: number): AsyncGenerator<JournalRecord> {
      state.open++;
      state.begun++;
      try {
        for (let i = 100; i > 0; i--) {
          if (shard === fails && i < 98) throw new StoreError("UNAVAILABLE", "made again");
          yield journalRecord(shard * idsPerShard + i, i);
        }
      } finally {
        state.open--;
      }
    }
    const all = Array.from({ length: count }, (_, shard) => {
      const ask = () => records(shard);
      return { shards: [shard], history: ask, batches: ask, kept: ask } as unknown as EventLogReading;
    });
    return { events: mergeEventLogs(all), state };
  }

  test("a reader that stops, or meets a failure, leaves nothing open in any log", async () => {
    const ways = (events: EventLogReading) => [
      events.history(7, 50),
      events.batches(7, 50),
      events.kept(7, 0, 1000),
    ];
    const whole = counted(3, null);
    for (const records of ways(whole.events)) {
      let seen = 0;
      for await (const { receivedAt } of records) {
        assert.is(receivedAt, 100 - Math.floor(seen / 3));
        if (++seen === 7) break;
      }
      assert.equal([seen, whole.state.open], [7, 0]);
    }
    assert.is(whole.state.begun, 9);
    assert.is((await taken(whole.events.history(7, 50))).length, 50);
    assert.is((await taken(whole.events.kept(7, 0, 1000))).length, 300);
    assert.is(whole.state.open, 0);

    const failing = counted(3, 1);
    for (const records of ways(failing.events)) {
      const failure = await taken(records).catch((error: unknown) => error);
      assert.instance(failure, StoreError);
      assert.is(failing.state.open, 0);
    }
  });
});
