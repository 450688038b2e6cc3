/** Sessions that outlive their connection, MQTT 3.1.1 §3.1.2.4 and §4.1, 5.0 §3.1.2.4, §3.1.2.11.2 and §4.1. */

import { join } from "node:path";
import { openSessionStore } from "../../../../store/mqtt-sessions/session-store.js";
import { assert, until } from "../../../suite.js";
import { type Rec, shardFolderOf } from "../../../world.js";
import { eventsOf } from "../../support.js";
import {
  ack,
  type Client,
  type ConnectFields,
  codeOf,
  connected,
  connectPacket,
  openClient,
  publish,
  publishing,
  subscribed,
  type Version,
} from "./raw-client.js";
import { mqttSuite } from "./versions.js";

mqttSuite("MQTT, sessions", ({ each, five }, world) => {
  /** CONNECT for a session that is kept for `seconds`, where the version can say so. */
  const kept = (version: Version, seconds = 100): ConnectFields => ({
    clean: false,
    clientId: "kept",
    ...(version === 5 ? { properties: { sessionExpiryInterval: seconds } } : {}),
  });

  async function opened(
    device: Rec,
    version: Version,
    fields: ConnectFields,
  ): Promise<{ client: Client; present: boolean }> {
    const client = await openClient(world.mqtt, version);
    client.send(connectPacket(device, version, fields));
    const connack = await client.next("connack");
    assert.is(codeOf(connack), 0);
    return { client, present: connack.sessionPresent };
  }

  /** A kept session that is subscribed, and whose client is away; and another client that publishes. */
  async function away(device: Rec, version: Version, filter: string, seconds = 100): Promise<Client> {
    const { client, present } = await opened(device, version, kept(version, seconds));
    assert.is(present, false);
    await subscribed(client, [filter]);
    await client.leave();
    return connected(world, device, version, { clientId: "sender" });
  }

  const payloads = async (client: Client): Promise<string[]> =>
    (await client.all("publish")).map(({ payload }) => `${payload}`);

  async function gets(client: Client, count: number): Promise<void> {
    const got = () => client.packets.filter(({ cmd }) => cmd === "publish").length;
    await until(() => got() >= count, { what: `${count} messages` });
  }

  each(
    "without a session Session Present is 0, and one begins; then it is found again",
    async (device, version) => {
      const first = await opened(device, version, kept(version));
      assert.is(first.present, false);
      await subscribed(first.client, ["a"], { qos: 1 });
      await first.client.cut();
      const second = await opened(device, version, kept(version));
      assert.is(second.present, true);
      await publish(second.client, "a");
      await gets(second.client, 1);
      await second.client.leave();
      const third = await opened(device, version, { ...kept(version), clientId: "another" });
      assert.is(third.present, false);
      await third.client.leave();
    },
  );

  each("messages of QoS 1 and 2 wait for the client, in their order", async (device, version) => {
    const sender = await away(device, version, "a/#");
    for (const [i, qos] of ([1, 2, 1, 2] as const).entries()) {
      await publish(sender, `a/${i}`, { qos, messageId: i + 1, payload: `${i}` });
    }
    await publish(sender, "b", { payload: "not subscribed" });
    const { client, present } = await opened(device, version, kept(version));
    assert.is(present, true);
    await gets(client, 4);
    const got = await client.all("publish");
    assert.equal(
      got.map(({ topic, payload, qos }) => `${topic} ${payload} ${qos}`),
      ["a/0 0 1", "a/1 1 2", "a/2 2 1", "a/3 3 2"],
    );
    for (const one of [client, sender]) await one.leave();
  });

  each(
    "a clean start forgets what was, and what is begun clean is not used again",
    async (device, version) => {
      const sender = await away(device, version, "a");
      await publish(sender, "a");
      const clean = await opened(device, version, { clientId: "kept", clean: true });
      assert.is(clean.present, false);
      await publish(sender, "a");
      assert.equal(await payloads(clean.client), []);
      await subscribed(clean.client, ["a"]);
      await clean.client.leave();
      const later = await opened(device, version, kept(version));
      assert.is(later.present, false);
      await publish(sender, "a");
      assert.equal(await payloads(later.client), []);
      for (const one of [later.client, sender]) await one.leave();
    },
  );

  each(
    "what is not acknowledged is sent again with its packet id and DUP, in its order",
    async (device, version) => {
      const first = await opened(device, version, kept(version));
      await subscribed(first.client, ["a"]);
      for (const [i, qos] of ([1, 2, 2, 1] as const).entries()) {
        await publish(first.client, "a", { qos, messageId: i + 1, payload: `${i}` });
      }
      await gets(first.client, 4);
      const sent = await first.client.all("publish");
      const released = sent[1]?.messageId ?? 0;
      first.client.send(ack("pubrec", released));
      // The one of publish() for its own QoS 2 messages are PUBCOMP, so this is the first PUBREL.
      assert.is((await first.client.next("pubrel")).messageId, released);
      await first.client.cut();

      const { client, present } = await opened(device, version, kept(version));
      assert.is(present, true);
      await gets(client, 3);
      assert.is((await client.next("pubrel")).messageId, released);
      const again = await client.all("publish");
      assert.equal(
        again.map(({ payload, messageId, qos, dup }) => [`${payload}`, messageId, qos, dup]),
        [0, 2, 3].map((i) => [`${i}`, sent[i]?.messageId, sent[i]?.qos, true]),
      );
      client.send(ack("pubcomp", released));
      for (const { messageId = 0, qos } of again)
        client.send(ack(qos === 1 ? "puback" : "pubrec", messageId));
      await client.next("pubrel");
      client.send(ack("pubcomp", again[1]?.messageId ?? 0));
      await client.all("pingresp");
      await client.leave();
      const last = await opened(device, version, kept(version));
      assert.equal([await payloads(last.client), (await last.client.all("pubrel")).length], [[], 0]);
      await last.client.leave();
    },
  );

  each("a message of QoS 2 is taken once, however often the connection breaks", async (device, version) => {
    for (let times = 0; times < 3; times++) {
      const { client } = await opened(device, version, kept(version));
      client.send(publishing("a", { qos: 2, messageId: 9, dup: times > 0 }));
      assert.is((await client.next("pubrec")).messageId, 9);
      await client.cut();
    }
    const { client } = await opened(device, version, kept(version));
    client.send(ack("pubrel", 9));
    await client.next("pubcomp");
    assert.is((await eventsOf(world, device)).length, 1);
    await client.leave();
  });

  each("a session that is taken over goes on", async (device, version) => {
    const first = await opened(device, version, kept(version));
    await subscribed(first.client, ["a"]);
    const second = await opened(device, version, kept(version));
    assert.is(second.present, true);
    await first.client.endedWith(0x8e);
    await publish(second.client, "a");
    await gets(second.client, 1);
    await second.client.leave();
  });

  five("a session ends when its expiry has passed", async (device) => {
    const sender = await away(device, 5, "a", 1);
    await publish(sender, "a");
    world.clock.pass(2500);
    const { client, present } = await opened(device, 5, kept(5));
    assert.is(present, false);
    assert.equal(await payloads(client), []);
    for (const one of [client, sender]) await one.leave();
  });

  five("a session without an expiry ends with its connection", async (device) => {
    const fields = { clientId: "kept", clean: false };
    const first = await opened(device, 5, fields);
    await subscribed(first.client, ["a"]);
    await first.client.cut();
    const second = await opened(device, 5, fields);
    assert.is(second.present, false);
    await second.client.leave();
  });

  five("DISCONNECT can change the expiry of a session", async (device) => {
    const leaveWith = async (sessionExpiryInterval: number, expected: boolean): Promise<void> => {
      const { client } = await opened(device, 5, kept(5));
      client.send({ cmd: "disconnect", reasonCode: 0, properties: { sessionExpiryInterval } });
      await client.ended();
      const again = await opened(device, 5, kept(5));
      assert.is(again.present, expected);
      await again.client.leave();
    };
    await leaveWith(50, true);
    await leaveWith(0, false);
  });

  five("no session is kept for more than 90 days, whenever it asks", async (device) => {
    const most = 90 * 86_400;
    const forever = { clientId: "kept", clean: true, properties: { sessionExpiryInterval: 0xffff_ffff } };
    const client = await openClient(world.mqtt, 5);
    client.send(connectPacket(device, 5, forever));
    assert.is((await client.next("connack")).properties?.sessionExpiryInterval, most);
    client.send({ cmd: "disconnect", reasonCode: 0, properties: { sessionExpiryInterval: 0xffff_ffff } });
    await client.ended();
    const path = join(world.dataDir, shardFolderOf(device.id), "sessions.db");
    // The service may be writing to it at this moment.
    const store = await until(() => openSessionStore(path, assert.unreachable), {
      what: "the file to be free",
    });
    const expiry = async () => {
      const saved = (await store.load()).sessions.find((one) => one.device === device.id);
      return saved !== undefined && saved.endedAt > 0 && saved.expiry;
    };
    assert.is(await until(expiry, { what: "the session to be saved" }), most);
    await store.close();
  });

  five("a clean start can begin a session that is kept", async (device) => {
    const first = await opened(device, 5, { ...kept(5), clean: true });
    assert.is(first.present, false);
    await subscribed(first.client, ["a"]);
    await first.client.cut();
    const second = await opened(device, 5, kept(5));
    assert.is(second.present, true);
    await second.client.leave();
  });

  five("what expires while the client is away is not sent; the rest has less time left", async (device) => {
    const sender = await away(device, 5, "a");
    await publish(sender, "a", { payload: "short", properties: { messageExpiryInterval: 1 } });
    await publish(sender, "a", { payload: "long", properties: { messageExpiryInterval: 100 } });
    await publish(sender, "a", { payload: "for ever" });
    world.clock.pass(2200);
    const { client } = await opened(device, 5, kept(5));
    await gets(client, 2);
    const got = await client.all("publish");
    assert.equal(
      got.map(({ payload }) => `${payload}`),
      ["long", "for ever"],
    );
    const left = Number(got[0]?.properties?.messageExpiryInterval);
    assert.ok(left > 90 && left < 100, `${left}`);
    assert.is(got[1]?.properties?.messageExpiryInterval, undefined);
    for (const one of [client, sender]) await one.leave();
  });

  five("a kept session keeps the options of its subscriptions", async (device) => {
    const first = await opened(device, 5, kept(5));
    await subscribed(first.client, ["a"], { qos: 1, nl: true, rap: true, identifier: 77 });
    await first.client.cut();
    const sender = await connected(world, device, 5, { clientId: "sender" });
    await publish(sender, "a", { retain: true, payload: "theirs" });
    const { client } = await opened(device, 5, kept(5));
    await publish(client, "a", { payload: "own" });
    await gets(client, 1);
    const got = await client.all("publish");
    assert.equal(
      got.map(({ payload, retain, properties }) => [
        `${payload}`,
        retain,
        properties?.subscriptionIdentifier,
      ]),
      [["theirs", true, 77]],
    );
    for (const one of [client, sender]) await one.leave();
  });
});
