/** A cluster on Kafka and Mosquitto: shards move while a node follows the broker, and with it when that one goes. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { provision, type RunningService } from "../flow/support.js";
import { brokerMissing, type Mosquitto, startMosquitto } from "../ingest/transports/broker/mosquitto.js";
import { assert, influxKafkaSuite, openTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { assertKeptFromBroker, endFollower, followerOf, publishAtBroker } from "./broker-load.js";
import { type Cluster, numbers, startCluster } from "./three-nodes.js";

const devicesCount = 6;

influxKafkaSuite("a cluster on Kafka and a broker", (test, { influx, brokers }) => {
  const missing = brokerMissing();
  if (missing !== null) {
    test.skip("everything", missing);
    return;
  }
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let mosquitto: Mosquitto;
  let cluster: Cluster;
  let devices: Rec[] = [];
  test.before(async () => {
    dir = await openTempDir();
    mosquitto = await startMosquitto({ dir: dir.path });
    const { addresses } = await brokers();
    cluster = await startCluster(dir.path, await influx(), {
      JOURNAL_URL: `kafka://${addresses.join()}/cluster`,
      JOURNAL_SHARDS: "5",
      BROKER_URL: mosquitto.url,
    });
    devices = await provision(nodeAt(0), devicesCount);
  });
  test.after(async () => {
    await cluster?.stop();
    await mosquitto?.stop();
    await dir?.close();
  });
  const nodeAt = (place: number): RunningService => cluster.nodes[place % numbers.length] as RunningService;

  /** As on another machine: with an empty folder. */
  async function replace(place: number): Promise<void> {
    await rm(join(dir.path, `node-${place}`), { recursive: true });
    await cluster.start(place);
  }

  test("followers and others go and come: all that the broker acknowledged is kept, once", async () => {
    let isOver = false;
    const publishing = publishAtBroker(mosquitto, devices, () => isOver);
    await pause(2000);
    await endFollower(() => cluster.nodes, "kill", replace);
    await pause(2000);
    await endFollower(() => cluster.nodes, "freeze", replace);
    await pause(2000);
    const other = ((await followerOf(() => cluster.nodes)) + 1) % numbers.length;
    await nodeAt(other).kill();
    await replace(other);
    await pause(2000);
    await endFollower(() => cluster.nodes, "stop", cluster.start);
    await pause(2000);
    isOver = true;
    const acknowledged = await publishing;
    for (const [i, device] of devices.entries()) {
      const own = acknowledged[i] ?? [];
      assert.ok(own.length > 100, `${own.length} messages`);
      await assertKeptFromBroker(() => nodeAt(i), device, own);
    }
  });
});
