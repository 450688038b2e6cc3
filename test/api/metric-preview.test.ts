import {
  dataPointBody,
  makeDataPoint,
  makeDevice,
  makeMetric,
  makeProduct,
  productBody,
} from "../factories.js";
import { assert } from "../suite.js";
import { type Rec, refused, worldSuites } from "../world.js";

const path = "/api/v1/metrics_data/preview";
const dayMs = 86_400_000;
const startMs = Date.UTC(2025, 4, 1);

worldSuites("a metric tried before it is saved", (test, world) => {
  let product: Rec;
  let temp: Rec;
  let device: Rec;
  test.before(async () => {
    product = await makeProduct(world);
    temp = await makeDataPoint(world, product, { dataPointID: "temp" });
    device = await makeDevice(world, product, { deviceID: `\u{1f600}'"${"x".repeat(60)}` });
    const hours = Array.from({ length: 72 }, (_, i) => ({ time: startMs + i * 3_600_000, temp: i - 10 }));
    await world.publish(device, ...hours);
  });
  const range = { startTime: startMs, endTime: startMs + 3 * dayMs };
  const preview = (fields: object, key?: string) =>
    world.call(
      "POST",
      path,
      { dataPointIntID: temp.id, deviceID: device.deviceID, ...range, ...fields },
      key === undefined ? {} : { key },
    );

  test("it answers what metrics_data answers once it is saved, without an id", async () => {
    const metrics: readonly object[] = [
      { expressions: "sqrt(temp) + lastValue" },
      { aggregateType: 1 },
      { aggregateType: 3, aggregateData: 1, expressions: "temp * 2", time_unit: "day" },
      { aggregateType: 5, time_unit: "week", timezone: "Asia/Shanghai", fill: "zero" },
      { expressions: "temp", maxPoints: 10 },
      { expressions: "temp", limit: "5", timeFormat: "ms", deviceIntID: device.id },
    ];
    for (const fields of metrics) {
      const shown = await preview(fields);
      assert.is(shown.status, 200, shown.text);
      const { time_unit, timezone, fill, limit, maxPoints, timeFormat, deviceIntID, ...metric } =
        fields as Record<string, unknown>;
      const saved = await makeMetric(world, temp, { aggregateType: undefined, ...metric });
      const asked = { time_unit, timezone, fill, limit, maxPoints, timeFormat, deviceIntID, ...range };
      const given = Object.entries(asked).filter(([, value]) => value !== undefined);
      const query = new URLSearchParams(
        given.map(([name, value]): [string, string] => [name, String(value)]),
      );
      query.set("deviceID", String(device.deviceID));
      query.set("metricIntID", String(saved.id));
      const told = await world.call("GET", `/api/v1/metrics_data?${query}`);
      assert.is(told.status, 200, told.text);
      const before = { id: null, createAt: null, metricName: "" };
      assert.equal(
        shown.list,
        told.list.map((item) => ({ ...item, ...before })),
        JSON.stringify(fields),
      );
      assert.is(shown.headers.get("formula-errors"), told.headers.get("formula-errors"));
    }
  });

  test("its errors are reported as saving would report them", async () => {
    const wrong: readonly (readonly [fields: object, field: string])[] = [
      [{ expressions: "temp +" }, "expressions"],
      [{ expressions: "nothing * 2" }, "expressions"],
      [{ metricType: 1 }, "expressions"],
      [{ metricType: 2 }, "aggregateType"],
      [{ expressions: "temp", dataPointIntID: 987_654_321 }, "dataPointIntID"],
      [{ expressions: "temp", dataPointIntID: undefined }, "dataPointIntID"],
      [{ expressions: "temp", maxPoints: 2 }, "maxPoints"],
      [{ expressions: "temp", deviceID: undefined }, "deviceID"],
      [{ expressions: "temp", endTime: startMs }, "endTime"],
      [{ aggregateType: 1, time_unit: "real" }, "time_unit"],
    ];
    for (const [fields, field] of wrong) refused(await preview(fields), "PARAMETER_INVALID", field);
    const formula = { metricName: "it", dataPointIntID: temp.id, expressions: "temp + (" };
    const saving = await world.call("POST", "/api/v1/metrics", formula);
    assert.equal((await preview(formula)).failure.errors, saving.failure.errors);
  });

  test("a data point of another product is refused", async () => {
    const other = await makeDevice(world, await makeProduct(world));
    const fields = { expressions: "temp", deviceID: other.deviceID };
    refused(await preview(fields), "PARAMETER_INVALID", "dataPointIntID");
  });

  test("a viewer may look; another tenant has neither the device nor the data point", async () => {
    const shown = await preview({ expressions: "temp" }, await world.keyOf("viewer"));
    assert.is(shown.status, 200, shown.text);
    const key = await world.otherTenant();
    refused(await preview({ expressions: "temp" }, key), "PARAMETER_INVALID", "dataPointIntID");
    const theirs = await world.make("/api/v1/products", productBody(), { key });
    const own = await world.make("/api/v1/data_points", dataPointBody(theirs), { key });
    refused(await preview({ expressions: "1", dataPointIntID: own.id }, key), "DATA_NOT_FOUND", "deviceID");
  });

  test("nothing is saved", async () => {
    const before = await world.call("GET", "/api/v1/metrics");
    await preview({ expressions: "temp * 3" });
    assert.is((await world.call("GET", "/api/v1/metrics")).text, before.text);
  });
});
