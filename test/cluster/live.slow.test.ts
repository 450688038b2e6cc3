/** The live stream of a tenant: every node sends the events of all nodes. */
import { connectAsync, type MqttClient } from "mqtt";
import { provision, type RunningService } from "../flow/support.js";
import { arrived, type LiveStream, named, openLiveStream, pointsArrived, pointsOf } from "../live/streams.js";
import { assert, influxSuite, openTempDir, until } from "../suite.js";
import type { Rec } from "../world.js";
import { type Cluster, numbers, placesOf, startCluster } from "./three-nodes.js";

influxSuite("the live stream of a cluster", (test, influx) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let cluster: Cluster;
  let devices: Rec[];
  /** Messages. */
  let sent = 0;
  test.before(async () => {
    dir = await openTempDir();
    cluster = await startCluster(dir.path, await influx());
    devices = await provision(nodeAt(0), numbers.length);
  });
  test.after(async () => {
    await cluster.stop();
    await dir.close();
  });

  const { nodeAt, keptAt } = placesOf(
    () => cluster,
    () => devices,
  );
  const places = [...numbers.keys()];
  const all = (): string => `deviceID=${devices.map(({ deviceID }) => deviceID).join(",")}`;

  async function listen(place: number, query: string, last?: string): Promise<LiveStream> {
    const http = String(nodeAt(place).addresses.http);
    const stream = await openLiveStream(http, cluster.apiKey, query, last);
    assert.is(stream.status, 200);
    await arrived(stream, "hello", 1);
    return stream;
  }
  const login = (device: Rec) => ({
    username: String(device.deviceUsername),
    password: String(device.token),
    reconnectPeriod: 0,
  });
  const connect = (device: Rec, node: RunningService): Promise<MqttClient> =>
    connectAsync(node.mqtt, login(device), false);
  async function publish(device: Rec, ...values: readonly number[]): Promise<void> {
    const client = await connect(device, nodeAt(0));
    for (const n of values) await client.publishAsync("data", JSON.stringify({ n }), { qos: 1 });
    sent += values.length;
    await client.endAsync();
  }
  const valuesOf = (stream: LiveStream, device: Rec): unknown[] =>
    pointsOf(stream).flatMap(({ deviceID, value }) => (deviceID === device.deviceID ? [value] : []));
  const closeAll = (streams: readonly LiveStream[]): void => {
    for (const stream of streams) stream.close();
  };

  test("sends points, messages and presence of all devices, each in order and once, at every node", async () => {
    const streams = await Promise.all(places.map((place) => listen(place, all())));
    const values = Array.from({ length: 10 }, (_, n) => n);
    await Promise.all(devices.map((device) => publish(device, ...values)));
    for (const stream of streams) {
      await pointsArrived(stream, devices.length * values.length);
      await arrived(stream, "message", devices.length * values.length);
      await arrived(stream, "presence", 2 * devices.length);
      for (const device of devices) {
        assert.equal(valuesOf(stream, device), values);
        const own = (event: string) => named(stream, event).filter((one) => one.deviceIntID === device.id);
        const ids = own("message").map(({ eventID }) => Number(eventID));
        assert.equal(
          ids,
          [...new Set(ids)].sort((a, b) => a - b),
        );
        assert.equal(
          own("presence").map(({ deviceStatus }) => deviceStatus),
          [1, 0],
        );
      }
      assert.equal(named(stream, "gap"), []);
    }
    closeAll(streams);
  });

  test("the overview counts what all nodes take, at every node, and says when one is missing", async () => {
    interface Counted {
      readonly rates: { readonly messages: readonly number[] };
    }
    const sum = ({ rates }: Counted): number => rates.messages.reduce((total, one) => total + one, 0);
    const overview = async (place: number) => {
      const http = String(nodeAt(place).addresses.http);
      const headers = { authorization: `Bearer ${cluster.apiKey}` };
      const answer = await fetch(`${http}/api/v1/overview`, { headers });
      const body = (await answer.json()) as Counted & { readonly deployment: Counted };
      return { ...body, truncated: answer.headers.get("truncated") === "true" };
    };
    const streams = await Promise.all(places.map((place) => listen(place, "topics=overview")));
    const told = ({ events }: LiveStream): number[] =>
      events.flatMap(({ event, data }) => (event === "overview" ? [sum(data as unknown as Counted)] : []));
    for (const device of devices) await publish(device, 1, 2);
    for (const [place, stream] of streams.entries()) {
      const isThere = async () => {
        const { truncated, deployment, ...own } = await overview(place);
        return !truncated && sum(own) === sent && sum(deployment) === sent;
      };
      await until(isThere, { what: "all messages" });
      await until(() => told(stream).some((one) => one >= 2 * devices.length), {
        what: "all of the last seconds",
      });
    }
    closeAll(streams);
    await nodeAt(1).kill();
    assert.is((await overview(0)).truncated, true);
    await cluster.start(1);
    await until(async () => !(await overview(0)).truncated, { what: "those of the node that is back" });
  });

  test("says that something was missed while a node is away, and goes on as it is back", async () => {
    const [near, far] = [keptAt(0), keptAt(2)];
    const open = await listen(0, all());
    await publish(far, 100);
    await until(() => valuesOf(open, far).includes(100), { what: "the first point" });
    await nodeAt(2).kill();
    await arrived(open, "gap", 1);
    const late = await listen(0, all());
    await arrived(late, "gap", 1);
    await publish(near, 101);
    for (const stream of [open, late]) {
      await until(() => valuesOf(stream, near).includes(101), { what: "what is there" });
    }
    const told = named(open, "gap").length;
    await cluster.start(2);
    for (const stream of [open, late]) {
      await until(() => named(stream, "gap").length > told, { what: "that it is back" });
    }
    await publish(far, 102);
    for (const stream of [open, late]) {
      await until(() => valuesOf(stream, far).includes(102), { what: "what it keeps" });
    }
    closeAll([open, late]);
  });

  test("a client that comes back to any node receives what it missed, from the node that served it last", async () => {
    const [here, there] = [keptAt(0), keptAt(2)];
    const first = await listen(0, all());
    await publish(there, 200);
    await until(() => valuesOf(first, there).includes(200), { what: "the first point" });
    await until(() => first.lastID !== named(first, "hello")[0]?.id, { what: "its id" });
    first.close();
    await publish(there, 201);
    await publish(here, 202);
    for (const place of places) {
      const back = await listen(place, all(), first.lastID);
      await until(() => valuesOf(back, here).includes(202), { what: "what it missed" });
      assert.equal(valuesOf(back, there), [201]);
      assert.equal(named(back, "gap"), []);
      back.close();
    }
    // Another query has received other events.
    const other = await listen(1, `deviceID=${here.deviceID}`, first.lastID);
    await arrived(other, "gap", 1);
    other.close();
  });

  test("a client whose node has gone learns from another node that it missed something", async () => {
    const device = keptAt(0);
    const first = await listen(1, all());
    await publish(device, 300);
    await until(() => valuesOf(first, device).includes(300), { what: "the first point" });
    await nodeAt(1).kill();
    const back = await listen(0, all(), first.lastID);
    await arrived(back, "gap", 1);
    await cluster.start(1);
    const later = await listen(2, all(), first.lastID);
    await arrived(later, "gap", 1);
    await publish(device, 301);
    for (const stream of [back, later]) {
      await until(() => valuesOf(stream, device).includes(301), { what: "what comes then" });
    }
    closeAll([back, later]);
  });

  test("a stream of alerts and commands alone, which all nodes know, misses nothing", async () => {
    await nodeAt(2).kill();
    const stream = await listen(0, "topics=alerts,commands");
    await cluster.start(2);
    const { body } = await nodeAt(1).call("POST", "/api/v1/device_publish", {
      deviceID: keptAt(2).deviceID,
      payload: "x",
    });
    assert.is(body.publishStatus, "failed");
    await arrived(stream, "command", 1);
    assert.equal(named(stream, "gap"), []);
    stream.close();
  });

  test("a stopped node is missed like a lost one, and does not wait for those that listen to it", async () => {
    const streams = await Promise.all(places.map((place) => listen(place, "topics=messages")));
    await nodeAt(1).stop();
    for (const stream of [streams[0], streams[2]] as LiveStream[]) await arrived(stream, "gap", 1);
    assert.is(streams[1]?.ended, true);
    await cluster.start(1);
    closeAll(streams);
  });
});
