import { cp, mkdir, readdir, rm, truncate } from "node:fs/promises";
import { basename, join } from "node:path";
import { createClient } from "@libsql/client";
import fc from "fast-check";
import { type EventQuery, eventScanRowsMax } from "../../../store/events/event-pages.js";
import { logs } from "../../../store/events/event-postings.js";
import type { EventLog } from "../../../store/events/events.js";
import { isMessage, type JournalInput, type JournalRecord } from "../../../store/journal/record.js";
import { recordKinds } from "../../../store/journal/record-kinds.js";
import type { Segment } from "../../../store/journal/segment.js";
import { assert, suite, until, withTempDir } from "../../suite.js";
import { flipByte, journalInput, keep, readAll, readMessages } from "../journal/support.js";
import { indexed, logOfKind, openLog } from "./support.js";

type Query = Omit<EventQuery, "matches"> & { readonly topic?: string };

const isOn = (record: JournalRecord, topic: string): boolean => isMessage(record) && record.topic === topic;

/** What a list should answer, from everything that the journal holds. */
function oracle(all: readonly JournalRecord[], query: Query): { ids: number[]; count: number } {
  const { log, tenant, devices, topic, page, limit } = query;
  const found = all
    .filter((record) => logOfKind.get(record.kind) === log)
    .filter((record) => (devices === null ? record.tenant === tenant : devices.includes(record.device)))
    .filter((record) => topic === undefined || isOn(record, topic))
    .map(({ id }) => id)
    .reverse();
  return { ids: found.slice((page - 1) * limit, page * limit), count: found.length };
}

const idsOf = (records: readonly JournalRecord[]): number[] => records.map(({ id }) => id);

