import { join } from "node:path";
import fc from "fast-check";
import { insertChunks, listChunks } from "../../../../store/series/embedded/chunk-rows.js";
import { encodeChunk } from "../../../../store/series/embedded/chunks.js";
import { mergeAll, noTimeAbove, noTimeBelow, type Run } from "../../../../store/series/embedded/columns.js";
import { compactSeries } from "../../../../store/series/embedded/compact.js";
import { fetchMerged } from "../../../../store/series/embedded/fetch.js";
import { openPartFile } from "../../../../store/series/embedded/part-file.js";
import { assert, suite, withTempDir } from "../../../suite.js";

const ALL = { start: noTimeBelow, stop: noTimeAbove };
const PART = { start: 0, stop: 1, path: "points-1970-01.db" };

const chunk = fc
  .uniqueArray(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 40 })
  .chain((times) => fc.tuple(fc.constant(times.sort((a, b) => a - b)), fc.constantFrom(1, 90)));

const onFault = (): void => assert.unreachable();

suite("series compaction", (test) => {
  test("leaves fewer chunks and the same points, the later chunk still winning", async () => {
    await withTempDir(async (dir) => {
      const client = await openPartFile(join(dir, PART.path), true);
      let series = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(chunk, { minLength: 1, maxLength: 30 }), async (chunks) => {
          series++;
          const runs: Run[] = chunks.map(([times, stretch], i) => {
            // stretched ones are big enough to stay as they are, between small ones that move together
            const long = stretch === 1 ? times : Array.from({ length: 2100 }, (_, j) => (times[0] ?? 0) + j);
            return { times: Float64Array.from(long), values: new Float64Array(long.length).fill(i) };
          });
          for (const run of runs) {
            const row = { series, start: run.times[0] ?? 0, stop: run.times.at(-1) ?? 0 };
            await insertChunks(client, [
              { ...row, points: run.times.length, text: false, data: encodeChunk(run) },
            ]);
          }
          const files = { open: async () => client, onFault };
          const read = () =>
            fetchMerged(files, { id: series, text: false, parts: [PART], left: null, ...ALL }, null, {});
          const all = { series, text: false, settled: true };
          const plain = mergeAll(runs, false);
          while (await compactSeries(client, all, onFault)) {
            assert.equal(await read(), plain);
          }
          assert.equal(await read(), plain);
          const left = (await listChunks(client, series, ALL)).sort((a, b) => a.id - b.id);
          const neighbours = left.some((one, i) => one.points < 2048 && (left[i + 1]?.points ?? 4096) < 2048);
          assert.not(neighbours, "no two small chunks lie side by side");
        }),
        { numRuns: 40, endOnFailure: true },
      );
      client.close();
    });
  });
});
