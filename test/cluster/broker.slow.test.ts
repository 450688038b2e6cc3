/** A cluster on Mosquitto: one node at a time follows it; whichever it is, and is killed, each message is kept once. */
import { setTimeout as pause } from "node:timers/promises";
import { shardOfID } from "../../store/journal/shard-ids.js";
import { payloadsOf, provision, type RunningService } from "../flow/support.js";
import { brokerMissing, type Mosquitto, startMosquitto } from "../ingest/transports/broker/mosquitto.js";
import { assert, influxSuite, openTempDir, until } from "../suite.js";
import type { Rec } from "../world.js";
import { startBalancer } from "./balancer.js";
import { assertKeptFromBroker, endFollower, followerOf, publishDuring } from "./broker-load.js";
import { type Cluster, numbers, placesOf, startCluster } from "./three-nodes.js";

const devicesCount = 6;

influxSuite("a cluster on a broker", (test, influx) => {
  const missing = brokerMissing();
  if (missing !== null) {
    test.skip("everything", missing);
    return;
  }
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let broker: Mosquitto;
  /** By place: how that node reaches the broker. */
  let ways: Awaited<ReturnType<typeof startBalancer>>[] = [];
  let cluster: Cluster;
  let devices: Rec[] = [];
  test.before(async () => {
    dir = await openTempDir();
    broker = await startMosquitto({ dir: dir.path });
    ways = await Promise.all(numbers.map(() => startBalancer(brokerHost)));
    const own = (place: number) => ({ BROKER_URL: `mqtt://127.0.0.1:${ways[place]?.port}` });
    cluster = await startCluster(dir.path, await influx(), {}, { own });
    devices = await provision(nodeAt(0), devicesCount);
  });
  test.after(async () => {
    await cluster?.stop();
    for (const way of ways) await way.close();
    await broker?.stop();
    await dir?.close();
  });
  const { nodeAt, keeperPlace, keptAt } = placesOf(
    () => cluster,
    () => devices,
  );

  const brokerHost = (): readonly string[] => [`127.0.0.1:${broker.port}`];

  const eventsOf = async (service: RunningService, device: Rec): Promise<number[]> =>
    (await payloadsOf(service, device)).map((text) => (JSON.parse(text) as { n: number }).n);

  test("followers are killed, frozen and stopped: all that the broker acknowledged is at the devices' owners, once", async () => {
    const taken = async () => {
      let count = 0;
      for (const node of cluster.nodes) count += await node.metric("tidemark_broker_messages_total");
      return count;
    };
    await followerOf(() => cluster.nodes);
    const acknowledged = await publishDuring(broker, devices, 0, async () => {
      await until(async () => (await taken()) > 500, { what: "messages" });
      for (const how of ["kill", "kill", "freeze", "stop"] as const)
        await endFollower(cluster, how, cluster.start);
      await pause(1000);
    });
    for (const [i, device] of devices.entries()) {
      const own = acknowledged[i] ?? [];
      assert.ok(own.length > 100, `${own.length} messages`);
      await assertKeptFromBroker(() => nodeAt(i), device, own);
      const { body } = await nodeAt(i).call("GET", `/api/v1/devices/${device.id}/events?_limit=1000`);
      const shards = new Set((body.items as Rec[]).map(({ id }) => shardOfID(id)));
      assert.equal([...shards], [numbers[keeperPlace(device)]]);
    }
  });

  test("a command goes through the broker from whichever node has it, and has its receipt", async () => {
    for (const place of numbers.keys()) {
      const device = keptAt(place);
      const client = await broker.connect({ protocolVersion: 5 });
      await client.subscribeAsync(`devices/${device.deviceID}/down/#`, { qos: 1 });
      const came = new Promise<string>((resolve) => {
        client.once("message", (_topic, payload) => resolve(String(payload)));
      });
      const command = { deviceID: device.deviceID, payload: `to ${place}`, qos: 1 };
      const { body, text } = await nodeAt(place + 1).call("POST", "/api/v1/device_publish", command);
      assert.is(body.publishStatus, "successful", text);
      assert.is(await came, `to ${place}`);
      await until(
        async () => {
          const logs = await nodeAt(place).call("GET", `/api/v1/devices/${device.id}/control_logs`);
          return (logs.body.items as Rec[])[0]?.publishStatus === 2;
        },
        { what: "the broker's receipt" },
      );
      await client.endAsync();
    }
  });

  test("while its owner is away a device's messages wait, and those of the others go on", async () => {
    const follower = await followerOf(() => cluster.nodes);
    const away = (follower + 1) % numbers.length;
    const [late, other] = [keptAt(away), keptAt(follower)];
    const before = await Promise.all([eventsOf(nodeAt(away), late), eventsOf(nodeAt(follower), other)]);
    await nodeAt(away).kill();
    const client = await broker.connect({ protocolVersion: 5 });
    for (const { deviceID } of [late, other])
      await client.publishAsync(`devices/${deviceID}/up/data`, '{"n":1000000}', { qos: 1 });
    await until(
      async () => (await eventsOf(nodeAt(follower), other)).length === (before[1]?.length ?? 0) + 1,
      {
        what: "the message of a device whose owner is there",
      },
    );
    await cluster.start(away);
    await until(async () => (await eventsOf(nodeAt(away), late)).length > (before[0]?.length ?? 0), {
      what: "the message of the other device",
    });
    assert.is((await eventsOf(nodeAt(away), late)).length, (before[0]?.length ?? 0) + 1);
    await client.endAsync();
  });

  test("a follower that reaches the metadata and not the broker is followed by a node that does", async () => {
    const place = await followerOf(() => cluster.nodes);
    const [way, device] = [ways[place], devices[0] as Rec];
    await way?.close();
    const others = cluster.nodes.filter((_, i) => i !== place);
    const next = cluster.nodes.indexOf(others[await followerOf(() => others)] as RunningService);
    const before = await eventsOf(nodeAt(next), device);
    const client = await broker.connect({ protocolVersion: 5 });
    await client.publishAsync(`devices/${device.deviceID}/up/data`, '{"n":2000000}', { qos: 1 });
    await until(async () => (await eventsOf(nodeAt(next), device)).length > before.length, {
      what: "the message at the device's owner",
    });
    assert.equal(await eventsOf(nodeAt(next), device), [...before, 2_000_000]);
    await client.endAsync();
    ways[place] = await startBalancer(brokerHost, way?.port);
  });
});
