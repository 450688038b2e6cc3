/** Files of the embedded series store that are flipped, cut, zeroed, swapped and deleted: said, and the rest answered. */
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  writeSync,
} from "node:fs";
import { cp, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@libsql/client";
import fc from "fast-check";
import type { Damage } from "../../../../store/files/damage.js";
import { earliestTime, latestTime } from "../../../../store/lib/time-range.js";
import type { Gap } from "../../../../store/series/embedded/gaps.js";
import { openLibsqlSeriesStore } from "../../../../store/series/embedded/open.js";
import type { Latest, Point, SeriesRef, SeriesStore } from "../../../../store/series/series.js";
import { assert, suite, until, withTempDir } from "../../../suite.js";

const hour = 3_600e6;
const january = Date.UTC(2024, 0, 1) * 1000;
const february = Date.UTC(2024, 1, 1) * 1000;
const pointsPerMonth = 400;

const refOf = (field: string, kind: SeriesRef["kind"]): SeriesRef => ({
  tenant: 1,
  productID: "p",
  deviceID: "d",
  field,
  kind,
});
const refs = [refOf("a", "number"), refOf("b", "number"), refOf("t", "text")] as const;
const valueAt = (ref: SeriesRef, i: number): number | string =>
  ref.kind === "text" ? `text ${ref.field} ${i}` : i + ref.field.charCodeAt(0) / 1000;

interface Opened {
  readonly store: SeriesStore;
  readonly damage: Damage[];
  readonly gaps: Gap[];
}

async function open(dir: string, fills = true, partBytesMin = 0): Promise<Opened> {
  const damage: Damage[] = [];
  const gaps: Gap[] = [];
  const store = await openLibsqlSeriesStore({
    dir,
    readers: 1,
    partBytesMin,
    onDamage: (found) => damage.push(found),
    onGap: (gap) => {
      gaps.push(gap);
      return fills ? Promise.resolve() : new Promise(() => undefined);
    },
  });
  return { store, damage, gaps };
}

/** Each series with its points of two months, a flush each. */
async function fill(dir: string): Promise<Map<SeriesRef, Map<number, number | string>>> {
  const { store } = await open(dir);
  const model = new Map(refs.map((ref) => [ref, new Map<number, number | string>()]));
  for (const [n, month] of [january, february].entries()) {
    const points: Point[] = [];
    for (const series of refs) {
      for (let i = 0; i < pointsPerMonth; i++) {
        const point = {
          series,
          time: month + i * hour,
          value: valueAt(series, i + n * 1000),
          serverStamped: false,
        };
        points.push(point);
        model.get(series)?.set(point.time, point.value);
      }
    }
    await store.write(points, n + 1);
    await store.flush();
  }
  await store.close();
  await emptyLogs(dir);
  return model;
}

/** Nothing is left in the logs beside the files, from which it would come back. */
async function emptyLogs(dir: string): Promise<void> {
  for (const name of readdirSync(dir).filter((one) => one.endsWith(".db"))) {
    await change(join(dir, name), "pragma wal_checkpoint(truncate)");
  }
}

async function readAll(store: SeriesStore, ref: SeriesRef): Promise<Map<number, number | string>> {
  const { times, values } = await store.read(ref, {});
  return new Map(Array.from(times, (time, i) => [time, values[i] as number | string]));
}

const january1 = "points-2024-01.db";
const february1 = "points-2024-02.db";

async function countOf(path: string, sql: string): Promise<number> {
  const client = createClient({ url: `file:${path}`, concurrency: 1 });
  try {
    await client.execute("pragma busy_timeout = 5000");
    return Number((await client.execute(sql)).rows[0]?.[0]);
  } finally {
    client.close();
  }
}

const unknown = "select count(*) from part where held is null";

async function partPaths(dir: string): Promise<string[]> {
  const client = createClient({ url: `file:${join(dir, "catalog.db")}`, concurrency: 1 });
  try {
    const { rows } = await client.execute("select path from part order by path");
    return rows.map((row) => String(row[0]));
  } finally {
    client.close();
  }
}

/** Runs statements on a file of a store that is closed. */
async function change(path: string, ...statements: string[]): Promise<void> {
  const client = createClient({ url: `file:${path}`, concurrency: 1 });
  for (const sql of ["pragma busy_timeout = 5000", ...statements]) await client.execute(sql);
  client.close();
}

function overwrite(path: string, at: number, bytes: (old: Buffer) => Buffer, length: number): void {
  const file = openSync(path, "r+");
  const old = Buffer.alloc(length);
  const { size } = fstatSync(file);
  const from = Math.min(at, Math.max(0, size - length));
  readSync(file, old, 0, length, from);
  writeSync(file, bytes(old), 0, length, from);
  closeSync(file);
}

suite("damaged series", (test) => {
  test("a bit in a chunk costs that chunk, which is named; the newest value is not what was not written", () =>
    withTempDir(async (dir) => {
      const model = await fill(dir);
      // The last byte of the data is the last value's: what `latest` would answer.
      const at = "(select id from chunk where series = (select min(series) from chunk))";
      await change(
        join(dir, "points-2024-02.db"),
        `update chunk set data = cast(substr(data, 1, length(data) - 1) || x'11' as blob) where id = ${at}`,
        `update chunk set tail = cast(x'00' || substr(tail, 2) as blob) where id = ${at}`,
      );
      const { store, damage, gaps } = await open(dir);
      const [first, second] = refs;
      const januaryOnly = new Map([...(model.get(first) ?? [])].filter(([time]) => time < february));
      const [last] = await store.latest([first]);
      assert.is(pointIn(last)?.value, valueAt(first, pointsPerMonth - 1));
      assert.equal(await readAll(store, first), januaryOnly);
      assert.equal(await readAll(store, second), model.get(second));
      await until(() => damage.length > 0 && gaps.length > 0, { what: "the report" });
      const [found] = damage;
      assert.is(found?.part, "series");
      assert.match(found?.file ?? "", "points-2024-02.db");
      assert.match(found?.what ?? "", /series 1\/p\/d\/a, 2024-02-01T00:00:00.000Z to .*checksum differs/);
      assert.ok((found?.lostBytes ?? 0) >= pointsPerMonth * 16);
      const { start, stop, series } = gaps[0] as Gap;
      assert.equal([start, stop], [february, february + (pointsPerMonth - 1) * hour + 1]);
      assert.is(series?.field, "a");
      await store.close();
      // The file is quarantined, so the next run does not meet it again.
      const again = await open(dir);
      assert.equal(await readAll(again.store, first), januaryOnly);
      await again.store.close();
      assert.equal([again.damage, again.gaps], [[], []]);
    }));

  test("a row that holds another's data is found out", () =>
    withTempDir(async (dir) => {
      const model = await fill(dir);
      const path = join(dir, january1);
      const swap = (one: number, other: number) =>
        `update chunk set data = (select data from chunk c where c.id = ${other}) where id = ${one}`;
      await change(path, swap(1, 2));
      const { store, damage } = await open(dir);
      const found = await readAll(store, refs[0]);
      assert.equal(found, new Map([...(model.get(refs[0]) ?? [])].filter(([time]) => time >= february)));
      await until(() => damage.length > 0, { what: "the report" });
      await store.close();
    }));

  test("chunks of before there were checksums are read as they are, and gain them when they are written again", () =>
    withTempDir(async (dir) => {
      const model = await fill(dir);
      for (const month of [january1, "points-2024-02.db"]) {
        await change(
          join(dir, month),
          "drop index chunk_series",
          "alter table chunk rename to new",
          `create table chunk(id integer primary key autoincrement, series integer not null, start integer not null,
            stop integer not null, n integer not null, data blob not null) strict`,
          "insert into chunk select id, series, start, stop, n, data from new",
          "drop table new",
          "create index chunk_series on chunk(series, stop, start)",
          "pragma user_version = 1",
        );
      }
      await change(join(dir, "catalog.db"), "update part set format = 1");
      const { store, damage } = await open(dir);
      for (const ref of refs) assert.equal(await readAll(store, ref), model.get(ref));
      const last = await store.latest([...refs]);
      assert.equal(
        last.map((one) => pointIn(one)?.value),
        refs.map((ref) => valueAt(ref, 1000 + pointsPerMonth - 1)),
      );
      await store.write([{ series: refs[0], time: january + 1, value: 7, serverStamped: false }], 3);
      await store.close();
      assert.equal(damage, []);
      const client = createClient({ url: `file:${join(dir, january1)}`, concurrency: 1 });
      const { rows } = await client.execute(
        "select series, sum is null or tail is null from chunk order by series",
      );
      client.close();
      assert.equal(
        rows.map((row) => row[1]),
        [0, 1, 1],
        "filled up by the flush",
      );
    }));

  test("a month file that is deleted, cut, zeroed or no database is reported; the other answers, and writes go on", async () => {
    const harms: Record<string, (path: string) => Promise<void>> = {
      deleted: (path) => rm(path),
      "cut in half": (path) => truncate(path, 20_000),
      empty: (path) => truncate(path, 0),
      "no database": (path) => writeFile(path, "x".repeat(5000)),
    };
    for (const [harm, damageFile] of Object.entries(harms)) {
      await withTempDir(async (dir) => {
        const model = await fill(dir);
        await damageFile(join(dir, january1));
        const { store, damage, gaps } = await open(dir);
        const left = new Map<SeriesRef, Map<number, number | string>>();
        for (const ref of refs) {
          const found = await readAll(store, ref);
          left.set(ref, found);
          for (const [time, value] of found) assert.is(value, model.get(ref)?.get(time), harm);
          for (const [time] of model.get(ref) ?? []) if (time >= february) assert.ok(found.has(time), harm);
        }
        await until(() => damage.length > 0 && gaps.length > 0, { what: `a report of ${harm}` });
        assert.match(damage[0]?.file ?? "", january1);
        assert.is(gaps.at(-1)?.start, january);
        const again = { series: refs[0], time: january + 5, value: 42, serverStamped: false };
        await store.write([again], 3);
        await store.flush();
        assert.is((await readAll(store, refs[0])).get(january + 5), 42, harm);
        await store.close();
        const next = await open(dir);
        assert.is((await readAll(next.store, refs[0])).get(january + 5), 42, harm);
        assert.equal(next.damage, [], `${harm}: reported once`);
        await next.store.close();
        if (harm !== "deleted")
          assert.ok(readdirSync(dir).some((name) => name.startsWith(`${january1}.damaged-`)));
      });
    }
  });

  test("a month file that is deleted or replaced while the store has it open keeps what can still be read", async () => {
    for (const harm of ["deleted", "replaced"]) {
      await withTempDir(async (dir) => {
        const { store, damage } = await open(dir);
        const points = Array.from({ length: 50 }, (_, i) => ({
          series: refs[0],
          time: january + i,
          value: i,
          serverStamped: false,
        }));
        await store.write(points, 1);
        await store.flush();
        await rm(join(dir, january1));
        if (harm === "replaced") await writeFile(join(dir, january1), "something else");
        await store.write([{ ...points[0], time: january + 100, value: 100 } as Point], 2);
        await store.flush();
        assert.is((await readAll(store, refs[0])).size, 51);
        assert.is(damage.length, 1);
        await store.close();
        const next = await open(dir);
        assert.is((await readAll(next.store, refs[0])).size, 51, "what was in the unlinked file");
        await next.store.close();
      });
    }
  });

  test("a catalog that is damaged or gone is made again: names, removals, months and the checkpoint", async () => {
    const harms: ((path: string) => Promise<void>)[] = [
      (path) => rm(path),
      (path) => truncate(path, 0),
      (path) => writeFile(path, "no database"),
      async (path) => overwrite(path, 4096, (old) => Buffer.alloc(old.length), 8192),
      async (path) => writeFile(`${path}.suspect`, ""),
    ];
    for (const harm of harms) {
      await withTempDir(async (dir) => {
        const model = await fill(dir);
        const first = await open(dir);
        const gone = { ...refs[0], deviceID: "gone" };
        await first.store.write([{ series: gone, time: january, value: 1, serverStamped: false }], 3);
        await first.store.flush();
        await first.store.removeDevices([gone]);
        await first.store.close();
        await emptyLogs(dir);
        await harm(join(dir, "catalog.db"));
        const { store, damage } = await open(dir);
        for (const ref of refs) assert.equal(await readAll(store, ref), model.get(ref));
        assert.equal((await store.read(gone, {})).times.length, 0, "a removed device stays removed");
        assert.is(await store.checkpoint(), 3);
        assert.is(damage.length, 1);
        assert.match(
          damage[0]?.what ?? "",
          /made again from names.log and the files of points: 4 series in 2 files$/,
        );
        // A new series gets an id of its own.
        const fresh = { ...refs[0], deviceID: "new" };
        await store.write([{ series: fresh, time: january, value: 9, serverStamped: false }], 4);
        await store.flush();
        assert.equal([...(await readAll(store, fresh)).values()], [9]);
        assert.equal(await readAll(store, refs[0]), model.get(refs[0]));
        await store.close();
        const next = await open(dir);
        assert.equal(await readAll(next.store, refs[0]), model.get(refs[0]));
        assert.equal(next.damage, []);
        await next.store.close();
      });
    }
  });

  test("a lost catalog beside a file that cannot be read: all that may have been in it is reported, not the month of its name", async () => {
    const may = Date.UTC(2024, 4, 1) * 1000;
    const harms: Record<string, (path: string) => Promise<void>> = {
      "at its head": (path) => writeFile(path, "x".repeat(5000)),
      // Pages have 16 KiB each: the second is the table's, the last ones the index's.
      "after its head": async (path) => overwrite(path, 16_384, (old) => Buffer.alloc(old.length), 1 << 20),
    };
    for (const [harm, damageFile] of Object.entries(harms)) {
      await withTempDir(async (dir) => {
        const model = await fill(dir);
        // Sparse: March to May lie in February's file.
        const sparse = await open(dir, true, 16 << 20);
        const later = [2, 3, 4].map((n) => ({
          series: refs[0],
          time: Date.UTC(2024, n, 5) * 1000,
          value: n,
          serverStamped: false,
        }));
        await sparse.store.write(later, 3);
        await sparse.store.close();
        await emptyLogs(dir);
        assert.equal(
          readdirSync(dir).filter((name) => /^points-.*\.db$/.test(name)),
          [january1, february1],
        );
        await damageFile(join(dir, february1));
        await rm(join(dir, "catalog.db"));
        const { store, damage, gaps } = await open(dir, false);
        const found = await readAll(store, refs[1]);
        const inJanuary = [...(model.get(refs[1]) ?? [])].filter(([time]) => time < february);
        assert.equal([...found], inJanuary, harm);
        await until(() => gaps.length > 0, { what: `a gap of a file damaged ${harm}` });
        assert.ok(gaps.every(({ series }) => series === null));
        assert.ok(
          gaps.some(({ start, stop }) => start <= february && stop > may),
          `${harm}: ${JSON.stringify(gaps)}`,
        );
        assert.ok(damage.some(({ file, lostBytes }) => file.endsWith(february1) && lostBytes > 0));
        await store.close();
        assert.ok(
          readdirSync(dir).some((name) => name.startsWith(`${february1}.damaged-`)),
          harm,
        );
      });
    }
  });

  test("a lost catalog beside a file that cannot be read and has no span left: quarantined, named, and a gap of any time", () =>
    withTempDir(async (dir) => {
      const model = await fill(dir);
      const stray = "points-2024-01.7.db";
      await writeFile(join(dir, stray), "x".repeat(5000));
      await rm(join(dir, "catalog.db"));
      const { store, damage, gaps } = await open(dir, false);
      for (const ref of refs) assert.equal(await readAll(store, ref), model.get(ref));
      const [named] = damage.filter(({ file }) => file.endsWith(stray));
      assert.match(named?.what ?? "", /cannot be read.*put aside as/);
      assert.is(named?.lostBytes, 5000);
      assert.equal(
        gaps.map(({ start, stop, series }) => [start, stop, series]),
        [[earliestTime, latestTime + 1, null]],
      );
      await store.close();
      assert.ok(readdirSync(dir).some((name) => name.startsWith(`${stray}.damaged-`)));
    }));

  test("a file that lies where a new one would go is neither written into nor listed", () =>
    withTempDir(async (dir) => {
      const made = join(dir, "made");
      await fill(made);
      const store = join(dir, "store");
      await cp(join(made, january1), join(store, january1));
      await writeFile(join(store, "points-2024-01.2.db"), "no database");
      // What a killed cut leaves is taken.
      await cp(join(made, february1), join(store, "points-2024-01.3.db"));
      await change(join(store, "points-2024-01.3.db"), "delete from chunk", "vacuum");
      await writeFile(join(store, "points-2024-01.4.db"), "another");
      await cp(join(made, february1), join(store, february1));
      // A catalog without them: they were copied in since.
      const empty = join(dir, "empty");
      await (await open(empty)).store.close();
      await cp(join(empty, "catalog.db"), join(store, "catalog.db"));
      const before = [january1, february1].map((name) => readFileSync(join(store, name)));
      const { store: opened, damage } = await open(store);
      const pairs = [january, february].map((time) => [time + 7, 7] as const);
      for (const [time, value] of pairs) {
        await opened.write([{ series: refs[0], time, value, serverStamped: false }], 1);
        await opened.flush();
      }
      assert.equal([...(await readAll(opened, refs[0]))], pairs, "their points alone");
      await opened.close();
      assert.equal(damage, []);
      assert.equal(
        [january1, february1].map((name) => readFileSync(join(store, name))),
        before,
      );
      const paths = await partPaths(store);
      assert.equal(paths, ["points-2024-01.3.db", "points-2024-02.2.db"]);
    }));

  test("a damaged file never moves to the name of another part, were that one's file missing", () =>
    withTempDir(async (dir) => {
      const model = await fill(dir);
      // February's part lies under the name of January's next generation.
      const second = "points-2024-01.2.db";
      await cp(join(dir, february1), join(dir, second));
      await change(join(dir, "catalog.db"), `update part set path = '${second}' where path = '${february1}'`);
      await rm(join(dir, february1));
      await rm(join(dir, second));
      await rm(join(dir, january1));
      const { store, damage } = await open(dir);
      assert.is((await readAll(store, refs[0])).size, 0);
      assert.is(damage.length, 2);
      await store.write([{ series: refs[0], time: february, value: 1, serverStamped: false }], 3);
      await store.close();
      const paths = await partPaths(dir);
      assert.is(new Set(paths).size, 2, `${paths}`);
      assert.is((model.get(refs[0])?.size ?? 0) > 0, true);
    }));

  test("quarantined data of a removed series goes as well, and no later series gets its id", () =>
    withTempDir(async (dir) => {
      await fill(dir);
      const highest = "(select max(series) from chunk)";
      for (const name of [january1, february1]) {
        await change(join(dir, name), `update chunk set series = -series where series = ${highest}`);
      }
      const aside = () => countOf(join(dir, january1), "select count(*) from chunk where series < 0");
      assert.ok((await aside()) > 0);
      await rm(join(dir, "catalog.db"));
      await rm(join(dir, "names.log"));
      const lost = await open(dir);
      const fresh = { ...refs[0], deviceID: "fresh" };
      await lost.store.write([{ series: fresh, time: january + 1, value: 1, serverStamped: false }], 1);
      await lost.store.close();
      const ids = await countOf(
        join(dir, january1),
        "select count(*) from chunk where series > 0 and -series in (select series from chunk)",
      );
      assert.is(ids, 0);
    }));

  test("the space of quarantined data of a removed device is given back, after a lost catalog too", () =>
    withTempDir(async (dir) => {
      await fill(dir);
      const gone = { ...refs[0], deviceID: "gone" };
      const before = await open(dir);
      await before.store.write([{ series: gone, time: january, value: 1, serverStamped: false }], 3);
      await before.store.close();
      await emptyLogs(dir);
      const highest = "(select max(series) from chunk)";
      await change(join(dir, january1), `update chunk set series = -series where series = ${highest}`);
      await rm(join(dir, "catalog.db"));
      const { store } = await open(dir);
      const aside = () => countOf(join(dir, january1), "select count(*) from chunk where series < 0");
      assert.is(await aside(), 1);
      // What the parts hold is known by a look: removals then go by that.
      await until(async () => (await countOf(join(dir, "catalog.db"), unknown)) === 0, { what: "the look" });
      await store.removeDevices([gone]);
      await until(async () => (await aside()) === 0, { what: "the sweep" });
      await store.close();
    }));

  test("without names.log too the store opens: a series that has lost its name is reported, and no new series answers for it", () =>
    withTempDir(async (dir) => {
      await fill(dir);
      await rm(join(dir, "catalog.db"));
      await rm(join(dir, "names.log"));
      const { store, damage, gaps } = await open(dir);
      assert.match(damage[0]?.what ?? "", /3 series have lost their names/);
      assert.is(gaps.length, 1);
      assert.is(await store.checkpoint(), 0);
      await store.write([{ series: refs[0], time: january + 1, value: 1, serverStamped: false }], 1);
      await store.flush();
      assert.equal([...(await readAll(store, refs[0]))], [[january + 1, 1]]);
      await store.close();
    }));

  test("a catalog whose index disagrees with its table, which no quick check finds, is made again at once", () =>
    withTempDir(async (dir) => {
      const model = await fill(dir);
      const path = join(dir, "catalog.db");
      const at = readFileSync(path).indexOf("points-2024-02.db") + "points-2024-".length;
      overwrite(path, at, () => Buffer.from("2"), 1);
      const { store, damage } = await open(dir);
      assert.match(
        damage[0]?.what ?? "",
        /made again from names\.log and the files of points: 3 series in 2 files/,
      );
      for (const ref of refs) assert.equal(await readAll(store, ref), model.get(ref));
      await store.close();
    }));

  test("a damaged line of names.log costs that name; a log that is gone is written again", () =>
    withTempDir(async (dir) => {
      const model = await fill(dir);
      const log = join(dir, "names.log");
      overwrite(log, 30, (old) => Buffer.from(old.map((byte) => byte ^ 1)), 1);
      await rm(join(dir, "catalog.db"));
      const { store, damage } = await open(dir);
      assert.match(damage[0]?.what ?? "", /2 series in 2 files, 1 series have lost their names/);
      assert.equal(await readAll(store, refs[1]), model.get(refs[1]));
      await store.close();
      await rm(log);
      const next = await open(dir);
      await next.store.close();
      assert.ok(existsSync(log));
      await rm(join(dir, "catalog.db"));
      const last = await open(dir);
      assert.equal(await readAll(last.store, refs[1]), model.get(refs[1]));
      await last.store.close();
    }));

  test("a gap is remembered until it has been filled", () =>
    withTempDir(async (dir) => {
      await fill(dir);
      await rm(join(dir, january1));
      const first = await open(dir, false);
      await first.store.close();
      const second = await open(dir);
      assert.equal(
        [first.gaps, second.gaps].map((gaps) => gaps.map(({ start, series }) => [start, series])),
        [[[january, null]], [[january, null]]],
      );
      assert.equal(second.damage, []);
      await second.store.flush();
      await until(async () => (await second.store.checkpoint()) >= 0, { what: "an answer" });
      await second.store.close();
      const third = await open(dir);
      await third.store.close();
      assert.equal(third.gaps, []);
    }));

  test(
    "whatever byte is flipped or page zeroed: no answer holds a value that was not written, and the damage is reported",
    () =>
      withTempDir(async (dir) => {
        const model = await fill(join(dir, "made"));
        const files = [january1, "points-2024-02.db", "catalog.db", "names.log"];
        let told = 0;
        let lost = 0;
        const place = fc.record({
          file: fc.constantFrom(...files),
          at: fc.integer({ min: 0, max: 60_000 }),
          how: fc.constantFrom("bit", "page", "cut"),
          bit: fc.integer({ min: 0, max: 7 }),
        });
        let run = 0;
        await fc.assert(
          fc.asyncProperty(place, async ({ file, at, how, bit }) => {
            const copy = join(dir, `copy-${run++}`);
            const filter = (from: string) => !/-(wal|shm)$/.test(from);
            await cp(join(dir, "made"), copy, { recursive: true, filter });
            const path = join(copy, file);
            if (how === "cut") await truncate(path, at);
            else if (how === "page") overwrite(path, at, (old) => Buffer.alloc(old.length), 4096);
            else overwrite(path, at, (old) => Buffer.from([(old[0] ?? 0) ^ (1 << bit)]), 1);
            const { store, damage } = await open(copy).catch((error: unknown) => {
              // A flipped format is of a version that nobody has written.
              assert.match(String(error), /has format/);
              return { store: null, damage: [] };
            });
            if (store === null) return;
            let missing = 0;
            for (const ref of refs) {
              const [newest = null] = await store.latest([ref]).catch(formatOnly);
              const last = pointIn(newest);
              const found = await readAll(store, ref).catch(async (error) => {
                formatOnly(error);
                return null;
              });
              if (found === null) continue;
              for (const [time, value] of found) assert.is(value, model.get(ref)?.get(time));
              missing += (model.get(ref)?.size ?? 0) - found.size;
              if (last) assert.is(last.value, model.get(ref)?.get(last.time));
            }
            if (missing > 0) {
              lost++;
              await until(() => damage.length > 0, {
                what: `a report of ${missing} points that are missing`,
              });
            }
            told += damage.length > 0 ? 1 : 0;
            await store.close();
            await rm(copy, { recursive: true });
          }),
          { numRuns: 40, endOnFailure: true },
        );
        assert.ok(told > 5 && lost > 3, `${told} reported, ${lost} with losses`);
      }),
    { timeoutMs: 300_000 },
  );
});

/** This engine always knows the time of the newest point. */
function pointIn(latest: Latest | undefined): { time: number; value: number | string } | null {
  assert.ok(!latest || "time" in latest);
  return latest ?? null;
}

function formatOnly(error: unknown): [null] {
  assert.match(String(error), /has format/);
  return [null];
}
