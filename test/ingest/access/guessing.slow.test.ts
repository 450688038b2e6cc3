/** Guessing, limits, and what the metrics say of them, over real sockets. */
import { connectAsync } from "mqtt";
import { makeDevice, makeProduct } from "../../factories.js";
import { assert, type Test, until } from "../../suite.js";
import { type Rec, type World, worldSuite } from "../../world.js";
import {
  connectPacket,
  endedBy,
  eventsOf,
  publishPacket,
  type RawClient,
  rawClient,
  rawConnected,
} from "../support.js";

/** Tries to connect; returns CONNACK's code. */
async function tried(
  world: World,
  device: Rec,
  fields: Parameters<typeof connectPacket>[1] = {},
): Promise<number> {
  const raw = await rawClient(world.mqtt);
  raw.send(connectPacket(device, fields));
  const { returnCode = -1 } = await raw.next("connack");
  if (returnCode === 0) await raw.cut();
  else await raw.ended();
  return returnCode;
}

const sample = async (world: World, name: string): Promise<number> => {
  const { text } = await world.call("GET", "/metrics");
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1] ?? Number.NaN);
};

worldSuite("guessing", (test, world) => {
  let product: Rec;
  test.before(async () => {
    product = await makeProduct(world);
  });

  test("ten wrong tokens, then the right one that never came before is refused too; other devices come in; it is counted", async () => {
    const [device, other] = [await makeDevice(world, product), await makeDevice(world, product)];
    const codes: number[] = [];
    for (let i = 0; i < 10; i++) codes.push(await tried(world, device, { password: `guess ${i}` }));
    assert.equal([...new Set(codes)], [4]);
    const ended = endedBy(world, "back_off");
    assert.equal([await tried(world, device), await tried(world, device, { password: "x" })], [5, 5]);
    assert.is(await ended(), 2);
    assert.is(await tried(world, other), 0);
    await until(async () => (await tried(world, device)) === 0, { what: "the wait to end" });
    // Cleared: the next guess is the first again.
    assert.is(await tried(world, device, { password: "x" }), 4);
    assert.is(await tried(world, device), 0);
  });

  test("a token that was right before comes in while others guess from its address", async () => {
    const device = await makeDevice(world, product);
    assert.is(await tried(world, device), 0);
    for (let i = 0; i < 10; i++) assert.is(await tried(world, device, { password: `guess ${i}` }), 4);
    const guess = () => tried(world, device, { password: "x" });
    assert.equal(
      [await guess(), await tried(world, device), await guess(), await tried(world, device)],
      [5, 0, 5, 0],
    );
    const key = await world.keyOf("operator");
    const asked = async (password: unknown) => {
      const body = { username: device.deviceUsername, password, clientid: "a", peerhost: "127.0.0.1" };
      return (await world.call("POST", "/api/v1/broker/auth", body, { key })).record.result;
    };
    assert.equal([await asked("x"), await asked(device.token)], ["deny", "allow"]);
  });

  test("a user name with control characters is nobody's", async () => {
    const device = await makeDevice(world, product);
    const name = String(device.deviceUsername);
    for (const username of [`${name}\u0001`, `\u001f${name}`]) {
      assert.is(await tried(world, device, { username }), 4);
    }
    const body = { username: `${name}\0`, password: device.token, clientid: "a", peerhost: "127.0.0.1" };
    assert.is((await world.call("POST", "/api/v1/broker/auth", body)).record.result, "deny");
    const acl = { username: `${name}\0`, action: "publish", topic: `devices/${device.deviceID}/up/a` };
    assert.is((await world.call("POST", "/api/v1/broker/acl", acl)).record.result, "deny");
  });

  test("guesses at once count like those one after the other, and the log stays short", async () => {
    const device = await makeDevice(world, product);
    const codes = await Promise.all(
      Array.from({ length: 60 }, (_, i) => tried(world, device, { password: `guess ${i}` })),
    );
    assert.ok(codes.filter((code) => code === 4).length <= 11, codes.join());
    assert.equal([...new Set(codes)].sort(), [4, 5]);
    const path = `/api/v1/devices/${device.id}/connect_logs?deviceStatus=2`;
    const denials = async () =>
      (await world.call("GET", path, undefined, { headers: { "Api-Variant": "B" } })).page.items;
    await until(async () => (await denials()).length > 0, { what: "a denial" });
    const [denial, ...more] = await denials();
    assert.ok(more.length <= 1, "one a second");
    assert.equal([denial?.IP, denial?.deviceStatus], ["127.0.0.1", 2]);
  });

  test("eight sessions of one device at once are not guessing", async () => {
    const device = await makeDevice(world, product);
    for (let round = 0; round < 3; round++) {
      const codes = await Promise.all(
        Array.from({ length: 8 }, (_, i) => tried(world, device, { clientId: `${round} ${i}` })),
      );
      assert.equal([...new Set(codes)], [0]);
      await until(async () => (await sample(world, "tidemark_connections")) === 0, { what: "their end" });
    }
  });

  test("a device that becomes blocked is out, and refused with 5 from then on", async () => {
    const device = await makeDevice(world, product);
    const raw = await rawConnected(world.mqtt, device);
    await world.call("PUT", `/api/v1/devices/${device.id}`, { blocked: 1 });
    await raw.ended();
    for (let i = 0; i < 12; i++) assert.is(await tried(world, device), 5);
    await world.call("PUT", `/api/v1/devices/${device.id}`, { blocked: 0 });
    assert.is(await tried(world, device), 0);
  });

  test("tokens that are nearly right, empty, or 15 KiB long are wrong", async () => {
    const device = await makeDevice(world, product);
    const token = String(device.token);
    for (const password of [token.slice(0, -1), `${token}x`, ` ${token}`, "", "\0", "x".repeat(15_000)]) {
      assert.is(await tried(world, device, { password }), 4);
    }
  });
});

