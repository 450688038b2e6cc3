/** Messages down: to one device and to a group, over real MQTT. */
import type { MqttClient } from "mqtt";
import { makeDevice, makeGateway, makeGroup, makeProduct } from "../factories.js";
import { rawConnected } from "../ingest/support.js";
import { assert, until } from "../suite.js";
import { hasKeys, type Rec, type Reply, refused, stampPattern, worldSuite } from "../world.js";
import { badValues } from "./resource.js";
import { ended } from "./transfer.js";

worldSuite("device_publish", (test, world) => {
  let product: Rec;
  let device: Rec;
  test.before(async () => {
    product = await makeProduct(world);
  });
  test.before.each(async () => {
    device = await makeDevice(world, product);
  });

  const post = (body: object, options = {}) =>
    world.call(
      "POST",
      "/api/v1/device_publish",
      { deviceID: device.deviceID, payload: "on", ...body },
      options,
    );
  const publish = async (body: object = {}): Promise<unknown> => {
    const reply = await post(body);
    assert.is(reply.status, 201, reply.text);
    hasKeys(reply.record, ["publishStatus"]);
    return reply.record.publishStatus;
  };
  const logs = async (of: Rec = device) =>
    (await world.call("GET", `/api/v1/devices/${of.id}/control_logs?_limit=1000`)).page.items;
  /** The answer of 201 names its task as those of 202 do. */
  const asAccepted = (reply: Reply): Reply => ({
    ...reply,
    status: reply.status === 201 ? 202 : reply.status,
  });
  const statusOf = async () => (await logs())[0]?.publishStatus;
  const becomes = (status: number) =>
    until(async () => (await statusOf()) === status, { what: `publishStatus ${status}` });
  const listen = (client: MqttClient): string[] => {
    const got: string[] = [];
    client.on("message", (topic, payload, packet) => got.push(`${topic} ${payload} ${packet.qos}`));
    return got;
  };

  test("what the answer says stands in the log by then, for one device, a group and many", async () => {
    const client = await world.connect(device);
    for (let round = 0; round < 30; round++) {
      assert.is(await publish({ qos: 0 }), "successful");
      assert.is(await statusOf(), 3, `round ${round}`);
    }
    const group = await makeGroup(world, product);
    await world.call("POST", `/api/v1/groups/${group.id}/devices`, { ids: [device.id] });
    const toGroup = { groupID: group.groupID, payload: "on", qos: 0 };
    const sent = await ended(world, asAccepted(await world.call("POST", "/api/v1/group_publish", toGroup)));
    assert.equal(sent.msg, { publish_success_num: 1, publish_failure_num: 0 });
    const toMany = { action: "command", ids: [device.id], payload: "on", qos: 0, ttl: 60 };
    const { state, msg } = await ended(world, await world.call("POST", "/api/v1/devices/bulk", toMany));
    assert.is(state, "SUCCESS", JSON.stringify(msg));
    assert.equal(
      (await logs()).map(({ publishStatus }) => publishStatus),
      Array(32).fill(3),
    );
    await client.endAsync();
  });

  test("the inbox needs no SUBSCRIBE; PUBACK makes the log 2", async () => {
    const client = await world.connect(device);
    const got = listen(client);
    assert.is(await publish({ payload: "öffnen 🦉" }), "successful");
    await becomes(2);
    assert.equal(got, ["inbox öffnen 🦉 1"]);
    const [log] = await logs();
    hasKeys(log, [
      ...["id", "deviceIntID", "deviceName", "topic", "payload", "publishStatus", "publishStatusLabel"],
      ...["publishUser", "userIntID", "createAt", "updateAt"],
    ]);
    assert.equal(
      [
        log?.deviceIntID,
        log?.deviceName,
        log?.topic,
        log?.payload,
        log?.publishStatusLabel,
        log?.publishUser,
      ],
      [device.id, device.deviceName, "inbox", "öffnen 🦉", "已到达", "admin"],
    );
    assert.match(String(log?.updateAt), stampPattern);
    await client.endAsync();
  });

  test("without its PUBACK the log stays 1, until nobody holds the message any more", async () => {
    const raw = await rawConnected(world.mqtt, device);
    assert.is(await publish(), "successful");
    const packet = await raw.next("publish");
    assert.equal([packet.topic, packet.qos, packet.dup, packet.retain], ["inbox", 1, false, false]);
    const [log] = await logs();
    assert.equal([log?.publishStatus, log?.publishStatusLabel, log?.updateAt], [1, "已下发", null]);
    await raw.cut();
    await becomes(0);
    assert.match(String((await logs())[0]?.updateAt), stampPattern);
  });

  test("QoS 0, asked for or granted, needs no receipt", async () => {
    const client = await world.connect(device);
    const got = listen(client);
    assert.is(await publish({ qos: 0 }), "successful");
    await becomes(3);
    await client.subscribeAsync("cmd/+", { qos: 0 });
    assert.is(await publish({ topic: "cmd/x", qos: "1" }), "successful");
    await becomes(3);
    await until(() => got.length === 2, { what: "both" });
    assert.equal(got, ["inbox on 0", "cmd/x on 0"]);
    assert.is((await logs())[0]?.publishStatusLabel, "不需要回执");
    await client.endAsync();
  });

  test("not connected, not subscribed, unsubscribed, blocked or gone: failed, and logged as 0", async () => {
    assert.is(await publish(), "failed");
    const client = await world.connect(device);
    assert.is(await publish({ topic: "cmd" }), "failed");
    await client.unsubscribeAsync("inbox");
    assert.is(await publish(), "failed");
    await client.subscribeAsync("inbox", { qos: 1 });
    assert.is(await publish(), "successful");
    await becomes(2);
    await client.unsubscribeAsync("inbox");
    assert.is(await publish(), "failed");
    await client.endAsync();
    const again = await world.connect(device);
    assert.is(await publish(), "successful", "each session begins with it");
    await becomes(2);
    await world.call("PUT", `/api/v1/devices/${device.id}`, { blocked: 1 });
    assert.is(await publish(), "failed");
    await again.endAsync(true);
    const all = await logs();
    assert.equal(
      all.map((log) => log.publishStatus),
      [0, 2, 0, 2, 0, 0, 0],
    );
    assert.equal([all[0]?.publishStatusLabel, all[0]?.updateAt], ["下发失败", null]);
  });

  test("the inbox has two names, for who sends and for who subscribes", async () => {
    const alias = `/devices/${device.deviceID}/inbox`;
    const client = await world.connect(device);
    const got = listen(client);
    assert.is(await publish({ topic: alias, payload: "1" }), "successful");
    await client.subscribeAsync(alias, { qos: 1 });
    assert.is(await publish({ payload: "2" }), "successful");
    await client.unsubscribeAsync(alias);
    assert.is(await publish({ payload: "3" }), "failed");
    await client.subscribeAsync("#", { qos: 1 });
    assert.is(await publish({ topic: alias, payload: "4" }), "successful");
    assert.is(await publish({ topic: "/devices/other/inbox", payload: "5" }), "successful");
    await until(() => got.length === 4, { what: "every message" });
    assert.equal(got, ["inbox 1 1", `${alias} 2 1`, "inbox 4 1", "/devices/other/inbox 5 1"]);
    await client.endAsync();
  });

  test("the first PUBACK of a device's two clients counts; both get it", async () => {
    const [one, two] = [
      await rawConnected(world.mqtt, device, { clientId: "one" }),
      await rawConnected(world.mqtt, device, { clientId: "two" }),
    ];
    assert.is(await publish(), "successful");
    await one.next("publish");
    const { messageId = 0 } = await two.next("publish");
    assert.is(await statusOf(), 1);
    await one.cut();
    two.send({ cmd: "puback", messageId });
    await becomes(2);
    await two.cut();
  });

  test("many at once: each is logged, each is confirmed", async () => {
    const client = await world.connect(device);
    const got = listen(client);
    const sent = Array.from({ length: 200 }, (_, i) => publish({ payload: `n${i}` }));
    assert.ok((await Promise.all(sent)).every((status) => status === "successful"));
    await until(async () => (await logs()).every((log) => log.publishStatus === 2), { what: "200 receipts" });
    assert.is(new Set(got).size, 200);
    assert.is((await logs()).length, 200);
    await client.endAsync();
  });

  test("by deviceIntID, both must agree, gateways too, in both variants", async () => {
    const gateway = await makeGateway(world, product);
    const client = await world.connect(gateway);
    const got = listen(client);
    for (const variant of ["A", "B"]) {
      const options = { headers: { "Api-Variant": variant } };
      const byID = { deviceID: null, deviceIntID: String(gateway.id), payload: `${variant}1` };
      assert.is((await post(byID, options)).record.publishStatus, "successful");
      const both = { deviceID: gateway.deviceID, deviceIntID: gateway.id, payload: `${variant}2` };
      assert.is((await post(both, options)).record.publishStatus, "successful");
      refused(await post({ deviceIntID: gateway.id }, options), "PARAMETER_INVALID", "deviceIntID");
      refused(await post({ deviceID: undefined }, options), "PARAMETER_INVALID", "deviceID");
      refused(await post({ deviceID: "nobody" }, options), "DATA_NOT_FOUND");
      refused(await post({ deviceIntID: 999_999 }, options), "DATA_NOT_FOUND");
    }
    await until(() => got.length === 4, { what: "every message" });
    await client.endAsync();
  });

  test("bad input is refused by name and leaves no log", async () => {
    for (const payload of [undefined, null, "", 1, {}, "x".repeat(256 * 1024 + 1), "温".repeat(90_000)]) {
      refused(await post({ payload }), "PARAMETER_INVALID", "payload");
    }
    for (const topic of ["", "a/+", "#", "a\u0000b", "\ud800", "x".repeat(65_536), 1, {}]) {
      refused(await post({ topic }), "PARAMETER_INVALID", "topic");
    }
    for (const qos of [2, -1, "x", 0.5]) refused(await post({ qos }), "PARAMETER_INVALID", "qos");
    for (const ttl of [0, -1, 1.5, 1e9, "x"]) refused(await post({ ttl }), "PARAMETER_INVALID", "ttl");
    assert.equal(await logs(), []);
    for (const field of ["deviceID", "deviceIntID", "payload", "topic", "qos", "ttl", "more"]) {
      for (const value of badValues) {
        const { status, text } = await post({ [field]: value });
        assert.ok([201, 400, 404].includes(status), `${field}: ${status} ${text.slice(0, 200)}`);
      }
    }
    for (const payload of ["\u0000", "x".repeat(256 * 1024)]) assert.is(await publish({ payload }), "failed");
    refused(await post({ payload: "\ud800" }), "PARAMETER_INVALID", "payload");
    const [long, nul] = await logs();
    assert.equal([String(long?.payload).length, nul?.payload], [256 * 1024, "base64:AA=="]);
  });

  test("who may: operators, of the device's tenant", async () => {
    refused(await post({}, { key: await world.keyOf("viewer") }), "PERMISSION_DENIED");
    refused(await post({}, { key: null }), "AUTH_FAILED");
    refused(await post({}, { key: await world.otherTenant() }), "DATA_NOT_FOUND");
    assert.is((await post({}, { key: await world.keyOf("operator") })).status, 201);
  });
});

