/** Commands to groups and by schedules reach devices on every node of a cluster. */
import { connectAsync, type MqttClient } from "mqtt";
import { provision, type RunningService } from "../flow/support.js";
import { assert, influxSuite, openTempDir, until } from "../suite.js";
import type { Rec } from "../world.js";
import { type Cluster, numbers, startCluster } from "./three-nodes.js";

influxSuite("a cluster, commands to many", (test, influx) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let cluster: Cluster;
  let devices: Rec[];
  let group: Rec;
  const clients: MqttClient[] = [];
  /** By device: what each has received. */
  const received = new Map<number, string[]>();

  test.before(async () => {
    dir = await openTempDir();
    cluster = await startCluster(dir.path, await influx());
    devices = await provision(nodeAt(0), 9);
    group = await nodeAt(0).make("/api/v1/groups", { groupName: "all", productID: devices[0]?.productID });
    const ids = devices.map(({ id }) => id);
    const { status, text } = await nodeAt(0).call("POST", `/api/v1/groups/${group.id}/devices`, { ids });
    assert.ok(status < 300, text);
    for (const [i, device] of devices.entries()) {
      const client = await connectAsync(nodeAt(i).mqtt, {
        username: String(device.deviceUsername),
        password: String(device.token),
        reconnectPeriod: 0,
      });
      received.set(device.id, []);
      client.on("message", (_topic, payload) => received.get(device.id)?.push(String(payload)));
      await client.subscribeAsync("#", { qos: 1 });
      clients.push(client);
    }
  });
  test.after(async () => {
    await Promise.all(clients.map((client) => client.endAsync(true)));
    await cluster.stop();
    await dir.close();
  });

  const nodeAt = (place: number): RunningService => cluster.nodes[place % numbers.length] as RunningService;
  const statuses = async (payload: string): Promise<unknown[]> => {
    const { body } = await nodeAt(1).call("GET", "/api/v1/device_control_logs?_limit=1000");
    return (body.items as Rec[]).filter((one) => one.payload === payload).map((one) => one.publishStatus);
  };
  const all = (payload: string): Promise<boolean> =>
    until(() => devices.every(({ id }) => received.get(id)?.includes(payload) === true), {
      what: `${payload} at each device`,
    });
  const once = (payload: string): void => {
    for (const { id } of devices) {
      assert.is(received.get(id)?.filter((one) => one === payload).length, 1, `${payload} at ${id}`);
    }
  };

  test("to a group, through each node, with a receipt for each member", async () => {
    for (const place of numbers.keys()) {
      const payload = `group ${place}`;
      const begun = await nodeAt(place).call("POST", "/api/v1/group_publish", {
        groupIntID: group.id,
        payload,
      });
      assert.is(begun.status, 201, begun.text);
      await all(payload);
      const done = [2, 2, 2, 2, 2, 2, 2, 2, 2];
      await until(async () => JSON.stringify(await statuses(payload)) === JSON.stringify(done), {
        what: "the receipts",
      });
      once(payload);
      // The receipts may come before the task has counted what it has sent.
      const ended = await until(
        async () => {
          const { body, text } = await nodeAt(place).call("GET", `/api/v1${begun.body.statusUrl}`);
          return body.state === "SUCCESS" && text;
        },
        { what: "the task's end" },
      );
      assert.match(ended, '"publish_success_num":9');
    }
  });

  test("to a group without receipts", async () => {
    const payload = "to the inbox";
    const begun = await nodeAt(2).call("POST", "/api/v1/group_publish", {
      groupIntID: group.id,
      payload,
      needAck: 0,
    });
    assert.is(begun.status, 201, begun.text);
    await all(payload);
    once(payload);
  });

  test("by schedules of devices and of a group, made at any node: each runs once", async () => {
    const dueAt = Math.ceil((Date.now() + 3000) / 1000) * 1000;
    const crontabTime = new Date(dueAt).toISOString().slice(0, 19).replace("T", " ");
    const content = { scheduleName: "s", scheduleType: 0, crontabTime };
    for (const [i, { deviceID }] of devices.entries()) {
      const body = { ...content, deviceID, payload: `scheduled ${deviceID}` };
      const { status, text } = await nodeAt(i + 1).call("POST", "/api/v1/device_schedule_publish", body);
      assert.is(status, 201, text);
    }
    const ofGroup = { ...content, groupIntID: group.id, payload: "scheduled for all" };
    const { status, text } = await nodeAt(1).call("POST", "/api/v1/group_schedule_publish", ofGroup);
    assert.is(status, 201, text);
    await all("scheduled for all");
    const own = ({ id, deviceID }: Rec): string[] =>
      received.get(id)?.filter((one) => one === `scheduled ${deviceID}`) ?? [];
    await until(() => devices.every((device) => own(device).length > 0), { what: "each device's own" });
    await new Promise((resolve) => setTimeout(resolve, 3000));
    once("scheduled for all");
    for (const device of devices) assert.is(own(device).length, 1);
  });

  test("members whose node is away have failed, the others get theirs; nobody gets it later", async () => {
    await nodeAt(1).kill();
    const away = devices.filter(({ id }) => id % numbers.length === 1);
    const payload = "one node is away";
    const begun = await nodeAt(0).call("POST", "/api/v1/group_publish", { groupIntID: group.id, payload });
    assert.is(begun.status, 201, begun.text);
    const others = devices.filter(
      (one) => !away.includes(one) && clients[devices.indexOf(one)]?.connected === true,
    );
    await until(() => others.every(({ id }) => received.get(id)?.includes(payload) === true), {
      what: "the others",
    });
    await cluster.start(1);
    const failed = async () => (await statuses(payload)).filter((status) => status === 0).length;
    await until(async () => (await failed()) >= away.length, { what: "those that have failed" });
    for (const { id } of away) assert.not.ok(received.get(id)?.includes(payload));
  });
});
