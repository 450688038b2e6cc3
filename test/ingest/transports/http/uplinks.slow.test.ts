/** HTTP for devices: messages come up, commands go down, and a 2xx says what a PUBACK says. */
import { gzipSync } from "node:zlib";
import { makeDataPoint, makeDevice, makePolicy, makeProduct } from "../../../factories.js";
import { assert, until } from "../../../suite.js";
import { type Rec, worldSuite } from "../../../world.js";
import { eventsOf, valuesOf } from "../../support.js";
import { asDevice, type Headings } from "./support.js";

const http = 5;
const json = { "Content-Type": "application/json" };

worldSuite("HTTP, uplinks and inbox", (test, world) => {
  let product: Rec;
  let device: Rec;
  test.before(async () => {
    product = await makeProduct(world, { cloudProtocol: http });
    await makeDataPoint(world, product, { dataPointID: "temp", pointDataType: 1 });
  });
  test.before.each(async () => {
    device = await makeDevice(world, product);
  });
  const post = (topic: string, body: string | Uint8Array, headers: Headings = json, as = device) =>
    asDevice(world.http, as, "POST", `/api/v1/uplinks/${topic}`, body, headers);
  const inbox = (wait = 0, as = device) =>
    asDevice(world.http, as, "GET", `/api/v1/inbox${wait === 0 ? "" : `?wait=${wait}`}`);
  const confirm = (id: string) => asDevice(world.http, device, "DELETE", `/api/v1/inbox/${id}`);
  const command = (fields: object) =>
    world.call("POST", "/api/v1/device_publish", { deviceID: device.deviceID, ...fields });
  const connectLogs = async () =>
    (await world.call("GET", `/api/v1/devices/${device.id}/connect_logs`)).page.items;
  const logs = async () =>
    (await world.call("GET", `/api/v1/devices/${device.id}/control_logs`)).page.items.map(
      ({ publishStatus }) => publishStatus,
    );

  test("a message is an event with points, and 204 says that it is on disk", async () => {
    const before = Date.now();
    const reply = await post("hum/t%C3%A9mp", '{"temp":21.5}');
    assert.equal([reply.status, reply.text], [204, ""]);
    const [event] = await eventsOf(world, device);
    assert.equal([event?.topic, event?.payload], ["hum/témp", '{"temp":21.5}']);
    await world.settled();
    assert.equal(await valuesOf(world, device), [[21.5]]);
    assert.ok(Date.now() - before < 60_000);
  });

  const refusedBodies: readonly (readonly [string, string, Headings, number])[] = [
    ["what is not JSON but says so", "{", json, 400],
    ["bytes that are not UTF-8 as JSON", '{"a":"\xff"}', json, 400],
    ["a number as JSON", "5", json, 422],
    ["an array of numbers", "[1]", json, 422],
    ["an encoding that is not offered", "{}", { ...json, "Content-Encoding": "br" }, 415],
    ["bytes that are no gzip", "{}", { ...json, "Content-Encoding": "gzip" }, 400],
    ["more than 256 KiB", "x".repeat(262_145), { "Content-Type": "text/plain" }, 413],
    ["an empty Message-Id", "{}", { ...json, "Message-Id": "" }, 400],
    ["a Message-Id of 129 characters", "{}", { ...json, "Message-Id": "x".repeat(129) }, 400],
  ];
  for (const [name, body, headers, status] of refusedBodies) {
    test(`${name}: ${status}, and nothing is kept`, async () => {
      const reply = await post("data", Buffer.from(body, "latin1"), headers);
      assert.is(reply.status, status, reply.text);
      assert.equal(Object.keys(JSON.parse(reply.text)), ["errorCode", "message", "errors"]);
      assert.equal(await eventsOf(world, device), []);
    });
  }

  test("an empty array is answered at once, and is nothing", async () => {
    assert.is((await post("data", "[]")).status, 204);
    assert.equal(await eventsOf(world, device), []);
  });

  test("any other type is an event, whatever it holds; gzip is unpacked", async () => {
    assert.is((await post("raw", "not json", { "Content-Type": "text/plain" })).status, 204);
    const packed = { ...json, "Content-Encoding": "gzip" };
    assert.is((await post("data", gzipSync('{"temp":3}'), packed)).status, 204);
    const large = gzipSync(Buffer.alloc(262_145));
    assert.is((await post("data", large, { "Content-Encoding": "gzip" })).status, 413, "a bomb");
    assert.is((await post("data", "x".repeat(262_144), { "Content-Type": "text/plain" })).status, 204);
    const payloads = (await eventsOf(world, device)).map(({ payload }) => String(payload).slice(0, 10));
    assert.equal(payloads, ["xxxxxxxxxx", '{"temp":3}', "not json"]);
  });

  test("a topic with a wildcard, without a name, or too long is refused", async () => {
    for (const topic of ["a/%2B", "%23", "a%00", "x".repeat(1025), Array(40).fill("a").join("/"), "%E0%A4%A"])
      assert.is((await post(topic, "{}")).status, 400, topic.slice(0, 20));
    assert.equal(await eventsOf(world, device), []);
  });

  test("who is not the device gets no message in", async () => {
    const wrong = { ...device, token: "wrong" };
    assert.is((await post("data", "{}", json, wrong)).status, 401);
    assert.is((await post("data", "{}", json, { ...device, deviceUsername: "nobody" })).status, 401);
    const bare = await fetch(`${world.http}/api/v1/uplinks/data`, { method: "POST", body: "{}" });
    assert.is(bare.status, 401);
    assert.ok(bare.headers.get("www-authenticate")?.startsWith("Basic"));
    assert.is((await asDevice(world.http, device, "GET", "/api/v1/uplinks/data")).status, 405);
    // A right credential is no guess, and gets in whatever others have tried from there.
    for (let i = 0; i < 12; i++) await post("data", "{}", json, wrong);
    assert.is((await post("data", "{}", json, wrong)).status, 429);
    assert.is((await post("data", "{}")).status, 429, "it was never right from here");
  });

  test("a connection that has shown a right token is not believed with another", async () => {
    const other = await makeDevice(world, product);
    assert.is((await post("data", "{}")).status, 204);
    assert.is((await post("data", "{}", json, other)).status, 204);
    assert.is((await post("data", "{}", json, { ...other, token: device.token as string })).status, 401);
    assert.equal([(await eventsOf(world, device)).length, (await eventsOf(world, other)).length], [1, 1]);
  });

  test("a changed token, a block and a deletion count from the next request on", async () => {
    assert.is((await post("data", "{}")).status, 204);
    const path = `/api/v1/devices/${device.id}`;
    const put = async (fields: object) =>
      assert.is((await world.call("PUT", path, { ...fields })).status, 200);
    await put({ token: "another" });
    await until(async () => (await post("data", "{}")).status === 401, { what: "the old token refused" });
    device = { ...device, token: "another" };
    assert.is((await post("data", "{}")).status, 204);
    await put({ blocked: 1 });
    await until(async () => (await post("data", "{}")).status === 403, { what: "the blocked refused" });
  });

  test("a policy that forbids the topic is reported, and nothing is kept", async () => {
    const policy = await makePolicy(world, { topic: "secret", access: 2, allow: 0 });
    await world.call("POST", `/api/v1/policies/${policy.id}/devices`, { devicesIntID: [device.id] });
    await until(async () => (await post("secret", "{}")).status === 403, { what: "the policy to count" });
    const before = (await eventsOf(world, device)).length;
    assert.is((await post("secret", "{}")).status, 403);
    assert.is((await post("open", "{}")).status, 204);
    assert.is((await eventsOf(world, device)).length, before + 1);
  });

  test("a Message-Id that comes again is taken once", async () => {
    const headers = { ...json, "Message-Id": "m-1" };
    const both = await Promise.all([
      post("data", '{"temp":1}', headers),
      post("data", '{"temp":1}', headers),
    ]);
    assert.equal(
      both.map(({ status }) => status),
      [204, 204],
    );
    assert.is((await post("data", '{"temp":2}', headers)).status, 204);
    assert.is((await post("data", '{"temp":3}', { ...json, "Message-Id": "m-2" })).status, 204);
    assert.equal(
      (await eventsOf(world, device)).map(({ payload }) => payload),
      ['{"temp":3}', '{"temp":1}'],
    );
    const other = await makeDevice(world, product);
    assert.is((await post("data", "{}", headers, other)).status, 204);
    assert.is((await eventsOf(world, other)).length, 1, "ids are each device's own");
  });

  test("a command waits for a device that has never come, and its receipt counts", async () => {
    const reply = await command({ payload: '{"on":1}', qos: 0 });
    assert.equal([reply.status, reply.record.publishStatus], [201, "successful"]);
    assert.equal(await logs(), [1]);
    const got = await inbox();
    assert.equal([got.status, got.text, got.headers.get("topic")], [200, '{"on":1}', "inbox"]);
    const again = await inbox(1);
    const id = String(again.headers.get("message-id"));
    assert.is(id, got.headers.get("message-id"), "until its receipt comes it comes again");
    assert.is((await confirm(`${id}0`)).status, 404);
    assert.is((await confirm(id)).status, 204);
    await until(async () => (await logs())[0] === 2, { what: "the receipt in the log" });
    assert.is((await inbox()).status, 204);
    assert.is((await confirm(id)).status, 404);
  });

  test("a poll waits for its message, in the order of the commands", async () => {
    const waiting = inbox(20);
    await until(async () => (await connectLogs()).length === 1, { what: "the device to be there" });
    await command({ payload: "one" });
    const first = await waiting;
    assert.equal([first.status, first.text], [200, "one"]);
    await command({ payload: "two", topic: `/devices/${device.deviceID}/inbox` });
    assert.is((await confirm(String(first.headers.get("message-id")))).status, 204);
    assert.is((await inbox()).text, "two");
    assert.is((await inbox(56)).status, 400);
  });

  test("an uplink brings back what waits", async () => {
    await command({ payload: "go" });
    const reply = await asDevice(world.http, device, "POST", "/api/v1/uplinks/data?wait=0", "{}", json);
    assert.equal([reply.status, reply.text], [200, "go"]);
    assert.is((await confirm(String(reply.headers.get("message-id")))).status, 204);
    const none = await asDevice(world.http, device, "POST", "/api/v1/uplinks/data?wait=1", "{}", json);
    assert.is(none.status, 204);
    assert.is((await eventsOf(world, device)).length, 2);
  });

  test("a command that waits too long fails, and goes to nobody", async () => {
    await command({ payload: "late", ttl: 1 });
    world.clock.pass(2000);
    assert.is((await inbox()).status, 204);
    await until(async () => (await logs())[0] === 0, { what: "the command given up" });
  });

  test("a topic that nobody listens to fails at once", async () => {
    const reply = await command({ payload: "x", topic: "elsewhere" });
    assert.is(reply.record.publishStatus, "failed");
  });

  test("the device is online, and its connections are in the log", async () => {
    assert.is((await post("data", "{}")).status, 204);
    const found = (await world.call("GET", `/api/v1/devices/${device.id}`)).record;
    assert.is(found.deviceStatus, 1);
    assert.is((await connectLogs()).length, 1);
    const waiting = inbox(5);
    world.clock.pass(901_000);
    assert.is((await waiting).status, 204, "who waits is there");
    assert.is((await connectLogs()).length, 1);
    world.clock.pass(901_000);
    await until(async () => (await connectLogs()).length === 2, { what: "the silent one to be gone" });
    assert.is((await world.call("GET", `/api/v1/devices/${device.id}`)).record.deviceStatus, 0);
    await command({ payload: "while away" });
    assert.is((await inbox()).text, "while away");
    assert.is((await connectLogs()).length, 3);
  });

  test("the token may stand after a Token, as clients of InfluxDB send it", async () => {
    const Authorization = `Token ${device.deviceUsername}:${device.token}`;
    assert.is((await post("data", "{}", { ...json, Authorization })).status, 204);
  });
});
