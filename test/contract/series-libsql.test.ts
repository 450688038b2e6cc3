import { openLibsqlSeriesStore } from "../../store/series/embedded/open.js";
import { openTempDir, suite } from "../suite.js";
import { defineSeriesContract } from "./series.js";

suite("series contract, embedded engine", (test) => {
  let folder: ReturnType<typeof openTempDir> | undefined;
  defineSeriesContract(test, async () => {
    folder ??= openTempDir();
    return openLibsqlSeriesStore({ dir: (await folder).path });
  });
  test.after(async () => (await folder)?.close());
});
