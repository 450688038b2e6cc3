/** Bytes of files of points that are flipped: once the gaps are written again, every answer is whole. */
import { readdirSync, readFileSync } from "node:fs";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { createClient, type InStatement, type Row } from "@libsql/client";
import fc from "fast-check";
import type { Damage } from "../../../../store/files/damage.js";
import type { Gap } from "../../../../store/series/embedded/gaps.js";
import { openLibsqlSeriesStore } from "../../../../store/series/embedded/open.js";
import type { Point, SeriesRef, SeriesStore } from "../../../../store/series/series.js";
import { assert, suite, until, withTempDir } from "../../../suite.js";
import { flipByte } from "../../journal/support.js";

const second = 1e6;
const began = Date.UTC(2026, 5, 1) * 1000;
const pageBytes = 16_384;
const refs = Array.from(
  { length: 60 },
  (_, i): SeriesRef => ({
    tenant: 1,
    productID: "p",
    deviceID: `d${i}`,
    field: "f",
    kind: i % 5 === 4 ? "text" : "number",
  }),
);
type Model = Map<SeriesRef, Map<number, number | string>>;

const pointsOf = (model: Model, ref: SeriesRef) => [...(model.get(ref) ?? [])].sort((a, b) => a[0] - b[0]);

/** A store that writes what its gaps have lost again from the model, as the service does from the journal. */
async function open(dir: string, model: Model, scrubAfterMs = 0) {
  const damage: Damage[] = [];
  const opened: { store?: SeriesStore } = {};
  let ready: (store: SeriesStore) => void = () => undefined;
  const isReady = new Promise<SeriesStore>((resolve) => {
    ready = resolve;
  });
  const fill = async ({ start, stop, series }: Gap): Promise<void> => {
    const store = await isReady;
    const points: Point[] = [];
    for (const ref of refs) {
      if (series !== null && series.deviceID !== ref.deviceID) continue;
      const held = new Set((await store.read(ref, { start, stop })).times);
      for (const [time, value] of pointsOf(model, ref)) {
        if (time >= start && time < stop && !held.has(time)) {
          points.push({ series: ref, time, value, serverStamped: false });
        }
      }
    }
    await store.write(points, 0);
  };
  opened.store = await openLibsqlSeriesStore({
    dir,
    readers: 1,
    scrubAfterMs,
    onDamage: (found) => damage.push(found),
    onGap: fill,
  });
  ready(opened.store);
  return { store: opened.store, damage };
}

async function make(dir: string): Promise<Model> {
  const model: Model = new Map(refs.map((ref) => [ref, new Map()]));
  const { store } = await open(dir, model, 1e9);
  for (let flush = 0; flush < 4; flush++) {
    const points: Point[] = [];
    for (const series of refs) {
      for (let i = 0; i < (flush % 2 === 0 ? 4 : 40); i++) {
        const time = began + (flush * 100 + i) * second;
        const value = series.kind === "text" ? `${series.deviceID} ${time}` : flush * 100 + i;
        points.push({ series, time, value, serverStamped: false });
        model.get(series)?.set(time, value);
      }
    }
    await store.write(points, flush + 1);
    await store.flush();
  }
  await store.close();
  return model;
}

/** Points that a store does not answer as they were written. */
async function missing(store: SeriesStore, model: Model): Promise<number> {
  let count = 0;
  for (const ref of refs) {
    const { times, values } = await store.read(ref, {});
    const found = new Map(Array.from(times, (time, i) => [time, values[i]]));
    for (const [time, value] of found)
      assert.is(value, model.get(ref)?.get(time), "nothing that was not written");
    count += (model.get(ref)?.size ?? 0) - found.size;
  }
  return count;
}

/** Where bytes stand: of chunks, or of the index of chunks and of the inner pages that lead to both. */
function placesIn(file: Buffer): { chunks: number[]; index: number[] } {
  const places = { chunks: [] as number[], index: [] as number[] };
  for (let page = 1; page < file.length / pageBytes; page++) {
    // https://www.sqlite.org/fileformat2.html#b_tree_pages: 10 and 2 are an index's, 5 the inner ones of a table.
    const isIndex = [10, 2, 5].includes(file[page * pageBytes] ?? 0);
    for (let at = page * pageBytes; at < (page + 1) * pageBytes; at++) {
      if (file[at] !== 0) (isIndex ? places.index : places.chunks).push(at);
    }
  }
  return places;
}

const partIn = (dir: string): string => readdirSync(dir).find((one) => /^points-.*\.db$/.test(one)) ?? "";

/** Runs statements on a file of a store that is closed; returns the rows of the last. */
async function change(path: string, statements: readonly InStatement[]): Promise<Row[]> {
  const client = createClient({ url: `file:${path}`, concurrency: 1 });
  let rows: Row[] = [];
  for (const statement of statements) ({ rows } = await client.execute(statement));
  await client.execute("pragma wal_checkpoint(truncate)");
  client.close();
  return rows;
}