async function check(events: EventLog, all: readonly JournalRecord[], query: Query): Promise<void> {
  const { topic, ...plain } = query;
  const matches = (record: JournalRecord): boolean => isOn(record, topic ?? "");
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
  test("a range of time is answered from the segments that may hold it", () =>
    withTempDir(async (dir) => {
      const hour = 3_600_000;
      let clock = Date.UTC(2026, 0, 1);
      const { journal, events, close } = await openLog(dir, 2 ** 20, () => clock);
      for (let i = 0; i < 480; i++, clock += hour / 10) await keep(journal, { topic: String(i) });
      const all = await readAll(journal);
      assert.ok(journal.segments.length > 20, `${journal.segments.length}`);
      const first = all[0]?.receivedAt ?? 0;
      for (const [from, to] of [
        [10, 12],
        [0, 1],
        [30.05, 30.3],
        [47, 100],
        [-5, 0],
        [-5, 500],
      ] as const) {
        const received = { start: first + from * hour * 1000, stop: first + to * hour * 1000 };
        let looked = 0;
        const matches = ({ receivedAt }: JournalRecord): boolean => {
          looked++;
          return receivedAt >= received.start && receivedAt < received.stop;
        };
        const query = { log: logs.events, tenant: 1, devices: null, page: 1, limit: 1000 };
        const page = await events.list({ ...query, received, matches });
        const expected = all.filter(matches).map(({ id }) => id);
        assert.equal(page.items.map(({ id }) => id).reverse(), expected, `${from} to ${to}`);
        assert.equal([page.count, page.truncated], [expected.length, false]);
        // A segment reaches over both ends.
        const hours = Math.max(0, Math.min(48, to) - Math.max(0, from));
        assert.ok(looked - all.length <= (hours + 3) * 10, `${looked - all.length} of ${all.length}`);
      }
      await close();
    }));

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
                  // A client that is collected later takes its -shm away by itself.
                  if (name.startsWith("events.db")) await rm(join(dir, name), { force: true });
                }
              }
              const { journal, events, close } = await openLog(dir, 1500);
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
        { numRuns: 15, endOnFailure: true },
      );
    },
    { timeoutMs: 300_000 },
  );

  test("forgets dropped segments, also those dropped while it was closed", async () => {
    await withTempDir(async (dir) => {
      const first = await openLog(dir, 500);
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
      const second = await openLog(dir, 500);
      await check(second.events, await readAll(second.journal), query);
      await second.close();
    });
  });

  test("history holds both logs of one device, newest first, bounded", async () => {
    await withTempDir(async (dir) => {
      const { journal, events, close } = await openLog(dir, 1000);
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
      const { journal, events, close } = await openLog(dir, 4 * 2 ** 20);
      const rows = eventScanRowsMax + 2500;
      let last = 0;
      for (let i = 0; i < rows; i++) {
        // The only match of the oldest 2,500 lies beyond the bound.
        last = journal.append(
          journalInput({ topic: i === 10 || i === rows - 10 ? "rare" : "data", payload: Buffer.alloc(0) }),
        );
      }
      await journal.waitFor(last - 1);
      const matches = (record: JournalRecord): boolean => isOn(record, "rare");
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
      const { journal, events, close } = await openLog(dir, 64 * 2 ** 20);
      const sizes = [0, 1, 4000, 4096, 262_144, 3, 100_000, 262_144, 262_144, 10];
      for (const [i, size] of sizes.entries()) await keep(journal, { payload: Buffer.alloc(size, i) });
      const { items } = await events.list({ log: logs.events, tenant: 1, devices: [7], page: 1, limit: 100 });
      assert.equal(
        items.filter(isMessage).map(({ payload }) => [payload.length, payload[0] ?? null]),
        sizes.map((size, i) => [size, size === 0 ? null : i]).reverse(),
      );
      await close();
    });
  });

  test("a segment that has lost half of itself shows the half that is left, and says what is missing", async () => {
    await withTempDir(async (dir) => {
      const first = await openLog(dir, 1500);
      for (let i = 0; i < 40; i++) await keep(first.journal, { payload: Buffer.alloc(100, i) });
      const { segments } = first.journal;
      const middle = segments[1];
      if (middle === undefined) throw new Error("no second segment");
      await until(() => indexed(dir, segments.length - 1), { what: "the index" });
      await first.close();
      await truncate(middle.path, Math.floor(middle.bytes / 2));
      const again = await openLog(dir, 1500);
      const query = { log: logs.events, tenant: 1, devices: null, page: 1, limit: 100 } as const;
      for (const matches of [undefined, () => true]) {
        const page = await again.events.list(matches === undefined ? query : { ...query, matches });
        const kept = (await readAll(again.journal)).map(({ id }) => id).reverse();
        assert.equal(
          page.items.map(({ id }) => id),
          kept,
        );
        assert.ok(kept.length < 40 && kept.length > 35 - 10);
      }
      // The damage is reported as one finding, by ids and bytes, whichever reader finds it and however often.
      const told = (): string[] => [...new Set(again.damages.map(({ file, what }) => `${file}: ${what}`))];
      await until(() => told().length > 0, { what: "the damage" });
      assert.is(told().length, 1);
      assert.match(told()[0] ?? "", /records \d+ to \d+ are lost/);
      await again.close();
    });
  });

  test("whatever is damaged in closed segments: pages of any size hold each record that is left once, newest first", async () => {
    const records = 240;
    await withTempDir(async (dir) => {
      const made = join(dir, "made");
      await mkdir(made);
      const first = await openLog(made, 4000);
      for (let i = 0; i < records; i++) {
        const device = 7 + (i % 3);
        await keep(first.journal, { device, payload: Buffer.alloc((i * 37) % 150, i) });
      }
      const { segments } = first.journal;
      assert.ok(segments.length > 5);
      await until(() => indexed(made, segments.length - 1), { what: "the index" });
      await first.close();
      const places = fc.array(fc.record({ segment: fc.nat(), at: fc.nat(), bit: fc.nat({ max: 7 }) }), {
        minLength: 1,
        maxLength: 6,
      });
      const lists = [null, [7], [8, 9]].flatMap((devices) =>
        [false, true].map((filtered) => ({ devices, filtered })),
      );
      let run = 0;
      let lossless = 0;
      await fc.assert(
        fc.asyncProperty(
          places,
          fc.integer({ min: 7, max: 120 }),
          fc.boolean(),
          async (flips, limit, remade) => {
            const copy = join(dir, `copy-${run++}`);
            await cp(made, copy, { recursive: true });
            // Its index then knows of no damaged record.
            if (remade)
              for (const end of ["", "-wal", "-shm"])
                await rm(join(copy, `events.db${end}`), { force: true });
            for (const { segment, at, bit } of flips) {
              const { path, bytes } = segments[segment % (segments.length - 1)] as Segment;
              await flipByte(join(copy, "journal", basename(path)), at % bytes, bit);
            }
            const { journal, events, damages, close } = await openLog(copy, 4000);
            const left = (await readMessages(journal)).reverse();
            for (const { devices, filtered } of lists) {
              const seen: number[] = [];
              for (let page = 1; page <= Math.ceil(records / limit); page++) {
                const matches = filtered ? { matches: () => true } : {};
                const query = { log: logs.events, tenant: 1, devices, page, limit };
                seen.push(...idsOf((await events.list({ ...query, ...matches })).items));
              }
              const wanted = left.filter(({ device }) => devices?.includes(device) ?? true);
              assert.equal(seen, idsOf(wanted), `${devices} by ${limit}`);
            }
            for (const { id, device } of left) assert.is((await events.find(device, id))?.id, id);
            if (left.length < records) await until(() => damages.length > 0, { what: "the report" });
            else lossless++;
            await close();
            await rm(copy, { recursive: true });
          },
        ),
        { numRuns: 15, endOnFailure: true },
      );
      assert.ok(lossless < 8, `${lossless} runs without a lost record`);
    });
  });

  test("a page that others are merged with holds as many records as it may, whatever is damaged before them", async () => {
    await withTempDir(async (dir) => {
      const first = await openLog(dir, 1500);
      for (let i = 0; i < 40; i++) await keep(first.journal, { payload: Buffer.alloc(100, i) });
      const { segments } = first.journal;
      await until(() => indexed(dir, segments.length - 1), { what: "the index" });
      await first.close();
      const { path, bytes } = segments.at(-2) as Segment;
      for (const at of [0.3, 0.6]) await flipByte(path, Math.floor(bytes * at), 3);
      const again = await openLog(dir, 1500);
      const left = idsOf(await readMessages(again.journal)).reverse();
      const query = { log: logs.events, tenant: 1, devices: null, page: 1, skipsDamaged: true } as const;
      for (let limit = 1; limit <= 40; limit++) {
        const { items } = await again.events.list({ ...query, limit });
        assert.equal(idsOf(items), left.slice(0, limit), `${limit}`);
      }
      await again.close();
    });
  });

  test("a segment that has lost its end is reported at the start, though nobody lists it", async () => {
    await withTempDir(async (dir) => {
      const first = await openLog(dir, 1500);
      for (let i = 0; i < 40; i++) await keep(first.journal, { payload: Buffer.alloc(100, i) });
      const { segments } = first.journal;
      await until(() => indexed(dir, segments.length - 1), { what: "the index" });
      await first.close();
      const path = segments[1]?.path ?? "";
      await truncate(path, Math.floor((segments[1]?.bytes ?? 0) / 2));
      const again = await openLog(dir, 1500);
      await until(() => again.damages.length > 0, { what: "the damage" });
      assert.equal(
        again.damages.map(({ file }) => file),
        [path],
      );
      await again.close();
    });
  });

  test("an index that names another tenant's records shows them to nobody, and says so", async () => {
    await withTempDir(async (dir) => {
      const first = await openLog(dir, 1500);
      for (let i = 0; i < 40; i++) {
        await keep(first.journal, {
          tenant: 1 + (i % 2),
          device: 1 + (i % 2),
          payload: Buffer.alloc(100, i),
        });
      }
      const closed = first.journal.segments.length - 1;
      await until(() => indexed(dir, closed), { what: "the index" });
      await first.close();
      const file = createClient({ url: `file:${join(dir, "events.db")}` });
      await file.execute(`update posting set offsets = (select offsets from posting other
        where other.scope = posting.scope and other.segment = posting.segment and other.owner = 2) where owner = 1`);
      file.close();
      const again = await openLog(dir, 1500);
      for (const devices of [null, [1]]) {
        const page = await again.events.list({ log: logs.events, tenant: 1, devices, page: 1, limit: 100 });
        assert.ok(page.items.every(({ tenant, device }) => tenant === 1 && device === 1));
      }
      assert.ok(again.damages.some(({ part, what }) => part === "events" && /records of others/.test(what)));
      await again.close();
    });
  });

  test("an index that turns out damaged while it is used is made again from the segments, and lists come back", async () => {
    await withTempDir(async (dir) => {
      const { journal, events, damages, close } = await openLog(dir, 1500);
      for (let i = 0; i < 40; i++) await keep(journal, { payload: Buffer.alloc(100, i) });
      await until(() => indexed(dir, journal.segments.length - 1), { what: "the index" });
      const query = { log: logs.events, tenant: 1, devices: null, page: 1, limit: 100 } as const;
      const before = (await events.list(query)).items.map(({ id }) => id);
      const file = createClient({ url: `file:${join(dir, "events.db")}` });
      await file.execute("drop table posting");
      file.close();
      const refusal = await events.list(query).then(
        () => null,
        (error: unknown) => error,
      );
      assert.match(String(refusal), /their index is being made again/);
      const list = (): Promise<number[] | null> =>
        events.list(query).then(
          ({ items }) => items.map(({ id }) => id),
          () => null,
        );
      await until(async () => (await list()) !== null, { what: "the index" });
      assert.equal(await list(), before);
      assert.is(damages.filter(({ part, what }) => part === "events" && /put aside as/.test(what)).length, 1);
      await events.remake("a check found it");
      assert.equal(await list(), before);
      await close();
    });
  });

  test("kept messages are found by their time of receipt, however the clock was set meanwhile", async () => {
    const hour = 3_600_000;
    const start = Date.UTC(2026, 3, 1);
    const moves = fc.array(fc.integer({ min: -7 * hour, max: 7 * hour }), { minLength: 4, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(
        moves,
        fc.nat({ max: 40 }),
        fc.nat({ max: 20 }),
        fc.boolean(),
        (all, from, hours, reopens) =>
          withTempDir(async (dir) => {
            let now = start;
            const opened = await openLog(dir, 700, () => now);
            for (const move of all) {
              await keep(opened.journal);
              now = Math.max(start - 20 * hour, now + move);
            }
            let { events, close } = opened;
            const records = await readAll(opened.journal);
            if (reopens) {
              await close();
              ({ events, close } = await openLog(dir, 700, () => now));
            }
            const begin = (start + (from - 20) * hour) * 1000;
            const end = begin + hours * hour * 1000;
            const found: number[] = [];
            for await (const { id } of events.kept(7, begin, end)) found.push(id);
            assert.equal(
              found,
              records
                .filter(({ receivedAt }) => receivedAt >= begin && receivedAt < end)
                .map(({ id }) => id)
                .reverse(),
            );
            await close();
          }),
      ),
      { numRuns: 25, endOnFailure: true },
    );
  });
});
