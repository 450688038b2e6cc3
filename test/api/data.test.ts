import { makeDataPoint, makeDevice, makeMetric, makeProduct } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, type Reply, refused, type World, worldSuite } from "../world.js";

interface Columns {
  readonly time: readonly (string | number)[];
  readonly value: readonly unknown[];
}

/** A product with points of every kind, and a device that has reported on 1 June 2024. */
interface Station {
  readonly product: Rec;
  readonly device: Rec;
  readonly silent: Rec;
  readonly points: Readonly<Record<"temp" | "hum" | "on" | "note" | "place" | "switch", Rec>>;
}

const metricKeys = [
  ...["id", "metricName", "metricType", "dataPointIntID", "dataPointName", "aggregateType", "aggregateData"],
  ...[
    "chartType",
    "expressions",
    "isShow",
    "productID",
    "productItemIntID",
    "remark",
    "createAt",
    "updateAt",
  ],
  "metricData",
];
const hours = "startTime=2024-06-01 00:00:00&endTime=2024-06-01 04:00:00";
const metricData = (item: Rec | undefined) => item?.metricData as Columns;
const originalData = (item: Rec | undefined) => item?.originalData as Columns;

async function openStation(world: World): Promise<Station> {
  const product = await makeProduct(world);
  const point = (dataPointID: string, fields: object) =>
    makeDataPoint(world, product, { dataPointID, ...fields });
  const points = {
    temp: await point("temp", { dataPointName: "温度" }),
    hum: await point("hum", { pointDataType: 18 }),
    on: await point("on", { pointDataType: 5 }),
    note: await point("note", { pointDataType: 3 }),
    place: await point("place", { pointDataType: 6 }),
    switch: await point("switch", { dataTransType: 2 }),
  };
  const [device, silent] = [await makeDevice(world, product), await makeDevice(world, product)];
  await world.publish(
    device,
    { time: "2024-06-01T00:00:10Z", temp: 1, hum: 50, on: true, note: "始", place: [121.47, 31.23] },
    { time: "2024-06-01T00:00:20.000001Z", temp: 3, on: false },
    { time: "2024-06-01T00:30:00Z", temp: 8, hum: 60, on: true },
    { time: "2024-06-01T02:15:00Z", temp: 4 },
    { time: "2024-06-01T03:00:00Z", temp: 10, place: { longitude: 1, latitude: 2, altitude: 3 } },
  );
  return { product, device, silent, points };
}

