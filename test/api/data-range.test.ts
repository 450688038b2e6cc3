import { zone } from "../../query/zone.js";
import { type ChartQuery, type QueryDeps, readChartQuery } from "../../src/routes/data-query.js";
import { assert, rejects, suite } from "../suite.js";

const device = { id: 1, deviceID: "weather-1", productIntID: 1 };

/** What is read of a request, and how often its range was: resolving it takes its startTime once. */
async function ask(query: ChartQuery, timezone = "UTC") {
  let resolved = 0;
  let presents = 0;
  const counted: ChartQuery = {
    deviceID: device.deviceID,
    ...query,
    get startTime() {
      resolved++;
      return query.startTime;
    },
  };
  const deps = {
    catalog: { byDeviceID: async () => device },
    zone: zone(timezone),
    now: () => Date.UTC(2026, 5, 1, 12, 30) + presents++ * 3_600_000,
  } as unknown as QueryDeps;
  const asked = await readChartQuery(deps, 1, counted);
  return { asked, resolved: () => resolved, presents: () => presents };
}

suite("the range of a question about data", (test) => {
  test("is resolved once, however many metrics ask for it, and by one present", async () => {
    for (const time_unit of ["real", "hour", "month"]) {
      const { asked, resolved, presents } = await ask({ time_unit, startTime: "2026-05-31 00:00:00" });
      const first = asked.range("real");
      for (let i = 0; i < 50; i++) {
        assert.is(asked.range("real"), first);
        assert.is(asked.range("hour"), first);
      }
      assert.is(first.unit, time_unit);
      assert.is(resolved(), 1);
      assert.is(presents(), 1);
    }
  });

  test("without a unit has one for raw points and one for windows, each once", async () => {
    const { asked, resolved, presents } = await ask({});
    assert.is(resolved(), 1);
    const [points, windows] = [asked.range("real"), asked.range("hour")];
    for (let i = 0; i < 50; i++) {
      assert.is(asked.range("real"), points);
      assert.is(asked.range("hour"), windows);
    }
    assert.equal([points.unit, windows.unit], ["real", "hour"]);
    assert.equal(windows.stop, Date.UTC(2026, 5, 1, 13) * 1000);
    assert.is(resolved(), 2);
    assert.is(presents(), 1);
  });

  test("takes limit in place of the newest points by default, and only there", async () => {
    assert.is((await ask({})).asked.range("real").newest, 100);
    assert.is((await ask({ limit: "7" })).asked.range("real").newest, 7);
    const { asked } = await ask({ limit: "7", startTime: "2026-05-31 00:00:00" });
    assert.is(asked.range("real").newest, undefined);
    assert.is(asked.range("hour").newest, undefined);
  });

  test("is refused though nothing asks for it; windows are, once something does", async () => {
    const failed = await rejects(() => ask({ time_unit: "fortnight" }));
    assert.match(failed.message, /time_unit/);
    const { asked } = await ask({ startTime: "2026-06-02 00:00:00" });
    assert.throws(() => asked.range("hour"), /ends before it starts/);
  });
});
