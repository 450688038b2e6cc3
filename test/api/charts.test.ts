import { request } from "node:http";
import { gunzipSync } from "node:zlib";
import { makeDataPoint, makeDevice, makeGroup, makeMetric, makeProduct } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, refused, type World, worldSuites } from "../world.js";

interface Columns {
  readonly time: readonly (string | number)[];
  readonly value: readonly unknown[];
}

const columnsOf = (item: Rec | undefined) => (item?.originalData ?? item?.metricData) as Columns;
const startMs = Date.UTC(2025, 4, 1);
const span = `startTime=${startMs}&endTime=${startMs + 40 * 86_400_000}`;

interface Station {
  readonly product: Rec;
  readonly devices: readonly Rec[];
  readonly points: readonly Rec[];
}

async function open(world: World): Promise<Station> {
  const product = await makeProduct(world);
  const temp = await makeDataPoint(world, product, { dataPointID: "temp" });
  const note = await makeDataPoint(world, product, { dataPointID: "note", pointDataType: 3 });
  const devices = [];
  for (let i = 0; i < 3; i++) devices.push(await makeDevice(world, product));
  return { product, devices, points: [temp, note] };
}

/** A wave, and one spike that no chart may lose. */
const waveAt = (i: number): number => (i === 33_333 ? 500 : Math.round(1000 * Math.sin(i / 700)) / 10);