worldSuite("data of a device", (test, world) => {
  let opening: Promise<Station> | undefined;
  const station = () => {
    opening ??= openStation(world);
    return opening;
  };
  const ask = async (path: string, query: string, device?: Rec): Promise<Reply> => {
    const { deviceID } = device ?? (await station()).device;
    return world.call("GET", `/api/v1/${path}?deviceID=${deviceID}&${query.replaceAll(" ", "%20")}`);
  };
  /** The columns of one metric. */
  const metric = async ({ id }: Rec, query: string, device?: Rec): Promise<Columns> => {
    const reply = await ask("metrics_data", `metricIntID=${id}&${query}`, device);
    assert.is(reply.status, 200, reply.text);
    assert.is(reply.list.length, 1);
    return metricData(reply.list[0]);
  };
  /** The columns of one data point. */
  const original = async (name: keyof Station["points"], query: string): Promise<Columns> => {
    const { points } = await station();
    const { list } = await ask("original_data", query);
    return originalData(list.find((item) => item.dataPointIntID === points[name].id));
  };
  const temp = async (fields: Readonly<Record<string, unknown>>) =>
    makeMetric(world, (await station()).points.temp, fields);
  const formula = async (expressions: string) => temp({ expressions, aggregateType: undefined });

  test("ranges are cut to the microsecond: windows, points, rows, tracks and messages", async () => {
    const { device, points } = await station();
    const range = "startTime=2024-06-01T00:00:20.000001Z&endTime=2024-06-01T00:00:20.000002Z";
    const before = "startTime=2024-06-01T00:00:20.000000Z&endTime=2024-06-01T00:00:20.000001Z";
    const count = await temp({ aggregateType: 8 });
    for (const unit of ["minute", "hour", "day", "week", "month", "year"]) {
      assert.equal((await metric(count, `${range}&time_unit=${unit}`)).value, [1], unit);
      assert.equal((await metric(count, `${before}&time_unit=${unit}`)).value, [null], unit);
    }
    assert.equal((await original("temp", range)).value, [3]);
    assert.equal((await original("temp", before)).value, []);
    assert.equal((await metric(await formula("dataPoint"), range)).value, [3]);
    const rows = async (asked: string) => {
      const path = `/api/v1/original_data?deviceID=${device.deviceID}&${asked}`;
      const { text } = await world.call("GET", path, undefined, { headers: { Accept: "text/csv" } });
      return text.trim().split("\n").slice(1);
    };
    assert.equal(
      (await rows(range)).map((row) => row.split(",")[1]),
      [points.temp.dataPointID, points.on.dataPointID],
    );
    assert.equal(await rows(before), []);
    const track = (asked: string) => ask("device_track", asked);
    const moment = "2024-06-01T00:00:10.000000Z";
    assert.is((await track(`startTime=${moment}&endTime=2024-06-01T00:00:10.000001Z`)).list.length, 1);
    assert.is((await track(`startTime=2024-06-01T00:00:09.999999Z&endTime=${moment}`)).list.length, 0);
    const again = await world.call("POST", `/api/v1/devices/${device.id}/redecode`, {
      startTime: "2024-06-01T00:00:20.000001Z",
      endTime: "2024-06-01T00:00:20.000002Z",
    });
    assert.is(again.status, 202, again.text);
  });

  test("a formula over lastValue answers nothing for a device without points, and for an empty range", async () => {
    const metricOf = await formula("dataPoint - (lastValue ?? -1)");
    const { silent, device } = await station();
    const empty = "startTime=2023-06-01 00:00:00&endTime=2023-06-02 00:00:00";
    for (const [asked, query] of [
      [silent, ""],
      [silent, hours],
      [device, empty],
      [device, `${empty}&time_unit=hour`],
    ] as const) {
      assert.equal(await metric(metricOf, query, asked), { time: [], value: [] }, query);
    }
    const all = await ask("metrics_data", hours, silent);
    assert.is(all.status, 200, all.text);
  });

  test("the eight aggregates over hours; an empty window is null for every one", async () => {
    const expected: readonly (readonly [number, readonly (number | null)[]])[] = [
      [1, [8, null, 4, 10]],
      [2, [1, null, 4, 10]],
      [3, [4, null, 4, 10]],
      [4, [12, null, 4, 10]],
      // 1 is the first stored; 8 → 4 is a fall, so that the new value counts.
      [5, [7, null, 4, 6]],
      [6, [1, null, 4, 10]],
      [7, [8, null, 4, 10]],
      [8, [3, null, 1, 1]],
    ];
    const labels = ["00", "01", "02", "03"].map((hour) => `2024-06-01 ${hour}:00:00`);
    for (const [aggregateType, values] of expected) {
      const { time, value } = await metric(await temp({ aggregateType }), hours);
      assert.equal([time, value], [labels, values], `aggregateType ${aggregateType}`);
    }
    const { list } = await ask("metrics_data", `${hours}&metricType=2`);
    assert.ok(list.length >= 8);
    for (const item of list) hasKeys(item, metricKeys);
    const ids = list.map((item) => item.id);
    assert.equal(
      ids,
      [...ids].sort((a, b) => a - b),
    );
    assert.equal(list[0]?.dataPointName, "温度");
  });

  test("aggregateData 1 aggregates the formula's values, without expressions the raw ones", async () => {
    const doubled = { expressions: "dataPoint * 2", metricType: 2, aggregateData: 1 };
    assert.equal((await metric(await temp({ aggregateType: 4, ...doubled }), hours)).value, [
      24,
      null,
      8,
      20,
    ]);
    const change = { expressions: "dataPoint - lastValue", metricType: 2, aggregateData: 1 };
    // The first stored point has none before it, and is no value.
    assert.equal((await metric(await temp({ aggregateType: 8, ...change }), hours)).value, [2, null, 1, 1]);
    assert.equal((await metric(await temp({ aggregateType: 1, aggregateData: 1 }), hours)).value, [
      8,
      null,
      4,
      10,
    ]);
    const raw = await temp({ aggregateType: 4, ...doubled, aggregateData: 2 });
    assert.equal((await metric(raw, hours)).value, [12, null, 4, 10]);
  });

  test("an aggregate metric whose expressions were sent empty is over raw values", async () => {
    assert.equal((await metric(await temp({ aggregateType: 1, expressions: "" }), hours)).value, [
      8,
      null,
      4,
      10,
    ]);
  });

  test("aggregates read booleans as 1 and 0, original_data answers true and false", async () => {
    const { points } = await station();
    const mean = await makeMetric(world, points.on, { aggregateType: 3 });
    assert.equal((await metric(mean, hours)).value, [2 / 3, null, null, null]);
    const on = await makeMetric(world, points.on, { expressions: "dataPoint + 1", aggregateType: undefined });
    assert.equal((await metric(on, "time_unit=real")).value, [2, 1, 2]);
    assert.equal((await original("on", "")).value, [true, false, true]);
  });

  test("fill: zero, previous, linear, none; without it null", async () => {
    const max = await temp({ aggregateType: 1 });
    const early = "startTime=2024-05-31 23:00:00&endTime=2024-06-01 05:00:00";
    const values = async (fill: string) => (await metric(max, `${early}&fill=${fill}`)).value;
    assert.equal(await values(""), [null, 8, null, 4, 10, null]);
    assert.equal(await values("zero"), [0, 8, 0, 4, 10, 0]);
    assert.equal(await values("previous"), [null, 8, 8, 4, 10, 10]);
    assert.equal(await values("linear"), [null, 8, 6, 4, 10, null]);
    const none = await metric(max, `${early}&fill=none`);
    assert.equal(
      [none.time, none.value],
      [["00", "02", "03"].map((hour) => `2024-06-01 ${hour}:00:00`), [8, 4, 10]],
    );
    refused(await ask("metrics_data", `${early}&fill=cubic`), "PARAMETER_INVALID", "fill");
    // Nothing is known of years that have not begun.
    const now = new Date(world.clock.now()).getUTCFullYear();
    const years = `time_unit=year&startTime=2023-01-01 00:00:00&endTime=${now + 3}-01-01 00:00:00`;
    const begun = Array(now - 2024 + 1).fill(10);
    for (const [fill, later] of [
      ["previous", null],
      ["linear", null],
      ["zero", 0],
    ] as const) {
      const { value } = await metric(max, `${years}&fill=${fill}`);
      const [before, ...after] = value;
      assert.is(before, fill === "zero" ? 0 : null);
      const own = fill === "previous" ? begun : [10, ...Array(now - 2024).fill(later)];
      assert.equal(after, [...own, later, later], fill);
    }
  });

  test("formulas: at each point, with the point before also from before the range", async () => {
    const change = await formula("dataPoint - lastValue");
    assert.equal((await metric(change, "time_unit=real")).value, [null, 2, 5, -4, 6]);
    assert.equal((await metric(change, "startTime=2024-06-01 00:30:00")).value, [5, -4, 6]);
    const { time, value } = await metric(change, "time_unit=hour&startTime=2024-06-01 02:00:00");
    assert.equal(
      [time, value],
      [
        ["2024-06-01 02:15:00", "2024-06-01 03:00:00"],
        [-4, 6],
      ],
    );
    assert.equal((await metric(change, "limit=2")).value, [-4, 6]);
    assert.equal((await metric(change, "endTime=2024-06-01 02:15:00")).value, [null, 2, 5]);
    const { list } = await ask("metrics_data", `metricIntID=${change.id}`);
    hasKeys(list[0], metricKeys);
    assert.equal([list[0]?.aggregateType, list[0]?.updateAt], [null, null]);
  });

  test("formulas name other data points: the value at that time, else the newest before", async () => {
    assert.equal((await metric(await formula("temp + hum"), "")).value, [51, 53, 68, 64, 70]);
    assert.equal((await metric(await formula("dataPoint + note"), "")).value, [null, null, null, null, null]);
  });

  test("what is not a finite number is null, and counted", async () => {
    const broken = await formula("1 / (dataPoint - 3)");
    const reply = await ask("metrics_data", `metricIntID=${broken.id}`);
    assert.equal(metricData(reply.list[0]).value, [-0.5, null, 0.2, 1, 1 / 7]);
    assert.is(reply.headers.get("formula-errors"), "1");
    const sound = await ask("metrics_data", `metricIntID=${(await formula("dataPoint")).id}`);
    assert.is(sound.headers.get("formula-errors"), null);
    const mean = await temp({
      aggregateType: 3,
      aggregateData: 1,
      metricType: 2,
      expressions: "1 / (dataPoint - 3)",
    });
    const windows = await ask("metrics_data", `metricIntID=${mean.id}&${hours}`);
    assert.is(windows.headers.get("formula-errors"), "1");
  });

  test("a formula that names a deleted data point gives null, also when the name comes again", async () => {
    const { product, device } = await station();
    const extra = await makeDataPoint(world, product, { dataPointID: "extra" });
    await world.publish(device, { time: "2024-05-01T00:00:00Z", extra: 7 });
    const sum = await formula("dataPoint + extra");
    assert.equal((await metric(sum, "")).value, [8, 10, 15, 11, 17]);
    await world.call("DELETE", `/api/v1/data_points?ids=${extra.id}`);
    assert.equal((await metric(sum, "")).value, [null, null, null, null, null]);
    await makeDataPoint(world, product, { dataPointID: "extra", dataTransType: 2 });
    assert.equal((await metric(sum, "")).value, [null, null, null, null, null]);
  });

  test("metricType chooses: all by default, formulas only where raw points are asked for", async () => {
    const { product, points, device } = await station();
    const hidden = await makeMetric(world, points.hum, { isShow: 0 });
    const types = async (query: string) =>
      new Set((await ask("metrics_data", query)).list.map((item) => item.metricType));
    assert.equal(await types(hours), new Set([1, 2]));
    assert.equal(await types(`${hours}&metricType=1`), new Set([1]));
    assert.equal(await types(`${hours}&metricType=2`), new Set([2]));
    assert.equal(await types("time_unit=real"), new Set([1]));
    refused(await ask("metrics_data", "time_unit=real&metricType=2"), "PARAMETER_INVALID", "time_unit");
    refused(
      await ask("metrics_data", `time_unit=real&metricIntID=${hidden.id}`),
      "PARAMETER_INVALID",
      "time_unit",
    );
    const shown = (await ask("metrics_data", hours)).list.map((item) => item.id);
    assert.ok(shown.includes(hidden.id), "isShow does not filter");
    assert.is(device.productID, product.productID);
  });

  test("original_data: every reportable point in order, each in its own form", async () => {
    const { points } = await station();
    const { list, headers } = await ask("original_data", "");
    for (const item of list) hasKeys(item, ["dataPointIntID", "dataPointName", "originalData"]);
    const { temp: first, hum, on, note, place } = points;
    assert.equal(
      list.slice(0, 5).map((item) => item.dataPointIntID),
      [first, hum, on, note, place].map((point) => point.id),
    );
    assert.ok(
      !list.some((item) => item.dataPointIntID === points.switch.id),
      "what is only issued is left out",
    );
    assert.equal(originalData(list[0]), {
      time: ["00:00:10", "00:00:20", "00:30:00", "02:15:00", "03:00:00"].map((time) => `2024-06-01 ${time}`),
      value: [1, 3, 8, 4, 10],
    });
    assert.equal((await original("note", "")).value, ["始"]);
    assert.equal((await original("place", "")).value, [
      [121.47, 31.23],
      [1, 2, 3],
    ]);
    assert.is(headers.get("truncated"), null);
  });

  test("a metric chooses its data point, and metricType none: without aggregates all are answered", async () => {
    const { points } = await station();
    const only = await makeMetric(world, points.hum, { aggregateType: 1 });
    const ids = async (query: string) =>
      (await ask("original_data", query)).list.map((item) => item.dataPointIntID);
    assert.equal(await ids(`metricIntID=${only.id}`), [points.hum.id]);
    assert.equal(await ids(`metricIntID=${only.id}&metricType=1`), [points.hum.id]);
    const all = await ids("time_unit=day");
    assert.ok(all.length > 2 && all.includes(points.note.id));
    for (const type of [1, 2]) assert.equal(await ids(`metricType=${type}&time_unit=day`), all);
    const bare = await makeProduct(world);
    const point = await makeDataPoint(world, bare);
    const { list } = await ask("original_data", "metricType=2&time_unit=day", await makeDevice(world, bare));
    assert.equal(
      list.map(({ dataPointIntID }) => dataPointIntID),
      [point.id],
    );
  });

  test("a metric that there is not is 404, also another tenant's; one of another product answers nothing", async () => {
    const { product } = await station();
    const foreign = await makeMetric(world, await makeDataPoint(world, await makeProduct(world)));
    const key = await world.otherTenant();
    const theirs = await world.make("/api/v1/products", { productName: "theirs", cloudProtocol: 1 }, { key });
    const point = { dataPointName: "p", dataPointID: "p", pointDataType: 1, dataTransType: 1 };
    const { id } = await world.make("/api/v1/data_points", { ...point, productIntID: theirs.id }, { key });
    const hidden = await world.make(
      "/api/v1/metrics",
      { metricName: "m", dataPointIntID: id, aggregateType: 3 },
      { key },
    );
    assert.is.not(product.id, theirs.id);
    for (const path of ["metrics_data", "original_data"]) {
      for (const unknown of [999_999, hidden.id]) {
        const reply = await ask(path, `metricIntID=${unknown}`);
        refused(reply, "DATA_NOT_FOUND", "metricIntID");
      }
      const other = await ask(path, `metricIntID=${foreign.id}`);
      assert.equal([other.status, other.list], [200, []]);
    }
  });

  test("a range holds its start and not its end; limit keeps the newest and says that it cut", async () => {
    const range = (start: string, end: string) => `startTime=2024-06-01 ${start}&endTime=2024-06-01 ${end}`;
    assert.equal((await original("temp", range("00:00:10", "02:15:00"))).value, [1, 3, 8]);
    assert.equal((await original("temp", range("00:00:11", "02:15:01"))).value, [3, 8, 4]);
    const cut = await ask("original_data", `${range("00:00:00", "04:00:00")}&limit=2`);
    assert.equal([originalData(cut.list[0]).value, cut.headers.get("truncated")], [[4, 10], "true"]);
    const whole = await ask("original_data", `${range("00:00:00", "04:00:00")}&limit=5`);
    assert.is(whole.headers.get("truncated"), null);
    assert.equal((await original("temp", "limit=2")).value, [4, 10]);
    assert.equal((await original("temp", "endTime=2024-06-01 00:30:00")).value, [1, 3]);
  });

  test("times: text in the zone asked for, iso, ms; bounds in every form", async () => {
    const time = async (query: string) => (await original("temp", `limit=5&${query}`)).time;
    assert.equal((await time("timezone=Asia/Shanghai"))[0], "2024-06-01 08:00:10");
    assert.equal((await time("timeFormat=iso")).slice(0, 2), [
      "2024-06-01T00:00:10Z",
      "2024-06-01T00:00:20.000001Z",
    ]);
    assert.equal((await time("timeFormat=ms")).slice(0, 2), [1717200010000, 1717200020000.001]);
    const starts = [
      "startTime=2024-06-01 08:30:00&timezone=Asia/Shanghai",
      "startTime=2024-06-01T00:30:00Z",
      "startTime=2024-06-01T02:30:00%2B02:00",
      ...["", "000", "000000", "000000000"].map(
        (zeros) => `startTime=${Date.UTC(2024, 5, 1, 0, 30) / 1000}${zeros}`,
      ),
      ...["2024-06-01T00:30:00%2B00", "20240601T003000Z", "2024-06-01T00:30:00.0000000000Z"].map(
        (text) => `startTime=${text}`,
      ),
      "startTime=2024-06-01 00:30:00%2B00:00",
    ];
    for (const start of starts) assert.is((await time(start)).length, 3, start);
    const count = await temp({ aggregateType: 8 });
    const exact = await metric(count, `${hours}&timeFormat=iso&timezone=Asia/Kolkata`);
    assert.equal(exact.time[0], "2024-05-31T18:30:00Z");
    const day =
      "time_unit=day&startTime=2024-06-01 00:00:00&endTime=2024-06-03 00:00:00&timezone=America/New_York";
    const { time: labels, value } = await metric(count, day);
    assert.equal(
      [labels, value],
      [
        ["2024-06-01 00:00:00", "2024-06-02 00:00:00"],
        [null, null],
      ],
    );
  });

  test("what is wrong with a question is named", async () => {
    const wrong: readonly (readonly [string, string])[] = [
      ["time_unit=decade", "time_unit"],
      ["timezone=Mars/Phobos", "timezone"],
      ["startTime=yesterday", "startTime"],
      ["endTime=2024-02-30 00:00:00", "endTime"],
      ["startTime=2024-06-02 00:00:00&endTime=2024-06-02 00:00:00", "endTime"],
      ["startTime=2024-06-02 00:00:00&endTime=2024-06-01 00:00:00&time_unit=hour", "endTime"],
      ["metricType=3", "metricType"],
      ["metricIntID=x", "metricIntID"],
      ["limit=0", "limit"],
      ["limit=100001", "limit"],
      ["timeFormat=unix", "timeFormat"],
      ["fill=some", "fill"],
    ];
    const bare = await makeDevice(world, await makeProduct(world));
    for (const [query, field] of wrong) {
      for (const path of ["metrics_data", "original_data"]) {
        refused(await ask(path, query), "PARAMETER_INVALID", field);
        refused(await ask(path, query, bare), "PARAMETER_INVALID", field);
      }
    }
    const real = await ask("metrics_data", "metricType=2&time_unit=real", bare);
    refused(real, "PARAMETER_INVALID", "time_unit");
    const future = "time_unit=hour&startTime=2999-01-01 00:00:00";
    refused(await ask("original_data", future), "PARAMETER_INVALID", "startTime");
    const minutes = "time_unit=minute&startTime=2024-06-01 00:00:00&endTime=2024-06-09 00:00:00";
    await temp({});
    refused(await ask("metrics_data", minutes), "PARAMETER_INVALID", "time_unit");
  });

  test("the device is named by deviceID, by deviceIntID, or by both when they agree", async () => {
    const { device, silent } = await station();
    const get = (query: string, key?: string) =>
      world.call("GET", `/api/v1/original_data?${query}`, undefined, key === undefined ? {} : { key });
    const expected = (await get(`deviceID=${device.deviceID}`)).text;
    assert.is((await get(`deviceIntID=${device.id}`)).text, expected);
    assert.is((await get(`deviceIntID=${device.id}&deviceID=${device.deviceID}`)).text, expected);
    refused(
      await get(`deviceIntID=${silent.id}&deviceID=${device.deviceID}`),
      "PARAMETER_INVALID",
      "deviceIntID",
    );
    refused(await get(""), "PARAMETER_INVALID", "deviceID");
    refused(await get(`deviceID=${device.id}`), "DATA_NOT_FOUND");
    refused(await get("deviceIntID=99999"), "DATA_NOT_FOUND");
    refused(await get("deviceIntID=x"), "PARAMETER_INVALID", "deviceIntID");
    refused(await get(`deviceID=${device.deviceID}`, await world.otherTenant()), "DATA_NOT_FOUND");
    assert.is((await get(`deviceID=${device.deviceID}`, await world.keyOf("viewer"))).text, expected);
  });

  test("a device without points: null windows for aggregates, empty arrays otherwise", async () => {
    const { silent } = await station();
    const [mean, twice] = [await temp({}), await formula("dataPoint * 2")];
    const windows = await metric(mean, hours, silent);
    assert.equal(windows.value, [null, null, null, null]);
    assert.equal(await metric(twice, hours, silent), { time: [], value: [] });
    assert.equal((await metric(mean, `${hours}&fill=none`, silent)).value, []);
    assert.equal((await metric(mean, `${hours}&fill=linear`, silent)).value, [null, null, null, null]);
    const { list } = await ask("original_data", "", silent);
    for (const item of list) assert.equal(item.originalData, { time: [], value: [] });
  });

  test("without a range each unit answers its number of windows up to the current one", async () => {
    const mean = await temp({});
    const counts = { minute: 60, hour: 24, day: 30, week: 12, month: 12, year: 5 };
    const current = (form: (now: string) => string) => form(new Date().toISOString());
    const forms: Readonly<Record<string, (now: string) => string>> = {
      minute: (now) => `${now.slice(0, 10)} ${now.slice(11, 16)}:00`,
      hour: (now) => `${now.slice(0, 10)} ${now.slice(11, 13)}:00:00`,
      day: (now) => `${now.slice(0, 10)} 00:00:00`,
      month: (now) => `${now.slice(0, 7)}-01 00:00:00`,
      year: (now) => `${now.slice(0, 4)}-01-01 00:00:00`,
    };
    for (const [unit, count] of Object.entries(counts)) {
      const before = forms[unit] && current(forms[unit]);
      const { time, value } = await metric(mean, `time_unit=${unit}`);
      const after = forms[unit] && current(forms[unit]);
      assert.equal([time.length, value.length], [count, count], unit);
      if (before !== undefined)
        assert.ok([before, after].includes(String(time.at(-1))), `${unit}: ${time.at(-1)}`);
    }
    const { time: mondays } = await metric(mean, "time_unit=week");
    for (const monday of mondays) assert.is(new Date(`${monday}Z`).getUTCDay(), 1);
    assert.is((await metric(mean, "")).time.length, 24, "aggregates are by the hour");
    const end = await metric(mean, "time_unit=day&endTime=2024-06-02 00:00:00");
    assert.equal([end.time.length, end.time.at(-1), end.value.at(-1)], [30, "2024-06-01 00:00:00", 5.2]);
  });

  test("an aggregate and the points of the same question cover the same range", async () => {
    const { product } = await station();
    const fresh = await makeDevice(world, product);
    const now = Date.now();
    await world.publish(fresh, { time: now - 25 * 3_600_000, temp: 1 }, { time: now, temp: 2 });
    const count = await temp({ aggregateType: 8 });
    const { value } = await metric(count, "time_unit=hour", fresh);
    assert.equal(
      value.filter((one) => one !== null),
      [1],
    );
    const { list } = await ask("original_data", "time_unit=hour", fresh);
    assert.equal(originalData(list[0]).value, [2]);
    assert.equal(originalData((await ask("original_data", "", fresh)).list[0]).value, [1, 2]);
  });

  test("without a range raw points are the newest hundred", async () => {
    const { product } = await station();
    const chatty = await makeDevice(world, product);
    const many = Array.from({ length: 130 }, (_, i) => ({ time: Date.UTC(2024, 0, 1, 0, i), temp: i }));
    await world.publish(chatty, many);
    const points = async (query: string) =>
      originalData((await ask("original_data", query, chatty)).list[0]).value;
    assert.equal([(await points("")).length, (await points(""))[0]], [100, 30]);
    assert.is((await points("limit=120")).length, 120);
    assert.is((await points("startTime=2024-01-01 00:00:00")).length, 130);
    assert.equal((await points("endTime=2024-01-01 01:50:00"))[0], 10);
    assert.is((await metric(await formula("dataPoint"), "", chatty)).value.length, 100);
  });

  test("a window that the range cuts keeps its calendar start and holds only the range's points", async () => {
    const max = await temp({ aggregateType: 2 });
    const { time, value } = await metric(max, "startTime=2024-06-01 00:10:00&endTime=2024-06-01 02:20:00");
    assert.equal(
      time,
      ["00", "01", "02"].map((hour) => `2024-06-01 ${hour}:00:00`),
    );
    assert.equal(value, [8, null, 4]);
    const week = await metric(
      max,
      "time_unit=week&startTime=2024-06-01 02:00:00&endTime=2024-06-04 00:00:00",
    );
    assert.equal(
      [week.time, week.value],
      [
        ["2024-05-27 00:00:00", "2024-06-03 00:00:00"],
        [4, null],
      ],
    );
  });
});

