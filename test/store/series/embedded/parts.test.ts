import { join } from "node:path";
import fc from "fast-check";
import { StoreError } from "../../../../store/lib/errors.js";
import { createAggregation } from "../../../../store/series/aggregation.js";
import type { SeriesCatalog } from "../../../../store/series/embedded/catalog.js";
import { partFormat } from "../../../../store/series/embedded/catalog-schema.js";
import { createCheckpoints } from "../../../../store/series/embedded/checkpoints.js";
import {
  chunkPointsMax,
  chunksToCompact,
  cutIntoChunks,
  decodeChunk,
  encodeChunk,
  overlapGroups,
} from "../../../../store/series/embedded/chunks.js";
import {
  concatRuns,
  limitRun,
  mergeAll,
  mergeRuns,
  type Run,
} from "../../../../store/series/embedded/columns.js";
import { createMemtable } from "../../../../store/series/embedded/memtable.js";
import { toMonth } from "../../../../store/series/embedded/months.js";
import { openPartFileToRead } from "../../../../store/series/embedded/part-file.js";
import { openParts } from "../../../../store/series/embedded/parts.js";
import { createReadProgress } from "../../../../store/series/embedded/progress.js";
import { createReaders } from "../../../../store/series/embedded/readers.js";
import { lostWith } from "../../../../store/series/embedded/stored-part.js";
import type { Aggregate } from "../../../../store/series/series.js";
import { assert, suite, withTempDir } from "../../../suite.js";

type Pairs = [number, number][];

const runOf = (points: Map<number, number>): Run => {
  const sorted = [...points].sort(([a], [b]) => a - b);
  return {
    times: Float64Array.from(sorted, ([time]) => time),
    values: Float64Array.from(sorted, ([, value]) => value),
  };
};
const pairsOf = (run: Run | null): unknown[] =>
  Array.from(run?.times ?? [], (time, i) => [time, run?.values[i]]);

const pairs = fc.array(fc.tuple(fc.integer({ min: -30, max: 30 }), fc.double({ noNaN: true })), {
  maxLength: 60,
});
const limits = fc.oneof(
  fc.constant({}),
  fc.record({ newest: fc.integer({ min: 0, max: 9 }) }),
  fc.record({ oldest: fc.integer({ min: 0, max: 9 }) }),
);

suite("series columns", (test) => {
  test("merging runs is writing them one after the other", () => {
    fc.assert(
      fc.property(fc.array(pairs, { maxLength: 6 }), (batches) => {
        const runs = batches.map((batch) => runOf(new Map(batch)));
        const model = runOf(new Map(batches.flatMap((batch) => [...new Map(batch)])));
        assert.equal(pairsOf(mergeAll(runs, false)), pairsOf(model));
      }),
    );
  });

  test("text merges as numbers do", () => {
    const older: Run = { times: Float64Array.of(1, 3, 5), values: ["a", "b", "c"] };
    const newer: Run = { times: Float64Array.of(2, 3), values: ["x", "y"] };
    assert.equal(mergeRuns(older, newer).values, ["a", "x", "y", "c"]);
  });
});

suite("series memtable", (test) => {
  test("reads what was written last, within range and limit", () => {
    const writes = fc.array(
      fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: -20, max: 20 }), fc.double({ noNaN: true })),
      {
        maxLength: 120,
      },
    );
    const range = fc.tuple(fc.integer({ min: -25, max: 25 }), fc.integer({ min: 0, max: 40 }));
    fc.assert(
      fc.property(writes, range, limits, (points, [start, length], limit) => {
        const table = createMemtable({ pointsMax: 1000, textBytesMax: 1000 });
        for (const [slot, time, value] of points) table.add(slot, time, value);
        for (let slot = 0; slot < 4; slot++) {
          const model = new Map<number, number>();
          for (const [s, time, value] of points) {
            if (s === slot && time >= start && time < start + length) model.set(time, value);
          }
          const found = table.read(slot, { start, stop: start + length, ...limit });
          assert.equal(pairsOf(found), pairsOf(limitRun(runOf(model), limit)));
        }
      }),
    );
  });

  test("holds text, is bounded and can be used again", () => {
    const table = createMemtable({ pointsMax: 3, textBytesMax: 6 });
    assert.ok(table.hasRoom(100, 100), "an empty table takes any batch");
    table.add(9000, 2, "zwei");
    table.add(9000, 1, "");
    table.add(9000, 2, "2\0");
    assert.equal(pairsOf(table.read(9000, {})), [
      [1, ""],
      [2, "2\0"],
    ]);
    assert.not(table.hasRoom(1, 0));
    table.clear();
    assert.is(table.read(9000, {}), null);
    table.add(9000, 5, 1.5);
    assert.equal(pairsOf(table.read(9000, {})), [[5, 1.5]]);
  });
});

