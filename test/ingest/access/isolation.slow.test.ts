/** No device reads or writes another's topics, whatever it tries. */
import { connectAsync } from "mqtt";
import { makeDevice, makePolicy, makeProduct } from "../../factories.js";
import { programMissing } from "../../programs.js";
import { assert } from "../../suite.js";
import { type Rec, worldSuite } from "../../world.js";
import {
  connectPacket,
  eventsOf,
  publishPacket,
  type RawClient,
  rawClient,
  rawConnected,
} from "../support.js";
import { mosquitto } from "../transports/mqtt/mosquitto-clients.js";

worldSuite("isolation", (test, world) => {
  let victim: Rec;
  /** A device of the same product, one of another, and one of another tenant. */
  let spies: readonly (readonly [string, Rec])[];
  test.before(async () => {
    const product = await makeProduct(world);
    const elsewhere = { key: await world.otherTenant() };
    const theirs = await world.make(
      "/api/v1/products",
      { productName: "elsewhere", cloudProtocol: 1 },
      elsewhere,
    );
    const body = {
      productID: theirs.productID,
      cloudProtocol: 1,
      deviceName: "spy",
      deviceID: "spy",
      deviceType: 1,
      upLinkSystem: 1,
      authType: 1,
    };
    victim = await makeDevice(world, product);
    spies = [
      ["of the same product", await makeDevice(world, product)],
      ["of another product", await makeDevice(world, await makeProduct(world))],
      ["of another tenant", await world.make("/api/v1/devices", body, elsewhere)],
    ];
  });

  /** What the victim says: uplinks of every QoS, retained, to `$…`, to the spy's own names, a command, a will. */
  const speak = async (spy: Rec): Promise<void> => {
    const topics = [
      ...["data", "a/b", "/", "inbox", "$SYS/broker/uptime", "$share/g/data", "$time", String(spy.deviceID)],
      ...[`${spy.deviceID}/data`, `/devices/${spy.deviceID}/inbox`, `devices/${spy.deviceID}/down/x`],
      ...[`/devices/${victim.deviceID}/inbox`, `${victim.deviceUsername}/data`],
    ];
    const raw = await rawConnected(world.mqtt, victim, { clientId: "victim" });
    let messageId = 0;
    for (const topic of topics) {
      for (const retain of [false, true]) {
        raw.send({ ...publishPacket("secret", { topic, messageId: ++messageId }), retain } as never);
      }
    }
    await raw.many("puback", messageId);
    const command = { deviceID: victim.deviceID, payload: "secret" };
    assert.is((await world.make("/api/v1/device_publish", command)).publishStatus, "successful");
    raw.send({ cmd: "disconnect" });
    await raw.ended();
    const dying = await rawClient(world.mqtt);
    const will = { topic: "a/b", payload: Buffer.from("secret"), qos: 1 as const, retain: true };
    dying.send({ ...connectPacket(victim, { clientId: "dying" }), will } as never);
    await dying.next("connack");
    await dying.cut();
  };
  /** Everything published to the spy until now, after what the server has on its way. */
  const heard = async (spy: RawClient): Promise<unknown[]> => {
    spy.send(publishPacket("own", { topic: "own/marker", messageId: 60_000 }));
    await spy.next("puback");
    spy.send({ cmd: "pingreq" });
    await spy.next("pingresp");
    return spy.packets.flatMap((packet) =>
      packet.cmd === "publish" && String(packet.payload) !== "own" ? [packet.topic] : [],
    );
  };
  const filters = (): string[] => [
    ...[
      "#",
      "+",
      "+/+",
      "+/#",
      "/#",
      "/+",
      "+/+/+",
      "$SYS/#",
      "$SYS/+/+",
      "$#",
      "$+/x",
      "data",
      "a/b",
      "inbox",
    ],
    ...["$share/g/#", "$share/g/data", "$share/g/+/+", "$queue/#", "$time", "$exclusive/data"],
    ...[`/devices/${victim.deviceID}/inbox`, `/devices/+/inbox`, `devices/${victim.deviceID}/up/#`],
    ...[`${victim.deviceID}/#`, `${victim.deviceUsername}/#`, `${victim.id}/#`, `${victim.tenantID}/#`],
  ];

  test("no filter brings another's messages: one by one, many in one SUBSCRIBE, and twice", async () => {
    for (const [who, device] of spies) {
      const spy = await rawConnected(world.mqtt, device, { clientId: "victim" });
      let messageId = 0;
      for (const topic of filters()) {
        spy.send({ cmd: "subscribe", messageId: ++messageId, subscriptions: [{ topic, qos: 2 }] });
      }
      await spy.many("suback", messageId);
      const subscriptions = filters().map((topic) => ({ topic, qos: 2 as const }));
      spy.send({ cmd: "subscribe", messageId: ++messageId, subscriptions });
      const { granted } = (await spy.many("suback", messageId)).at(-1) as { granted: number[] };
      assert.equal(
        granted.map((code, i) => (code === 0x80 ? subscriptions[i]?.topic : null)).filter(Boolean),
        ["$#", "$+/x", "$share/g/#", "$share/g/data", "$share/g/+/+"],
      );
      await heard(spy);
      const own = ["$time"];
      await speak(device);
      assert.equal([...new Set(await heard(spy))], own, `a device ${who}`);
      // The same again with a policy that allows everything.
      if (who !== "of another tenant") {
        const policy = await makePolicy(world, { topic: "#", access: 2, allow: 1 });
        await world.call("POST", `/api/v1/policies/${policy.id}/devices`, { devicesIntID: [device.id] });
        await speak(device);
        assert.equal([...new Set(await heard(spy))], own, `a device ${who}, allowed everything`);
      }
      await spy.cut();
    }
  });

  test("what a device publishes lies in its own space, whatever topic it names", async () => {
    const raw = await rawConnected(world.mqtt, victim);
    raw.send({ cmd: "subscribe", messageId: 1, subscriptions: [{ topic: "#", qos: 0 }] });
    await raw.next("suback");
    const before = (await eventsOf(world, victim)).length;
    for (const [who, device] of spies) {
      const spy = await rawConnected(world.mqtt, device, { clientId: "writer" });
      const topics = [
        ...["data", "inbox", `/devices/${victim.deviceID}/inbox`, `devices/${victim.deviceID}/up/data`],
        ...[`${victim.deviceID}/data`, "$SYS/x", `devices/${victim.deviceID}/down/inbox`],
      ];
      for (const [i, topic] of topics.entries()) spy.send(publishPacket("evil", { topic, messageId: i + 1 }));
      await spy.many("puback", topics.length);
      assert.is((await eventsOf(world, victim)).length, before, `a device ${who}`);
      await spy.cut();
    }
    raw.send({ cmd: "pingreq" });
    await raw.next("pingresp");
    assert.equal(
      raw.packets.filter((packet) => packet.cmd === "publish" && String(packet.payload) === "evil"),
      [],
    );
    await raw.cut();
  });

  test("the same client id on two devices is two sessions, kept or not", async () => {
    for (const clean of [true, false]) {
      const own = await rawConnected(world.mqtt, victim, { clientId: "same", clean });
      own.send({ cmd: "subscribe", messageId: 1, subscriptions: [{ topic: "data", qos: 1 }] });
      await own.next("suback");
      for (const [who, device] of spies) {
        const other = await rawConnected(world.mqtt, device, { clientId: "same", clean });
        own.send({ cmd: "pingreq" });
        await own.next("pingresp");
        assert.not.ok(own.closed, `taken over by a device ${who}`);
        await other.cut();
      }
      await own.cut();
    }
  });

  test("a session resumed with another device's credentials is another session", async () => {
    for (const [who, device] of spies) {
      const own = await rawConnected(world.mqtt, victim, { clientId: "kept", clean: false });
      own.send({
        cmd: "subscribe",
        messageId: 1,
        subscriptions: [
          { topic: "data", qos: 2 },
          { topic: "#", qos: 1 },
        ],
      });
      await own.next("suback");
      // Unfinished business of every kind: an unreleased id, and queued messages.
      own.send(publishPacket("secret", { topic: "data", qos: 2, messageId: 7 }));
      await own.next("pubrec");
      await own.cut();
      const sender = await rawConnected(world.mqtt, victim, { clientId: "sender" });
      sender.send(publishPacket("secret"));
      await sender.next("puback");
      await sender.cut();
      const spy = await rawClient(world.mqtt);
      spy.send(connectPacket(device, { clientId: "kept", clean: false }));
      assert.not.ok((await spy.next("connack")).sessionPresent, `a device ${who}`);
      assert.equal(await heard(spy), []);
      // The id is the victim's: of the spy it is a message of its own.
      const seen = who === "of another tenant" ? null : (await eventsOf(world, device)).length;
      spy.send(publishPacket("mine", { topic: "data", qos: 2, messageId: 7, dup: true }));
      await spy.next("pubrec");
      if (seen !== null) assert.is((await eventsOf(world, device)).length, seen + 1);
      spy.send({ cmd: "pubrel", messageId: 7, qos: 1 } as never);
      await spy.next("pubcomp");
      await spy.cut();
    }
  });

  test("the credentials of one device with the user name of another open nothing", async () => {
    for (const [, device] of spies) {
      const raw = await rawClient(world.mqtt);
      raw.send(connectPacket(victim, { password: String(device.token) }));
      assert.is((await raw.next("connack")).returnCode, 4);
      await raw.ended();
    }
  });

  const missing = programMissing("mosquitto_pub");
  const title = "clients as they are used: MQTT.js reads what it can, mosquitto_sub hears nothing";
  const run = async (): Promise<void> => {
    const [, spy] = spies[0] ?? [];
    if (spy === undefined) throw new Error("no spy");
    const args = ["-t", "#", "-t", "+/+", "-t", "$SYS/#", "-W", "3", "-v"];
    const hearing = mosquitto("mosquitto_sub", world.mqtt, spy, args);
    const reader = await connectAsync(world.mqtt, {
      username: String(spy.deviceUsername),
      password: String(spy.token),
      reconnectPeriod: 0,
    });
    const got: string[] = [];
    reader.on("message", (topic) => got.push(topic));
    await reader.subscribeAsync(["#", "+/+", "$SYS/#", "data"]);
    await speak(spy);
    const { output } = await hearing;
    assert.not.match(output, /secret/);
    assert.equal(got, []);
    await reader.endAsync();
  };
  if (missing === null) test(title, run);
  else test.skip(title, missing);
});