worldSuite("data on days that are not 24 hours long", (test, world) => {
  let opening: Promise<{ device: Rec; count: Rec }> | undefined;
  const open = async () => {
    const product = await makeProduct(world);
    const point = await makeDataPoint(world, product, { dataPointID: "tick" });
    const count = await makeMetric(world, point, { aggregateType: 8 });
    const device = await makeDevice(world, product);
    // One tick an hour through the last Sundays of March and of October, and the days around them.
    const from = [Date.UTC(2024, 2, 30), Date.UTC(2024, 9, 26), Date.UTC(2024, 8, 7)];
    const ticks = from.flatMap((start) =>
      Array.from({ length: 96 }, (_, hour) => ({ time: start + hour * 3_600_000, tick: 1 })),
    );
    await world.publish(device, ticks);
    return { device, count };
  };
  const windows = async (query: string): Promise<Columns> => {
    opening ??= open();
    const { device, count } = await opening;
    const path = `/api/v1/metrics_data?deviceIntID=${device.id}&metricIntID=${count.id}&${query}`;
    const reply = await world.call("GET", path.replaceAll(" ", "%20"));
    assert.is(reply.status, 200, reply.text);
    return metricData(reply.list[0]);
  };
  const days = (zone: string, start: string, end: string, unit = "day") =>
    windows(`time_unit=${unit}&timezone=${zone}&startTime=${start} 00:00:00&endTime=${end} 00:00:00`);

  test("days of 23 and 25 hours are as long as they are", async () => {
    assert.equal((await days("Europe/Berlin", "2024-03-31", "2024-04-01")).value, [23]);
    // The first tick of October comes at two in the morning of the 26th.
    assert.equal((await days("Europe/Berlin", "2024-10-26", "2024-10-29")).value, [22, 25, 24]);
    assert.equal((await days("Asia/Shanghai", "2024-10-27", "2024-10-28")).value, [24]);
  });

  test("the hours of those days: one is missing, both of a doubled one appear", async () => {
    const spring = await days("Europe/London", "2024-03-31", "2024-04-01", "hour");
    assert.equal([spring.time.length, spring.time[1]], [23, "2024-03-31 02:00:00"]);
    const autumn = await days("Europe/London", "2024-10-27", "2024-10-28", "hour");
    assert.equal(
      [autumn.time.length, autumn.time.slice(0, 4)],
      [25, ["00", "01", "01", "02"].map((hour) => `2024-10-27 ${hour}:00:00`)],
    );
    assert.equal(autumn.value, Array(25).fill(1));
  });

  test("a day whose midnight is missing is labelled with it all the same", async () => {
    const { time, value } = await days("America/Santiago", "2024-09-08", "2024-09-09");
    assert.equal([time, value], [["2024-09-08 00:00:00"], [23]]);
  });

  test("a doubled local time in a question is the first, a missing one moves forward", async () => {
    const after = (start: string) =>
      windows(`time_unit=day&timezone=Europe/London&startTime=${start}&endTime=2024-10-28 00:00:00`);
    assert.equal((await after("2024-10-27 01:00:00")).value, [24]);
    const spring =
      "time_unit=day&timezone=Europe/London&startTime=2024-03-31 01:30:00&endTime=2024-04-01 00:00:00";
    // 01:30 is not there and becomes 02:30 summer time; ticks come on the hour.
    assert.equal((await windows(spring)).value, [21]);
  });
});

