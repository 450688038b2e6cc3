/** Nodes are killed under load: what has been acknowledged is there, once, whichever node it came by. */
import { setTimeout as pause } from "node:timers/promises";
import { provision, type RunningService } from "../flow/support.js";
import { assert, influxSuite, openTempDir } from "../suite.js";
import { assertKeptOnce, publishNumbers } from "./publish-numbers.js";
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

  test("nothing that was acknowledged is lost, and nothing is there twice", async () => {
    const devices = await provision(nodeAt(0), devicesCount);
    let isOver = false;
    const publishing = devices.map((device) =>
      publishNumbers(
        () => nodeAt(anyPlace()).mqtt,
        device,
        () => isOver,
      ),
    );
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
      await assertKeptOnce(() => nodeAt(anyPlace()), device, own);
    }
  });
});
