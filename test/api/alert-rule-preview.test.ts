import { dataPointBody, makeDataPoint, makeDevice, makeProduct, productBody, unique } from "../factories.js";
import { assert, until } from "../suite.js";
import { type Rec, refused, worldSuites } from "../world.js";

const path = "/api/v1/alert_rules/preview";
const startMs = Date.UTC(2025, 4, 1);
const minute = 60_000;

interface Backtest {
  readonly spans: readonly Record<string, unknown>[];
  readonly points: number;
  readonly isTruncated: boolean;
  readonly leftFrom: string | number | null;
}

worldSuites("an alert rule tried before it is saved", (test, world) => {
  let product: Rec;
  let temp: Rec;
  let device: Rec;
  test.before(async () => {
    product = await makeProduct(world);
    temp = await makeDataPoint(world, product, { dataPointID: "temp", upperLimit: 5 });
    await makeDataPoint(world, product, { dataPointID: "door", pointDataType: 5 });
    await makeDataPoint(world, product, { dataPointID: "note", pointDataType: 3 });
    device = await makeDevice(world, product);
  });
  const preview = (fields: object, key?: string) =>
    world.call(
      "POST",
      path,
      {
        dataPointIntID: temp.id,
        deviceID: device.deviceID,
        startTime: startMs,
        endTime: startMs + 1000 * minute,
        timeFormat: "ms",
        ...fields,
      },
      key === undefined ? {} : { key },
    );
  const backtest = async (fields: object): Promise<Backtest> => {
    const reply = await preview(fields);
    assert.is(reply.status, 200, reply.text);
    return reply.record as unknown as Backtest;
  };

  test("a data point called like a constant is meant by its rule, which fires, and by its formula", async () => {
    const own = await makeProduct(world);
    const points: Rec[] = [];
    for (const dataPointID of ["e", "true"]) points.push(await makeDataPoint(world, own, { dataPointID }));
    const one = await makeDevice(world, own);
    await world.publish(one, { time: startMs, e: 7, true: 2 }, { time: startMs + minute, e: 1, true: 2 });
    const rule = { dataPointIntID: points[1]?.id, deviceID: one.deviceID, condition: "e > 5 and true == 2" };
    const { spans } = await backtest(rule);
    assert.equal(
      spans.map(({ startTime }) => startTime),
      [startMs],
    );
    await world.make("/api/v1/alert_rules", {
      alertName: unique("rule"),
      dataPointIntID: points[0]?.id,
      condition: "e > 5 and true == 2",
    });
    await world.publish(one, { e: 9, true: 2 });
    await until(
      async () =>
        (await world.call("GET", `/api/v1/current_alerts?deviceID=${one.deviceID}`)).page.items.length === 1,
      { what: "the alert" },
    );
    const { list } = await world.call("POST", "/api/v1/metrics_data/preview", {
      ...{ dataPointIntID: points[1]?.id, deviceID: one.deviceID, expressions: "dataPoint + e" },
      startTime: startMs,
      endTime: startMs + 2 * minute,
    });
    const [{ metricData } = { metricData: null }] = list;
    assert.equal((metricData as { value?: unknown } | null)?.value, [9, 3]);
  });

  test("it would have raised what the saved rule has raised", async () => {
    const condition = "dataPoint > 20 and door and lastValue > 10";
    const saved = [0, 60].map((duration) => ({
      alertName: unique("rule"),
      dataPointIntID: temp.id,
      condition,
      duration,
    }));
    for (const one of saved) await world.make("/api/v1/alert_rules", one);
    const values = [5, 25, 30, 25, 10, 25, 25, 40, 41, 42, 43, 1, 50, 51, 52];
    await world.publish(device, { time: startMs - minute, temp: 30, door: true, note: "'\"\u0001" });
    const payloads = values.map((value, i) => ({
      time: startMs + i * minute,
      temp: value,
      ...(i === 8 ? { door: false } : i === 9 ? { door: true } : {}),
    }));
    await world.publish(device, ...payloads);
    await world.alertsSettled();
    for (const { alertName, duration } of saved) {
      const told = await backtest({ condition, duration });
      assert.equal([told.points, told.isTruncated, told.leftFrom], [values.length + 2, false, null]);
      const raised: unknown[] = [];
      for (const list of ["history_alerts", "current_alerts"] as const) {
        const { page } = await world.call("GET", `/api/v1/${list}?alertName=${alertName}&_limit=100`);
        for (const alert of [...page.items].reverse()) {
          raised.push([alert.startTime, alert.endTime ?? null, alert.alertTimes]);
        }
      }
      const text = (ms: unknown) =>
        ms === null ? null : new Date(ms as number).toISOString().slice(0, 19).replace("T", " ");
      assert.equal(
        told.spans.map(({ startTime, endTime, alertTimes }) => [text(startTime), text(endTime), alertTimes]),
        raised,
        `${duration}`,
      );
      assert.ok(raised.length >= 1);
    }
    const first = (await backtest({ condition })).spans[0];
    assert.equal(first, {
      startTime: startMs + 2 * minute,
      endTime: startMs + 4 * minute,
      alertTimes: 2,
      firstValue: 30,
    });
    const written = await backtest({ condition, timeFormat: "iso", endTime: startMs + 3 * minute });
    assert.equal(written.spans, [
      { startTime: "2025-05-01T00:02:00Z", endTime: null, alertTimes: 1, firstValue: 30 },
    ]);
  });

  test("it returns a thousand alerts, and where the next would have begun", async () => {
    const other = await makeDevice(world, product, { deviceID: `\u{1f600}'"${"y".repeat(60)}` });
    const many = Array.from({ length: 2500 }, (_, i) => ({ time: startMs + i * 1000, temp: i % 2 }));
    await world.publish(other, ...Array.from({ length: 5 }, (_, i) => many.slice(i * 500, i * 500 + 500)));
    const told = await backtest({ condition: "dataPoint == 1", deviceID: other.deviceID });
    assert.equal([told.spans.length, told.isTruncated], [1000, true]);
    assert.equal([told.points, told.leftFrom], [2001, startMs + 2001 * 1000]);
    const rest = await backtest({
      condition: "dataPoint == 1",
      deviceID: other.deviceID,
      startTime: told.leftFrom,
    });
    assert.equal([rest.spans.length, rest.isTruncated], [250, false]);
  });

  test("errors are reported as saving would report them", async () => {
    const wrong: readonly (readonly [fields: object, field: string])[] = [
      [{ condition: "dataPoint >" }, "condition"],
      [{ condition: "nothing > 1" }, "condition"],
      [{}, "condition"],
      [{ condition: "dataPoint > 1", startTime: undefined }, "startTime"],
      [{ condition: "dataPoint > 1", startTime: "yesterday" }, "startTime"],
      [{ condition: "dataPoint > 1", endTime: startMs }, "endTime"],
      [{ condition: "dataPoint > 1", duration: -1 }, "duration"],
      [{ condition: "dataPoint > 1", productID: "another" }, "productID"],
      [{ condition: "dataPoint > 1", deviceID: undefined }, "deviceID"],
      [{ condition: "dataPoint > 1", dataPointIntID: 987_654_321 }, "dataPointIntID"],
    ];
    for (const [fields, field] of wrong) refused(await preview(fields), "PARAMETER_INVALID", field);
    const elsewhere = await makeDevice(world, await makeProduct(world));
    const fields = { condition: "dataPoint > 1", deviceID: elsewhere.deviceID };
    refused(await preview(fields), "PARAMETER_INVALID", "dataPointIntID");
    const future = { condition: "dataPoint > 1", startTime: "2250-01-01 00:00:00", endTime: undefined };
    refused(await preview(future), "PARAMETER_INVALID", "startTime");
  });

  test("a viewer may look; another tenant has neither the device nor the data point; nothing is saved", async () => {
    const condition = "dataPoint > 1";
    const before = await world.call("GET", "/api/v1/alert_rules");
    const shown = await preview({ condition, alertName: "it's" }, await world.keyOf("viewer"));
    assert.is(shown.status, 200, shown.text);
    assert.is((await world.call("GET", "/api/v1/alert_rules")).text, before.text);
    const key = await world.otherTenant();
    refused(await preview({ condition }, key), "PARAMETER_INVALID", "dataPointIntID");
    const theirs = await world.make("/api/v1/products", productBody(), { key });
    const own = await world.make("/api/v1/data_points", dataPointBody(theirs), { key });
    refused(await preview({ condition, dataPointIntID: own.id }, key), "DATA_NOT_FOUND", "deviceID");
  });
});
