/** Messages down through Mosquitto, and what their logs say. */
import type { MqttClient } from "mqtt";
import { payloadsOf } from "../../../flow/support.js";
import { assert, until } from "../../../suite.js";
import type { Rec } from "../../../world.js";
import { brokerSuite } from "./support.js";

brokerSuite("commands through the broker", (test, world) => {
  const down = (device: Rec, topic: string) => `devices/${device.deviceID}/down/${topic}`;
  async function listen(device: Rec): Promise<{ client: MqttClient; got: string[] }> {
    const client = await world.broker.connect({ protocolVersion: 5 });
    const got: string[] = [];
    client.on("message", (topic, payload, { qos }) => got.push(`${topic} ${payload} ${qos}`));
    await client.subscribeAsync(down(device, "#"), { qos: 1 });
    return { client, got };
  }
  const publish = async (device: Rec, body: object = {}): Promise<unknown> => {
    const command = { deviceID: device.deviceID, payload: "on", ...body };
    const reply = await world.service.call("POST", "/api/v1/device_publish", command);
    assert.is(reply.status, 201, reply.text);
    return reply.body.publishStatus;
  };
  const becomes = (device: Rec, status: number) =>
    until(
      async () => {
        const { body } = await world.service.call("GET", `/api/v1/devices/${device.id}/control_logs`);
        return (body.items as Rec[])[0]?.publishStatus === status;
      },
      { what: `publishStatus ${status}` },
    );

  test("arrives under its topic; the broker's receipt makes the log 2", async () => {
    const device = await world.device();
    const { client, got } = await listen(device);
    assert.is(await publish(device), "successful");
    await becomes(device, 2);
    assert.is(await publish(device, { topic: "set/speed", payload: "öffnen" }), "successful");
    await becomes(device, 2);
    await until(() => got.length === 2, { what: "both" });
    assert.equal(got, [`${down(device, "inbox")} on 1`, `${down(device, "set/speed")} öffnen 1`]);
    await client.endAsync();
  });

  test("QoS 0 needs no receipt: 3", async () => {
    const device = await world.device();
    const { client, got } = await listen(device);
    await publish(device, { qos: 0 });
    await becomes(device, 3);
    await until(() => got.length === 1, { what: "the message" });
    await client.endAsync();
  });

  test("nobody listens there: 0; blocked, or forbidden by a policy: 0 at once", async () => {
    const device = await world.device();
    await publish(device);
    await becomes(device, 0);
    const ruled = await world.device();
    const policy = await world.service.make("/api/v1/policies", {
      name: "deaf",
      topic: "#",
      access: 1,
      allow: 0,
    });
    await world.service.call("POST", `/api/v1/devices/${ruled.id}/policies`, { ids: [policy.id] });
    const { client, got } = await listen(ruled);
    assert.is(await publish(ruled), "failed");
    await becomes(ruled, 0);
    const group = await world.service.make("/api/v1/groups", {
      productID: world.product.productID,
      groupName: "deaf members",
    });
    await world.service.call("POST", `/api/v1/groups/${group.id}/devices`, { ids: [ruled.id] });
    const begun = await world.service.make("/api/v1/group_publish", {
      groupID: group.groupID,
      payload: "no receipt",
      needAck: 0,
    });
    await until(
      async () => (await world.service.call("GET", `/api/v1${begun.statusUrl}`)).body.state === "SUCCESS",
      { what: "the task" },
    );
    await world.service.call("PUT", `/api/v1/devices/${device.id}`, { blocked: 1 });
    assert.is(await publish(device), "failed");
    assert.equal(got, []);
    await client.endAsync();
  });

  test("a device that is connected here gets it here, and once", async () => {
    const device = await world.device();
    const { connectAsync } = await import("mqtt");
    const own = await connectAsync(world.service.mqtt, {
      username: String(device.deviceUsername),
      password: String(device.token),
      reconnectPeriod: 0,
    });
    const here: string[] = [];
    own.on("message", (topic) => here.push(topic));
    const { client, got } = await listen(device);
    await publish(device);
    await becomes(device, 2);
    assert.equal([here, got], [["inbox"], []]);
    await own.endAsync();
    await client.endAsync();
  });

  test("groups: every member that listens has it, with and without receipts", async () => {
    const devices = [await world.device(), await world.device(), await world.device()];
    const group = await world.service.make("/api/v1/groups", {
      productID: world.product.productID,
      groupName: "at the broker",
    });
    const ids = devices.map(({ id }) => id);
    const joined = await world.service.call("POST", `/api/v1/groups/${group.id}/devices`, { ids });
    assert.ok(joined.status < 300, joined.text);
    const heard = await Promise.all(devices.slice(0, 2).map(listen));
    for (const needAck of [1, 0]) {
      const begun = await world.service.make("/api/v1/group_publish", {
        groupID: group.groupID,
        payload: `ack ${needAck}`,
        needAck,
      });
      await until(
        async () => (await world.service.call("GET", `/api/v1${begun.statusUrl}`)).body.state === "SUCCESS",
        { what: "the task" },
      );
    }
    await until(() => heard.every(({ got }) => got.length === 2), { what: "four messages" });
    for (const [i, { got, client }] of heard.entries()) {
      const device = devices[i] as Rec;
      const inbox = down(device, `/groups/${group.groupID}/inbox`);
      assert.equal(got, [`${down(device, "inbox")} ack 1 1`, `${inbox} ack 0 0`]);
      await client.endAsync();
    }
    const statuses = async () =>
      Promise.all(
        devices.map(async ({ id }) => {
          const { body } = await world.service.call("GET", `/api/v1/devices/${id}/control_logs`);
          return (body.items as Rec[])[0]?.publishStatus;
        }),
      );
    await until(async () => JSON.stringify(await statuses()) === "[2,2,0]", { what: "the logs" });
  });

  test("a child behind a gateway: its entries come up, its commands go down the gateway's inbox", async () => {
    const gateway = await world.service.make("/api/v1/gateways", {
      gatewayName: "gateway",
      productID: world.product.productID,
      gatewayProtocol: 1,
      upLinkNetwork: 1,
    });
    const child = await world.device({ upLinkSystem: 2, gateway: gateway.id });
    const { body } = await world.service.call("GET", `/api/v1/gateways/${gateway.id}`);
    const { client, got } = await listen(body);
    const entry = { DeviceID: child.deviceID, TimeStamp: Date.now(), n: 3 };
    await client.publishAsync(`devices/${body.deviceID}/up/data`, JSON.stringify({ Telemetry: [entry] }), {
      qos: 1,
    });
    await until(async () => (await payloadsOf(world.service, child)).length === 1, {
      what: "the child's event",
    });
    assert.is(await publish(child, { topic: "set" }), "successful");
    await becomes(child, 2);
    await until(() => got.length === 1, { what: "the command" });
    const carried = { DeviceID: child.deviceID, topic: "set", payload: "on" };
    assert.equal(got, [`${down(body, "inbox")} ${JSON.stringify(carried)} 1`]);
    await client.endAsync();
  });

  test("the broker is away: failed at once; back again: it goes on", async () => {
    const device = await world.device();
    await world.broker.stop();
    await until(async () => (await world.service.metric("tidemark_broker_connections ")) === 0, {
      what: "away",
    });
    assert.is(await publish(device), "failed");
    const ready = await world.service.call("GET", "/readyz");
    assert.is(ready.status, 200);
    assert.match(ready.text, /cannot use the broker/);
    await world.broker.start();
    await until(async () => (await world.service.metric("tidemark_broker_connections ")) === 1, {
      what: "back",
      timeoutMs: 30_000,
    });
    assert.not.match((await world.service.call("GET", "/readyz")).text, /broker/);
    const { client, got } = await listen(device);
    assert.is(await publish(device), "successful");
    await becomes(device, 2);
    assert.is(got.length, 1);
    await client.endAsync();
  });
});
