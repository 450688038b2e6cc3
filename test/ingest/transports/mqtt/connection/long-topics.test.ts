/** Topics of more bytes than they may have, in packets, through aliases, in commands; and what follows from the setting. */
import { createMeter } from "../../../../../ingest/meter.js";
import { createSessionState } from "../../../../../ingest/sessions/state.js";
import type { PublishPacket } from "../../../../../ingest/transports/mqtt/codec/packets.js";
import { Inbound, type InboundContext } from "../../../../../ingest/transports/mqtt/connection/inbound.js";
import { makeDevice, makeProduct } from "../../../../factories.js";
import { assert, until } from "../../../../suite.js";
import { worldSuite } from "../../../../world.js";
import { eventsOf } from "../../../support.js";
import {
  connected,
  connectPacket,
  openClient,
  publish,
  publishing,
  subscribed,
  subscribing,
} from "../raw-client.js";
import { mqttSuite } from "../versions.js";

mqttSuite("MQTT, topics beyond the bound", ({ each, five }, world, test) => {
  each("a topic has 1,024 bytes, in UTF-8", async (device, version) => {
    const client = await connected(world, device, version);
    const fitting = ["t".repeat(1024), "é".repeat(512)];
    const [long, wide] = ["t".repeat(1025), "é".repeat(513)];
    await subscribed(client, fitting, { qos: 0 });
    client.send(subscribing([long, wide], { qos: 0 }));
    const no = version === 5 ? 0x8f : 0x80;
    assert.equal((await client.next("suback")).granted, [no, no]);
    for (const [i, topic] of fitting.entries()) await publish(client, topic, { messageId: i + 1 });
    for (const topic of [long, wide]) {
      if (client.closed) continue;
      client.send(publishing(topic, { messageId: 9 }));
      if (version < 5) await client.ended();
    }
    if (version === 5) {
      await until(() => client.packets.filter(({ cmd }) => cmd === "puback").length === 4, {
        what: "PUBACKs",
      });
      const codes = (await client.all("puback")).map(({ reasonCode }) => reasonCode ?? 0);
      assert.equal(codes, [0, 0, 0x90, 0x90]);
      await client.leave();
    }
    assert.equal((await eventsOf(world, device)).map(({ topic }) => topic).reverse(), fitting);
  });

  five("an alias of a topic that is too long stands for nothing that is kept", async (device) => {
    const client = await connected(world, device, 5);
    const long = "t".repeat(60_000);
    const aliased = (topic: string, messageId: number) =>
      publishing(topic, { messageId, properties: { topicAlias: 1 } });
    client.send(aliased(long, 1), aliased("", 2), aliased("short", 3), aliased("", 4));
    await until(() => client.packets.filter(({ cmd }) => cmd === "puback").length === 4, { what: "PUBACKs" });
    const codes = (await client.all("puback")).map(({ reasonCode }) => reasonCode ?? 0);
    assert.equal(codes, [0x90, 0x90, 0, 0]);
    assert.equal(
      (await eventsOf(world, device)).map(({ topic }) => topic),
      ["short", "short"],
    );
    await client.leave();
  });

  five("Maximum Packet Size allows a message at all its bounds", async (device) => {
    const client = await openClient(world.mqtt, 5);
    client.send(connectPacket(device, 5));
    const { properties } = await client.next("connack");
    assert.is(properties?.maximumPacketSize, 262_144 + 16_384 + 1024 + 64);
    const userProperties = { n: "v".repeat(16_000) };
    await publish(client, "t".repeat(1024), {
      payload: Buffer.alloc(262_144, "x"),
      properties: { userProperties },
    });
    assert.is((await eventsOf(world, device)).length, 1);
    await client.leave();
  });

  test("a command's topic has the same bounds", async () => {
    const device = await makeDevice(world, await makeProduct(world));
    for (const topic of ["t".repeat(1025), Array(33).fill("l").join("/")]) {
      const body = { deviceID: device.deviceID, payload: "p", topic };
      for (const path of ["device_publish", "device_schedule_publish"]) {
        const timing =
          path === "device_publish" ? {} : { scheduleName: "s", crontab: "0 0 1 1 *", publishPeriod: 1 };
        const { status, failure } = await world.call("POST", `/api/v1/${path}`, { ...body, ...timing });
        assert.is(status, 400);
        if (path === "device_publish") assert.equal(Object.keys(failure.errors), ["topic"]);
      }
    }
  });

  test("bytes of topics count among those on their way to the disk", () => {
    const context = {
      accept: { uplink: () => undefined },
      meter: createMeter(),
      topics: { bytesMax: 1024, levelsMax: 32 },
      now: Date.now,
      registry: { publishCost: () => 0 },
    } as unknown as InboundContext;
    const owner = { origin: { device: { id: 1, access: null } }, terms: { version: 4 }, isClosed: false };
    const inbound = new Inbound(context, {} as never, owner as never, createSessionState(1, 1, "c", 1));
    const packet: PublishPacket = {
      cmd: "publish" as const,
      topic: "t".repeat(1024),
      alias: 0,
      payload: Buffer.alloc(200),
      qos: 0 as const,
      dup: false,
      retain: false,
      messageID: 0,
      properties: null,
      excess: null,
    };
    for (let i = 0; i < 850; i++) inbound.publish(packet);
    assert.is(inbound.isFull(1), false);
    for (let i = 0; i < 50; i++) inbound.publish(packet);
    assert.is(inbound.isFull(1), true);
  });
});

worldSuite(
  "MQTT, another bound of topics",
  (test, world) => {
    test("is announced, and kept", async () => {
      const device = await makeDevice(world, await makeProduct(world));
      const client = await openClient(world.mqtt, 5);
      client.send(connectPacket(device, 5));
      assert.is((await client.next("connack")).properties?.maximumPacketSize, 262_144 + 16_384 + 2000 + 64);
      await publish(client, "t".repeat(2000));
      client.send(publishing("t".repeat(2001)));
      await until(() => client.packets.filter(({ cmd }) => cmd === "puback").length === 2, {
        what: "PUBACK",
      });
      assert.is((await client.all("puback")).at(-1)?.reasonCode, 0x90);
      await client.leave();
    });
  },
  { TOPIC_BYTES_MAX: "2000" },
);