suite("points whose file is damaged", (test) => {
  test(
    "whatever bit is flipped in a chunk or in the index of chunks: nobody need ask for it, it is reported, and comes back",
    () =>
      withTempDir(async (dir) => {
        const made = join(dir, "made");
        const model = await make(made);
        const name = partIn(made);
        const places = placesIn(readFileSync(join(made, name)));
        assert.ok(places.index.length > 1000 && places.chunks.length > 10_000);
        const place = fc.record({
          kind: fc.constantFrom("chunks", "index", "index"),
          nth: fc.nat(),
          bit: fc.nat({ max: 7 }),
        });
        let run = 0;
        let told = 0;
        await fc.assert(
          fc.asyncProperty(place, async ({ kind, nth, bit }) => {
            const copy = join(dir, `copy-${run++}`);
            await cp(made, copy, { recursive: true });
            const some = places[kind as keyof typeof places];
            await flipByte(join(copy, name), some[nth % some.length] ?? 0, bit);
            const { store, damage } = await open(copy, model);
            await until(async () => (await missing(store, model)) === 0, {
              what: `all points after a flip in the ${kind}`,
            });
            await store.close();
            told += damage.length > 0 ? 1 : 0;
            const again = await open(copy, model, 1e9);
            assert.is(await missing(again.store, model), 0, "after a restart");
            await again.store.close();
            await rm(copy, { recursive: true });
          }),
          { numRuns: 25, endOnFailure: true, seed: 33 },
        );
        assert.ok(told > 5, `${told} reported`);
      }),
    { timeoutMs: 300_000 },
  );

  test("a chunk that nobody reads is found by a round over all of them, and not before it is due", () =>
    withTempDir(async (dir) => {
      const model = await make(dir);
      await change(join(dir, partIn(dir)), [
        "update chunk set data = cast(x'0102' || substr(data, 3) as blob) where id = (select max(id) from chunk)",
      ]);
      const idle = await open(dir, model, 1e9);
      await new Promise((resolve) => setTimeout(resolve, 300));
      await idle.store.close();
      assert.equal(idle.damage, []);
      const { store, damage } = await open(dir, model);
      await until(() => damage.length > 0, { what: "the report" });
      assert.match(damage[0]?.what ?? "", /series 1\/p\/d\d+\/f, .*its checksum differs; its \d+ points/);
      await until(async () => (await missing(store, model)) === 0, { what: "the points" });
      await store.close();
      const after = await open(dir, model);
      await new Promise((resolve) => setTimeout(resolve, 300));
      await after.store.close();
      assert.equal(after.damage, [], "reported once");
    }));

  test("an index that does not lead to a chunk, or leads to another series', is found, and costs nobody's points", async () => {
    for (const asSeries of ["series + 1", "series + 100000"]) {
      await withTempDir(async (dir) => {
        const model = await make(dir);
        const path = join(dir, partIn(dir));
        const [chunk] = await change(path, ["select min(id) id from chunk"]);
        const [index] = await change(path, ["select * from sqlite_schema where name = 'chunk_series'"]);
        const values = ["type", "name", "tbl_name", "rootpage", "sql"].map((name) => index?.[name] ?? null);
        // The row changes while its index is out of the schema.
        await change(path, [
          `update chunk set series = ${asSeries} where id = ${chunk?.id}`,
          "pragma writable_schema = on",
          "delete from sqlite_schema where name = 'chunk_series'",
        ]);
        await change(path, [
          `update chunk set series = ${asSeries.replace("+", "-")} where id = ${chunk?.id}`,
          "pragma writable_schema = on",
          { sql: "insert into sqlite_schema values (?, ?, ?, ?, ?)", args: values },
        ]);
        const idle = await open(dir, model, 1e9);
        const hidden = await missing(idle.store, model);
        await idle.store.close();
        const { store, damage } = await open(dir, model);
        await until(async () => (await missing(store, model)) === 0, {
          what: `all points, ${hidden} missing`,
        });
        assert.match(
          [...idle.damage, ...damage].map(({ what }) => what).join(),
          /index of (its )?chunks/,
          `${asSeries}: ${hidden} hidden`,
        );
        await store.close();
      });
    }
  });

  test("a page that seems to hold more rows than it does leads nobody in a circle: its file is given up, and the store ends", () =>
    withTempDir(async (dir) => {
      const model = await make(dir);
      const path = join(dir, partIn(dir));
      const bytes = readFileSync(path);
      // The number of rows of a leaf of the table: bytes 3 and 4 of its page.
      const pages = Array.from({ length: bytes.length / pageBytes - 1 }, (_, i) => i + 1);
      const leaf = pages.find((page) => bytes[page * pageBytes] === 13 && bytes[page * pageBytes + 4] === 9);
      await flipByte(path, (leaf ?? 0) * pageBytes + 4, 7);
      const { store, damage } = await open(dir, model);
      await until(async () => (await missing(store, model)) === 0, { what: "all points" });
      assert.ok(damage.length > 0);
      await store.close();
    }));
});
