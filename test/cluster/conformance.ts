/** The interface, line by line, each call to another node of a cluster. */
import { randomInt } from "node:crypto";
import { join } from "node:path";
import { defineLines } from "../conformance/conformance.js";
import { createRandom } from "../fuzz/random.js";
import { assert, influxSuite, openTempDir } from "../suite.js";
import { createRandomNode, type RandomNode } from "./random-node.js";
import { type Cluster, startCluster } from "./three-nodes.js";

/** `TIDEMARK_NODE_SEED` draws the same nodes again. */
export function clusterConformance(variant: "A" | "B"): void {
  const seed = Number(process.env.TIDEMARK_NODE_SEED ?? randomInt(2 ** 32));
  influxSuite(`a cluster's conformance, Variant ${variant}`, (test, influx) => {
    let dir: Awaited<ReturnType<typeof openTempDir>>;
    let cluster: Cluster;
    let target: RandomNode;
    test.before(async () => {
      dir = await openTempDir();
      cluster = await startCluster(dir.path, await influx(), { API_VARIANT: variant });
      target = createRandomNode(cluster, createRandom(seed));
      console.log(`Variant ${variant}: nodes by TIDEMARK_NODE_SEED=${seed}`);
    });
    defineLines(test, variant, () => ({ target, metadataUrl: `file:${join(dir.path, "metadata.db")}` }));
    test("each node was asked its part", () => {
      const all = target.calls.reduce((sum, one) => sum + one, 0);
      for (const one of target.calls) assert.ok(one > all / 5, target.calls.join());
    });
    test.after(async () => {
      await cluster.stop();
      await dir.close();
    });
  });
}
