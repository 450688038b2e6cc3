/** Policies and the platform's subscriptions over real sockets: what they refuse, and that changes act at once. */
import { makeDataPoint, makeDevice, makeGroup, makePolicy, makeProduct } from "../../factories.js";
import { programMissing } from "../../programs.js";
import { assert, until } from "../../suite.js";
import { type Rec, worldSuite } from "../../world.js";
import { eventsOf, publishPacket, type RawClient, rawConnected, valuesOf } from "../support.js";
import { mosquitto } from "../transports/mqtt/mosquitto-clients.js";

worldSuite("policies at work", (test, world) => {
  let product: Rec;
  let device: Rec;
  let raw: RawClient;
  let lastID = 0;
  test.before(async () => {
    product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp" });
  });
  test.before.each(async () => {
    device = await makeDevice(world, product);
    raw = await rawConnected(world.mqtt, device, { clientId: "live" });
    lastID = 0;
  });
  test.after.each(async () => raw.cut());

  const [publish, subscribe, both] = [0, 1, 2];
  const bind = async (topic: string, access: number, allow: number, to: Rec = device): Promise<Rec> => {
    const policy = await makePolicy(world, { topic, access, allow });
    const body = { devicesIntID: [to.id] };
    assert.is((await world.call("POST", `/api/v1/policies/${policy.id}/devices`, body)).status, 201);
    return policy;
  };
  const subscribing = async (...filters: string[]): Promise<unknown> => {
    const subscriptions = filters.map((topic) => ({ topic, qos: 1 as const }));
    raw.send({ cmd: "subscribe", messageId: ++lastID, subscriptions });
    return (await raw.next("suback")).granted;
  };
  /** Publishes and returns what came back to the same client. */
  const sending = async (topic: string, payload = "{}", qos: 1 | 2 = 1): Promise<string[]> => {
    const before = raw.packets.length;
    raw.send(publishPacket(payload, { topic, qos, messageId: ++lastID }));
    await raw.next(qos === 1 ? "puback" : "pubrec");
    raw.send({ cmd: "pingreq" });
    await raw.next("pingresp");
    return raw.packets
      .slice(before)
      .flatMap((packet) => (packet.cmd === "publish" ? [`${packet.topic} ${packet.payload}`] : []));
  };
  const refusedSo = async (action: string): Promise<number> => {
    const { text } = await world.call("GET", "/metrics");
    const found = new RegExp(`^tidemark_policy_refused_total\\{action="${action}"\\} (\\d+)$`, "m").exec(
      text,
    );
    return Number(found?.[1] ?? 0);
  };
  const refusals = async () => (await eventsOf(world, device)).map(({ refused }) => refused ?? false);

  test("a refused message is acknowledged and kept, without points and without delivery", async () => {
    await subscribing("#");
    const counted = await refusedSo("publish");
    await bind("secret/%d", publish, 0);
    assert.equal(await sending(`secret/${device.deviceID}`, '{"temp":1}'), []);
    assert.equal(await sending(`secret/${device.deviceID}`, '{"temp":2}', 2), []);
    assert.equal(await sending("secret/other", '{"temp":3}'), ['secret/other {"temp":3}']);
    await world.settled();
    assert.equal(await refusals(), [false, true, true]);
    assert.equal(await valuesOf(world, device), [[3]]);
    assert.is((await refusedSo("publish")) - counted, 2);
  });

  test("deny wins, an allow rule closes the rest, and each change acts on the open connection", async () => {
    const others = await makeDevice(world, product);
    await bind("#", both, 0, others);
    await subscribing("#");
    assert.equal(await sending("a/b"), ["a/b {}"]);
    const allowed = await bind("a/+", both, 1);
    assert.equal([await sending("a/b"), await sending("b")], [["a/b {}"], []]);
    const denied = await bind("+/b", publish, 0);
    assert.equal([await sending("a/b"), await sending("a/c")], [[], ["a/c {}"]]);
    const put = (policy: Rec, body: object) => world.call("PUT", `/api/v1/policies/${policy.id}`, body);
    await put(denied, { topic: "a/c" });
    assert.equal([await sending("a/b"), await sending("a/c")], [["a/b {}"], []]);
    await put(denied, { access: subscribe, topic: "a/b" });
    assert.equal([await sending("a/b"), await sending("a/c")], [[], ["a/c {}"]]);
    await world.call("DELETE", `/api/v1/policies?ids=${denied.id}`);
    assert.equal([await sending("a/b"), await sending("b")], [["a/b {}"], []]);
    await world.call("DELETE", `/api/v1/devices/${device.id}/policies?ids=${allowed.id}`);
    assert.equal(await sending("b"), ["b {}"]);
    const again = { ids: [allowed.id] };
    assert.is((await world.call("POST", `/api/v1/devices/${device.id}/policies`, again)).status, 201);
    assert.equal(await sending("b"), []);
    await put(allowed, { topic: "b" });
    assert.equal([await sending("a/b"), await sending("b")], [[], ["b {}"]]);
  });

  test("a filter is refused when no topic is left that it would bring", async () => {
    const counted = await refusedSo("subscribe");
    await bind("own/%u/#", subscribe, 1);
    await bind("own/+/secret", subscribe, 0);
    const own = `own/${device.deviceUsername}`;
    assert.equal(
      await subscribing("#", "own/#", `${own}/x`, "other", "own/somebody/x", `${own}/secret`, "$time"),
      [1, 1, 1, 0x80, 0x80, 0x80, 0x80],
    );
    assert.is((await refusedSo("subscribe")) - counted, 4);
    assert.equal(await sending(`${own}/x`), [`${own}/x {}`]);
    const withheld = await refusedSo("receive");
    assert.equal([await sending(`${own}/secret`), await sending("other")], [[], []]);
    assert.is((await refusedSo("receive")) - withheld, 2);
  });

  test("a command that a policy forbids fails; the inbox has two names and one rule", async () => {
    const command = async (topic?: string) => {
      const body = { deviceID: device.deviceID, payload: "x", ...(topic === undefined ? {} : { topic }) };
      return (await world.make("/api/v1/device_publish", body)).publishStatus;
    };
    const alias = `/devices/${device.deviceID}/inbox`;
    assert.is(await command(), "successful");
    await raw.next("publish");
    const denied = await bind("/devices/%d/inbox", subscribe, 0);
    assert.equal([await command(), await command(alias)], ["failed", "failed"]);
    assert.equal(await subscribing("inbox", alias), [0x80, 0x80]);
    await world.call("DELETE", `/api/v1/policies?ids=${denied.id}`);
    await bind("inbox", subscribe, 1);
    assert.equal(
      [await command(), await command(alias), await command("x")],
      ["successful", "successful", "failed"],
    );
    await raw.next("publish");
  });

  test("other devices with the same policy go by their own names", async () => {
    const policy = await bind("%d/#", both, 1);
    const other = await makeDevice(world, product);
    await world.call("POST", `/api/v1/devices/${other.id}/policies`, { ids: [policy.id] });
    const theirs = await rawConnected(world.mqtt, other);
    theirs.send({
      cmd: "subscribe",
      messageId: 1,
      subscriptions: [{ topic: `${device.deviceID}/x`, qos: 0 }],
    });
    assert.equal((await theirs.next("suback")).granted, [0x80]);
    assert.equal(await subscribing(`${device.deviceID}/x`), [1]);
    await theirs.cut();
  });

  const missing = programMissing("mosquitto_pub");
  const withMosquitto = (title: string, run: () => Promise<void>) =>
    missing === null ? test(title, run) : test.skip(title, missing);

  withMosquitto("Mosquitto's clients: refused, allowed, and a refused message acknowledged", async () => {
    await bind("up/#", both, 1);
    const { code, output } = await mosquitto("mosquitto_sub", world.mqtt, device, ["-t", "other", "-q", "1"]);
    assert.match(output, /denied/i);
    assert.is.not(code, null);
    const reading = mosquitto("mosquitto_sub", world.mqtt, device, [
      "-t",
      "#",
      "-q",
      "1",
      "-C",
      "1",
      "-W",
      "20",
    ]);
    const sent = ["-q", "1", "-m", "hello"];
    // Until the reader is there.
    const result = until(
      async () => {
        assert.is((await mosquitto("mosquitto_pub", world.mqtt, device, ["-t", "no", ...sent])).code, 0);
        assert.is((await mosquitto("mosquitto_pub", world.mqtt, device, ["-t", "up/x", ...sent])).code, 0);
        return Promise.race([reading, new Promise<null>((resolve) => setTimeout(() => resolve(null), 100))]);
      },
      { what: "the reader to get a message", timeoutMs: 20_000 },
    );
    assert.is((await result)?.output.trim(), "hello");
    assert.ok((await refusals()).includes(true));
  });

  test("what the platform subscribes device, product and group to, from CONNECT and while it is there", async () => {
    const group = await makeGroup(world, product);
    const join = { ids: [device.id] };
    assert.ok((await world.call("POST", `/api/v1/groups/${group.id}/devices`, join)).status < 300);
    const owners = [`devices/${device.id}`, `products/${product.id}`, `groups/${group.id}`];
    const made: Rec[] = [];
    for (const [i, owner] of owners.entries()) {
      assert.equal(await sending(`p/${i}`), []);
      made.push(await world.make(`/api/v1/${owner}/subscriptions`, { topic: `p/${i}`, qos: i % 2 }));
      assert.equal(await sending(`p/${i}`), [`p/${i} {}`], owner);
    }
    const later = await rawConnected(world.mqtt, device, { clientId: "later" });
    await sending("p/0");
    await sending("p/1");
    await sending("p/2");
    const got = (await later.many("publish", 3)) as { topic: string; qos: number }[];
    assert.equal(
      got.map(({ topic, qos }) => `${topic} ${qos}`),
      ["p/0 0", "p/1 1", "p/2 0"],
    );
    await later.cut();
    for (const [i, owner] of owners.entries()) {
      await world.call("DELETE", `/api/v1/${owner}/subscriptions?ids=${made[i]?.id}`);
      assert.equal(await sending(`p/${i}`), [], `${owner}, removed`);
    }
  });

  test("a retained message that such a subscription brings comes once", async () => {
    const topic = "kept/once";
    const made = await world.make(`/api/v1/devices/${device.id}/subscriptions`, { topic, qos: 1 });
    const writer = await rawConnected(world.mqtt, device, { clientId: "writer" });
    writer.send({ ...publishPacket("r", { topic }), retain: true } as never);
    await writer.next("puback");
    for (const clean of [true, false]) {
      const reader = await rawConnected(world.mqtt, device, { clientId: `clean ${clean}`, clean });
      await reader.many("publish", 1);
      reader.send({ cmd: "pingreq" });
      await reader.next("pingresp");
      assert.is((await reader.many("publish", 1)).length, 1);
      reader.send({ cmd: "disconnect" });
      await reader.ended();
    }
    await writer.cut();
    await world.call("DELETE", `/api/v1/devices/${device.id}/subscriptions?ids=${made.id}`);
  });

  test("membership carries a group's subscriptions; the client may decline; policies stand above", async () => {
    const group = await makeGroup(world, product);
    await world.make(`/api/v1/groups/${group.id}/subscriptions`, { topic: "g/#" });
    const member = `/api/v1/groups/${group.id}/devices`;
    await world.call("POST", member, { ids: [device.id] });
    assert.equal(await sending("g/x"), ["g/x {}"]);
    await bind("g/secret", subscribe, 0);
    assert.equal(await sending("g/secret"), []);
    raw.send({ cmd: "unsubscribe", messageId: ++lastID, unsubscriptions: ["g/#"] });
    await raw.next("unsuback");
    assert.equal(await sending("g/x"), []);
    await world.make(`/api/v1/devices/${device.id}/subscriptions`, { topic: "other" });
    assert.equal(await sending("g/x"), []);
    raw.send({ cmd: "disconnect" });
    await raw.ended();
    raw = await rawConnected(world.mqtt, device, { clientId: "live" });
    assert.equal(await sending("g/x"), ["g/x {}"]);
    await world.call("DELETE", `${member}?ids=${device.id}`);
    assert.equal(await sending("g/x"), []);
    await world.call("POST", member, { ids: [device.id] });
    assert.equal(await sending("g/x"), ["g/x {}"]);
    await world.call("DELETE", `/api/v1/groups?ids=${group.id}`);
    assert.equal(await sending("g/x"), []);
  });
});
