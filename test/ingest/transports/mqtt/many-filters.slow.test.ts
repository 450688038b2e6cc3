/** Filters, levels and retained messages in numbers that hurt: everything comes, and a neighbour does not wait for it. */
import { addCount } from "../../../../ingest/meter.js";
import { assert, until } from "../../../suite.js";
import { eventsOf } from "../../support.js";
import {
  codeOf,
  connected,
  connectPacket,
  openClient,
  publish,
  publishing,
  subscribed,
  subscribing,
} from "./raw-client.js";
import { mqttSuite } from "./versions.js";

const levels = (many: number, level = "l"): string => Array(many).fill(level).join("/");

/** Different filters of 32 levels, all of which cover a topic of `a` alone. */
const wildcards = (many: number): string[] =>
  Array.from({ length: many }, (_, i) =>
    [...i.toString(2).padStart(10, "0").replaceAll("0", "+").replaceAll("1", "a")]
      .join("/")
      .concat(`/${levels(22, "+")}`),
  );

mqttSuite("MQTT, many filters", ({ each, five }, world) => {
  each("a topic has 32 levels, a filter too; what has more is refused", async (device, version) => {
    const client = await connected(world, device, version);
    const [most, more] = [levels(32), levels(33)];
    const filters = [
      most,
      more,
      levels(32, "+"),
      `${levels(31)}/#`,
      `${levels(32)}/#`,
      "/".repeat(31),
      "/".repeat(32),
    ];
    client.send(subscribing(filters, { qos: 0 }));
    const no = version === 5 ? 0x8f : 0x80;
    assert.equal((await client.next("suback")).granted, [0, no, 0, 0, no, 0, no]);
    await publish(client, most);
    client.send(publishing(more, { messageId: 2 }), publishing(more, { qos: 0 }));
    if (version === 5) {
      await until(() => client.packets.filter(({ cmd }) => cmd === "puback").length === 2, {
        what: "two PUBACKs",
      });
      client.send(publishing(more, { qos: 2, messageId: 3 }));
      assert.is((await client.next("pubrec")).reasonCode, 0x90);
      const [, second] = await client.all("puback");
      assert.is(second?.reasonCode, 0x90);
      const { text } = await world.call("GET", "/metrics");
      assert.match(text, /^tidemark_messages_refused_total\{reason="topic"\} 3$/m);
    } else await client.ended();
    assert.equal(
      (await eventsOf(world, device)).map(({ topic }) => topic),
      [most],
    );
    if (!client.closed) await client.leave();
    const dying = await openClient(world.mqtt, version);
    dying.send(
      connectPacket(device, version, {
        will: { topic: more, payload: Buffer.from("w"), qos: 0, retain: false },
      }),
    );
    if (version === 5) assert.is(codeOf(await dying.next("connack")), 0x90);
    await dying.ended();
  });

  each("a packet names up to 2,000 filters", async (device, version) => {
    const client = await connected(world, device, version);
    const many = (length: number) => Array.from({ length }, (_, i) => `${i}`);
    client.send({ cmd: "unsubscribe", messageId: 1, unsubscriptions: many(2000) });
    await client.next("unsuback");
    client.send(subscribing(many(2000), { qos: 0 }));
    assert.is((await client.next("suback")).granted.filter((code) => code === 0).length, 1000);
    client.send({ cmd: "unsubscribe", messageId: 1, unsubscriptions: many(2001) });
    await client.endedWith(0x95);
    const other = await connected(world, device, version);
    other.send(subscribing(many(2001), { qos: 0 }));
    await other.endedWith(0x95);
  });

  five(
    "7 sessions of 1,000 wildcards and 1,000 messages in one write: each comes once; a neighbour goes before",
    async (device) => {
      const filters = wildcards(1000);
      const readers = await Promise.all(
        Array.from({ length: 7 }, (_, i) => connected(world, device, 5, { clientId: `reader ${i}` })),
      );
      for (const reader of readers) await subscribed(reader, filters, { qos: 0 });
      const neighbour = await connected(world, await another(), 5);
      const sender = await connected(world, device, 5, { clientId: "sender" });
      const topic = (i: number) => [...levels(30, "a").split("/"), `b${i}`, "a"].join("/");
      const sent = Array.from({ length: 1000 }, (_, i) => topic(i));
      sender.send(...sent.map((one, i) => publishing(one, { messageId: i + 1, payload: String(i) })));
      const acknowledged = () => sender.packets.filter(({ cmd }) => cmd === "puback").length;
      await sender.next("puback");
      const before = acknowledged();
      let answered = 0;
      for (; acknowledged() < 1000; answered++) await publish(neighbour, "n", { messageId: answered + 1 });
      assert.ok(answered > 10 || before > 900, `${answered} answers to a neighbour behind ${before}`);
      for (const reader of readers) {
        await until(() => reader.packets.length >= 1001, { what: "every message", timeoutMs: 60_000 });
        assert.equal(
          (await reader.all("publish")).map(({ topic: one }) => one),
          sent,
        );
        await reader.leave();
      }
      for (const one of [sender, neighbour]) await one.leave();
    },
  );

  five(
    "50 subscriptions to 1,000 retained messages: all come in order as the client reads, none is dropped",
    async (device) => {
      const sender = await connected(world, device, 5, { clientId: "sender" });
      const topics = Array.from({ length: 1000 }, (_, i) => `retained/${i}`);
      const payload = Buffer.alloc(64, "x");
      for (let at = 0; at < 1000; at += 500) {
        const some = topics.slice(at, at + 500);
        sender.send(
          ...some.map((topic, i) => publishing(topic, { retain: true, payload, messageId: i + 1 })),
        );
        await until(async () => (await sender.all("puback")).length === at + 500, { what: "PUBACKs" });
      }
      const slow = await connected(world, device, 5, { clientId: "slow" });
      const neighbour = await connected(world, await another(), 5);
      slow.socket.pause();
      const rounds = 50;
      slow.send(
        ...Array.from({ length: rounds }, (_, i) => subscribing(["#"], { qos: 0, messageId: i + 1 })),
      );
      for (let i = 0; i < 20; i++) await publish(neighbour, "n", { messageId: i + 1 });
      assert.is(
        world.service === undefined ? 0 : slow.packets.filter(({ cmd }) => cmd === "publish").length,
        0,
        "the client has read nothing yet",
      );
      slow.socket.resume();
      const got = () => slow.packets.filter(({ cmd }) => cmd === "publish");
      await until(() => got().length >= rounds * 1000, { what: "every retained message", timeoutMs: 60_000 });
      await until(() => slow.packets.filter(({ cmd }) => cmd === "suback").length === rounds, {
        what: "every SUBACK",
      });
      assert.equal(
        got().map((packet) => (packet.cmd === "publish" ? packet.topic : "")),
        Array.from({ length: rounds }, () => topics).flat(),
      );
      const { text } = await world.call("GET", "/metrics");
      assert.not.match(text, /deliveries_dropped_total\{reason="slow_reader"\} [1-9]/);
      // What is retained while older ones are on their way comes once, as a live message.
      slow.socket.pause();
      slow.send(...Array.from({ length: 10 }, () => subscribing(["#"], { qos: 0 })));
      await until(async () => (await sender.all("pingresp")).length > 0, { what: "a turn" });
      await publish(sender, "late", { retain: true, payload: "late", messageId: 9 });
      slow.socket.resume();
      await until(() => got().some((packet) => packet.cmd === "publish" && packet.topic === "late"), {
        what: "the late one",
      });
      for (const one of [slow, sender, neighbour]) await one.cut();
    },
  );

  five("at QoS 1 they wait in the queue, however many filters bring them", async (device) => {
    const sender = await connected(world, device, 5, { clientId: "sender" });
    for (let i = 0; i < 100; i++) await publish(sender, `r/${i}`, { retain: true, messageId: i + 1 });
    const reader = await connected(world, device, 5, { clientId: "reader" });
    const filters = Array.from({ length: 200 }, (_, i) => (i === 0 ? "r/#" : `r/${i}/#`));
    await subscribed(reader, filters, { qos: 1 });
    await publish(reader, "other");
    const seen = new Map<string, number>();
    for (let acked = 0; acked < 199; acked++) {
      const got = await reader.next("publish");
      addCount(seen, got.topic);
      reader.send({ cmd: "puback", messageId: got.messageId ?? 0, reasonCode: 0 });
    }
    assert.equal([seen.size, seen.get("r/0"), seen.get("r/99")], [100, 1, 2]);
    for (const one of [sender, reader]) await one.leave();
  });

  const another = () =>
    world
      .make("/api/v1/products", { productName: `Neighbour ${Math.random()}`, cloudProtocol: 1 })
      .then(({ productID }) =>
        world.make("/api/v1/devices", {
          productID,
          cloudProtocol: 1,
          deviceName: "Neighbour",
          deviceID: `n${Math.random()}`.replace(".", ""),
          deviceType: 1,
          upLinkSystem: 1,
          authType: 1,
        }),
      );
});
