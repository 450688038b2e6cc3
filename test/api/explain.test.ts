import { makeDataPoint, makeDevice, makeGateway, makeProduct, makeStream } from "../factories.js";
import { assert } from "../suite.js";
import { type Rec, refused, type World, worldSuite } from "../world.js";

interface Explained {
  readonly form: {
    readonly taken: string | null;
    readonly isEnvelope: boolean;
    readonly isEntry: boolean;
    readonly fault: Readonly<Record<string, unknown>> | null;
    readonly others: readonly { readonly form: string; readonly why: string }[];
  };
  readonly stream: { readonly id: number; readonly streamName: string } | null;
  readonly points: readonly Record<string, unknown>[];
  readonly refused: readonly Record<string, unknown>[];
  readonly unknownKeys: readonly Record<string, unknown>[];
  readonly isTruncated: boolean;
  readonly isDiscarded: boolean;
  readonly binary: readonly Record<string, unknown>[] | null;
  readonly entries: { readonly items: readonly Record<string, unknown>[]; readonly count: number } | null;
}

async function explained(world: World, device: Rec, body: object): Promise<Explained> {
  const reply = await world.call("POST", `/api/v1/devices/${device.id}/explain`, body);
  assert.is(reply.status, 200, reply.text);
  return reply.record as unknown as Explained;
}