const limits = {
  DEVICE_CONNECTIONS_MAX: "2",
  DEVICE_MESSAGES_PER_SECOND: "50",
  DEVICE_BYTES_PER_SECOND: "20000",
  TENANT_CONNECTIONS_MAX: "5",
};

worldSuite("limits", (test: Test, world) => defineLimits(test, world), limits);

function defineLimits(test: Test, world: World): void {
  let product: Rec;
  let device: Rec;
  const open: RawClient[] = [];
  test.before(async () => {
    product = await makeProduct(world);
  });
  test.before.each(async () => {
    device = await makeDevice(world, product);
  });
  test.after.each(async () => {
    for (const raw of open.splice(0)) await raw.cut();
    await until(async () => (await sample(world, "tidemark_connections")) === 0, { what: "an empty house" });
  });
  const connected = async (of: Rec, clientId: string): Promise<RawClient> => {
    const raw = await rawConnected(world.mqtt, of, { clientId });
    open.push(raw);
    return raw;
  };
  const flood = (raw: RawClient, count: number, bytes: number): void => {
    const payload = Buffer.alloc(bytes, 0x20);
    raw.send(...Array.from({ length: count }, (_, i) => publishPacket(payload, { messageId: i + 1 })));
  };

  test("connections of a device and of a tenant; taking over is always possible", async () => {
    const ended = endedBy(world, "connections");
    const before = await ended();
    const first = await connected(device, "a");
    await connected(device, "b");
    assert.is(await tried(world, device, { clientId: "c" }), 3);
    await connected(device, "a");
    await first.ended();
    for (let i = 0; i < 3; i++) await connected(await makeDevice(world, product), "a");
    assert.is(await tried(world, await makeDevice(world, product)), 3);
    const key = await world.otherTenant();
    const theirs = await world.make("/api/v1/products", { productName: "theirs", cloudProtocol: 1 }, { key });
    const body = {
      productID: theirs.productID,
      cloudProtocol: 1,
      deviceName: "d",
      deviceID: "theirs",
      deviceType: 1,
      upLinkSystem: 1,
      authType: 1,
    };
    await connected(await world.make("/api/v1/devices", body, { key }), "a");
    assert.is((await ended()) - before, 2);
  });

  test("messages beyond the rate are slowed down: all are kept, in order, at the rate", async () => {
    const raw = await connected(device, "fast");
    const started = performance.now();
    flood(raw, 200, 1);
    await raw.many("puback", 200);
    const seconds = (performance.now() - started) / 1000;
    // A rate has no upper bound on a busy machine; test/ingest/access/limits holds it to the millisecond on a set clock.
    assert.ok(seconds > 1.8, `${seconds} s for 200 messages at 50/s`);
    assert.equal(
      raw.packets.flatMap((packet) => (packet.cmd === "puback" ? [packet.messageId] : [])),
      Array.from({ length: 200 }, (_, i) => i + 1),
    );
    assert.is((await eventsOf(world, device)).length, 200);
    // Whatever a wait on a busy machine lasts beyond its time, the next messages need not wait.
    assert.ok((await sample(world, "tidemark_slowed_down_total")) > 0);
  });

  test("bytes too; two connections share one limit; others are not slowed", async () => {
    const [one, two] = [await connected(device, "one"), await connected(device, "two")];
    const neighbour = await makeDevice(world, product);
    const other = await connected(neighbour, "other");
    const started = performance.now();
    flood(one, 10, 4000);
    flood(two, 10, 4000);
    flood(other, 5, 1000);
    await other.many("puback", 5);
    const before = [one, two].flatMap(({ packets }) => packets.filter(({ cmd }) => cmd === "puback"));
    assert.ok(before.length < 20, "others did not wait for them");
    await Promise.all([one.many("puback", 10), two.many("puback", 10)]);
    const seconds = (performance.now() - started) / 1000;
    assert.ok(seconds > 1.5, `${seconds} s for 80 kB at 20 kB/s`);
    const [slowed, free] = [await eventsOf(world, device), await eventsOf(world, neighbour)];
    assert.equal([slowed.length, free.length], [20, 5]);
  });

  test("so far over the limit that waiting is no use: the connection ends, counted; the next one goes on", async () => {
    const ended = endedBy(world, "rate");
    const before = await ended();
    const raw = await connected(device, "huge");
    raw.send(publishPacket(Buffer.alloc(255 * 1024, 0x20)));
    await raw.next("puback");
    raw.send(publishPacket("next", { messageId: 2 }));
    await raw.ended();
    assert.is((await ended()) - before, 1);
    const again = await connected(device, "huge");
    again.send({ cmd: "pingreq" });
    await again.next("pingresp");
  });

  test("what a client said before it went is kept although it waits its turn, its goodbye included", async () => {
    const device = await makeDevice(world, product);
    const before = await endedBy(world, "disconnect")();
    const raw = await rawConnected(world.mqtt, device, { clientId: "hasty" });
    const sent = Array.from({ length: 120 }, (_, n) => publishPacket(`{"n":${n}}`, { qos: 0 }));
    raw.send(...sent, { cmd: "disconnect" } as never);
    await raw.cut();
    const ended = endedBy(world, "disconnect");
    await until(async () => (await ended()) === before + 1, { what: "the goodbye", timeoutMs: 15_000 });
    // The goodbye is counted when it is read; what came before it may still be on its way to the disk.
    await until(async () => (await eventsOf(world, device)).length >= sent.length, { what: "the messages" });
    assert.is((await eventsOf(world, device)).length, sent.length);
  });

  test("a client that is slowed down stays connected and is served", async () => {
    const client = await connectAsync(world.mqtt, {
      username: String(device.deviceUsername),
      password: String(device.token),
      reconnectPeriod: 0,
    });
    await Promise.all(
      Array.from({ length: 150 }, (_, i) =>
        client.publishAsync("data", `{"n":${i}}`, { qos: i % 2 ? 1 : 2 }),
      ),
    );
    assert.is((await eventsOf(world, device)).length, 150);
    assert.ok(client.connected);
    await client.endAsync();
  });
}
