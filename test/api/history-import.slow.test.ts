import { makeDataPoint, makeDevice, makeGateway, makeProduct, unique } from "../factories.js";
import { assert } from "../suite.js";
import { type Rec, refused, worldSuite } from "../world.js";
import { csvType, imported, ndjsonType, packed, pointsOf, send } from "./history.js";
import { download, ended, formOf, formType } from "./transfer.js";

const t = (text: string): number => Date.parse(text) * 1000;
const day = "2024-03-01T00:00:00Z";

worldSuite("import of history", (test, world) => {
  let product: Rec;
  let device: Rec;
  const points = new Map<string, number>();
  const types = { temp: 1, on: 5, note: 3, place: 6, at: 24, count: 19, bin: 13, cmd: 1 } as const;

  test.before(async () => {
    product = await makeProduct(world);
    for (const [dataPointID, pointDataType] of Object.entries(types)) {
      const dataTransType = dataPointID === "cmd" ? 2 : 1;
      const { id } = await makeDataPoint(world, product, {
        dataPointID,
        dataPointName: dataPointID,
        pointDataType,
        dataTransType,
      });
      points.set(dataPointID, id);
    }
  });
  test.before.each(async () => {
    device = await makeDevice(world, product);
  });

  const rows = (...cells: readonly (readonly string[])[]) =>
    ["deviceID,dataPointID,time,value", ...cells.map((row) => [device.deviceID, ...row].join(","))].join(
      "\n",
    );

  test("rows of every type become points; again, nothing changes", async () => {
    const file = rows(
      ["temp", day, "-0.5"],
      ["temp", "2024-03-01T00:00:00.000001Z", "1e300"],
      ["temp", "2024-03-01 00:00:02", "+3."],
      ["temp", "1709251203", "4"],
      ["temp", "2024-03-01T05:30:04+05:30", "5"],
      ["on", day, "TRUE"],
      ["note", day, '"a ""b""\r\nc,d"'],
      ["note", "2024-03-01T00:00:01Z", ""],
      ["note", "2024-03-01T00:00:02Z", "'=1+1"],
      ["place", day, '"[121.5,31.25,4]"'],
      ["at", day, "5000.001"],
      ["at", "2024-03-01T00:00:01Z", day],
      ["count", day, "7"],
      ["bin", day, "AAEC"],
    );
    for (let repeat = 0; repeat < 2; repeat++) {
      const { import_success_num, errors } = await imported(world, file);
      assert.equal(errors, []);
      assert.is(import_success_num, 14);
      assert.equal(await pointsOf(world, device), {
        temp: [
          [t(day), -0.5],
          [t(day) + 1, 1e300],
          [t(day) + 2e6, 3],
          [t(day) + 3e6, 4],
          [t(day) + 4e6, 5],
        ],
        on: [[t(day), true]],
        note: [
          [t(day), 'a "b"\r\nc,d'],
          [t(day) + 1e6, ""],
          [t(day) + 2e6, "=1+1"],
        ],
        place: [[t(day), [121.5, 31.25, 4]]],
        at: [
          [t(day), 5000.001],
          [t(day) + 1e6, Date.parse(day)],
        ],
        count: [[t(day), 7]],
        bin: [[t(day), "AAEC"]],
      });
    }
  });

  test("a byte order mark, CRLF, semicolons, quoted names and another order of columns are read", async () => {
    const file = `\ufeff"time";value;"deviceID";dataPointID\r\n${day};1;"${device.deviceID}";"temp"\r\n\r\n2024-03-01T00:00:01Z;"2";${device.deviceID};temp`;
    assert.is((await imported(world, file)).import_success_num, 2);
    assert.equal((await pointsOf(world, device)).temp, [
      [t(day), 1],
      [t(day) + 1e6, 2],
    ]);
  });

  test("one column a data point; an empty cell is no point, a quoted one an empty text", async () => {
    const file = [
      "deviceID,time,temp,note,on",
      `${device.deviceID},${day},1,,true`,
      `${device.deviceID},2024-03-01T00:00:01Z,,"",`,
      `${device.deviceID},2024-03-01T00:00:02Z,x,ok,0`,
    ].join("\n");
    const { import_success_num, errors } = await imported(world, file);
    assert.is(import_success_num, 5);
    assert.equal(
      errors.map(({ line, column }) => [line, column]),
      [[4, "temp"]],
    );
    const { temp, note, on } = await pointsOf(world, device);
    assert.equal(
      [temp?.length, note, on],
      [
        1,
        [
          [t(day) + 1e6, ""],
          [t(day) + 2e6, "ok"],
        ],
        [
          [t(day), true],
          [t(day) + 2e6, false],
        ],
      ],
    );
  });

  test("a value outside its enumeration is a bad row, as it is refused of a device", async () => {
    const entries = (...values: readonly unknown[]) => ({
      enum: values.map((value) => ({ value, label: "" })),
    });
    const add = (dataPointID: string, pointDataType: number, of: object) =>
      makeDataPoint(world, product, { dataPointID, dataPointName: dataPointID, pointDataType, ...of });
    await add("mode", 1, entries(0, 2.5));
    await add("word", 3, entries("on", "off"));
    const file = rows(
      ["mode", day, "2.5"],
      ["mode", "2024-03-01T00:00:01Z", "2.50"],
      ["mode", "2024-03-01T00:00:02Z", "3"],
      ["word", day, "off"],
      ["word", "2024-03-01T00:00:01Z", "idle"],
    );
    const { import_success_num, errors } = await imported(world, file);
    assert.is(import_success_num, 3);
    assert.equal(
      errors.map(({ line, column, error }) => [line, column, error]),
      [4, 6].map((line) => [line, "value", "is none of the data point's enumeration"]),
    );
    const { mode, word } = await pointsOf(world, device);
    assert.equal(
      [mode, word],
      [
        [
          [t(day), 2.5],
          [t(day) + 1e6, 2.5],
        ],
        [[t(day), "off"]],
      ],
    );
    const wide = `{"deviceID":"${device.deviceID}","time":${t(day) / 1000},"mode":1,"word":"on"}`;
    const json = await imported(world, wide, ndjsonType);
    assert.equal([json.import_success_num, json.errors[0]?.column], [1, "mode"]);
  });

  test("NDJSON in both layouts, packed or in a form", async () => {
    const { deviceID } = device;
    const text = [
      JSON.stringify({ deviceID, dataPointID: "temp", time: day, value: 1.25 }),
      "",
      JSON.stringify({ deviceID, time: t(day) / 1000 + 1000, temp: 2, place: [1, 2], note: null, on: 1 }),
      '{"deviceID":"x"',
      "[]",
      JSON.stringify({ deviceID, dataPointID: "temp", time: day, value: null }),
      JSON.stringify({ dataPointID: "temp", time: day, value: 1 }),
    ].join("\n");
    for (const [file, headers] of [
      [text, ndjsonType],
      [packed(text), { ...ndjsonType, "Content-Encoding": "gzip" }],
      [formOf(text), { "Content-Type": formType }],
    ] as const) {
      const { import_success_num, errors } = await imported(world, file, headers);
      assert.is(import_success_num, 4);
      assert.equal(
        errors.map(({ line }) => line),
        [4, 5, 6, 7],
      );
    }
    const { temp, place, note } = await pointsOf(world, device);
    assert.equal(
      [temp, place, note],
      [
        [
          [t(day), 1.25],
          [t(day) + 1e6, 2],
        ],
        [[t(day) + 1e6, [1, 2]]],
        [],
      ],
    );
  });

  test("bad rows are reported by their line, the others are stored, and a file lists all", async () => {
    const foreign = await world.otherTenant();
    const theirs = await makeDevice(
      { ...world, make: (path, body) => world.make(path, body, { key: foreign }) },
      await world.make("/api/v1/products", { productName: unique("P"), cloudProtocol: 1 }, { key: foreign }),
    );
    const file = [
      "deviceID,dataPointID,time,value",
      `${device.deviceID},temp,${day},1`,
      `${theirs.deviceID},temp,${day},1`,
      `nobody,temp,${day},1`,
      `${device.deviceID},none,${day},1`,
      `${device.deviceID},cmd,${day},1`,
      `${device.deviceID},temp,yesterday,1`,
      `${device.deviceID},temp,2999-01-01T00:00:00Z,1`,
      `${device.deviceID},temp,2024-02-30T00:00:00Z,1`,
      `${device.deviceID},temp,${day},NaN`,
      `${device.deviceID},temp,${day},`,
      `${device.deviceID},temp,${day},1,2`,
      `${device.deviceID},temp`,
      `"${device.deviceID}"x,temp,${day},1`,
      `${device.deviceID},note,${day},"open`,
      `${device.deviceID},temp,2024-03-01T00:00:01Z,2`,
      `${device.deviceID},on,${day},2`,
      `${device.deviceID},note,${day},\ud83d\ude00`,
    ];
    const bytes = Buffer.concat([
      Buffer.from(`${file.join("\n")}\n${device.deviceID},note,${day},`),
      Buffer.from([0xff]),
    ]);
    const { import_success_num, import_failure_num, errors, status } = await imported(world, bytes);
    assert.equal(
      errors.map(({ line, column }) => `${line} ${column}`),
      [
        ...[
          "3 deviceID",
          "4 deviceID",
          "5 dataPointID",
          "6 dataPointID",
          "7 time",
          "8 time",
          "9 time",
          "10 value",
        ],
        ...["11 value", "12 ", "13 ", "14 ", "15 ", "17 value", "19 value"],
      ],
      JSON.stringify(errors),
    );
    assert.is(import_failure_num, errors.length);
    assert.is(import_success_num, 3);
    assert.equal((await pointsOf(world, device)).temp, [
      [t(day), 1],
      [t(day) + 1e6, 2],
    ]);
    const list = await (await download(world, String(status.excelPath))).text();
    assert.is(list.trim().split("\r\n").length, errors.length + 1);
    assert.match(list, /^line,column,error\r\n3,deviceID,there is no such device\r\n/);
  });

  test("a line without an end is passed over, and so is a quotation mark that nothing closes", async () => {
    const long = "x".repeat(3 << 20);
    const body = [
      `${device.deviceID},temp,${day},1`,
      long,
      `${device.deviceID},temp,2024-03-01T00:00:01Z,2`,
      `${device.deviceID},note,${day},"${"open\n".repeat(300_000)}`,
      `${device.deviceID},temp,2024-03-01T00:00:02Z,3`,
      `${device.deviceID},note,${day},${long}`,
    ].join("\n");
    const { import_success_num, errors } = await imported(world, `deviceID,dataPointID,time,value\n${body}`);
    assert.is(import_success_num, 3);
    assert.is(errors[0]?.line, 3);
    assert.match(String(errors[0]?.error), /longer than 524288 bytes/);
    assert.is(errors[1]?.line, 5);
    const nd = await imported(
      world,
      `${long}\n${JSON.stringify({ deviceID: device.deviceID, time: day, temp: 9 })}`,
      ndjsonType,
    );
    assert.equal([nd.import_success_num, nd.import_failure_num], [1, 1]);
  });

  test("the longest text is one row", async () => {
    const value = "\u0001".repeat(65_535);
    const row = { deviceID: device.deviceID, dataPointID: "note", time: day, value };
    assert.is((await imported(world, JSON.stringify(row), ndjsonType)).import_success_num, 1);
    assert.equal((await pointsOf(world, device)).note, [[t(day), value]]);
  });

  test("points days late change the aggregates of their windows at once", async () => {
    const mean = await world.make("/api/v1/metrics", {
      metricName: unique("mean"),
      aggregateType: 3,
      dataPointIntID: points.get("temp"),
    });
    const range = "time_unit=day&startTime=2024-03-01T00:00:00Z&endTime=2024-03-04T00:00:00Z";
    const means = async () => {
      const query = `deviceID=${device.deviceID}&metricIntID=${mean.id}&${range}`;
      const { list } = await world.call("GET", `/api/v1/metrics_data?${query}`);
      return (list[0]?.metricData as { value: unknown[] } | undefined)?.value;
    };
    await world.publish(device, { time: "2024-03-03T12:00:00Z", temp: 10 });
    assert.equal(await means(), [null, null, 10]);
    await world.publish(
      device,
      { time: "2024-03-01T12:00:00Z", temp: 2 },
      { time: "2024-03-03T01:00:00Z", temp: 20 },
    );
    assert.equal(await means(), [2, null, 15]);
    await imported(world, rows(["temp", "2024-03-01T12:00:00Z", "4"], ["temp", "2024-03-02T00:00:00Z", "1"]));
    assert.equal(await means(), [4, 1, 15]);
  });

  test("gateways have history too", async () => {
    const gateway = await makeGateway(world, product);
    const file = `deviceID,dataPointID,time,value\n${gateway.deviceID},temp,${day},5`;
    assert.is((await imported(world, file)).import_success_num, 1);
  });

  test("what is no history file is refused at once", async () => {
    const wrong = [
      "",
      "a,b,c",
      "deviceID,dataPointID,time",
      "deviceID,dataPointID,time,value,value",
      "deviceID,dataPointID,time,value,more",
      '"deviceID,dataPointID,time,value',
      "x".repeat(1 << 20),
      Buffer.from("deviceID,dataPointID,time,value", "utf16le").toString("latin1"),
    ];
    for (const file of wrong) {
      const reply = await send(world, file);
      // A device and a time name the wide layout: dataPointID is a data point then.
      if (file === "deviceID,dataPointID,time") continue;
      assert.is(reply.status, 422, `${file.slice(0, 50)}: ${reply.text}`);
      assert.is(reply.failure.errorCode, "FORMAT_INVALID");
    }
    refused(await send(world, "{}", { "Content-Type": "application/json" }), "UNSUPPORTED_MEDIA_TYPE");
    refused(await send(world, "x", { ...csvType, "Content-Encoding": "br" }), "UNSUPPORTED_MEDIA_TYPE");
    refused(await send(world, "x", { ...csvType, "Content-Encoding": "gzip" }), "BAD_REQUEST");
    refused(await send(world, "x", csvType, { key: await world.keyOf("viewer") }), "PERMISSION_DENIED");
  });

  test("a device deleted meanwhile takes its rows with it, and its successor starts empty", async () => {
    const many = Array.from({ length: 300_000 }, (_, i) => `${device.deviceID},temp,${1.6e9 + i},${i}`);
    const reply = await send(world, `deviceID,dataPointID,time,value\n${many.join("\n")}`);
    await world.call("DELETE", `/api/v1/devices?ids=${device.id}`);
    const { msg } = await ended(world, reply);
    const { import_success_num: good, import_failure_num: bad } = msg as Record<string, number>;
    assert.is(Number(good) + Number(bad), 300_000);
    for (;;) {
      const again = await world.call("POST", "/api/v1/devices", {
        productID: product.productID,
        cloudProtocol: 1,
        deviceName: unique("Device"),
        deviceID: device.deviceID,
        deviceType: 1,
        upLinkSystem: 1,
        authType: 1,
      });
      if (again.status === 201) break;
      refused(again, "DATA_EXISTED");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.equal((await pointsOf(world, device)).temp, []);
  });
});

worldSuite(
  "import of history within bounds",
  (test, world) => {
    test("a file that is too large is 413, points before the retention or OLDEST_TIME are bad rows", async () => {
      const product = await makeProduct(world);
      await makeDataPoint(world, product, { dataPointID: "temp" });
      const device = await makeDevice(world, product);
      refused(await send(world, "x".repeat(20_000)), "PAYLOAD_TOO_LARGE");
      refused(
        await send(world, packed("x".repeat(20_000)), { ...csvType, "Content-Encoding": "gzip" }),
        "PAYLOAD_TOO_LARGE",
      );
      const now = new Date().toISOString();
      const file = `deviceID,time,temp\n${device.deviceID},${now},1\n${device.deviceID},2001-01-01T00:00:00Z,1\n${device.deviceID},1999-12-31T23:59:59.999999Z,1`;
      const { import_success_num, errors } = await imported(world, file);
      assert.is(import_success_num, 1);
      assert.equal(errors, [
        { line: 3, column: "time", error: "lies before what is kept" },
        { line: 4, column: "time", error: "lies before 2000-01-01T00:00:00Z, from which times are taken" },
      ]);
    });
  },
  { IMPORT_BYTES_MAX: "10000", POINT_RETENTION_DAYS: "30", OLDEST_TIME: "2000-01-01" },
);