suite("series chunks", (test) => {
  test("numbers keep every bit", () => {
    fc.assert(
      fc.property(pairs, (points) => {
        const run = runOf(new Map(points));
        const { buffer } = encodeChunk(run);
        const back = decodeChunk(buffer as ArrayBuffer, run.times.length, false);
        assert.equal(pairsOf(back), pairsOf(run));
      }),
    );
  });

  test("text keeps NUL, a byte order mark and every plane", () => {
    const text = fc.array(
      fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("\0", "\uFEFFa", "", "温度")),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(text, (values) => {
        const run: Run = { times: Float64Array.from(values, (_, i) => i), values };
        const { buffer } = encodeChunk(run);
        assert.equal(decodeChunk(buffer as ArrayBuffer, values.length, true).values, values);
      }),
    );
  });

  test("a chunk of the wrong length is refused", () => {
    assert.throws(() => decodeChunk(new ArrayBuffer(17), 1, false), /cannot read chunk/);
    assert.throws(() => decodeChunk(new ArrayBuffer(8), 1, true), /cannot read chunk/);
  });

  test("cutting leaves even pieces that join to the same run", () => {
    for (const n of [1, chunkPointsMax, chunkPointsMax + 1, 10_000]) {
      const run: Run = { times: Float64Array.from({ length: n }, (_, i) => i), values: new Float64Array(n) };
      const pieces = cutIntoChunks(run);
      assert.is(pieces.length, Math.ceil(n / chunkPointsMax));
      assert.equal(concatRuns(pieces, false).times, run.times);
    }
  });

  test("long texts are cut by size", () => {
    const values = Array.from({ length: 10 }, () => "x".repeat(200_000));
    const pieces = cutIntoChunks({ times: Float64Array.from(values, (_, i) => i), values });
    assert.is(pieces.length, 10);
    assert.equal(concatRuns(pieces, true).values, values);
  });

  test("groups share no time with one another", () => {
    const span = (id: number, start: number, stop: number) => ({ id, start, stop });
    const groups = overlapGroups([
      span(1, 0, 5),
      span(2, 6, 9),
      span(3, 9, 12),
      span(4, 20, 21),
      span(5, 3, 4),
    ]);
    assert.equal(
      groups.map((group) => group.map((chunk) => chunk.id)),
      [[1, 5], [2, 3], [4]],
    );
  });

  test("compaction takes neighbours by id, few in closed months, many in open ones", () => {
    const sizes = (...points: number[]) => points.map((n) => ({ points: n }));
    assert.equal(chunksToCompact(sizes(4000, 10, 4000, 20, 30), true), sizes(20, 30));
    assert.equal(chunksToCompact(sizes(10, 20, 30), false), []);
    assert.is(chunksToCompact(sizes(...Array(16).fill(33)), false).length, 16);
    assert.is(chunksToCompact(sizes(...Array(8).fill(1000)), false).length, 8);
  });
});

suite("series aggregates", (test) => {
  const EDGES = [-20, -10, 0, 7, 15];
  const numbers = (points: Pairs) => points.map(([, value]) => value);
  const total = (values: number[]) => values.reduce((a, b) => a + b, 0);
  const MODEL: Record<Exclude<Aggregate, "increase">, (values: number[]) => number> = {
    count: (values) => values.length,
    sum: total,
    mean: (values) => total(values) / values.length,
    min: (values) => Math.min(...values),
    max: (values) => Math.max(...values),
    first: (values) => values[0] ?? Number.NaN,
    last: (values) => values.at(-1) ?? Number.NaN,
  };
  const whole = fc.array(fc.tuple(fc.integer({ min: -30, max: 30 }), fc.integer({ min: -1000, max: 1000 })), {
    maxLength: 60,
  });

  test("agree with the plain definition however the points are cut", () => {
    fc.assert(
      fc.property(whole, fc.integer({ min: 1, max: 9 }), (points, size) => {
        const run = runOf(new Map(points));
        for (const [name, define] of Object.entries(MODEL)) {
          const aggregation = createAggregation(EDGES, name as Aggregate);
          for (let i = 0; i < run.times.length; i += size) {
            aggregation.add(run.times.slice(i, i + size), (run.values as Float64Array).slice(i, i + size));
          }
          const expected = EDGES.slice(1).map((stop, i) => {
            const inside = (pairsOf(run) as Pairs).filter(([time]) => time >= (EDGES[i] ?? 0) && time < stop);
            return inside.length === 0 ? null : define(numbers(inside));
          });
          assert.equal(aggregation.result(), expected, name);
        }
      }),
    );
  });

  test("increase counts from the point before, over resets and empty windows", () => {
    const aggregation = createAggregation([0, 10, 20, 30], "increase");
    aggregation.startFrom(5);
    aggregation.add(Float64Array.of(1, 2), Float64Array.of(8, 9));
    aggregation.add(Float64Array.of(20, 21), Float64Array.of(12, 2));
    assert.equal(aggregation.result(), [4, null, 5]);
    const first = createAggregation([0, 10], "increase");
    first.add(Float64Array.of(3, 4), Float64Array.of(100, 101));
    assert.equal(first.result(), [1]);
  });

  test("sums keep what plain addition loses", () => {
    const aggregation = createAggregation([0, 10], "sum");
    aggregation.add(Float64Array.of(1, 2, 3, 4), Float64Array.of(1, 1e100, 1, -1e100));
    assert.equal(aggregation.result(), [2]);
  });
});

