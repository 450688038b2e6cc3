/** The forms of exports: their format, zone and times, also as pandas reads them. */
import { spawnSync } from "node:child_process";
import { makeDataPoint, makeDevice, makeProduct } from "../factories.js";
import { modulesMissing } from "../programs.js";
import { assert } from "../suite.js";
import { type Rec, refused, worldSuite } from "../world.js";
import { imported, pointsOf } from "./history.js";

const python = process.env.PYTHON_WITH_PEERS ?? "python3";
const hasPandas = process.env.CI === "true" || spawnSync(python, ["-c", "import pandas"]).status === 0;

/** Whole seconds and fractions, before and after a change of the clock in New York. */
const times = [
  "1969-12-31T23:59:59.5Z",
  "2026-10-31T12:00:00Z",
  "2026-11-20T10:00:00.25Z",
  "2026-11-20T10:00:01.000001Z",
] as const;

worldSuite("forms of exports", (test, world) => {
  let product: Rec;
  let device: Rec;
  test.before(async () => {
    product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp", dataPointName: "temp", pointDataType: 1 });
    device = await makeDevice(world, product);
    const rows = times.map((time, i) => `${device.deviceID},temp,${time},${i}`);
    await imported(world, `deviceID,dataPointID,time,value\n${rows.join("\n")}`);
  });

  const get = (query: string, Accept = "*/*", path = "original_data") =>
    world.call("GET", `/api/v1/${path}?deviceID=${device.deviceID}${query}`, undefined, {
      headers: { Accept },
    });
  const csvTimes = async (query: string): Promise<string[]> => {
    const { status, text } = await get(`&format=csv${query}`);
    assert.is(status, 200, text);
    return text
      .trim()
      .split("\r\n")
      .slice(1)
      .map((row) => row.split(",")[2] ?? "");
  };
  const jsonTimes = async (query: string): Promise<unknown[]> => {
    const { text } = await get(`&format=ndjson${query}`);
    return text
      .trim()
      .split("\n")
      .map((row) => (JSON.parse(row) as { time: unknown }).time);
  };

  test("format is chosen by the parameter, whatever Accept says; an unknown one is 400", async () => {
    const csv = await get("", "text/csv");
    for (const accept of ["*/*", "application/json", "text/html, */*;q=0.1"]) {
      const reply = await get("&format=csv", accept);
      assert.equal([reply.status, reply.text], [200, csv.text], accept);
      assert.is(reply.headers.get("content-type"), "text/csv; charset=utf-8");
      assert.match(reply.headers.get("content-disposition") ?? "", /\.csv/);
    }
    assert.is((await get("&format=ndjson", "text/csv")).text, (await get("", "application/x-ndjson")).text);
    const json = await get("&format=json", "text/csv");
    assert.is(json.text, (await get("")).text);
    assert.match(json.headers.get("content-type") ?? "", /json/);
    assert.is((await get("&format=", "text/csv")).text, csv.text);
    for (const format of ["xlsx", "CSV", "text/csv", "constructor"])
      refused(await get(`&format=${format}`), "PARAMETER_INVALID", "format");
    for (const format of ["csv", "ndjson", "x"])
      refused(await get(`&format=${format}`, "*/*", "metrics_data"), "PARAMETER_INVALID", "format");
    assert.is((await get("&format=json", "*/*", "metrics_data")).status, 200);
  });

  const utc = [
    "1969-12-31T23:59:59.500000Z",
    "2026-10-31T12:00:00.000000Z",
    "2026-11-20T10:00:00.250000Z",
    "2026-11-20T10:00:01.000001Z",
  ];
  const newYork = [
    "1969-12-31T18:59:59.500000-05:00",
    "2026-10-31T08:00:00.000000-04:00",
    "2026-11-20T05:00:00.250000-05:00",
    "2026-11-20T05:00:01.000001-05:00",
  ];

  test("times have six decimals, in UTC, with the offset of the zone asked for, or as milliseconds", async () => {
    for (const of of [csvTimes, jsonTimes]) {
      assert.equal(await of(""), utc);
      assert.equal(await of("&timeFormat=iso"), utc);
      assert.equal(await of("&timeFormat=iso&timezone=America/New_York"), utc, "iso is UTC, as in answers");
      assert.equal(await of("&timezone=America/New_York"), newYork);
    }
    const ms = [-500, 1_793_448_000_000, 1_795_168_800_250, 1_795_168_801_000.001];
    assert.equal(await csvTimes("&timeFormat=ms&timezone=America/New_York"), ms.map(String));
    assert.equal(await jsonTimes("&timeFormat=ms"), ms);
    const wide = await get("&format=csv&layout=wide&timezone=Asia/Shanghai&startTime=2026-11-20T10:00:01Z");
    assert.is(wide.text.split("\r\n")[1], `${device.deviceID},2026-11-20T18:00:01.000001+08:00,3`);
    refused(await get("&format=csv&timeFormat=unix"), "PARAMETER_INVALID", "timeFormat");
    refused(await get("&format=csv&timezone=Mars/Phobos"), "PARAMETER_INVALID", "timezone");
  });

  test("a zone's times are imported as the same points", async () => {
    for (const format of ["csv", "ndjson"] as const) {
      const copy = await makeDevice(world, product);
      const { text } = await get(`&format=${format}&timezone=America/New_York`);
      const moved = text.replaceAll(String(device.deviceID), String(copy.deviceID));
      const type = format === "csv" ? "text/csv" : "application/x-ndjson";
      assert.equal((await imported(world, moved, { "Content-Type": type })).errors, []);
      assert.equal(await pointsOf(world, copy), await pointsOf(world, device));
    }
  });

  test("bare numbers before 2000 are bad rows, which say what to send", async () => {
    const other = await makeDevice(world, product);
    const wrong = ["188", "20251120", "46027", "46027.5", "-1", "946684799", "0"];
    const rows = [...wrong, "946684800"].map((time) => `${other.deviceID},temp,${time},1`);
    const { import_success_num, errors } = await imported(
      world,
      `deviceID,dataPointID,time,value\n${rows.join("\n")}\n${other.deviceID},temp,1600-01-01T00:00:00Z,1`,
    );
    assert.is(import_success_num, 1);
    const told = "must be ISO 8601, or a number that means a time from 2000-01-01 on";
    assert.equal(
      errors.map(({ line, column, error }) => [line, column, error]),
      [
        ...wrong.map((_, i) => [i + 2, "time", told]),
        [10, "time", "lies before 1684-08-01T00:00:00Z, from which times are taken"],
      ],
    );
    assert.equal(await pointsOf(world, other), { temp: [[946_684_800_000_000, 1]] });
  });

  if (!hasPandas) test.skip("pandas reads times as times", modulesMissing("pandas"));
  else {
    test("pandas reads times as times", async () => {
      const program = `
import io, json, sys, pandas
files = json.load(sys.stdin)
found = []
for text in files:
    frame = pandas.read_csv(io.StringIO(text), parse_dates=["time"])
    column = frame["time"]
    micros = ((column - pandas.Timestamp(0, tz="UTC")) // pandas.Timedelta(1, "us")).tolist()
    found.append([str(column.dtype).split("[")[0], micros])
print(json.dumps(found))
`;
      const files = [];
      for (const query of ["", "&layout=wide", "&timezone=Asia/Shanghai&startTime=2026-01-01T00:00:00Z"])
        files.push((await get(`&format=csv${query}`)).text);
      const { status, stdout, stderr } = spawnSync(python, ["-c", program], {
        encoding: "utf8",
        input: JSON.stringify(files),
      });
      assert.is(status, 0, stderr);
      const micros = [-500_000, 1_793_448_000_000_000, 1_795_168_800_250_000, 1_795_168_801_000_001];
      assert.equal(JSON.parse(stdout), [
        ["datetime64", micros],
        ["datetime64", micros],
        ["datetime64", micros.slice(1)],
      ]);
    });
  }
});