worldSuite("what becomes of a message", (test, world) => {
  let product: Rec;
  let temp: Rec;
  let device: Rec;
  test.before(async () => {
    product = await makeProduct(world);
    temp = await makeDataPoint(world, product, { dataPointID: "temp", pointDataType: 17 });
    await makeDataPoint(world, product, { dataPointID: "humidity", pointDataType: 16, binarySize: 1 });
    await makeDataPoint(world, product, { dataPointID: "note", pointDataType: 12 });
    await makeDataPoint(world, product, { dataPointID: "door", pointDataType: 19, binarySize: 3 });
    await makeDataPoint(world, product, { dataPointID: "place", pointDataType: 6 });
    device = await makeDevice(world, product, { deviceID: `\u{1f600}'"${"z".repeat(60)}` });
  });
  const told = (payload: unknown, topic = "data") =>
    explained(world, device, {
      topic,
      payload: typeof payload === "string" ? payload : JSON.stringify(payload),
    });

  test("JSON: points, and each refused key with its reason and what mends it", async () => {
    const time = 1_750_000_000_000.25;
    const found = await told({
      time,
      temp: 1.5,
      humdity: 2,
      "\u0000'": { a: 1 },
      humidity: "x",
      place: [1, 2],
    });
    assert.equal(
      [found.form.taken, found.form.isEnvelope, found.stream, found.binary, found.entries],
      ["json", false, null, null, null],
    );
    assert.equal(
      found.form.others.map(({ form }) => form),
      ["binary", "cbor", "senml"],
    );
    assert.match(found.form.others[1]?.why ?? "", /0x7b/);
    assert.equal(found.points[0], {
      dataPointID: "temp",
      dataPointIntID: temp.id,
      value: 1.5,
      time,
      from: { key: "temp" },
    });
    assert.equal(found.points[1]?.value, [1, 2]);
    assert.equal(
      found.refused.map(({ key, value, reason, count }) => [key, value, reason, count]),
      [
        ["humdity", "2", "unknown", 1],
        ["\u0000'", '{"a":1}', "unknown", 1],
        ["humidity", "x", "number", 1],
      ],
    );
    assert.ok(found.refused.every(({ text }) => String(text).length > 20));
    assert.equal(found.unknownKeys, [
      { key: "humdity", suggestion: "humidity", isInProduct: false },
      { key: "\u0000'", suggestion: null, isInProduct: false },
    ]);
  });

  test("nothing of it is stored, and no alert begins", async () => {
    const hot = await makeDataPoint(world, product, { dataPointID: "hot", upperLimit: 5 });
    await told({ hot: 50 });
    await world.settled();
    await world.alertsSettled();
    const points = await world.call("GET", `/api/v1/original_data?deviceIntID=${device.id}`);
    const item = points.list.find((one) => one.dataPointIntID === hot.id);
    assert.equal(item?.originalData, { time: [], value: [] });
    const alerts = await world.call("GET", `/api/v1/current_alerts?deviceIntID=${device.id}`);
    assert.is(alerts.page.meta.count, 0);
    const events = await world.call("GET", `/api/v1/devices/${device.id}/events`);
    assert.is(events.page.meta.count, 0);
  });

  test("the other forms: SenML, CBOR, and what is none", async () => {
    const pack = await told([{ bn: "urn:dev:", n: "temp", v: 21, t: 0 }]);
    assert.equal([pack.form.taken, pack.points[0]?.value], ["senml", 21]);
    const cbor = Buffer.from([0x81, 0xa2, 0x00, 0x64, ...Buffer.from("temp"), 0x02, 0x18, 0x2a]);
    const packed = await explained(world, device, { topic: "data", base64: cbor.toString("base64") });
    assert.equal([packed.form.taken, packed.points[0]?.value], ["cbor", 42]);
    const none = await told("temp=5");
    assert.equal([none.form.taken, none.points, none.refused[0]?.reason], [null, [], "format"]);
    assert.equal(
      none.form.others.map(({ form }) => form),
      ["binary", "cbor", "senml", "json"],
    );
    const array = await told([1]);
    assert.equal([array.form.taken, array.refused[0]?.reason], ["json", "shape"]);
    assert.is((await explained(world, device, { topic: "data", payload: "" })).refused[0]?.reason, "format");
  });

  test("what breaks JSON, and where; nothing is said of it where something else is meant", async () => {
    const nan = await told('{"temp":1,\n"humidity":NaN}');
    assert.equal(nan.form.fault, { byte: 22, line: 2, column: 12, why: "NaN is no number of JSON" });
    assert.match(nan.form.others.at(-1)?.why ?? "", /line 2, column 12: NaN is no number of JSON$/);
    assert.match(String(nan.refused[0]?.text), /At line 2, column 12: NaN is no number of JSON\.$/);
    const latin = Buffer.from('{"temp":1,"u":"\xb0C"}', "latin1").toString("base64");
    const found = await explained(world, device, { topic: "data", base64: latin });
    assert.equal(found.form.fault, { byte: 15, line: 1, column: 16, why: "the byte 0xb0 is not UTF-8" });
    assert.is((await told({ temp: 1 })).form.fault, null);
    const cbor = await explained(world, device, { topic: "data", base64: "oWE=" });
    assert.equal([cbor.form.taken, cbor.form.fault], ["cbor", null]);
  });

  test("a time under another name: which name counts, where the value may be one", async () => {
    const iso = "2025-11-20T10:00:00Z";
    const times: readonly (readonly [string, unknown])[] = [
      ["Time", iso],
      ["ts", 1_763_632_800_000],
      ["timestamp", 1_763_632_800],
      ["t", "1763632800"],
      ["last_seen", iso],
      ["DateTime", "2025-11-20 10:00:00"],
      ["measuredAt", iso],
      ["event_time_ms", 1_763_632_800_000],
      ["时间", iso],
    ];
    for (const [key, value] of times) {
      const found = await told({ [key]: value, temp: 1 });
      assert.equal(found.unknownKeys, [{ key, suggestion: "time", isInProduct: false }]);
      assert.match(String(found.refused[0]?.text), /perhaps a time.* under the name time/);
    }
    for (const [key, value] of [
      ["t", 21.5],
      ["Time", "soon"],
      ["status", iso],
      ["lat", 1_763_632_800],
    ] as const) {
      const {
        unknownKeys,
        refused: [first],
      } = await told({ [key]: value });
      assert.not.equal(unknownKeys[0]?.suggestion, "time", key);
      assert.not.match(String(first?.text), /perhaps a time/);
    }
    const form = await told({ temp: { value: 1, timestamp: iso } });
    assert.equal(form.unknownKeys, [{ key: "temp.timestamp", suggestion: "time", isInProduct: false }]);
    const gateway = await makeGateway(world, product);
    const child = await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id });
    const payload = JSON.stringify({ Telemetry: [{ DeviceID: child.deviceID, ts: iso, temp: 1 }] });
    const { entries } = await explained(world, gateway, { topic: "data", payload });
    assert.equal(entries?.items[0]?.unknownKeys, [
      { key: "ts", suggestion: "TimeStamp", isInProduct: false },
    ]);
  });

  test("a binary stream: each field with its bytes and bits, as far as the payload goes", async () => {
    const points = await world.call("GET", `/api/v1/data_points?productID=${product.productID}&_limit=100`);
    const idOf = (name: string) => points.page.items.find((one) => one.dataPointID === name)?.id;
    const stream = await makeStream(world, product, {
      topic: "raw",
      streamDataType: 2,
      dataPoints: ["temp", "note", "door", "humidity"].map(idOf),
    });
    const bytes = Buffer.from([0x41, 0xac, 0, 0, 0, 2, 0x68, 0x69, 0xa0, 41]);
    const whole = await explained(world, device, { topic: "raw", base64: bytes.toString("base64") });
    assert.equal(
      [whole.form.taken, whole.stream],
      ["binary", { id: stream.id, streamName: stream.streamName }],
    );
    assert.equal(whole.binary, [
      { dataPointID: "temp", from: 0, to: 4, fromBit: 0, toBit: 32 },
      { dataPointID: "note", from: 4, to: 8, fromBit: 32, toBit: 64 },
      { dataPointID: "door", from: 8, to: 9, fromBit: 64, toBit: 67 },
      { dataPointID: "humidity", from: 9, to: 10, fromBit: 72, toBit: 80 },
    ]);
    assert.equal(
      whole.points.map(({ dataPointID, value, from }) => [dataPointID, value, from]),
      [
        ["temp", 21.5, { fromByte: 0, toByte: 4 }],
        ["note", "hi", { fromByte: 4, toByte: 8 }],
        ["door", 5, { fromByte: 8, toByte: 9 }],
        ["humidity", 41, { fromByte: 9, toByte: 10 }],
      ],
    );
    const short = await explained(world, device, {
      topic: "raw",
      base64: bytes.subarray(0, 8).toString("base64"),
    });
    assert.equal([short.points, short.refused.map(({ reason }) => reason)], [[], ["length"]]);
    assert.equal(
      short.binary?.map(({ dataPointID }) => dataPointID),
      ["temp", "note"],
    );
  });

  test("a kept message by its id, among many, as the product is now", async () => {
    const other = await makeDevice(world, product);
    await world.publish(other, ...Array.from({ length: 40 }, (_, i) => ({ temp: i, later: i })));
    const { page } = await world.call("GET", `/api/v1/devices/${other.id}/events?_limit=100`);
    assert.is(page.items.length, 40);
    for (const at of [0, 17, 39]) {
      const found = await explained(world, other, { eventID: page.items[at]?.id });
      assert.is(found.points[0]?.value, 39 - at);
    }
    assert.is((await explained(world, other, { eventID: page.items[0]?.id })).points.length, 1);
    await makeDataPoint(world, product, { dataPointID: "later" });
    assert.is((await explained(world, other, { eventID: page.items[0]?.id })).points.length, 2);
    for (const eventID of [1, Number(page.items[0]?.id) + 1, 2 ** 52]) {
      const reply = await world.call("POST", `/api/v1/devices/${other.id}/explain`, { eventID });
      refused(reply, "DATA_NOT_FOUND", "eventID");
    }
    const elsewhere = { eventID: page.items[0]?.id };
    refused(await world.call("POST", `/api/v1/devices/${device.id}/explain`, elsewhere), "DATA_NOT_FOUND");
  });

  test("a gateway's envelope: which child each entry is of, carried or not", async () => {
    const gateway = await makeGateway(world, product);
    const below = { upLinkSystem: 2, gateway: gateway.id };
    const child = await makeDevice(world, product, below);
    const blocked = await makeDevice(world, product, { ...below, blocked: 1 });
    const entries = [
      { DeviceID: child.deviceID, TimeStamp: 1_750_000_000, temp: 5, Humidity: 1 },
      { DeviceID: blocked.deviceID, temp: 6 },
      { DeviceID: device.deviceID, temp: 7 },
      { temp: 8 },
      null,
    ];
    const payload = JSON.stringify({ Telemetry: entries, temp: 1 });
    const found = await explained(world, gateway, { topic: "data", payload });
    assert.equal([found.form.isEnvelope, found.entries?.count, found.points.length], [true, 5, 1]);
    assert.equal(
      found.entries?.items.map(({ deviceID, deviceIntID, state }) => [deviceID, deviceIntID, state]),
      [
        [child.deviceID, child.id, "carried"],
        [blocked.deviceID, blocked.id, "blocked"],
        [device.deviceID, null, "not carried"],
        [null, null, "without DeviceID"],
        [null, null, "without DeviceID"],
      ],
    );
    const first = found.entries?.items[0] ?? {};
    assert.equal(
      (first.points as Record<string, unknown>[]).map(({ value, time }) => [value, time]),
      [[5, 1_750_000_000_000]],
    );
    assert.equal(first.unknownKeys, [{ key: "Humidity", suggestion: "humidity", isInProduct: false }]);
  });

  test("answers are bounded: the largest payload, and what is wrong", async () => {
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, 1]));
    const found = await told(many);
    assert.equal([found.refused.length, found.unknownKeys.length, found.isTruncated], [1000, 20, true]);
    const long = await told({ note: "n".repeat(70_000), x: "y".repeat(1000) });
    assert.equal(
      long.refused.map(({ reason, value }) => [reason, String(value).length]),
      [
        ["size", 200],
        ["unknown", 200],
      ],
    );
    const path = `/api/v1/devices/${device.id}/explain`;
    const tooLong = { topic: "data", payload: "x".repeat(256 * 1024 + 1) };
    refused(await world.call("POST", path, tooLong), "PAYLOAD_TOO_LARGE");
    const wrong: readonly (readonly [body: object, field: string])[] = [
      [{}, "topic"],
      [{ topic: "data" }, "payload"],
      [{ topic: "data", payload: "{}", base64: "" }, "payload"],
      [{ topic: "data", base64: "%" }, "base64"],
      [{ eventID: 1, topic: "data" }, "eventID"],
      [{ eventID: "x" }, "eventID"],
    ];
    for (const [body, field] of wrong)
      refused(await world.call("POST", path, body), "PARAMETER_INVALID", field);
    const question = { topic: "data", payload: "{}" };
    const shown = await world.call("POST", path, question, { key: await world.keyOf("viewer") });
    assert.is(shown.status, 200);
    const key = await world.otherTenant();
    refused(await world.call("POST", path, question, { key }), "DATA_NOT_FOUND");
  });
});