worldSuites("data for charts", (test, world) => {
  let opening: Promise<Station> | undefined;
  const station = () => {
    opening ??= open(world);
    return opening;
  };
  const get = (path: string, query: string, headers: Record<string, string> = {}) =>
    world.call("GET", `/api/v1/${path}?${query}`, undefined, { headers });

  test("maxPoints thins a long range to points that keep its line, in both ways of the engine", async () => {
    const { devices } = await station();
    const [device] = devices as [Rec];
    const count = 60_000;
    const payloads = [];
    for (let from = 0; from < count; from += 1000) {
      payloads.push(
        Array.from({ length: 1000 }, (_, k) => ({
          time: startMs + (from + k) * 50_000,
          temp: waveAt(from + k),
          ...((from + k) % 100 === 0 ? { note: `n${from + k}` } : {}),
        })),
      );
    }
    await world.publish(device, ...payloads);
    // All points compete in a third of the range, buckets' extremes in the whole.
    for (const [end, most] of [
      [20_000, 300],
      [60_000, 300],
      [60_000, 2_000],
    ] as const) {
      const range = `startTime=${startMs}&endTime=${startMs + end * 50_000}&timeFormat=ms`;
      const reply = await get("original_data", `deviceID=${device.deviceID}&${range}&maxPoints=${most}`);
      assert.is(reply.headers.get("truncated"), null, reply.text.slice(0, 200));
      const [temp, note] = reply.list.map(columnsOf);
      assert.equal([temp?.time.length, note?.time.length], [most, Math.min(most, end / 100)]);
      const indexes = (temp?.time ?? []).map((time) => (Number(time) - startMs) / 50_000);
      assert.equal(temp?.value, indexes.map(waveAt), "every point is one of the series");
      assert.ok(indexes.every((one, i) => one > (indexes[i - 1] ?? -1)));
      assert.equal([indexes[0], indexes.at(-1)], [0, end - 1]);
      assert.is(temp?.value.includes(500), end > 33_333, "the spike");
    }
    const few = await get("original_data", `deviceID=${device.deviceID}&${span}&limit=50&maxPoints=10`);
    assert.equal([columnsOf(few.list[0]).time.length, few.headers.get("truncated")], [10, "true"]);
    const newest = await get("original_data", `deviceID=${device.deviceID}&maxPoints=20`);
    assert.is(columnsOf(newest.list[0]).time.length, 20);
    const none = await get("original_data", `deviceID=${devices[2]?.deviceID}&${span}&maxPoints=20`);
    assert.equal(columnsOf(none.list[0]), { time: [], value: [] });
    for (const wrong of ["2", "10001", "x", "3.5", "-1"]) {
      const reply = await get("original_data", `deviceID=${device.deviceID}&maxPoints=${wrong}`);
      refused(reply, "PARAMETER_INVALID", "maxPoints");
    }
  });

  test("maxPoints thins formulas to values that keep their line; where the formula is null there is none", async () => {
    const { points, devices } = await station();
    const [device] = devices as [Rec];
    const formula = { metricType: 1, aggregateType: undefined };
    const doubled = await makeMetric(world, points[0] as Rec, { ...formula, expressions: "1 - 2 * temp" });
    const rooted = await makeMetric(world, points[0] as Rec, { ...formula, expressions: "sqrt(temp)" });
    const aggregate = await makeMetric(world, points[0] as Rec, { aggregateType: 1 });
    const ask = (metric: Rec, end: number, most: number, more = "") =>
      get(
        "metrics_data",
        `deviceID=${device.deviceID}&metricIntID=${metric.id}&startTime=${startMs}&endTime=${startMs + end * 50_000}&timeFormat=ms&maxPoints=${most}${more}`,
      );
    const indexOf = (time: string | number) => (Number(time) - startMs) / 50_000;
    for (const end of [20_000, 60_000]) {
      const found = columnsOf((await ask(doubled, end, 300)).list[0]);
      assert.is(found.time.length, 300);
      const indexes = found.time.map(indexOf);
      assert.equal(
        found.value,
        indexes.map((i) => 1 - 2 * waveAt(i)),
      );
      assert.equal([indexes[0], indexes.at(-1)], [0, end - 1]);
      assert.is(Math.min(...(found.value as number[])), end > 33_333 ? -999 : -199);
      const reply = await ask(rooted, end, 300);
      const root = columnsOf(reply.list[0]);
      assert.is(root.time.length, 300);
      assert.equal(
        root.value,
        root.time.map((time) => Math.sqrt(waveAt(indexOf(time)))),
      );
      const negative = Array.from({ length: end }, (_, i) => waveAt(i)).filter((value) => value < 0).length;
      assert.is(reply.headers.get("formula-errors"), String(negative));
    }
    const newest = columnsOf((await ask(doubled, 60_000, 10, "&limit=500")).list[0]);
    assert.equal([newest.time.length, indexOf(newest.time[0] ?? 0)], [10, 59_500]);
    const windows = await ask(aggregate, 60_000, 5, "&time_unit=day");
    assert.is(columnsOf(windows.list[0]).time.length, 35);
    for (const wrong of [2, 10_001]) refused(await ask(doubled, 10, wrong), "PARAMETER_INVALID", "maxPoints");
  });

  test("several devices in one answer: in their order, each item with its owner", async () => {
    const { product, devices, points } = await station();
    const [temp] = points as [Rec];
    const metric = await makeMetric(world, temp, { aggregateType: 8 });
    const [a, b, c] = devices as [Rec, Rec, Rec];
    await world.publish(b, { time: startMs, temp: 7 });
    await world.publish(c, { time: startMs, temp: 8 }, { time: startMs + 1, temp: 9 });
    const ids = `${c.deviceID},${b.deviceID},${c.deviceID}`;
    const raw = await get("original_data", `deviceID=${ids}&${span}`);
    assert.equal(
      raw.list.map((item) => [item.deviceID, item.deviceIntID, item.dataPointIntID]),
      [c, b].flatMap((one) => points.map((point) => [one.deviceID, one.id, point.id])),
    );
    assert.equal(
      raw.list.map((item) => columnsOf(item).value),
      [[8, 9], [], [7], []],
    );
    hasKeys(raw.list[0], ["dataPointIntID", "dataPointName", "originalData", "deviceID", "deviceIntID"]);
    const single = await get("original_data", `deviceID=${c.deviceID}&${span}`);
    hasKeys(single.list[0], ["dataPointIntID", "dataPointName", "originalData"]);
    const windows = `metricIntID=${metric.id}&time_unit=month&timezone=UTC`;
    const counts = await get(
      "metrics_data",
      `deviceID=${ids}&${windows}&startTime=${startMs}&endTime=${startMs + 1e9}`,
    );
    assert.equal(
      counts.list.map((item) => [item.id, item.deviceIntID, columnsOf(item).value]),
      [
        [metric.id, c.id, [2]],
        [metric.id, b.id, [1]],
      ],
    );

    const group = await makeGroup(world, product);
    const empty = await get("original_data", `groupID=${group.groupID}&${span}`);
    assert.equal([empty.status, empty.list], [200, []]);
    await world.call("POST", `/api/v1/groups/${group.id}/devices`, { ids: [c.id, b.id] });
    const members = await get("original_data", `groupID=${group.groupID}&${span}&limit=1`);
    assert.equal(
      members.list.map((item) => [item.deviceIntID, columnsOf(item).value]),
      [
        [b.id, [7]],
        [b.id, []],
        [c.id, [9]],
        [c.id, []],
      ],
    );
    assert.is(members.headers.get("truncated"), "true");
    assert.ok(a.id < b.id);

    const wrong: readonly (readonly [query: string, code: string, field: string])[] = [
      [`deviceID=${b.deviceID},`, "PARAMETER_INVALID", "deviceID"],
      ["deviceID=,", "PARAMETER_INVALID", "deviceID"],
      [`deviceID=${b.deviceID},nobody`, "DATA_NOT_FOUND", "deviceID"],
      [`deviceID=${ids}&deviceIntID=${b.id}`, "PARAMETER_INVALID", "deviceIntID"],
      [`deviceID=${b.deviceID}&groupID=${group.groupID}`, "PARAMETER_INVALID", "groupID"],
      ["groupID=nobody", "DATA_NOT_FOUND", "groupID"],
      [`deviceID=${Array.from({ length: 101 }, (_, i) => `d${i}`)}`, "PARAMETER_INVALID", "deviceID"],
    ];
    for (const [query, code, field] of wrong) {
      for (const path of ["original_data", "metrics_data"]) refused(await get(path, query), code, field);
    }
    const key = await world.otherTenant();
    const foreign = await world.call("GET", `/api/v1/original_data?groupID=${group.groupID}`, undefined, {
      key,
    });
    refused(foreign, "DATA_NOT_FOUND", "groupID");
  });

  test("a known answer is 304 until it changes; the tag is the same however it is packed", async () => {
    const { devices, points } = await station();
    const [, , device] = devices as [Rec, Rec, Rec];
    await makeMetric(world, points[0] as Rec, { aggregateType: 1 });
    const day = `deviceID=${device.deviceID}&time_unit=day&startTime=2025-05-01%2000:00:00&endTime=2025-06-01%2000:00:00`;
    for (const path of ["metrics_data", "original_data"]) {
      const first = await get(path, day);
      const tag = first.headers.get("etag") ?? "";
      assert.match(tag, /^W\/"[\w-]+"$/);
      for (const known of [tag, `"x", ${tag}`, tag.slice(2), "*"]) {
        const again = await get(path, day, { "If-None-Match": known });
        assert.equal([again.status, again.text, again.headers.get("etag")], [304, "", tag], known);
        assert.ok(again.headers.get("x-request-id"));
      }
      assert.is((await get(path, day, { "If-None-Match": '"other"' })).status, 200);
      await world.publish(device, {
        time: startMs + 3_600_000 * (path === "metrics_data" ? 5 : 6),
        temp: 1000,
      });
      const changed = await get(path, day, { "If-None-Match": tag });
      assert.is(changed.status, 200, path);
      assert.is.not(changed.headers.get("etag"), tag);
    }
  });

  test("gzip where it is accepted and worth it", async () => {
    const { devices } = await station();
    const path = `/api/v1/original_data?deviceID=${devices[0]?.deviceID}&${span}`;
    const plain = await raw(world, path, { "Accept-Encoding": "identity" });
    assert.equal(
      [plain.encoding, plain.vary],
      [undefined, "Accept-Encoding, Api-Variant, Time-Format, Label-Language"],
    );
    for (const [accepted, packed] of [
      ["gzip", true],
      ["br, gzip;q=0.5", true],
      ["*", true],
      ["GZIP", true],
      ["gzip;q=0", false],
      ["br", false],
    ] as const) {
      const answer = await raw(world, path, { "Accept-Encoding": accepted });
      assert.is(answer.encoding, packed ? "gzip" : undefined, accepted);
      assert.ok((packed ? gunzipSync(answer.body) : answer.body).equals(plain.body), accepted);
      assert.is(answer.etag, plain.etag);
      assert.ok(!packed || answer.body.length < plain.body.length / 3);
    }
    const small = await raw(world, `/api/v1/original_data?deviceID=${devices[0]?.deviceID}&limit=1`, {
      "Accept-Encoding": "gzip",
    });
    assert.is(small.encoding, undefined);
  });

  test("a range that no answer can hold is refused with the limit named, a long one is answered", async () => {
    const { devices, points } = await station();
    const { deviceID } = devices[1] as Rec;
    const metric = await makeMetric(world, points[0] as Rec, { aggregateType: 8 });
    const century = "startTime=1950-01-01%2000:00:00&endTime=2050-01-01%2000:00:00";
    const ask = (query: string) =>
      get("metrics_data", `deviceID=${deviceID}&metricIntID=${metric.id}&${query}`);
    for (const [unit, count] of [
      ["month", 1_200],
      ["week", 5_219],
      ["year", 100],
    ] as const) {
      const reply = await ask(`${century}&time_unit=${unit}`);
      assert.is(columnsOf(reply.list[0]).time.length, count, reply.text.slice(0, 200));
    }
    // 36,525 days, 876,600 hours, 52 million minutes.
    for (const unit of ["day", "hour", "minute"]) {
      const reply = await ask(`${century}&time_unit=${unit}`);
      refused(reply, "PARAMETER_INVALID", "time_unit");
      assert.match(reply.failure.errors.time_unit ?? "", /10000/);
    }
    // Ten million windows and the widest range that there is.
    const minutes = `startTime=0&endTime=${10_000_000 * 60_000}&time_unit=minute`;
    refused(await ask(minutes), "PARAMETER_INVALID", "time_unit");
    const widest = "startTime=1684-08-01T00:00:00Z&endTime=2255-05-31T00:00:00Z";
    refused(await ask(`${widest}&time_unit=minute`), "PARAMETER_INVALID", "time_unit");
    const all = await get("original_data", `deviceID=${deviceID}&${widest}`);
    assert.equal([all.status, columnsOf(all.list[0]).value], [200, [7]]);
    assert.is((await get("original_data", `deviceID=${deviceID}&${widest}&maxPoints=100`)).status, 200);
    for (const wrong of ["startTime=1e30", `endTime=${"9".repeat(30)}`, "startTime=275761-01-01T00:00:00Z"]) {
      refused(await ask(wrong), "PARAMETER_INVALID", wrong.split("=")[0] ?? "");
    }
    for (const unit of ["minute", "hour", "day", "week", "month", "year", "real"]) {
      const backwards = `time_unit=${unit}&startTime=2025-05-02%2000:00:00&endTime=2025-05-01%2000:00:00`;
      const path = unit === "real" ? "original_data" : "metrics_data";
      refused(await get(path, `deviceID=${deviceID}&${backwards}`), "PARAMETER_INVALID", "endTime");
    }
  });

  test("a formula's error at a point is null there and counted, pushed down or not", async () => {
    const { product, points } = await station();
    const device = await makeDevice(world, product);
    await world.publish(device, ...[1, 2, 4].map((temp, i) => ({ time: startMs + i * 60_000, temp })));
    const hour = `deviceID=${device.deviceID}&startTime=${startMs}&endTime=${startMs + 3_600_000}&time_unit=hour`;
    const of = async (expressions: string, aggregateType: number) => {
      const fields = { expressions, aggregateType, metricType: 2, aggregateData: 1 };
      const { id } = await makeMetric(world, points[0] as Rec, fields);
      const reply = await get("metrics_data", `${hour}&metricIntID=${id}`);
      assert.is(reply.status, 200, reply.text);
      return [columnsOf(reply.list[0]).value, reply.headers.get("formula-errors")];
    };
    assert.equal(await of("8 / (dataPoint - 2)", 4), [[-4], "1"]);
    assert.equal(await of("8 / (dataPoint - 2)", 8), [[2], "1"]);
    assert.equal(await of("8 / dataPoint", 3), [[14 / 3], null]);
    assert.equal(await of("dataPoint * -2", 1), [[-2], null]);
    assert.equal(await of("dataPoint * -2", 5), [[-12], null]);
    assert.equal(await of("(dataPoint * 1e308) * 10 / 1e308", 8), [[null], "3"]);
    assert.equal(await of("sqrt(dataPoint - 2)", 4), [[Math.SQRT2], "1"]);
    assert.equal(await of("dataPoint + lastValue", 4), [[9], null]);
  });

  test("a question names the data points that it wants, for JSON and files alike", async () => {
    const { devices, points } = await station();
    const [, device] = devices as [Rec, Rec];
    const [temp, note] = points as [Rec, Rec];
    await world.publish(device, { time: startMs, temp: 1, note: "a" });
    const asked = async (ids: unknown) => {
      const { list } = await get(
        "original_data",
        `deviceID=${device.deviceID}&${span}&dataPointIntID=${ids}`,
      );
      return list.map(({ dataPointIntID }) => dataPointIntID);
    };
    assert.equal(await asked(temp.id), [temp.id]);
    assert.equal((await asked(`${note.id},${temp.id}`)).sort(), [temp.id, note.id].sort());
    assert.equal(await asked(""), await asked(`${temp.id},${note.id}`));
    assert.equal(await asked(Number.MAX_SAFE_INTEGER), []);
    const rows = await get("original_data", `deviceID=${device.deviceID}&dataPointIntID=${temp.id}`, {
      Accept: "text/csv",
    });
    assert.is(rows.text.trim().split("\n").length, 2);
    assert.match(rows.text, /,temp,/);
    const many = Array.from({ length: 101 }, (_, i) => i + 1).join();
    for (const wrong of ["x", "0", "-1", "1,,2", "1.5", many]) {
      refused(
        await get("original_data", `deviceID=${device.deviceID}&dataPointIntID=${wrong}`),
        "PARAMETER_INVALID",
        "dataPointIntID",
      );
    }
  });
});

interface RawAnswer {
  readonly body: Buffer;
  readonly encoding: string | undefined;
  readonly etag: string | undefined;
  readonly vary: string | undefined;
}

/** As the bytes come: fetch unpacks by itself. */
function raw(world: World, path: string, headers: Record<string, string>): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const all = { ...headers, Authorization: `Bearer ${world.first.apiKey}` };
    request(world.http + path, { headers: all }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      const { "content-encoding": encoding, etag, vary } = response.headers;
      resolve({ body: Buffer.concat(chunks), encoding, etag, vary });
    })
      .on("error", reject)
      .end();
  });
}
