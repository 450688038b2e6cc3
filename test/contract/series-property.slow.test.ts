/** Random points, ranges, windows and zones: both engines against each other and against the oracle. */

import fc from "fast-check";
import { openLibsqlSeriesStore } from "../../store/series/embedded/open.js";
import { openInfluxSeriesStore } from "../../store/series/influx/open.js";
import { memoryLedger } from "../influxd/ledger.js";
import { assert, influxSuite, openTempDir, suite } from "../suite.js";
import { defineProperty } from "./series-cases.js";
import { exactSum } from "./series-oracle.js";

suite("the oracle of sums", (test) => {
  test("rounds once: of two numbers its sum is that of the processor", () => {
    const any = fc.double({ noNaN: true, min: -1e307, max: 1e307 });
    fc.assert(
      fc.property(any, any, fc.array(any, { maxLength: 6 }), (a, b, rest) => {
        assert.is(exactSum([a, b]) + 0, a + b + 0);
        assert.is(exactSum([a, ...rest, b, ...rest.map((one) => -one)]) + 0, a + b + 0);
      }),
      { numRuns: 2000 },
    );
    assert.is(exactSum([1e16, 1, -1e16]), 1);
  });
});

suite("series properties, embedded engine", (test) => {
  let folder: ReturnType<typeof openTempDir> | undefined;
  test.after(async () => (await folder)?.close());
  const open = async () => {
    folder = openTempDir();
    return [await openLibsqlSeriesStore({ dir: (await folder).path, memtablePointsMax: 500 })];
  };
  defineProperty(test, "answers what the oracle answers", open, 120);
});

influxSuite("series properties, both engines", (test, influx) => {
  let folder: ReturnType<typeof openTempDir> | undefined;
  test.after(async () => (await folder)?.close());
  const open = async () => {
    const { url, token, org, bucket } = await influx();
    folder = openTempDir();
    const checkpoint = () => ({ read: async () => 0, write: async () => {} });
    return [
      await openInfluxSeriesStore({
        url,
        token,
        org,
        bucket,
        firstShard: 0,
        checkpoint,
        ledger: memoryLedger(),
      }),
      await openLibsqlSeriesStore({ dir: (await folder).path }),
    ];
  };
  defineProperty(test, "answer what the oracle answers, in any zone", open, 60);
});
