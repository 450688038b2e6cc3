import { makeDevice, makeGateway, makeProduct } from "../factories.js";
import { connectPacket, rawClient, rawConnected } from "../ingest/support.js";
import { assert, until } from "../suite.js";
import { type Rec, worldSuite } from "../world.js";

worldSuite("device_publish to sessions, by rules and through carriers", (test, world) => {
  let product: Rec;
  test.before(async () => {
    product = await makeProduct(world);
  });

  const publish = async (device: Rec, body: object = {}) => {
    const reply = await world.call("POST", "/api/v1/device_publish", {
      deviceID: device.deviceID,
      payload: "on",
      ...body,
    });
    assert.is(reply.status, 201, reply.text);
    return reply.record.publishStatus;
  };
  /** Page by page: of large payloads few make one, for it ends by its bytes. */
  const logs = async (of: Rec) => {
    const all: Rec[] = [];
    for (let page = 1; ; page++) {
      const path = `/api/v1/devices/${of.id}/control_logs?_limit=${rowsOfPage}&_page=${page}`;
      const { items } = (await world.call("GET", path)).page;
      all.push(...items);
      if (items.length < rowsOfPage) return all;
    }
  };
  const rowsOfPage = 20;
  const becomes = (of: Rec, ...statuses: readonly number[]) =>
    until(async () => String((await logs(of)).map((log) => log.publishStatus)) === String(statuses), {
      what: `publishStatus ${statuses}`,
    });
  const kept = { clientId: "kept", clean: false } as const;
  /** Leaves a session behind that outlives its connection, with these subscriptions. */
  async function leave(device: Rec, ...topics: readonly string[]): Promise<void> {
    const raw = await rawConnected(world.mqtt, device, kept);
    if (topics.length > 0) {
      raw.send({ cmd: "subscribe", messageId: 1, subscriptions: topics.map((topic) => ({ topic, qos: 1 })) });
      await raw.next("suback");
    }
    raw.send({ cmd: "disconnect" });
    await raw.cut();
    await until(
      async () => (await world.call("GET", `/api/v1/devices/${device.id}`)).record.deviceStatus === 0,
      { what: "the device to be offline" },
    );
  }

  test("a session that is away keeps it, and its PUBACK confirms it", async () => {
    const device = await makeDevice(world, product);
    await leave(device, "cmd/+");
    assert.equal(
      [await publish(device), await publish(device, { topic: "cmd/x", payload: "2" })],
      ["successful", "successful"],
    );
    assert.is(await publish(device, { topic: "other" }), "failed", "no subscription covers it");
    assert.is(await publish(device, { qos: 0 }), "failed", "nothing waits at QoS 0");
    await becomes(device, 0, 0, 1, 1);
    const raw = await rawConnected(world.mqtt, device, kept);
    const [first, second] = [await raw.next("publish"), await raw.next("publish")];
    assert.equal(
      [first, second].map(({ topic, payload, qos }) => `${topic} ${payload} ${qos}`),
      ["inbox on 1", "cmd/x 2 1"],
    );
    raw.send({ cmd: "puback", messageId: second.messageId ?? 0 });
    await becomes(device, 0, 0, 2, 1);
    raw.send({ cmd: "puback", messageId: first.messageId ?? 0 });
    await becomes(device, 0, 0, 2, 2);
    await raw.cut();
  });

  test("a full queue takes no more, and the answer says so", async () => {
    const device = await makeDevice(world, product);
    const raw = await rawConnected(world.mqtt, device);
    const large = { payload: "x".repeat(256 * 1024) };
    const fill = async () => {
      const answers = new Set<unknown>();
      for (let i = 0; i < 15; i++) answers.add(await publish(device, large));
      assert.equal([...answers], ["successful"]);
      assert.is(await publish(device, large), "failed", "no capacity");
    };
    await fill();
    await raw.cut();
    await becomes(device, ...Array<number>(16).fill(0));
    await leave(device);
    await fill();
    await becomes(device, 0, ...Array<number>(15).fill(1), ...Array<number>(16).fill(0));
  });

  test("a packet that is larger than the client takes has failed, whether its session stays or not", async () => {
    for (const sessionExpiryInterval of [0, 3600]) {
      const device = await makeDevice(world, product);
      const raw = await rawClient(world.mqtt, 5);
      const properties = { maximumPacketSize: 200, sessionExpiryInterval };
      raw.send(connectPacket(device, { protocolVersion: 5, properties }));
      await raw.next("connack");
      for (const qos of [0, 1]) {
        assert.is(await publish(device, { qos, payload: "x".repeat(200) }), "failed", `QoS ${qos}`);
      }
      await becomes(device, 0, 0);
      assert.is(await publish(device), "successful");
      await raw.next("publish");
      await raw.cut();
    }
  });

  test("it fails when its time is over, and is not brought then", async () => {
    const device = await makeDevice(world, product);
    await leave(device);
    assert.is(await publish(device, { ttl: 1 }), "successful");
    assert.is(await publish(device, { ttl: 600, payload: "late" }), "successful");
    await becomes(device, 1, 0);
    const raw = await rawConnected(world.mqtt, device, kept);
    const packet = await raw.next("publish");
    assert.is(String(packet.payload), "late");
    await raw.cut();
  });

  test("MQTT 5 receives how long it is of use", async () => {
    const device = await makeDevice(world, product);
    const raw = await rawClient(world.mqtt, 5);
    raw.send(connectPacket(device, { protocolVersion: 5 }));
    await raw.next("connack");
    assert.is(await publish(device, { ttl: 77 }), "successful");
    assert.is((await raw.next("publish")).properties?.messageExpiryInterval, 77);
    await raw.cut();
  });

  test("one that is connected and waits without answer fails as well; a late receipt confirms it", async () => {
    const device = await makeDevice(world, product);
    const raw = await rawConnected(world.mqtt, device);
    assert.is(await publish(device, { ttl: 1 }), "successful");
    const { messageId = 0 } = await raw.next("publish");
    await becomes(device, 0);
    raw.send({ cmd: "puback", messageId });
    await becomes(device, 2);
    await raw.cut();
  });

  test("deleted session: what it held has failed", async () => {
    const device = await makeDevice(world, product);
    await leave(device);
    assert.is(await publish(device), "successful");
    const raw = await rawConnected(world.mqtt, device, { clientId: "kept", clean: true });
    await becomes(device, 0);
    assert.is(await publish(device), "successful");
    await raw.cut();
    await becomes(device, 0, 0);
  });

  test("what a policy forbids, or a block, has failed; also for a session that is away", async () => {
    const device = await makeDevice(world, product);
    await leave(device, "#");
    const policy = await world.make("/api/v1/policies", {
      name: "no doors",
      topic: "door/#",
      access: 1,
      allow: 0,
    });
    await world.make(`/api/v1/policies/${policy.id}/devices`, { devicesIntID: [device.id] });
    assert.is(await publish(device, { topic: "door/1" }), "failed");
    assert.is(await publish(device, { topic: "lamp/1" }), "successful");
    const client = await world.connect(device);
    await client.subscribeAsync("#", { qos: 1 });
    assert.is(await publish(device, { topic: "door/1" }), "failed");
    await client.endAsync();
    await world.call("PUT", `/api/v1/devices/${device.id}`, { blocked: 1 });
    assert.is(await publish(device, { topic: "lamp/1" }), "failed");
    await world.call("PUT", `/api/v1/devices/${device.id}`, { blocked: 0 });
    assert.is(await publish(device, { topic: "lamp/1" }), "successful");
  });

  test("a child is reached through its gateway, unless it is there itself", async () => {
    const gateway = await makeGateway(world, product);
    const child = await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id });
    assert.is(await publish(child), "failed");
    const client = await world.connect(gateway);
    const got: string[] = [];
    client.on("message", (topic, payload) => got.push(`${topic} ${payload}`));
    assert.is(await publish(child, { topic: "valve", payload: '{"open":1}' }), "successful");
    await becomes(child, 2, 0);
    const [log] = await logs(child);
    assert.equal([log?.topic, log?.payload, log?.deviceName], ["valve", '{"open":1}', child.deviceName]);
    assert.equal(await logs(gateway), []);
    const message = { DeviceID: child.deviceID, topic: "valve", payload: '{"open":1}' };
    assert.equal(got, [`inbox ${JSON.stringify(message)}`]);

    const own = await world.connect(child);
    assert.is(await publish(child, { topic: "valve" }), "failed", "connected and not subscribed");
    assert.is(await publish(child), "successful");
    await becomes(child, 2, 0, 2, 0);
    assert.is(got.length, 1);
    await own.endAsync();

    const policy = await world.make("/api/v1/policies", {
      name: "no valves",
      topic: "valve",
      access: 1,
      allow: 0,
    });
    await world.make(`/api/v1/policies/${policy.id}/devices`, { devicesIntID: [child.id] });
    assert.is(await publish(child, { topic: "valve" }), "failed");
    await world.call("PUT", `/api/v1/devices/${child.id}`, { blocked: 1 });
    assert.is(await publish(child), "failed");
    await client.endAsync();
  });

  test("what its gateway's inbox would make larger than a record has failed, and costs nobody else", async () => {
    const gateway = await makeGateway(world, product);
    const child = await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id });
    const raw = await rawConnected(world.mqtt, gateway, kept);
    const large = "\u0001".repeat(131_100);
    const answers = await Promise.all([
      publish(child, { payload: large }),
      publish(child, { payload: "on" }),
    ]);
    assert.equal(answers, ["failed", "successful"]);
    assert.is(await publish(child, { payload: "off" }), "successful");
    await raw.many("publish", 2);
    await raw.cut();
  });

  test("a gateway's control logs show the object that the payload is", async () => {
    const gateway = await makeGateway(world, product);
    const client = await world.connect(gateway);
    const config = { channel: [{ id: 1 }], func: 3, kbid: "k", message: [], object: [{ a: null }] };
    assert.is(await publish(gateway, { payload: JSON.stringify(config) }), "successful");
    assert.is(await publish(gateway, { payload: "plain {" }), "successful");
    const { items } = (await world.call("GET", `/api/v1/gateways/${gateway.id}/control_logs`)).page;
    assert.equal(
      items.map(({ payload, createUser }) => [payload, createUser]),
      [
        ["plain {", "admin"],
        [config, "admin"],
      ],
    );
    await client.endAsync();
  });
});
