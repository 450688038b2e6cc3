/** The settings of a cluster: what is wrong with them ends the start, with a line for each fault. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError, readConfig } from "../../src/config/config.js";
import { keepClusterNumbers } from "../../src/host/cluster-numbers.js";
import { assert, suite, withTempDir } from "../suite.js";

const shared = {
  LIBSQL_URL: "file:/tmp/x.db",
  MASTER_KEY: "a".repeat(64),
  INFLUX_URL: "http://127.0.0.1:8086",
  INFLUX_TOKEN: "t",
  INFLUX_ORG: "o",
};
const three = "2@b.example:7400, 1@10.0.0.1:7400,5@[fd00::5]:7401";

function problems(environment: Readonly<Record<string, string>>): readonly string[] {
  try {
    readConfig(environment);
    return [];
  } catch (error) {
    assert.instance(error, ConfigError);
    return (error as ConfigError).message.split("\n").map((line) => line.replace(/^\W+/, ""));
  }
}

suite("settings of a cluster", (test) => {
  test("nodes are in the order of their numbers, whatever the order of the list", () => {
    const { cluster, ownShards } = readConfig({ ...shared, NODE_NUMBER: "2", CLUSTER_NODES: three });
    assert.equal(cluster?.nodes, [
      { number: 1, host: "10.0.0.1", port: 7400 },
      { number: 2, host: "b.example", port: 7400 },
      { number: 5, host: "fd00::5", port: 7401 },
    ]);
    assert.is(cluster?.self.number, 2);
    assert.equal(ownShards, [2]);
    const own = { ...shared, NODE_NUMBER: "5", CLUSTER_NODES: three, HOST: "10.0.0.5" };
    assert.is(readConfig(own).cluster?.host, "10.0.0.5");
    assert.is(readConfig({ ...own, CLUSTER_HOST: "192.168.0.5" }).cluster?.host, "192.168.0.5");
    assert.is(readConfig({}).cluster, null);
  });

  test("each fault is a line that names its setting", () => {
    const of = (nodes: string, more: Readonly<Record<string, string>> = {}) =>
      problems({ ...shared, NODE_NUMBER: "1", CLUSTER_NODES: nodes, ...more }).join("\n");
    const malformed = [
      "10.0.0.1:7400",
      "1@10.0.0.1",
      "1@:7400",
      "x@h:1",
      "1@h:0,2@h:1",
      "1@h:65536,2@h:1",
      "1@a b:1,2@h:1",
      "1000@h:1,1@h:2",
      "1@h:1,",
    ];
    for (const one of malformed) assert.match(of(one), /CLUSTER_NODES.*must be a list such as/, one);
    assert.match(of("1@h:1"), "must name 2 to 64 nodes");
    const many = Array.from({ length: 65 }, (_, i) => `${i}@h:${i + 1}`).join();
    assert.match(of(many), "must name 2 to 64 nodes");
    assert.match(of("1@h:1,1@h:2"), "names a number twice");
    assert.match(of("1@h:1,2@h:1"), "names an address twice");
    assert.match(of("2@h:1,3@h:2"), "does not name this process, whose NODE_NUMBER is 1");
    assert.is(of("1@h:1,2@h:2", { BROKER_URL: "mqtt://b:1883" }), "");
    assert.is(of("1@h:1,2@h:2", { BROKER_URL: "mqtt://b:1883", JOURNAL_URL: "kafka://k" }), "");
    const alone = problems({ NODE_NUMBER: "1", CLUSTER_NODES: "1@h:1,2@h:2" }).join("\n");
    assert.match(alone, "LIBSQL_URL: is required with CLUSTER_NODES");
    assert.match(alone, "INFLUX_URL: is required with CLUSTER_NODES");
    assert.match(problems({ CLUSTER_HOST: "10.0.0.1" }).join("\n"), "CLUSTER_HOST: needs CLUSTER_NODES");
  });

  test("a node has its own shard for good, one of a topic has all of them, and in a cluster they move", () => {
    const shardsOf = (environment: object) => {
      const { shards, ownShards } = readConfig({ ...shared, ...environment });
      return { shards, ownShards };
    };
    const CLUSTER_NODES = "4@h:4,9@h:9,2@h:2";
    const JOURNAL_URL = "kafka://k:9092";
    assert.equal(shardsOf({ NODE_NUMBER: "7" }), { shards: [7], ownShards: [7] });
    assert.equal(shardsOf({ NODE_NUMBER: "9", CLUSTER_NODES }), { shards: [2, 4, 9], ownShards: [9] });
    assert.equal(shardsOf({ NODE_NUMBER: "9", JOURNAL_URL, JOURNAL_SHARDS: "3" }), {
      shards: [0, 1, 2],
      ownShards: [0, 1, 2],
    });
    const moving = { NODE_NUMBER: "9", CLUSTER_NODES, JOURNAL_URL };
    assert.equal(shardsOf({ ...moving, JOURNAL_SHARDS: "4" }), { shards: [0, 1, 2, 3], ownShards: null });
    assert.equal(problems({ ...shared, ...moving, JOURNAL_SHARDS: "2" }), [
      "JOURNAL_SHARDS: must be 3 or more, one for each node",
    ]);
  });

  test("a data folder stays with the nodes that it was begun with", () =>
    withTempDir(async (dataDir) => {
      const clusterOf = (nodes: string) =>
        readConfig({ ...shared, NODE_NUMBER: "1", CLUSTER_NODES: nodes }).cluster;
      await keepClusterNumbers({ dataDir, journal: null, cluster: null });
      await keepClusterNumbers({ dataDir, journal: null, cluster: clusterOf("1@h:1,2@h:2,7@h:3") });
      assert.is(await readFile(join(dataDir, "cluster.json"), "utf8"), "[1,2,7]");
      // At other addresses they are the same nodes.
      await keepClusterNumbers({ dataDir, journal: null, cluster: clusterOf("7@x:1,2@y:2,1@z:3") });
      for (const cluster of [clusterOf("1@h:1,2@h:2"), clusterOf("1@h:1,2@h:2,8@h:3"), null]) {
        await keepClusterNumbers({ dataDir, journal: null, cluster }).then(
          () => assert.unreachable(),
          (error: Error) => assert.match(error.message, "shared by nodes 1, 2, 7: name these"),
        );
      }
      // What a topic keeps is in no folder.
      const { journal } = readConfig({ ...shared, JOURNAL_URL: "kafka://k:9092" });
      await keepClusterNumbers({ dataDir, journal, cluster: clusterOf("1@h:1,2@h:2") });
    }));
});