worldSuite(
  "data in the deployment's time zone",
  (test, world) => {
    test("texts without an offset and stamps are local, windows follow", async () => {
      const product = await makeProduct(world);
      const point = await makeDataPoint(world, product, { dataPointID: "tick" });
      const count = await makeMetric(world, point, { aggregateType: 8 });
      const device = await makeDevice(world, product);
      await world.publish(device, { time: "2024-06-01 00:30:00", tick: 1 });
      const data = `deviceIntID=${device.id}`;
      const raw = await world.call("GET", `/api/v1/original_data?${data}`);
      assert.equal(originalData(raw.list[0]).time, ["2024-06-01 00:30:00"]);
      const exact = await world.call("GET", `/api/v1/original_data?${data}&timeFormat=iso`);
      assert.equal(originalData(exact.list[0]).time, ["2024-05-31T16:30:00Z"]);
      const day = "time_unit=day&startTime=2024-06-01%2000:00:00&endTime=2024-06-02%2000:00:00";
      const local = await world.call("GET", `/api/v1/metrics_data?${data}&metricIntID=${count.id}&${day}`);
      assert.equal(metricData(local.list[0]), { time: ["2024-06-01 00:00:00"], value: [1] });
      const clock = (await world.call("GET", "/api/v1/time")).record;
      const hours = (Date.parse(`${clock.text}Z`) - Number(clock.time)) / 3_600_000;
      assert.equal([clock.timezone, Math.round(hours)], ["Asia/Shanghai", 8]);
    });
  },
  { TIMEZONE: "Asia/Shanghai" },
);
