/** Batches of an edge node that stores and forwards: each line once, in their order, with a status of its own. */
import { gzipSync } from "node:zlib";
import { makeDataPoint, makeDevice, makeGateway, makeProduct } from "../../../factories.js";
import { assert, until } from "../../../suite.js";
import { type Rec, worldSuite } from "../../../world.js";
import { eventsOf } from "../../support.js";
import { asDevice, type Headings } from "./support.js";

interface Status {
  readonly line: number;
  readonly status: number;
  readonly error?: string;
}

worldSuite("HTTP, batches", (test, world) => {
  let product: Rec;
  let device: Rec;
  test.before(async () => {
    product = await makeProduct(world, { cloudProtocol: 5 });
    await makeDataPoint(world, product, { dataPointID: "temp", pointDataType: 1 });
  });
  test.before.each(async () => {
    device = await makeDevice(world, product);
  });
  const post = (body: string | Uint8Array, headers: Headings = {}, as = device) =>
    asDevice(world.http, as, "POST", "/api/v1/uplinks", body, headers);
  const statuses = (text: string): Status[] =>
    text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Status);
  const lines = (...all: readonly object[]) => all.map((one) => `${JSON.stringify(one)}\n`).join("");
  const payloads = async (of = device) => (await eventsOf(world, of)).map(({ payload }) => payload).reverse();

  test("lines are messages in their order, with the times that they bring", async () => {
    const at = Date.UTC(2026, 0, 2, 3, 4, 5);
    const body = lines(
      { topic: "data", payload: { temp: 1 }, time: at },
      { topic: "data", payload: { temp: 2 }, time: "2026-01-02T03:05:05Z" },
      { topic: "data", payload: '{"temp":3,"time":1767323165}', time: at },
      { topic: "raw", payload: "text" },
    );
    const reply = await post(gzipSync(body), { "Content-Encoding": "gzip" });
    assert.is(reply.status, 200, reply.text);
    assert.equal(
      statuses(reply.text),
      [1, 2, 3, 4].map((line) => ({ line, status: 204 })),
    );
    assert.equal(await payloads(), ['{"temp":1}', '{"temp":2}', '{"temp":3,"time":1767323165}', "text"]);
    await world.settled();
    const url = `/api/v1/original_data?deviceIntID=${device.id}&startTime=1767225600000&endTime=1767398400000`;
    const [found] = (await world.call("GET", url)).list;
    const { time, value } = (found as Rec).originalData as { time: unknown[]; value: unknown[] };
    assert.equal(value, [1, 2, 3]);
    assert.is(time.length, 3);
  });

  test("a number that no double holds comes in digit for digit", async () => {
    assert.is((await post('{"topic":"data","payload":{"n":12345678901234567890}}')).status, 200);
    assert.equal(await payloads(), ['{"n":12345678901234567890}']);
  });

  test("a line that cannot be taken says why, and the others are kept", async () => {
    const body = [
      '{"topic":"data","payload":{"temp":1}}',
      "",
      "no json",
      "[]",
      '{"payload":1}',
      '{"topic":"data"}',
      '{"topic":"a/+","payload":1}',
      '{"topic":"data","payload":1,"time":"yesterday"}',
      JSON.stringify({ topic: "data", payload: "x".repeat(262_145) }),
      '{"topic":"data","payload":{"temp":2}}',
    ].join("\n");
    const reply = await post(body, { "Batch-Id": "b" });
    assert.is(reply.status, 422);
    const told = statuses(reply.text);
    assert.equal(
      told.map(({ line, status }) => [line, status]),
      [
        [1, 204],
        [3, 400],
        [4, 400],
        [5, 400],
        [6, 400],
        [7, 400],
        [8, 400],
        [9, 413],
        [10, 204],
      ],
    );
    for (const { status, error } of told) assert.is(error === undefined, status === 204);
    assert.equal(await payloads(), ['{"temp":1}', '{"temp":2}']);
    const again = await post(body, { "Batch-Id": "b" });
    assert.is(again.status, 422, "it has not become whole by coming twice");
    assert.is((await payloads()).length, 2);
  });

  test("a batch sent again by its id is no second one, at once or later", async () => {
    const body = lines(...Array.from({ length: 50 }, (_, n) => ({ topic: "data", payload: { temp: n } })));
    const both = await Promise.all([post(body, { "Batch-Id": "1" }), post(body, { "Batch-Id": "1" })]);
    assert.equal(
      both.map(({ status }) => status),
      [200, 200],
    );
    assert.is((await post(body, { "Batch-Id": "1" })).status, 200);
    assert.is((await payloads()).length, 50);
    assert.is((await post(body, { "Batch-Id": "2" })).status, 200);
    assert.is((await post(body)).status, 200, "one without an id is not recognised");
    assert.is((await payloads()).length, 150);
  });

  test("the last 1,000 ids of a device are known, the one before is not", async () => {
    const line = lines({ topic: "data", payload: {} });
    for (let at = 0; at < 1001; at += 91) {
      const some = Array.from({ length: 91 }, (_, n) => post(line, { "Batch-Id": `n${at + n}` }));
      for (const reply of await Promise.all(some)) assert.is(reply.status, 200);
    }
    assert.is((await post(line, { "Batch-Id": "n900" })).status, 200);
    const all = async () =>
      (await world.call("GET", `/api/v1/devices/${device.id}/events?_limit=1`)).page.meta.count;
    assert.is(await all(), 1001);
  });

  test("an entry of a gateway's envelope has the time of its line", async () => {
    const gateway = await makeGateway(world, product, { authType: 1 });
    const child = await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id });
    const payload = { Telemetry: [{ DeviceID: child.deviceID, temp: 7 }] };
    const body = lines({ topic: "data", payload, time: "2026-03-01T00:00:00.000001Z" });
    assert.is((await post(body, {}, gateway)).status, 200);
    const url = `/api/v1/original_data?deviceIntID=${child.id}&startTime=1772323200000&endTime=1772409600000`;
    await until(
      async () => {
        const [found] = (await world.call("GET", url)).list;
        const { value } = (found?.originalData ?? { value: [] }) as { readonly value: readonly unknown[] };
        return value[0] === 7;
      },
      { what: "the entry's point" },
    );
  });

  test("bounds: bytes, lines, ids, encodings", async () => {
    assert.is((await post("\n".repeat(20_001))).status, 413);
    assert.is(
      (await post(gzipSync(Buffer.alloc(17 * 1024 * 1024)), { "Content-Encoding": "gzip" })).status,
      413,
    );
    assert.is((await post(Buffer.from([0xff]))).status, 400);
    assert.is((await post("{}", { "Batch-Id": "x".repeat(129) })).status, 400);
    assert.is((await post("")).status, 200);
    assert.equal(await payloads(), []);
    const line = (bytes: number) => `{"topic":"data","payload":{},"more":"${"x".repeat(bytes - 39)}"}`;
    const long = statuses((await post(`${line(640 * 1024)}\n${line(640 * 1024 + 1)}`)).text);
    assert.equal(
      long.map(({ status }) => status),
      [204, 413],
    );
    const parts = (count: number) => `{"topic":"data","payload":[${"{},".repeat(count)}{}]}`;
    const many = statuses((await post(`${parts(5000)}\n${parts(20_000)}`)).text);
    assert.equal(
      many.map(({ status }) => status),
      [204, 400],
    );
  });
});
