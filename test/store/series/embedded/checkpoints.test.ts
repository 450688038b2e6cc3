import { existsSync } from "node:fs";
import { copyFile, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@libsql/client";
import fc from "fast-check";
import { unthrottled } from "../../../../store/files/copy-file.js";
import { idsPerShard } from "../../../../store/journal/shard-ids.js";
import { crc32 } from "../../../../store/lib/crc32.js";
import { createCheckpoints } from "../../../../store/series/embedded/checkpoints.js";
import { copySeries } from "../../../../store/series/embedded/copy-series.js";
import { openLibsqlSeriesStore } from "../../../../store/series/embedded/open.js";
import { createReadProgress } from "../../../../store/series/embedded/progress.js";
import type { SeriesRef, SeriesStore } from "../../../../store/series/series.js";
import { assert, rejects, suite, withTempDir } from "../../../suite.js";
import { monthFolderPoints, monthFolderRefs, writeMonthFolder } from "./month-folder.js";

const start = Date.UTC(2024, 0, 1) * 1000;
const shards = [0, 5, 999] as const;
const at = (shard: number, n: number): number => shard * idsPerShard + n;

const refOf = (shard: number): SeriesRef => ({
  tenant: 1,
  productID: "pump",
  deviceID: `of${shard}`,
  field: "level",
  kind: "number",
});

const openStore = (dir: string): Promise<SeriesStore> => openLibsqlSeriesStore({ dir, readers: 1 });

async function using<T>(dir: string, use: (store: SeriesStore) => Promise<T>): Promise<T> {
  const store = await openStore(dir);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

const write = (store: SeriesStore, shard: number, n: number) =>
  store.write([{ series: refOf(shard), time: start + n, value: n, serverStamped: false }], at(shard, n));

const checkpointsIn = (store: SeriesStore): Promise<number[]> =>
  Promise.all(shards.map((shard) => store.checkpoint(shard)));

const savedIn = (dir: string): Promise<number[]> => using(dir, checkpointsIn);

async function change(dir: string, ...statements: readonly string[]): Promise<void> {
  const client = createClient({ url: `file:${join(dir, "catalog.db")}`, concurrency: 1 });
  try {
    for (const statement of statements) await client.execute(statement);
  } finally {
    client.close();
  }
}

const lineOf = (...said: readonly unknown[]): string => {
  const text = JSON.stringify(said);
  return `${crc32(Buffer.from(text)).toString(16).padStart(8, "0")} ${text}\n`;
};

/** As a version wrote it that followed one journal. */
async function makeOld(dir: string, checkpoint: number): Promise<void> {
  await change(dir, "delete from meta", `insert into meta values ('checkpoint', ${checkpoint})`);
  const log = join(dir, "names.log");
  const names = (await readFile(log, "utf8")).split("\n").filter((line) => line.includes('["n",'));
  await writeFile(log, `${names.join("\n")}\n${lineOf("c", checkpoint, names.length)}`);
}

suite("checkpoints of the embedded series store", (test) => {
  test("a flush moves that of each shard whose batches it covers", () =>
    withTempDir(async (dir) => {
      await using(dir, async (store) => {
        await write(store, 5, 7);
        assert.equal(await checkpointsIn(store), [0, 0, 0], "in memory alone");
        await store.flush();
        assert.equal(await checkpointsIn(store), [0, at(5, 7), 0]);
        await Promise.all([write(store, 0, 3), write(store, 999, 1), write(store, 5, 8)]);
        assert.equal(await checkpointsIn(store), [0, at(5, 7), 0]);
        await store.flush();
        assert.equal(await checkpointsIn(store), [3, at(5, 8), at(999, 1)]);
        await store.write([], at(999, 2));
        await store.flush();
      });
      assert.equal(await savedIn(dir), [3, at(5, 8), at(999, 2)]);
    }));

  test("without a shard it is that of the only journal, and a fault once there are several", () =>
    withTempDir((dir) =>
      using(dir, async (store) => {
        assert.is(await store.checkpoint(), 0);
        await write(store, 5, 7);
        await store.flush();
        assert.is(await store.checkpoint(), at(5, 7));
        await write(store, 0, 1);
        await store.flush();
        await rejects(() => store.checkpoint(), /whose, of the shards 0, 5\?/);
      }),
    ));

  test("a folder of a version that followed one journal goes on at its number, which belongs to the shard of the id", async () => {
    for (const isCatalogLost of [false, true]) {
      await withTempDir(async (dir) => {
        await using(dir, (store) => write(store, 5, 40));
        await makeOld(dir, at(5, 40));
        if (isCatalogLost) await rm(join(dir, "catalog.db"));
        await using(dir, async (store) => {
          assert.equal(await checkpointsIn(store), [0, at(5, 40), 0]);
          await Promise.all([write(store, 5, 41), write(store, 999, 1)]);
        });
        assert.equal(await savedIn(dir), [0, at(5, 41), at(999, 1)]);
      });
    }
    await withTempDir(async (dir) => {
      await writeMonthFolder(dir);
      await using(dir, async (store) => {
        assert.is(await store.checkpoint(0), await store.checkpoint());
        assert.ok((await store.checkpoint(0)) > 0);
        const { times } = await store.read(monthFolderRefs[0], {});
        assert.is(times.length, monthFolderPoints(monthFolderRefs[0]).length);
      });
    });
  });

  test("a catalog that is made again takes the last of each shard from the log", () =>
    withTempDir(async (dir) => {
      await using(dir, async (store) => {
        for (const [shard, n] of [
          [0, 1],
          [5, 1],
          [0, 2],
          [999, 6],
          [5, 9],
        ] as const) {
          await write(store, shard, n);
          await store.flush();
        }
      });
      const log = join(dir, "names.log");
      const whole = await readFile(log);
      await rm(join(dir, "catalog.db"));
      assert.equal(await savedIn(dir), [2, at(5, 9), at(999, 6)]);
      // A kill has cut the last line: the one before counts, never a higher id.
      await writeFile(log, whole);
      await truncate(log, whole.length - 3);
      await rm(join(dir, "catalog.db"));
      const [first = 0, second = 0, third = 0] = await savedIn(dir);
      assert.equal([first, third], [2, at(999, 6)]);
      assert.ok(second === at(5, 1) || second === at(5, 9), `${second}`);
      // A log that is gone is written again, with what the catalog knows.
      await rm(log);
      const known = await savedIn(dir);
      await rm(join(dir, "catalog.db"));
      assert.equal(await savedIn(dir), known);
    }));

  test("a copy of a store in use goes back to where each shard was when it was begun", () =>
    withTempDir(async (temp) => {
      const [dir, copy] = [join(temp, "series"), join(temp, "copy")];
      await using(dir, async (store) => {
        await Promise.all([write(store, 0, 1), write(store, 5, 1)]);
        await store.flush();
        let hasWritten = false;
        const copied = await copySeries(dir, copy, {
          throttle: unthrottled,
          reuse: async () => {
            if (hasWritten) return false;
            hasWritten = true;
            await Promise.all([write(store, 0, 2), write(store, 999, 4)]);
            await store.flush();
            return false;
          },
        });
        assert.ok(hasWritten);
        assert.equal(copied.checkpoints, createCheckpoints([1, at(5, 1)]));
        assert.equal(await checkpointsIn(store), [2, at(5, 1), at(999, 4)], "the store itself goes on");
      });
      assert.ok(existsSync(join(copy, "names.log")));
      await copyFile(join(copy, "names.log"), join(temp, "names.log"));
      assert.equal(await savedIn(copy), [1, at(5, 1), 0]);
      // Also where its catalog is lost.
      await copyFile(join(temp, "names.log"), join(copy, "names.log"));
      await rm(join(copy, "catalog.db"));
      assert.equal(await savedIn(copy), [1, at(5, 1), 0]);
    }));

  test("whatever batches begin, fail and succeed: no shard passes what it lacks, or waits for another", () => {
    const step = fc.record({
      shard: fc.constantFrom(...shards),
      n: fc.integer({ min: 1, max: 6 }),
      does: fc.constantFrom("begin", "succeed", "fail"),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const progress = createReadProgress(createCheckpoints([at(5, 2)]));
        const model = new Map(
          shards.map((shard) => [shard, { from: shard === 5 ? 2 : 0, runs: [] as Run[] }]),
        );
        for (const { shard, n, does } of steps) {
          const { runs, from } = model.get(shard) ?? { runs: [], from: 0 };
          const running = runs.find((run) => run.n === n && run.state === "open");
          if (does === "begin") {
            if (running !== undefined || n <= settledBy(runs, from)) continue;
            progress.begin(at(shard, n));
            runs.push({ n, state: "open" });
          } else if (running !== undefined) {
            progress[does](at(shard, n));
            running.state = does === "succeed" ? "done" : "failed";
          }
          for (const [other, { runs: all, from: first }] of model) {
            const settled = settledBy(all, first);
            assert.is(progress.settled().get(other) ?? 0, settled === 0 ? 0 : at(other, settled));
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

interface Run {
  readonly n: number;
  state: "open" | "failed" | "done";
}

/** The highest number that has succeeded while each at or below it that was tried has, at its last try, too. */
function settledBy(runs: readonly Run[], from: number): number {
  const last = new Map(runs.map(({ n, state }) => [n, state]));
  const lacking = [...last].filter(([, state]) => state !== "done").map(([n]) => n);
  const done = [...last].filter(([n, state]) => state === "done" && lacking.every((one) => one > n));
  return Math.max(from, ...done.map(([n]) => n));
}
