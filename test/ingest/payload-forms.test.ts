/** What devices and their tools send, by each way in: what becomes points, with which time, and what is counted. */
import { encode } from "cborg";
import { connect as connectMqtt } from "mqtt";
import { WebSocket } from "ws";
import { makeDataPoint, makeDevice, makeGateway, makeProduct } from "../factories.js";
import { assert, until } from "../suite.js";
import { type Rec, worldSuite } from "../world.js";
import { eventsOf } from "./support.js";
import { asDevice, basicOf } from "./transports/http/support.js";

const json = { "Content-Type": "application/json" };
const at = Date.UTC(2025, 10, 20, 10);
const iso = "2025-11-20T10:00:00Z";

worldSuite("payloads by each way in", (test, world) => {
  let product: Rec;
  let device: Rec;
  test.before(async () => {
    product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp", unitSymbol: "℃" });
    await makeDataPoint(world, product, { dataPointID: "hum", unitName: "百分比" });
    await makeDataPoint(world, product, { dataPointID: "place", pointDataType: 6 });
  });
  test.before.each(async () => {
    device = await makeDevice(world, product);
  });
  const post = (body: string | Uint8Array, headers = {}, path = "/uplinks/data", as = device) =>
    asDevice(world.http, as, "POST", `/api/v1${path}`, body, headers);
  const status = async (of = device): Promise<Rec> => {
    await world.settled();
    await world.alertsSettled();
    return (await world.call("GET", `/api/v1/devices/${of.id}/ingest_status`)).record;
  };
  /** Times in milliseconds and values, by data point. */
  const points = async (of = device): Promise<Record<string, unknown[]>> => {
    await world.settled();
    const range = "startTime=2025-01-01T00:00:00Z&endTime=2100-01-01T00:00:00Z&timeFormat=ms";
    const { list } = await world.call("GET", `/api/v1/original_data?deviceIntID=${of.id}&${range}`);
    const rows = list.map(({ dataPointID, dataPointName, originalData }) => {
      const { time, value } = originalData as { time: number[]; value: unknown[] };
      return [String(dataPointID ?? dataPointName), time.map((one, i) => [one, value[i]])] as const;
    });
    return Object.fromEntries(rows.filter(([, all]) => all.length > 0));
  };
  const values = async (of = device): Promise<unknown[]> =>
    Object.values(await points(of)).map((all) => all.map((one) => (one as unknown[])[1]));

  const wrapped: readonly (readonly [string, Buffer])[] = [
    ["a byte order mark", Buffer.from('\ufeff{"temp":1,"hum":40}')],
    ["the NUL of a text of C", Buffer.from('{"temp":1,"hum":40}\0')],
    ["both, and a line's end", Buffer.from('\ufeff{"temp":1,"hum":40}\n\0\0')],
  ];
  for (const [name, payload] of wrapped) {
    test(`${name} around JSON: by HTTP, MQTT, a frame and explain; the event is as it came`, async () => {
      assert.is((await post(payload)).status, 204);
      assert.is((await post(payload, json)).status, 204);
      const { deviceUsername, token } = device;
      const client = connectMqtt(world.mqtt, { username: String(deviceUsername), password: String(token) });
      await new Promise((resolve) => client.once("connect", resolve));
      await client.publishAsync("data", payload, { qos: 1 });
      await client.endAsync();
      const socket = new WebSocket(`${world.http.replace("http", "ws")}/ws`, {
        headers: { Authorization: basicOf(device) },
      });
      await new Promise((resolve) => socket.once("open", resolve));
      const acknowledged = new Promise((resolve) => socket.once("message", resolve));
      socket.send(
        Buffer.concat([
          payload.subarray(0, payload.indexOf("{")),
          Buffer.from('{"id":1,"topic":"data","payload":{"temp":1,"hum":40}}\0'),
        ]).toString("utf8"),
      );
      assert.equal(JSON.parse(String(await acknowledged)), { ack: 1 });
      socket.terminate();
      const events = (await eventsOf(world, device)).map((one) => one.payload);
      const kept = payload.includes(0) ? `base64:${payload.toString("base64")}` : payload.toString("utf8");
      assert.equal(events, ['{"temp":1,"hum":40}', kept, kept, kept]);
      const { points: counted, refused } = await status();
      assert.equal([counted, refused], [8, {}]);
      const explained = await world.call("POST", `/api/v1/devices/${device.id}/explain`, {
        topic: "data",
        base64: payload.toString("base64"),
      });
      assert.equal((explained.record.points as unknown[]).length, 2);
    });
  }

  test("a batch with a byte order mark, and NULs at the ends of lines", async () => {
    const line = '{"topic":"data","payload":{"temp":1}}';
    const reply = await post(`\ufeff${line}\0\n${line}\0\r\n\0${"\n"}\ufeff${line}\n\0`, {}, "/uplinks");
    assert.is(reply.status, 200, reply.text);
    const lines = reply.text.trim().split("\n");
    assert.equal(
      lines,
      [1, 2, 4].map((line) => `{"line":${line},"status":204}`),
    );
    assert.is((await status()).points, 3);
  });

  test("lines of a batch and frames have their time under either name", async () => {
    const line = `{"topic":"data","TimeStamp":"${iso}","payload":{"temp":1}}`;
    assert.is((await post(line, {}, "/uplinks")).status, 200);
    assert.is((await post('{"topic":"data","TimeStamp":"soon","payload":{}}', {}, "/uplinks")).status, 422);
    const socket = new WebSocket(`${world.http.replace("http", "ws")}/ws`, {
      headers: { Authorization: basicOf(device) },
    });
    await new Promise((resolve) => socket.once("open", resolve));
    const answers: string[] = [];
    socket.on("message", (data) => answers.push(String(data)));
    socket.send(`{"id":1,"topic":"data","TimeStamp":${at + 1000},"payload":{"temp":2}}`);
    socket.send(encode({ id: 2, topic: "data", TimeStamp: at + 2000, payload: { temp: 3 } }));
    await until(() => answers.length === 2, { what: "both receipts" });
    socket.terminate();
    const times = [at, at + 1000, at + 2000];
    assert.equal(Object.values(await points()), [times.map((time, i) => [time, i + 1])]);
  });

  test("what breaks JSON is said with its place: 400, lines of a batch, frames", async () => {
    const wrong = await post('{"temp":NaN,"hum":40}', json);
    assert.is(wrong.status, 400);
    assert.match(wrong.text, /line 1, column 9: NaN is no number of JSON/);
    const latin = await post(Buffer.from('{"temp":1,\n"u":"\xb0C"}', "latin1"), json);
    assert.match(latin.text, /line 2, column 6: the byte 0xb0 is not UTF-8/);
    const batch = await post('{"topic":"data","payload":{"temp":1}}\n{"topic":"data",}\n', {}, "/uplinks");
    assert.match(
      batch.text,
      /"line":2,"status":400,"error":"is not JSON: column 17: a comma stands before }/,
    );
  });

  test("a map of CBOR is what the same JSON is, and a list of maps too", async () => {
    assert.is((await post(Buffer.from("a16474656d70f94d60", "hex"))).status, 204);
    assert.is(
      (await post(Buffer.from("82a16474656d7001a26474656d70026474696d651a691ee4a0", "hex"))).status,
      204,
    );
    assert.equal(await values(), [[2, 21.5, 1]]);
    assert.equal((await status()).refused, {});
  });

  test("units of SenML: what contradicts the data point is refused, and says so", async () => {
    const pack = [
      { bn: "urn:dev:x:", n: "temp", u: "Cel", v: 21 },
      { n: "temp", u: "K", v: 294, t: -1 },
      { n: "hum", u: "%RH", v: 40 },
      { n: "hum", u: "lat", v: 54.7, t: -1 },
    ];
    assert.is((await post(JSON.stringify(pack))).status, 204);
    assert.equal(await values(), [[21], [40]]);
    assert.equal((await status()).refused, { unit: 2 });
    const { record } = await world.call("POST", `/api/v1/devices/${device.id}/explain`, {
      topic: "data",
      payload: JSON.stringify(pack),
    });
    const refused = (record.refused as Rec[]).map(({ key, value, reason }) => [key, value, reason]);
    assert.equal(refused, [
      ["temp", "294 K", "unit"],
      ["hum", "54.7 lat", "unit"],
    ]);
    const { text } = await world.call("GET", "/metrics");
    assert.match(text, /tidemark_refused_total\{reason="unit"\} 2/);
  });

  test("both names of a time count in an entry, beside Telemetry, in an object and in the value form", async () => {
    const gateway = await makeGateway(world, product);
    const child = () => makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id });
    const [own, other, both, none] = [await child(), await child(), await child(), await child()];
    const entries = [
      { DeviceID: own.deviceID, TimeStamp: iso, temp: 1 },
      { DeviceID: other.deviceID, time: iso, temp: 2 },
      { DeviceID: both.deviceID, time: "2024-01-01T00:00:00Z", TimeStamp: iso, temp: 3 },
      { DeviceID: none.deviceID, TimeStamp: null, temp: 4 },
    ];
    const heard = (of: Rec, messages: number) =>
      until(async () => (await status(of)).messages === messages, {
        what: `${messages} messages of a child`,
      });
    let messages = 0;
    for (const name of ["TimeStamp", "time"]) {
      messages++;
      const envelope = { [name]: at / 1000 - messages, Telemetry: entries, hum: messages };
      assert.is((await post(JSON.stringify(envelope), {}, "/uplinks/data", gateway)).status, 204);
      await heard(none, messages);
    }
    const beside = [at - 2000, at - 1000];
    assert.equal(Object.values(await points(gateway)), [beside.map((time, i) => [time, 2 - i])]);
    for (const [of, value] of [
      [own, 1],
      [other, 2],
      [both, 3],
    ] as const)
      assert.equal(Object.values(await points(of)), [[[at, value]]]);
    assert.equal(Object.values(await points(none)), [beside.map((time) => [time, 4])]);
    assert.equal((await status(both)).refused, { unknown: 2 });
    assert.equal(
      [(await status(other)).refused, (await status(none)).refused, (await status(gateway)).refused],
      [{}, {}, {}],
    );
    await post(JSON.stringify({ TimeStamp: iso, temp: 5, hum: { value: 6, TimeStamp: at + 1000 } }));
    assert.equal(Object.values(await points()), [[[at, 5]], [[at + 1000, 6]]]);
  });

  test("an envelope in CBOR, and one with a byte order mark", async () => {
    const gateway = await makeGateway(world, product);
    const child = await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id });
    const entry = { DeviceID: child.deviceID, TimeStamp: iso, temp: 7 };
    await post(`\ufeff${JSON.stringify({ Telemetry: [entry] })}\0`, {}, "/uplinks/data", gateway);
    await post(
      encode({ Telemetry: [{ ...entry, TimeStamp: at / 1000 + 1, temp: 8 }] }),
      {},
      "/uplinks/data",
      gateway,
    );
    await until(async () => (await status(child)).messages === 2, { what: "both entries" });
    assert.equal(Object.values(await points(child)), [
      [
        [at, 7],
        [at + 1000, 8],
      ],
    ]);
  });

  test("members beside a value, two values at one time, repeated names: counted, and distinguished", async () => {
    await post(JSON.stringify({ temp: { value: 1, timestamp: iso, unit: "C" } }));
    assert.equal((await status()).refused, { unknown: 2 });
    await post(
      JSON.stringify([
        { time: iso, temp: 2 },
        { time: iso, temp: 3 },
        { time: at + 1000, temp: 4 },
      ]),
    );
    await post('{"hum":1,"hum":2}');
    await post(JSON.stringify({ place: { longitude: 25, latitude: 54, accuracy: 3 } }));
    const { refused, points: counted } = await status();
    assert.equal([refused, counted], [{ unknown: 3, duplicate: 2 }, 5]);
    assert.equal((await points()).temp?.slice(0, 2) ?? Object.values(await points())[0]?.slice(0, 2), [
      [at, 3],
      [at + 1000, 4],
    ]);
  });

  test("one data point at one time in several entries of an envelope: the last value is the point, the others are counted", async () => {
    const gateway = await makeGateway(world, product);
    const [child, sibling] = [
      await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id }),
      await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id }),
    ];
    const entries = [
      { DeviceID: child.deviceID, TimeStamp: iso, temp: 1, hum: 10 },
      { DeviceID: sibling.deviceID, TimeStamp: iso, temp: 2 },
      { DeviceID: child.deviceID, TimeStamp: at, temp: 3 },
      { DeviceID: child.deviceID, TimeStamp: at / 1000, temp: 4, hum: "no number" },
      { DeviceID: child.deviceID, TimeStamp: at + 1000, temp: 5 },
    ];
    const payload = JSON.stringify({ Telemetry: entries });
    assert.is((await post(payload, {}, "/uplinks/data", gateway)).status, 204);
    await until(async () => (await status(child)).messages === 4, { what: "the child's entries" });
    assert.equal(Object.values(await points(child)), [
      [
        [at, 4],
        [at + 1000, 5],
      ],
      [[at, 10]],
    ]);
    const { refused, points: counted } = await status(child);
    assert.equal([refused, counted], [{ duplicate: 2, number: 1 }, 3]);
    assert.equal((await status(sibling)).refused, {});
    const { record } = await world.call("POST", `/api/v1/devices/${gateway.id}/explain`, {
      topic: "data",
      payload,
    });
    assert.equal(
      (record.entries as { items: Rec[] }).items.map((one) =>
        (one.refused as Rec[]).map(({ key, reason }) => [key, reason]),
      ),
      [[["temp", "duplicate"]], [], [["temp", "duplicate"]], [["hum", "number"]], []],
    );
    assert.is((await eventsOf(world, child)).length, 4);
  });

  test("fields of line protocol, in any number: points and refusals together are as many", async () => {
    const lines = [
      "data temp=1,hum=2 1",
      "data temp=1,temp=2,what=3 2",
      'data hum="x",place=t 3',
      "data temp=1i,hum=2u,temp=3 4",
    ];
    const fields = 2 + 3 + 2 + 3;
    const time = Math.floor(Date.now() / 1000) - 100;
    const body = lines.map((line) => line.replace(/ (\d)$/, (_, n) => ` ${time + Number(n)}`)).join("\n");
    assert.is((await asDevice(world.http, device, "POST", "/api/v2/write?precision=s", body)).status, 204);
    const { refused, points: counted } = await status();
    const sum = Object.values(refused as Record<string, number>).reduce((a, b) => a + b, 0);
    assert.is(Number(counted) + sum, fields, JSON.stringify(refused));
  });
});
