/** Input that is well-formed but harmful: long topics, many levels, floods, and clients that do not read. */
import { setTimeout as sleep } from "node:timers/promises";
import { covers } from "../../../../ingest/messages/topics.js";
import { assert, cpuTime, suite, until } from "../../../suite.js";
import { eventsOf } from "../../support.js";
import {
  bytesOf,
  type Client,
  codeOf,
  connected,
  connectPacket,
  hex,
  openClient,
  publish,
  publishing,
  subscribed,
  subscribing,
} from "./raw-client.js";
import { mqttSuite } from "./versions.js";

suite("MQTT, long topics", (test) => {
  const levels = (count: number, level: string): string => Array(count).fill(level).join("/");

  test("1,000 levels are matched in one walk", () => {
    const topic = levels(1000, "a");
    const filters = [
      levels(1000, "+"),
      `${levels(999, "+")}/#`,
      topic,
      `${topic}/#`,
      levels(1000, "b"),
      `+/${topic}`,
    ];
    const spent = cpuTime();
    for (let i = 0; i < 10_000; i++) for (const filter of filters) covers(filter, topic);
    const microseconds = (spent() * 1000) / (10_000 * filters.length);
    assert.equal(
      filters.map((filter) => covers(filter, topic)),
      [true, true, true, true, false, false],
    );
    assert.ok(microseconds < 200, `${microseconds} µs a match`);
  });

  test("the time grows with the length, not with its square", () => {
    const time = (count: number): number => {
      const [filter, topic] = [levels(count, "+"), levels(count, "a")];
      const spent = cpuTime();
      for (let i = 0; i < 4_000_000 / count; i++) covers(filter, topic);
      return spent();
    };
    time(1000);
    const [short, long] = [time(100), time(20_000)];
    assert.ok(long < short * 8 + 50, `${short} and ${long} ms for the same number of levels`);
  });
});

