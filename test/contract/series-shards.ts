/** The contract of a series store that follows the journals of several shards. */

import { idsPerShard } from "../../store/journal/shard-ids.js";
import { StoreError } from "../../store/lib/errors.js";
import type { SeriesStore } from "../../store/series/series.js";
import { assert, type Test, until } from "../suite.js";
import { newSeries, pointsOf } from "./series.js";
import { pairsOf } from "./series-oracle.js";

/** A store of its own that can be kept from taking points. */
interface Unsteady {
  /** Opens it on the same data each time. */
  open(): Promise<SeriesStore>;
  /** From now on writes of points are refused. */
  refuse(store: SeriesStore): Promise<void>;
  serve(): Promise<void>;
}

const base = Date.UTC(2025, 2, 1) * 1000;
const [low, high, idle] = [3, 871, 4];
const at = (shard: number, n: number): number => shard * idsPerShard + n;

export function defineShards(test: Test, makeUnsteady: () => Promise<Unsteady>): void {
  test("the checkpoint of each shard follows its own batches alone, however those of two overlap and fail", async () => {
    const unsteady = await makeUnsteady();
    const store = await unsteady.open();
    const series = new Map([low, high].map((shard) => [shard, newSeries()]));
    const write = (shard: number, n: number) =>
      store.write(pointsOf(series.get(shard) ?? newSeries(), [base + n, n]), at(shard, n));
    const checkpoints = () => Promise.all([low, high, idle].map((shard) => store.checkpoint(shard)));
    const assertBelow = async (...most: readonly number[]) => {
      for (const [i, id] of (await checkpoints()).entries()) assert.ok(id <= (most[i] ?? 0), `${i}: ${id}`);
    };

    assert.equal(await checkpoints(), [0, 0, 0]);
    await Promise.all([write(low, 1), write(high, 1), write(low, 2), write(high, 2)]);
    await assertBelow(at(low, 2), at(high, 2), 0);
    await unsteady.refuse(store);
    const refused = await Promise.allSettled([write(low, 3), write(high, 3), write(high, 4), write(low, 4)]);
    for (const one of refused) {
      assert.is(one.status, "rejected");
      if (one.status === "rejected")
        assert.is(one.reason instanceof StoreError && one.reason.code, "UNAVAILABLE");
    }
    await assertBelow(at(low, 2), at(high, 2), 0);
    await unsteady.serve();
    await until(() => write(high, 3).then(() => true), { what: "a batch that is taken again" });
    await Promise.all([write(low, 4), write(high, 4), write(low, 5), write(high, 5)]);
    await store.flush();
    assert.equal(await checkpoints(), [at(low, 2), at(high, 5), 0], "only the lower shard lacks a batch");
    await write(high, 6);
    await store.flush();
    assert.equal(await checkpoints(), [at(low, 2), at(high, 6), 0]);
    await Promise.all([write(low, 3), write(high, 7)]);
    await store.flush();
    assert.equal(await checkpoints(), [at(low, 5), at(high, 7), 0]);
    await store.close();

    const again = await unsteady.open();
    assert.equal(await Promise.all([low, high, idle].map((shard) => again.checkpoint(shard))), [
      at(low, 5),
      at(high, 7),
      0,
    ]);
    for (const [shard, last] of [
      [low, 5],
      [high, 7],
    ] as const) {
      const points = Array.from({ length: last }, (_, i): [number, number] => [base + i + 1, i + 1]);
      assert.equal(pairsOf(await again.read(series.get(shard) ?? newSeries(), {})), points);
    }
    await again.close();
  });
}
