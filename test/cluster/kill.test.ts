/** Nodes are killed under load: what has been acknowledged is there, once, whichever node it came by. */
import { setTimeout as pause } from "node:timers/promises";
import { connectAsync, type MqttClient } from "mqtt";
import { payloadsOf, provision, type RunningService, valuesOf } from "../flow/support.js";
import { assert, influxSuite, openTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { type Cluster, numbers, startCluster } from "./three-nodes.js";

const rounds = 6;
const devicesCount = 9;

influxSuite("a cluster, kill -9", (test, influx) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let cluster: Cluster;
  test.before(async () => {
    dir = await openTempDir();
    cluster = await startCluster(dir.path, await influx());
  });
  test.after(async () => {
    await cluster.stop();
    await dir.close();
  });

  const nodeAt = (place: number): RunningService => cluster.nodes[place] as RunningService;
  const anyPlace = (): number => Math.floor(Math.random() * numbers.length);

  /** Sends numbers that are never used again, by whichever node lets it in, until it is told to stop. */
  async function publishOn(device: Rec, isOver: () => boolean): Promise<readonly number[]> {
    const acknowledged: number[] = [];
    let n = 0;
    while (!isOver()) {
      let client: MqttClient | null = null;
      try {
        const login = { username: String(device.deviceUsername), password: String(device.token) };
        const once = { reconnectPeriod: 0, connectTimeout: 5000 };
        // Not allowed to retry: only then a connection that closes before CONNACK is a failure.
        client = await connectAsync(nodeAt(anyPlace()).mqtt, { ...login, ...once }, false);
        const own = client;
        const lost = new Promise<never>((_, reject) => {
          own.once("close", () => reject(new Error("lost")));
        });
        lost.catch(() => undefined);
        // A while at each node.
        for (let i = 0; i < 100 && !isOver(); i++) {
          const value = n++;
          const qos = value % 2 === 0 ? 1 : 2;
          await Promise.race([own.publishAsync("data", `{"n":${value}}`, { qos }), lost]);
          acknowledged.push(value);
        }
      } catch {
        await pause(50);
      } finally {
        client?.end(true);
      }
    }
    return acknowledged;
  }

  test("nothing that was acknowledged is lost, and nothing is there twice", async () => {
    const devices = await provision(nodeAt(0), devicesCount);
    let isOver = false;
    const publishing = devices.map((device) => publishOn(device, () => isOver));
    for (let round = 0; round < rounds; round++) {
      await pause(500 + Math.random() * 1000);
      const place = anyPlace();
      await nodeAt(place).kill();
      await pause(Math.random() * 500);
      await cluster.start(place);
    }
    await pause(1000);
    isOver = true;
    const acknowledged = await Promise.all(publishing);
    for (const node of cluster.nodes) await node.settled();
    for (const [i, device] of devices.entries()) {
      const own = acknowledged[i] ?? [];
      assert.ok(own.length > 100, `${own.length} messages`);
      const kept = (await payloadsOf(nodeAt(anyPlace()), device)).map(
        (text) => (JSON.parse(text) as { n: number }).n,
      );
      const stored = await valuesOf(nodeAt(anyPlace()), device);
      assert.is(new Set(kept).size, kept.length, "no message twice");
      assert.is(new Set(stored).size, stored.length, "no point twice");
      const [inJournal, inSeries] = [new Set(kept), new Set(stored)];
      assert.equal(
        own.filter((n) => !inJournal.has(n)),
        [],
        "every message",
      );
      assert.equal(
        own.filter((n) => !inSeries.has(n)),
        [],
        "every point",
      );
    }
  });
});