mqttSuite(
  "MQTT, bad input",
  ({ each, five }, world, test) => {
    each("topics of 65,535 bytes and of 1,000 levels are as good as others", async (device, version) => {
      const client = await connected(world, device, version);
      const topics = [
        "t".repeat(65_535),
        Array(1000).fill("l").join("/"),
        "/".repeat(999),
        "é".repeat(32_767),
      ];
      await subscribed(client, [...topics, "#", Array(1000).fill("+").join("/")], { qos: 1 });
      for (const [i, topic] of topics.entries()) await publish(client, topic, { messageId: i + 1 });
      const got = await client.all("publish");
      assert.equal(
        got.map(({ topic }) => topic),
        topics,
      );
      const events = await eventsOf(world, device);
      assert.equal(events.map(({ topic }) => topic).reverse(), topics);
      await client.leave();
    });

    each("a session has so many subscriptions, and no longer ones", async (device, version) => {
      const full = version === 5 ? 0x97 : 0x80;
      const client = await connected(world, device, version);
      const filters = Array.from({ length: 1001 }, (_, i) => `filter ${i}`);
      client.send(subscribing(filters, { qos: 0 }));
      assert.equal((await client.next("suback")).granted, [...Array(1000).fill(0), full]);
      client.send(subscribing(["filter 0"], { qos: 1 }));
      assert.equal((await client.next("suback")).granted, [1], "an old one again");
      await client.leave();
      const long = await connected(world, device, version, { clientId: "long" });
      const granted: unknown[] = [];
      for (let i = 0; i < 6; i++) {
        long.send(subscribing([`${i}`.repeat(60_000)], { qos: 0 }));
        granted.push(...(await long.next("suback")).granted);
      }
      assert.equal(granted, [0, 0, 0, 0, full, full]);
      await long.leave();
    });

    each("nor more in packets that follow each other at once", async (device, version) => {
      const full = version === 5 ? 0x97 : 0x80;
      const kept = version === 5 ? { properties: { sessionExpiryInterval: 60 } } : { clean: false };
      const client = await connected(world, device, version, kept);
      const some = (nth: number) => Array.from({ length: 600 }, (_, i) => `${nth}/${i}`);
      client.send(
        subscribing(some(1), { qos: 0, messageId: 1 }),
        { cmd: "unsubscribe", messageId: 2, unsubscriptions: ["1/0"] },
        subscribing(some(2), { qos: 0, messageId: 3 }),
        subscribing(some(3), { qos: 0, messageId: 4 }),
      );
      const granted: unknown[] = [];
      for (let i = 0; i < 3; i++) granted.push(...(await client.next("suback")).granted);
      assert.is(granted.filter((code) => code === 0).length, 1000);
      assert.is(granted.filter((code) => code === full).length, 800);
      const { granted: ended } = await client.next("unsuback");
      assert.equal(ended ?? [], version === 5 ? [0] : []);
      await client.leave();
    });

    each(
      "a token of 1 MB, and a CONNECT of more than 16 KiB, are cut off when they are declared",
      async (device, version) => {
        const token = Buffer.alloc(1024 * 1024, "x");
        const client = await openClient(world.mqtt, version);
        client.send(bytesOf(0x10, "MQTT", version, 0xc2, 0, 0, "raw", "user", token));
        await client.ended();
        assert.is(client.bytes().length, 0);
        const long = await openClient(world.mqtt, version);
        long.send(connectPacket(device, version, { password: Buffer.alloc(17_000, "x") }));
        await long.ended();
        const wrong = await openClient(world.mqtt, version);
        wrong.send(connectPacket(device, version, { password: Buffer.alloc(10_000, "x") }));
        assert.is(codeOf(await wrong.next("connack")), version === 5 ? 0x86 : 4);
      },
    );

    each("a packet may come byte by byte", async (device, version) => {
      const client = await openClient(world.mqtt, version);
      client.send(connectPacket(device, version));
      await client.next("connack");
      const bytes = bytesOf(
        0x32,
        "a",
        0,
        1,
        version === 5 ? hex("00") : Buffer.alloc(0),
        Buffer.alloc(300, "x"),
      );
      for (const byte of bytes) {
        client.socket.write(Buffer.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
      await client.next("puback");
      assert.is(String((await eventsOf(world, device))[0]?.payload), "x".repeat(300));
      await client.leave();
    });

    each(
      "a client that disconnects in the middle of a packet leaves no socket behind",
      async (device, version) => {
        const sockets = () =>
          process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;
        const before = sockets();
        for (let i = 0; i < 20; i++) {
          const client = await openClient(world.mqtt, version);
          client.send(connectPacket(device, version, { clientId: `hasty ${i}` }), { cmd: "disconnect" });
          await sleep(i % 4);
          client.socket.write(Buffer.alloc(100, "what nobody reads"));
          await sleep(i % 3);
          if (i % 2 === 0) await client.cut();
          else client.socket.end().resume();
        }
        await until(() => sockets() <= before, { what: "all sockets to be closed" });
      },
    );

    test("sockets that say nothing, or half a CONNECT, end after ten seconds; others connect meanwhile", async () => {
      const device = await world.make("/api/v1/devices", await floodedDevice());
      const flood: Client[] = [];
      for (let i = 0; i < 300; i++) {
        const client = await openClient(world.mqtt, 4);
        if (i % 2 === 0) client.send(hex("10ff010004"));
        flood.push(client);
      }
      for (let i = 0; i < 10; i++) await (await connected(world, device, 5)).leave();
      assert.is(
        flood.filter(({ closed }) => closed).length,
        0,
        "they did not wait for the silent ones to end",
      );
      await until(() => flood.every(({ closed }) => closed), { what: "every end", timeoutMs: 20_000 });
      assert.ok(flood.every((client) => client.bytes().length === 0));
    });

    async function floodedDevice(): Promise<object> {
      const product = await world.make("/api/v1/products", { productName: "Flooded", cloudProtocol: 1 });
      return {
        productID: product.productID,
        cloudProtocol: 1,
        deviceName: "Flooded",
        deviceID: "flooded",
        deviceType: 1,
        upLinkSystem: 1,
        authType: 1,
      };
    }

    each("a client id that is taken over in a loop is always the newest one's", async (device, version) => {
      const all: Client[] = [];
      for (let i = 0; i < 100; i++) all.push(await connected(world, device, version));
      const last = all.pop();
      await until(() => all.every(({ closed }) => closed), { what: "the end of the others" });
      await last?.all("pingresp");
      const many = await Promise.all(
        Array.from({ length: 50 }, async () => {
          const client = await openClient(world.mqtt, version);
          client.send(connectPacket(device, version));
          return client;
        }),
      );
      await until(() => many.filter(({ closed }) => !closed).length === 1, { what: "one to be left" });
      for (const client of many) if (!client.closed) await client.leave();
    });

    five(
      "a reader that does not read loses what nobody acknowledges, and holds up nobody",
      async (device) => {
        const slow = await connected(world, device, 5, { clientId: "slow" });
        const reader = await connected(world, device, 5, { clientId: "reader" });
        const sender = await connected(world, device, 5);
        for (const one of [slow, reader]) await subscribed(one, ["a"], { qos: 0 });
        slow.socket.pause();
        const payload = Buffer.alloc(100_000, "x");
        for (let i = 0; i < 300; i++) await publish(sender, "a", { payload });
        const { text } = await world.call("GET", "/metrics");
        const dropped = Number(
          /tidemark_\w*dropped_total\{reason="slow_reader"\} (\d+)/.exec(text)?.[1] ?? 0,
        );
        assert.ok(dropped > 100, `${dropped} dropped`);
        await until(() => reader.packets.length >= 302, {
          what: "everything at the reader",
          timeoutMs: 20_000,
        });
        slow.socket.resume();
        for (const one of [slow, reader, sender]) await one.cut();
      },
    );

    each(
      "a client that does not read its answers is not read either, until it does",
      async (device, version) => {
        const client = await connected(world, device, version);
        client.socket.pause();
        const pings = Buffer.alloc(64 * 1024, hex("c000"));
        // What the sockets hold on both sides, and the megabyte that we hold.
        const most = 24 * 1024 * 1024;
        let sent = 0;
        for (let stuck = false; !stuck && sent < most; sent += pings.length) {
          if (client.socket.write(pings)) continue;
          stuck = await Promise.race([
            sleep(1500, true),
            new Promise<boolean>((resolve) => client.socket.once("drain", () => resolve(false))),
          ]);
        }
        assert.ok(sent < most, `${sent} bytes were taken`);
        // Millions of answers: counted, not parsed.
        let answered = 0;
        client.socket.removeAllListeners("data").on("data", ({ length }) => {
          answered += length;
        });
        client.socket.resume();
        await until(() => answered >= sent, { what: `${sent} bytes of answers`, timeoutMs: 30_000 });
        await client.cut();
      },
    );

    each("what the peer does not read does not keep it alive", async (device, version) => {
      const client = await connected(world, device, version, { keepalive: 1 });
      client.socket.pause();
      const pings = Buffer.alloc(64 * 1024, hex("c000"));
      const writing = setInterval(() => {
        if (client.socket.writableLength < 1024 * 1024) client.socket.write(pings);
      }, 1);
      const status = async () =>
        (await world.call("GET", `/api/v1/devices/${device.id}`)).record.deviceStatus;
      await until(async () => (await status()) === 1, { what: "online" });
      await until(async () => (await status()) === 0, { what: "offline", timeoutMs: 30_000 });
      clearInterval(writing);
      await client.cut();
    });

    each("a half-open connection ends with its keep-alive", async (device, version) => {
      const client = await connected(world, device, version, { keepalive: 1 });
      client.send(hex("3010"), Buffer.from("half a"));
      await sleep(200);
      client.socket.pause();
      const status = async () =>
        (await world.call("GET", `/api/v1/devices/${device.id}`)).record.deviceStatus;
      await until(async () => (await status()) === 1, { what: "online" });
      await until(async () => (await status()) === 0, { what: "offline" });
      await client.cut();
    });

    each("what comes in one piece with the end is still taken", async (device, version) => {
      const client = await openClient(world.mqtt, version);
      client.send(connectPacket(device, version), publishing("a"), publishing("a", { messageId: 2 }), {
        cmd: "disconnect",
      });
      await client.ended();
      await until(async () => (await eventsOf(world, device)).length === 2, { what: "both events" });
    });
  },
  { TOPIC_BYTES_MAX: "65535", TOPIC_LEVELS_MAX: "1024" },
);
