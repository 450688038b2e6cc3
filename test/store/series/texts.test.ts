import { textBytes, textsBytes } from "../../../store/lib/text-bytes.js";
import type { StoredTexts } from "../../../store/series/embedded/chunk-rows.js";
import { chunksToCompact } from "../../../store/series/embedded/chunks.js";
import type { Run } from "../../../store/series/embedded/columns.js";
import { createMemtable } from "../../../store/series/embedded/memtable.js";
import { textRuns } from "../../../store/series/embedded/text-runs.js";
import { createTextColumns } from "../../../store/series/influx/text-columns.js";
import { assert, suite } from "../../suite.js";

const bytesOf = ({ values }: Run): number => (Array.isArray(values) ? textsBytes(values) : 0);

suite("texts by bytes", (test) => {
  test("no more overlapping chunks are held than overlap, from either end", async () => {
    // Forty flushes that each reach over their neighbours: a chain of a hundred chunks, without a gap in it.
    const long = "x".repeat(1000);
    const chunks: (StoredTexts & { run: Run })[] = [];
    const model = new Map<number, string>();
    for (let id = 1; id <= 100; id++) {
      const start = ((id * 37) % 100) * 10;
      const times = Float64Array.from({ length: 15 }, (_, i) => start + i);
      const values = Array.from(times, (time) => `${id}/${time} ${long}`);
      const bytes = 200_000;
      chunks.push({ id, start, stop: start + 14, points: 15, bytes, run: { times, values } });
      for (const [i, time] of times.entries()) model.set(time, values[i] ?? "");
    }
    const expected = [...model].sort(([a], [b]) => a - b);
    for (const newestFirst of [true, false]) {
      const loaded = new Set<number>();
      const counts: number[] = [];
      const load = async (some: readonly StoredTexts[]) => {
        counts.push(some.length);
        for (const { id } of some) {
          assert.not(loaded.has(id), "each is fetched once");
          loaded.add(id);
        }
        return chunks.filter(({ id }) => some.some((one) => one.id === id));
      };
      const runs: Run[] = [];
      for await (const run of textRuns(chunks, load, newestFirst)) {
        assert.ok(bytesOf(run) < 8 * 15 * 2200, `${bytesOf(run)} bytes at once`);
        runs.push(run);
        if (runs.length === 1) assert.ok(loaded.size <= 2, "the first run costs no more than it needs");
      }
      if (newestFirst) runs.reverse();
      const found = runs.flatMap(({ times, values }) =>
        Array.from(times, (time, i): [number, string] => [time, `${values[i]}`]),
      );
      assert.equal(found, expected);
      assert.ok(Math.max(...counts) <= 5, `${Math.max(...counts)} chunks of 200 kB in one statement`);
    }
  });

  test("memory hands out as many texts as the bytes allow", () => {
    const table = createMemtable({ pointsMax: 1000, textBytesMax: 10_000_000 });
    for (let time = 0; time < 100; time++) table.add(1, time, "x".repeat(1000));
    const each = textBytes("x".repeat(1000));
    const newest = table.read(1, { newest: 80, bytesMax: 10 * each });
    assert.equal([newest?.times.length, newest?.times.at(-1), newest?.cut], [10, 99, true]);
    const oldest = table.read(1, { oldest: 80, bytesMax: 10 * each - 1 });
    assert.equal([oldest?.times.length, oldest?.times[0], oldest?.cut], [10, 0, true]);
    const few = table.read(1, { newest: 3, bytesMax: 10 * each });
    assert.equal([few?.times.length, few?.cut ?? false], [3, false]);
  });

  test("rows of an answer of any length leave so many bytes of it held", () => {
    const bytesMax = 50_000;
    for (const from of ["newest", "oldest"] as const) {
      const { add, columns, isFull } = createTextColumns({ from, bytesMax });
      for (let time = 0; time < 20_000; time++) {
        add(time, "x".repeat(time % 5000));
        if (time % 1000 !== 0) continue;
        const now = columns();
        assert.ok(now.kind === "text" && textsBytes(now.values) <= bytesMax + textBytes("x".repeat(5000)));
      }
      const { times } = columns();
      assert.is(isFull(), from === "oldest", "what is full need be read no further");
      assert.is(from === "newest" ? times.at(-1) : times[0], from === "newest" ? 19_999 : 0);
    }
  });

  test("chunks of texts are put together by bytes too", () => {
    const full = Array.from({ length: 5000 }, () => ({ points: 4, bytes: 1 << 20 }));
    assert.equal(chunksToCompact(full, true), [], "full ones stay, however few points they hold");
    const small = Array.from({ length: 5000 }, () => ({ points: 4, bytes: 100_000 }));
    const chosen = chunksToCompact(small, true);
    assert.ok(chosen.length > 1 && chosen.length * 100_000 <= 2 << 20, `${chosen.length} at once`);
  });
});
