import { rename } from "node:fs/promises";
import { openLibsqlSeriesStore } from "../../store/series/embedded/open.js";
import { openTempDir, suite } from "../suite.js";
import { defineSeriesContract, newSeries, pointsOf } from "./series.js";
import { defineShards } from "./series-shards.js";

suite("series contract, embedded engine", (test) => {
  let folder: ReturnType<typeof openTempDir> | undefined;
  defineSeriesContract(test, async () => {
    folder ??= openTempDir();
    return openLibsqlSeriesStore({ dir: (await folder).path });
  });
  test.after(async () => (await folder)?.close());
  let unsteady: ReturnType<typeof openTempDir> | undefined;
  defineShards(test, async () => {
    unsteady ??= openTempDir();
    const dir = `${(await unsteady).path}/series`;
    return {
      open: () => openLibsqlSeriesStore({ dir, memtablePointsMax: 50 }),
      // What is open goes on, no new file can be made: points are refused once the memory is full.
      refuse: async (store) => {
        await rename(dir, `${dir}-away`);
        for (let full = false; !full; ) {
          full = await store.write(pointsOf(newSeries(), [0, 0]), 0).then(
            () => false,
            () => true,
          );
        }
      },
      serve: () => rename(`${dir}-away`, dir),
    };
  });
  test.after(async () => (await unsteady)?.close());
});