suite("series months and progress", (test) => {
  test("a month is UTC and half open", () => {
    const { name, start, stop } = toMonth(Date.UTC(2024, 1, 29, 23, 59, 59, 999) * 1000 + 999);
    assert.is(name, "2024-02");
    assert.is(stop, Date.UTC(2024, 2, 1) * 1000);
    assert.is(toMonth(start).name, "2024-02");
    assert.is(toMonth(start - 1).name, "2024-01");
    assert.is(toMonth(-1).name, "1969-12");
  });

  test("a month file is listed only with its tables in it", async () => {
    await withTempDir(async (dir) => {
      const listed: number[] = [];
      const catalog: Pick<SeriesCatalog, "parts" | "addPart" | "setHeld"> = {
        setHeld: async () => undefined,
        parts: async () => [],
        addPart: async ({ path }) => {
          const reader = await openPartFileToRead(join(dir, path));
          listed.push(Number((await reader.execute("select count(*) from chunk")).rows[0]?.[0]));
          reader.close();
        },
      };
      const parts = await openParts({
        dir,
        catalog: catalog as SeriesCatalog,
        partBytesMin: 0,
        onChange: () => undefined,
      });
      await parts.ensure(0);
      await parts.close();
      assert.equal(listed, [0]);
    });
  });

  test("with a part is lost what was flushed into it, and what is on its way into it", async () => {
    await withTempDir(async (dir) => {
      const month = (n: number) => toMonth(Date.UTC(2025, n, 10) * 1000);
      const at = (n: number) => month(n).start + 86_400e6;
      const catalog: Pick<SeriesCatalog, "parts"> = {
        parts: async () => [
          {
            start: month(0).start,
            stop: month(11).stop,
            path: "points-2025-01.db",
            dropped: false,
            format: partFormat,
            loose: 0,
            held: null,
            file: null,
            flushed: { low: at(3), high: at(4) },
          },
        ],
      };
      const parts = await openParts({
        dir,
        catalog: catalog as SeriesCatalog,
        partBytesMin: 0,
        onChange: () => undefined,
      });
      const [part] = parts.list();
      assert.ok(part !== undefined);
      const lost = () => {
        const { start, stop } = lostWith(part);
        return [start, stop];
      };
      assert.equal(lost(), [month(3).start, month(4).stop]);
      parts.expect(part, at(6), at(7));
      assert.equal(lost(), [month(3).start, month(7).stop]);
      parts.expect(part, at(1), at(1));
      assert.equal(lost(), [month(1).start, month(7).stop]);
      await parts.close();
    });
  });

  test("the checkpoint waits for what is open or failed", () => {
    const progress = createReadProgress(createCheckpoints([10]));
    const settled = () => progress.settled().get(0);
    for (const id of [20, 30, 40]) progress.begin(id);
    progress.succeed(30);
    assert.is(settled(), 10);
    progress.fail(20);
    progress.succeed(40);
    assert.is(settled(), 10);
    progress.begin(20);
    progress.succeed(20);
    assert.is(settled(), 40);
    progress.begin(0);
    progress.fail(0);
    assert.is(settled(), 40);
  });
});

suite("series readers", (test) => {
  test("are given nothing more once they are being closed, not even to forget a file", async () => {
    await withTempDir(async (dir) => {
      const readers = createReaders({ dir, threads: 2, onFault: () => undefined });
      await readers.call("forget", []);
      const closing = readers.close();
      let isOver = false;
      void closing.then(() => {
        isOver = true;
      });
      const answer = readers.call("forget", ["points-2025-01.db"]).catch((error: unknown) => error);
      const told = await Promise.race([answer, new Promise((resolve) => process.nextTick(resolve))]);
      assert.ok(told instanceof StoreError && told.code === "UNAVAILABLE", "at once");
      await readers.forget(["points-2025-01.db"]);
      assert.ok(isOver, "closed, they hold no file");
      await closing;
      const late = await readers.call("forget", []).catch((error: unknown) => error);
      assert.ok(late instanceof StoreError && late.code === "UNAVAILABLE");
    });
  });
});