worldSuite("group_publish", (test, world) => {
  let product: Rec;
  test.before(async () => {
    product = await makeProduct(world);
  });
  const withMembers = async (count: number): Promise<{ group: Rec; members: readonly Rec[] }> => {
    const group = await makeGroup(world, product);
    const members: Rec[] = [];
    while (members.length < count) members.push(await makeDevice(world, product));
    const ids = members.map(({ id }) => id);
    if (count > 0) {
      const joined = await world.call("POST", `/api/v1/groups/${group.id}/devices`, { ids });
      assert.is(joined.status, 201, joined.text);
    }
    return { group, members };
  };
  const post = (body: object, options = {}) => world.call("POST", "/api/v1/group_publish", body, options);
  const done = async (body: object, options = {}): Promise<Rec> => {
    const reply = await post(body, options);
    assert.is(reply.status, 201, reply.text);
    hasKeys(reply.record, ["statusUrl"]);
    assert.match(String(reply.record.statusUrl), /^\/task_status\/\w+$/);
    return until(
      async () => {
        const { record } = await world.call("GET", `/api/v1${reply.record.statusUrl}`);
        return record.state === "SUCCESS" && record;
      },
      { what: "the task's end" },
    );
  };
  const groupLogs = async (group: Rec) =>
    (await world.call("GET", `/api/v1/groups/${group.id}/control_logs`)).page.items;
  const logsOf = async (device: Rec) =>
    (await world.call("GET", `/api/v1/devices/${device.id}/control_logs`)).page.items;

  test("each member gets a message; those that are not there have failed", async () => {
    const { group, members } = await withMembers(3);
    const clients = [];
    const got: string[] = [];
    for (const member of members.slice(0, 2)) {
      const client = await world.connect(member);
      client.on("message", (topic, payload) => got.push(`${topic} ${payload}`));
      clients.push(client);
    }
    const task = await done({ groupID: group.groupID, payload: '{"on":1}' });
    assert.equal([task.current, task.msg], [100, { publish_success_num: 2, publish_failure_num: 1 }]);
    await until(async () => (await logsOf(members[1] as Rec))[0]?.publishStatus === 2, {
      what: "the receipts",
    });
    const statuses = await Promise.all(
      members.map(async (one) => (await logsOf(one)).map((l) => l.publishStatus)),
    );
    assert.equal(statuses, [[2], [2], [0]]);
    assert.equal(got, Array(2).fill('inbox {"on":1}'));
    const [log] = await groupLogs(group);
    hasKeys(log, [
      ...["id", "groupID", "groupName", "topic", "payload", "publishStatus", "publishStatusLabel"],
      ...["publishUser", "userIntID", "createAt", "updateAt"],
    ]);
    assert.equal(
      [log?.groupID, log?.groupName, log?.publishStatus, log?.payload],
      [group.groupID, group.groupName, 1, '{"on":1}'],
    );
    for (const client of clients) await client.endAsync();
  });

  test("all confirmed is 2, all failed 0, in both variants", async () => {
    const { group, members } = await withMembers(2);
    const options = { headers: { "Api-Variant": "B" } };
    const none = await done({ groupIntID: String(group.id), payload: "x" }, options);
    assert.equal(none.msg, { publish_success_num: 0, publish_failure_num: 2 });
    assert.is((await groupLogs(group))[0]?.publishStatus, 0);
    const clients = await Promise.all(members.map((member) => world.connect(member)));
    for (const client of clients) await client.subscribeAsync("group/cmd", { qos: 1 });
    const both = { groupID: group.groupID, groupIntID: group.id };
    await done({ ...both, payload: "y", topic: "group/cmd", needAck: 1 }, options);
    const log = await until(
      async () => {
        const [newest] = await groupLogs(group);
        return newest?.publishStatus === 2 && newest;
      },
      { what: "the group's confirmation" },
    );
    assert.equal([log.topic, log.publishStatusLabel], ["group/cmd", "已到达"]);
    assert.match(String(log.updateAt), stampPattern);
    for (const client of clients) await client.endAsync();
  });

  test("without receipts: one log, on the group's own topic", async () => {
    const { group, members } = await withMembers(2);
    const [here = group] = members;
    const client = await world.connect(here);
    const got: string[] = [];
    client.on("message", (topic, payload, { qos }) => got.push(`${topic} ${payload} ${qos}`));
    const task = await done({ groupID: group.groupID, payload: "all", needAck: 0 });
    assert.equal(task.msg, { publish_success_num: 1, publish_failure_num: 1 });
    await until(() => got.length === 1, { what: "the message" });
    const topic = `/groups/${group.groupID}/inbox`;
    assert.equal(got, [`${topic} all 0`]);
    const [log] = await groupLogs(group);
    assert.equal([log?.topic, log?.publishStatus, log?.publishStatusLabel], [topic, 3, "不需要回执"]);
    assert.equal(await logsOf(here), []);
    await client.endAsync();
  });

  test("a group without members ends at once", async () => {
    const { group } = await withMembers(0);
    const task = await done({ groupID: group.groupID, payload: "x" });
    assert.equal(task.msg, { publish_success_num: 0, publish_failure_num: 0 });
  });

  test("refusals", async () => {
    const [{ group }, other] = [await withMembers(0), await withMembers(0)];
    const ok = { groupID: group.groupID, payload: "x" };
    refused(await post({ payload: "x" }), "PARAMETER_INVALID", "groupID");
    refused(await post({ groupID: "nobody", payload: "x" }), "DATA_NOT_FOUND");
    refused(await post({ ...ok, groupIntID: other.group.id }), "PARAMETER_INVALID", "groupIntID");
    for (const needAck of [2, "x", {}])
      refused(await post({ ...ok, needAck }), "PARAMETER_INVALID", "needAck");
    for (const payload of [undefined, null, "", 1])
      refused(await post({ ...ok, payload }), "PARAMETER_INVALID", "payload");
    for (const payload of ["x".repeat(256 * 1024 + 1), "温".repeat(90_000)])
      refused(await post({ ...ok, payload }), "PARAMETER_INVALID", "payload");
    refused(await post({ ...ok, payload: "x".repeat(1024 * 1024) }), "PAYLOAD_TOO_LARGE");
    for (const topic of ["", "a/+", "#", "a\u0000b", "\ud800", "x".repeat(65_536), 1, {}])
      refused(await post({ ...ok, topic }), "PARAMETER_INVALID", "topic");
    for (const qos of [2, -1, "x", 0.5]) refused(await post({ ...ok, qos }), "PARAMETER_INVALID", "qos");
    for (const ttl of [0, -1, 1.5, 1e9, "x"]) refused(await post({ ...ok, ttl }), "PARAMETER_INVALID", "ttl");
    refused(await post(ok, { key: await world.keyOf("viewer") }), "PERMISSION_DENIED");
    refused(await post(ok, { key: await world.otherTenant() }), "DATA_NOT_FOUND");
    assert.equal(await groupLogs(group), []);
  });
});
