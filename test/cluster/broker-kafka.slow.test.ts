/**
 * A cluster on Kafka and Mosquitto: whichever node follows the broker, has the shards, is killed, frozen, replaced or
 * stopped, each message is kept once.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { provision, type RunningService } from "../flow/support.js";
import { brokerMissing, type Mosquitto, startMosquitto } from "../ingest/transports/broker/mosquitto.js";
import { assert, influxKafkaSuite, openTempDir, until } from "../suite.js";
import type { Rec } from "../world.js";
import { assertKeptFromBroker, endFollower, followerOf, publishDuring } from "./broker-load.js";
import { freeze } from "./freeze.js";
import { type Cluster, numbers, startCluster } from "./three-nodes.js";
import { breaks } from "./whole-load/breaks.js";

const devicesCount = 12;
const shards = 6;
/** Longer than a node waits for another. */
const frozenMs = 8000;
/** Enough for some messages to wait for a shard that is away, and less than it takes to come back. */
const publishedMs = 2000;

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
  /** What the broker has acknowledged so far, of each device. */
  let acknowledged: number[][] = [];
  test.before(async () => {
    dir = await openTempDir();
    mosquitto = await startMosquitto({ dir: dir.path });
    const { addresses } = await brokers();
    cluster = await startCluster(dir.path, await influx(), {
      JOURNAL_URL: `kafka://${addresses.join()}/cluster`,
      JOURNAL_SHARDS: String(shards),
      BROKER_URL: mosquitto.url,
      BROKER_SHARED: "off",
    });
    devices = await provision(nodeAt(0), devicesCount);
    acknowledged = devices.map(() => []);
    await followerOf(() => cluster.nodes);
  });
  test.after(async () => {
    await cluster?.stop();
    await mosquitto?.stop();
    await dir?.close();
  });
  const nodeAt = (place: number): RunningService => cluster.nodes[place % numbers.length] as RunningService;
  const otherPlace = async (): Promise<number> =>
    ((await followerOf(() => cluster.nodes)) + 1) % numbers.length;

  /** As on another machine: with an empty folder. */
  async function replace(place: number): Promise<void> {
    await rm(join(dir.path, `node-${place}`), { recursive: true });
    await cluster.start(place);
  }

  /** Messages that the nodes which run now have got of the broker. */
  async function taken(): Promise<number> {
    const counts = await Promise.all(
      cluster.nodes.map((node) => node.metric("tidemark_broker_messages_total").catch(() => 0)),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Resolves once messages come. */
  async function goesOn(): Promise<void> {
    const before = await taken();
    await until(async () => (await taken()) > before + 100, { what: "messages" });
  }

  async function publishing(action: () => Promise<unknown>): Promise<void> {
    const first = acknowledged.reduce((sum, own) => sum + own.length, 0);
    const more = await publishDuring(mosquitto, devices, first, action);
    acknowledged = acknowledged.map((own, i) => [...own, ...(more[i] ?? [])]);
  }

  async function assertAllKept(): Promise<void> {
    for (const [i, device] of devices.entries()) {
      const own = acknowledged[i] ?? [];
      assert.ok(own.length > 100, `${own.length} messages`);
      await assertKeptFromBroker(() => nodeAt(i), device, own);
    }
  }

  test("the follower and others are killed, frozen, replaced, and restarted in turn, so that all shards move: all that the broker acknowledged is kept, once", async () => {
    await publishing(async () => {
      await goesOn();
      await endFollower(cluster, "kill", cluster.start);
      const other = await otherPlace();
      await nodeAt(other).kill();
      await cluster.start(other);
      await endFollower(cluster, "freeze", cluster.start);
      await endFollower(cluster, "kill", replace);
      const frozen = nodeAt(await otherPlace());
      await freeze(frozen, dir.path);
      await pause(frozenMs);
      frozen.signal("SIGCONT");
      const all = { cluster, dir: dir.path, brokers: await brokers(), networks: null, shards, frozenMs };
      await breaks["all nodes restarted in turn"]({ ...all, places: [...numbers.keys()] });
      await goesOn();
    });
    await assertAllKept();
  });

  test("the broker is restarted while shards are on their way, and the follower with it", async () => {
    for (const who of ["other", "follower"] as const) {
      const place = who === "other" ? await otherPlace() : await followerOf(() => cluster.nodes);
      await publishing(async () => {
        await nodeAt(place).kill();
        await pause(publishedMs);
      });
      await mosquitto.stop();
      await mosquitto.start();
      await publishing(async () => {
        await cluster.start(place);
        await goesOn();
      });
    }
    await assertAllKept();
  });
});
