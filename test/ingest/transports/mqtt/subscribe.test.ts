/** SUBSCRIBE, UNSUBSCRIBE, PINGREQ and DISCONNECT, MQTT 3.1.1 and 5.0 §3.8 to §3.14, §4.7 and §4.8. */
import { makeDevice, makeProduct } from "../../../factories.js";
import { assert } from "../../../suite.js";
import {
  ack,
  badTexts,
  bytesOf,
  type Client,
  connected,
  hex,
  type Of,
  publish,
  subscribed,
  subscribing,
  type Version,
} from "./raw-client.js";
import { mqttSuite } from "./versions.js";

mqttSuite("MQTT, SUBSCRIBE", ({ each, five, four }, world, test) => {
  const noProperties = (version: Version): Buffer => (version === 5 ? hex("00") : Buffer.alloc(0));

  async function ends(client: Client, bytes: Uint8Array, reasonCode: number, what: string): Promise<void> {
    client.send(bytes);
    await client.endedWith(reasonCode).catch((error: Error) => {
      throw new Error(`${what}: ${error.message}`);
    });
  }

  each(
    "SUBSCRIBE, UNSUBSCRIBE and DISCONNECT that are malformed end the connection",
    async (device, version) => {
      const more = noProperties(version);
      const filter = bytesOf(0, "a", 0).subarray(2);
      for (const [what, bytes, reasonCode] of [
        ["SUBSCRIBE without its flags", bytesOf(0x80, 0, 1, more, filter), 0x81],
        ["SUBSCRIBE with other flags", bytesOf(0x8a, 0, 1, more, filter), 0x81],
        ["SUBSCRIBE without a filter", bytesOf(0x82, 0, 1, more), 0x82],
        ["SUBSCRIBE without options", bytesOf(0x82, 0, 1, more, "a"), 0x81],
        ["SUBSCRIBE with packet id 0", bytesOf(0x82, 0, 0, more, filter), 0x82],
        ["SUBSCRIBE with QoS 3", bytesOf(0x82, 0, 1, more, "a", 3), version === 5 ? 0x82 : 0x81],
        ["SUBSCRIBE with reserved options", bytesOf(0x82, 0, 1, more, "a", 0x40), 0x81],
        ["SUBSCRIBE with reserved options", bytesOf(0x82, 0, 1, more, "a", 0x80), 0x81],
        ["UNSUBSCRIBE without its flags", bytesOf(0xa0, 0, 1, more, "a"), 0x81],
        ["UNSUBSCRIBE with other flags", bytesOf(0xa3, 0, 1, more, "a"), 0x81],
        ["UNSUBSCRIBE without a filter", bytesOf(0xa2, 0, 1, more), 0x82],
        ["UNSUBSCRIBE with packet id 0", bytesOf(0xa2, 0, 0, more, "a"), 0x82],
        ["DISCONNECT with flags", hex("e100"), 0x81],
        ["DISCONNECT that is too long", version === 5 ? hex("e003000000") : hex("e00100"), 0x81],
        ...badTexts.flatMap(([bad, text]) => [
          [`SUBSCRIBE to ${bad}`, bytesOf(0x82, 0, 1, more, text, 0), 0x81] as const,
          [`UNSUBSCRIBE from ${bad}`, bytesOf(0xa2, 0, 1, more, text), 0x81] as const,
        ]),
      ] as const) {
        await ends(await connected(world, device, version), bytes, reasonCode, what);
      }
    },
  );

  four("subscription options are the QoS alone", async (device) => {
    for (const options of [4, 8, 0x10]) {
      await ends(await connected(world, device, 4), bytesOf(0x82, 0, 1, "a", options), 0, `${options}`);
    }
  });

  five(
    "options and properties that SUBSCRIBE and UNSUBSCRIBE may not have end the connection",
    async (device) => {
      for (const [what, bytes, reasonCode] of [
        ["Retain Handling 3", bytesOf(0x82, 0, 1, 0, "a", 0x30), 0x82],
        ["No Local on a shared subscription", bytesOf(0x82, 0, 1, 0, "$share/g/a", 4), 0x82],
        ["a subscription identifier of 0", bytesOf(0x82, 0, 1, hex("02 0b 00"), "a", 0), 0x82],
        ["two subscription identifiers", bytesOf(0x82, 0, 1, hex("04 0b 01 0b 02"), "a", 0), 0x82],
        [
          "a subscription identifier of five bytes",
          bytesOf(0x82, 0, 1, hex("06 0b 8080808001"), "a", 0),
          0x81,
        ],
        ["a property of PUBLISH", bytesOf(0x82, 0, 1, hex("02 01 01"), "a", 0), 0x81],
        ["a property that UNSUBSCRIBE may not have", bytesOf(0xa2, 0, 1, hex("02 0b 01"), "a"), 0x81],
        ["a reason code that DISCONNECT does not know", hex("e00103"), 0x82],
        ["a reason code that PUBACK does not know", hex("4003 0001 01"), 0x82],
        ["a reason code that PUBREL does not know", hex("6203 0001 80"), 0x82],
      ] as const) {
        await ends(await connected(world, device, 5), bytes, reasonCode, what);
      }
    },
  );

  each(
    "SUBACK has the packet id of SUBSCRIBE and a code for each filter in its order",
    async (device, version) => {
      const client = await connected(world, device, version);
      const subscriptions = [
        { topic: "zero", qos: 0 },
        { topic: "a#", qos: 1 },
        { topic: "two/#", qos: 2 },
        { topic: "$share/g/a", qos: 0 },
        { topic: "+/one", qos: 1 },
        { topic: "#/a", qos: 1 },
      ] as const;
      client.send({ cmd: "subscribe", messageId: 0xfedc, subscriptions: [...subscriptions] });
      const { messageId, granted } = await client.next("suback");
      const refusals = version === 5 ? [0x8f, 0x9e, 0x8f] : [0x80, 0x80, 0x80];
      assert.equal([messageId, granted], [0xfedc, [0, refusals[0], 2, refusals[1], 1, refusals[2]]]);
      for (const [i, topic] of ["zero", "two", "x/one", "a"].entries()) {
        await publish(client, topic, { qos: 2, messageId: i + 1 });
      }
      const got = await client.all("publish");
      assert.equal(
        got.map(({ topic, qos }) => [topic, qos]),
        [
          ["zero", 0],
          ["two", 2],
          ["x/one", 1],
        ],
      );
      await client.leave();
    },
  );

  test("the reason of a refused filter is sent in words", async () => {
    const device = await makeDevice(world, await makeProduct(world));
    const client = await connected(world, device, 5);
    client.send(subscribing(["$share/g/a"]));
    const { properties } = await client.next("suback");
    assert.is(properties?.reasonString, "shared subscriptions are not offered");
    await client.leave();
  });

  each("a filter that is subscribed again replaces what was", async (device, version) => {
    const client = await connected(world, device, version);
    await subscribed(client, ["a"], { qos: 0 });
    await subscribed(client, ["a"], { qos: 1, messageId: 2 });
    await publish(client, "a");
    await subscribed(client, ["a"], { qos: 0, messageId: 3 });
    await publish(client, "a");
    const got = await client.all("publish");
    assert.equal(
      got.map(({ qos }) => qos),
      [1, 0],
    );
    client.send({ cmd: "unsubscribe", messageId: 4, unsubscriptions: ["a"] });
    await client.next("unsuback");
    await publish(client, "a");
    assert.is((await client.all("publish")).length, 2);
    await client.leave();
  });

  each(
    "a message comes once, at the lower of its QoS and the highest that covers it",
    async (device, version) => {
      const client = await connected(world, device, version);
      for (const [i, qos] of ([0, 2, 1] as const).entries()) {
        await subscribed(client, [["a/#", "a/+", "a/b"][i] ?? ""], { qos, messageId: i + 1 });
      }
      await subscribed(client, ["c"], { qos: 1, messageId: 4 });
      for (const [i, topic] of ["a/b", "a/b", "a/b", "c", "c", "c"].entries()) {
        client.send({
          cmd: "publish",
          topic,
          payload: "m",
          qos: (i % 3) as 0 | 1 | 2,
          messageId: i + 1,
          dup: false,
          retain: false,
        });
      }
      await client.next("puback");
      await client.next("puback");
      await client.next("pubrec");
      await client.next("pubrec");
      const got = await client.all("publish");
      assert.equal(
        got.map(({ topic, qos }) => `${topic} ${qos}`),
        ["a/b 0", "a/b 1", "a/b 2", "c 0", "c 1", "c 1"],
      );
      await client.leave();
    },
  );

  const identifiersOf = ({ properties }: Of<"publish">): unknown[] =>
    [properties?.subscriptionIdentifier ?? []].flat().sort();

  five("the identifiers of every subscription that brings a message go with it", async (device) => {
    const client = await connected(world, device, 5);
    await subscribed(client, ["a/#"], { qos: 0, identifier: 1 });
    await subscribed(client, ["a/b"], { qos: 0, identifier: 268_435_455, messageId: 2 });
    await subscribed(client, ["+/b"], { qos: 0, messageId: 3 });
    await subscribed(client, ["c"], { qos: 0, identifier: 7, messageId: 4 });
    for (const topic of ["a/b", "a/x", "x/b", "c"]) await publish(client, topic);
    assert.equal((await client.all("publish")).map(identifiersOf), [[1, 268_435_455], [1], [], [7]]);
    await subscribed(client, ["c"], { qos: 0, identifier: 8, messageId: 5 });
    await publish(client, "c");
    await subscribed(client, ["c"], { qos: 0, messageId: 6 });
    await publish(client, "c");
    assert.equal((await client.all("publish")).slice(4).map(identifiersOf), [[8], []]);
    await client.leave();
  });

  five("No Local keeps away what the client itself has published, and nothing else", async (device) => {
    const client = await connected(world, device, 5);
    const other = await connected(world, device, 5, { clientId: "other" });
    await subscribed(client, ["a"], { qos: 0, nl: true });
    await subscribed(other, ["a"], { qos: 0 });
    await publish(client, "a", { payload: "own" });
    await publish(other, "a", { payload: "other" });
    const payloads = async (one: Client) => (await one.all("publish")).map(({ payload }) => `${payload}`);
    assert.equal([await payloads(client), await payloads(other)], [["other"], ["own", "other"]]);
    await subscribed(client, ["+"], { qos: 0, messageId: 2 });
    await publish(client, "a", { payload: "overlapping" });
    assert.equal(await payloads(client), ["other", "overlapping"]);
    for (const one of [client, other]) await one.leave();
  });

  each(
    "a message to a subscriber has RETAIN 0, unless MQTT 5 wants it as published",
    async (device, version) => {
      const client = await connected(world, device, version);
      const reader = await connected(world, device, version, { clientId: "reader" });
      await subscribed(client, ["a"], { qos: 0 });
      await subscribed(reader, ["a"], { qos: 0, rap: true });
      for (const retain of [true, false]) await publish(client, "a", { retain });
      const flags = async (one: Client) => (await one.all("publish")).map(({ retain }) => retain);
      assert.equal(
        [await flags(client), await flags(reader)],
        [
          [false, false],
          [version === 5, false],
        ],
      );
      for (const one of [client, reader]) await one.leave();
    },
  );

  each(
    "UNSUBACK has the packet id of UNSUBSCRIBE; only the same filter ends a subscription",
    async (device, version) => {
      const client = await connected(world, device, version);
      await subscribed(client, ["a/#", "a/b", "c"], { qos: 0 });
      const unsubscriptions = ["a/b", "a/c", "A/#", "c", "c"];
      client.send({ cmd: "unsubscribe", messageId: 0xabcd, unsubscriptions });
      const unsuback = await client.next("unsuback");
      assert.is(unsuback.messageId, 0xabcd);
      if (version === 5) assert.equal(unsuback.granted, [0, 0x11, 0x11, 0, 0x11]);
      client.send({ cmd: "unsubscribe", messageId: 3, unsubscriptions: ["never"] });
      assert.is((await client.next("unsuback")).messageId, 3);
      for (const topic of ["a/b", "c"]) await publish(client, topic);
      assert.equal(
        (await client.all("publish")).map(({ topic }) => topic),
        ["a/b"],
      );
      await client.leave();
    },
  );

  each(
    "what is under way when a subscription ends is completed, and nothing comes after it",
    async (device, version) => {
      const client = await connected(world, device, version);
      await subscribed(client, ["a"]);
      await publish(client, "a", { qos: 2 });
      const id = (await client.next("publish")).messageId ?? 0;
      client.send({ cmd: "unsubscribe", messageId: 2, unsubscriptions: ["a"] });
      await client.next("unsuback");
      await publish(client, "a");
      client.send(ack("pubrec", id));
      assert.is((await client.next("pubrel")).messageId, id);
      client.send(ack("pubcomp", id));
      assert.is((await client.all("publish")).length, 1);
      await client.leave();
    },
  );

  each("wildcards stand for levels, and not for topics that begin with $", async (device, version) => {
    const client = await connected(world, device, version);
    const cases: readonly (readonly [string, readonly string[]])[] = [
      ["#", ["a", "a/b", "/a", "a/"]],
      ["+", ["a"]],
      ["+/+", ["a/b", "/a", "a/"]],
      ["a/#", ["a", "a/b", "a/"]],
      ["/+", ["/a"]],
      ["+/b", ["a/b"]],
      ["$SYS/#", ["$SYS/b"]],
      ["$SYS/+", ["$SYS/b"]],
    ];
    const topics = ["a", "a/b", "/a", "a/", "$SYS/b"];
    let from = 0;
    for (const [filter, expected] of cases) {
      await subscribed(client, [filter], { qos: 0 });
      for (const topic of topics) await publish(client, topic);
      const got = (await client.all("publish")).map(({ topic }) => topic).slice(from);
      assert.equal(got, expected, filter);
      from += got.length;
      client.send({ cmd: "unsubscribe", messageId: 2, unsubscriptions: [filter] });
      await client.next("unsuback");
    }
    await client.leave();
  });

  each("wildcards in the wrong place and empty filters are refused", async (device, version) => {
    const client = await connected(world, device, version);
    const filters = [
      "",
      "a#",
      "#/",
      "a/#/b",
      "+a",
      "a+/b",
      "a/b+",
      "##",
      "++",
      "$share/",
      "$share/g",
      "$share//a",
    ];
    client.send(subscribing(filters));
    const { granted } = await client.next("suback");
    const codes = filters.map((filter) => (version < 5 ? 0x80 : filter.startsWith("$share/") ? 0x9e : 0x8f));
    assert.equal(granted, codes);
    await client.leave();
  });

  each("PINGREQ is answered", async (device, version) => {
    const client = await connected(world, device, version);
    for (let i = 1; i <= 3; i++) assert.is((await client.all("pingresp")).length, i);
    await client.leave();
  });

  each("DISCONNECT is not answered, and what follows it is not read", async (device, version) => {
    const client = await connected(world, device, version);
    client.send({ cmd: "disconnect" }, { cmd: "pingreq" });
    await client.ended();
    assert.equal(
      client.packets.map(({ cmd }) => cmd),
      ["connack"],
    );
  });

  five("DISCONNECT may have a reason, and a session expiry, which cannot begin there", async (device) => {
    const leaves = async (connectExpiry: number, bytes: string): Promise<unknown[]> => {
      const properties = { sessionExpiryInterval: connectExpiry };
      const client = await connected(world, device, 5, { properties });
      client.send(hex(bytes));
      await client.ended();
      return client.packets
        .slice(1)
        .map((packet) => (packet.cmd === "disconnect" ? packet.reasonCode : packet.cmd));
    };
    assert.equal(await leaves(0, "e00104"), []);
    assert.equal(await leaves(0, "e0020000"), []);
    assert.equal(await leaves(0, "e0020483"), [0x81], "properties that do not come");
    assert.equal(await leaves(0, "e007 00 05 11 00000000"), []);
    assert.equal(await leaves(5, "e007 00 05 11 00000000"), []);
    assert.equal(await leaves(5, "e007 00 05 11 00000009"), []);
    assert.equal(await leaves(0, "e007 00 05 11 00000009"), [0x82]);
  });

  five("after our DISCONNECT nothing follows, and the connection is closed", async (device) => {
    const client = await connected(world, device, 5);
    await subscribed(client, ["a"], { qos: 0 });
    client.send(hex("f000"), hex("c000"), hex("c000"));
    await client.endedWith(0x82);
    assert.equal(
      client.packets.map(({ cmd }) => cmd),
      ["connack", "suback", "disconnect"],
    );
    const [, , disconnect] = client.packets;
    assert.equal(Object.keys((disconnect as Of<"disconnect">).properties ?? {}), ["reasonString"]);
  });

  five("a device that is thrown out receives the reason", async (device) => {
    const client = await connected(world, device, 5);
    await world.call("PUT", `/api/v1/devices/${device.id}`, { blocked: 1 });
    await client.endedWith(0x98);
  });
});
