/**
 * A node that alone cannot reach the brokers gives its shards to the others, and one that cannot open any leaves them to
 * the others; where nobody reaches the brokers nothing moves.
 */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import { provision, type RunningService } from "../flow/support.js";
import { startBrokers } from "../kafka/brokers.js";
import { openWay, type Way } from "../kafka/detour.js";
import { assert, influxKafkaSuite, openTempDir, until } from "../suite.js";
import type { Rec } from "../world.js";
import { startBalancer } from "./balancer.js";
import { assertKeptOnce, publishNumbers } from "./publish-numbers.js";
import { type Cluster, numbers, startCluster } from "./three-nodes.js";

const shards = 6;
/** Its way to the brokers is cut. */
const cutPlace = 1;
const devicesCount = 12;

influxKafkaSuite(
  "a node that cannot have shards",
  (test, { influx, brokers }) => {
    let dir: Awaited<ReturnType<typeof openTempDir>>;
    let way: Way;
    let cluster: Cluster;
    let db: Db;
    let balancer: Awaited<ReturnType<typeof startBalancer>>;
    /** Settings of single nodes, by place. */
    const ownSettings = new Map<number, Readonly<Record<string, string>>>();
    /** A test's own, since numbers begin at 0 in each. */
    let devices: Rec[][];
    test.before(async () => {
      dir = await openTempDir();
      const kafka = await brokers();
      way = await openWay(kafka);
      const settings = (addresses: readonly string[]) => ({ JOURNAL_URL: `kafka://${addresses.join()}/cut` });
      ownSettings.set(cutPlace, settings(way.addresses));
      cluster = await startCluster(
        dir.path,
        await influx(),
        { ...settings(kafka.addresses), JOURNAL_SHARDS: String(shards) },
        { own: (place) => ownSettings.get(place) ?? {} },
      );
      db = await openDb({ url: `file:${join(dir.path, "metadata.db")}`, shared: true, migrates: false });
      const all = await provision(nodeAt(0), 3 * devicesCount);
      devices = [0, 1, 2].map((i) => all.slice(i * devicesCount, (i + 1) * devicesCount));
      balancer = await startBalancer(() => cluster.nodes.map(({ mqtt }) => new URL(mqtt).host));
    });
    test.after(async () => {
      await balancer.close();
      await db.close();
      await cluster.stop();
      await way.close();
      await dir.close();
    });

    const nodeAt = (place: number): RunningService => cluster.nodes[place] as RunningService;
    const cutNode = () => nodeAt(cutPlace);
    const said = (service: RunningService, line: string) =>
      service.logged.filter(({ msg }) => msg === line).length;
    /** Counts the moves of shards in the logs of all nodes. */
    const moves = () =>
      cluster.nodes.map((node) => said(node, "a shard is open") + said(node, "a shard is closed"));
    /** How many shards each node has, by the metadata; the last figure: nobody. */
    const shares = async (): Promise<number[]> => {
      const rows = await db.all<{ node: number | null }>("select node from shard_owner");
      const of = (node: number | null) => rows.filter((row) => row.node === node).length;
      return [...numbers.map(of), of(null)];
    };
    const areShared = (wanted: string) => async () => (await shares()).join() === wanted;

    async function publishDuring(work: (acknowledged: () => Promise<void>) => Promise<void>): Promise<void> {
      const own = devices.pop() ?? [];
      let isOver = false;
      const counts = own.map(() => 0);
      const publishing = own.map((device, i) =>
        publishNumbers(
          () => `mqtt://127.0.0.1:${balancer.port}`,
          device,
          () => isOver,
          () => {
            counts[i] = (counts[i] ?? 0) + 1;
          },
        ),
      );
      /** Resolves once something of each device has been acknowledged since. */
      const acknowledged = async (): Promise<void> => {
        const before = [...counts];
        const all = () => counts.every((count, i) => count > (before[i] ?? 0) + 1);
        await until(all, { what: "an acknowledgement for each device" });
      };
      try {
        await work(acknowledged);
      } finally {
        isOver = true;
      }
      const kept = await Promise.all(publishing);
      for (const node of cluster.nodes) await node.settled();
      const anyNode = () => nodeAt(Math.floor(Math.random() * numbers.length));
      for (const [i, device] of own.entries()) await assertKeptOnce(anyNode, device, kept[i] ?? []);
    }

    test("its shards go to the others, which keep what comes by any node, and come back when it reaches them again", async () => {
      await until(areShared("2,2,2,0"), { what: "shares" });
      await publishDuring(async (acknowledged) => {
        await acknowledged();
        way.cut();
        await until(areShared("3,0,3,0"), { what: "the others to have its shards" });
        await acknowledged();
        assert.is(said(cutNode(), "no broker can be reached: shards go to nodes that reach one"), 1);
        way.mend();
        await until(areShared("2,2,2,0"), { what: "its share" });
        await acknowledged();
        assert.is(said(cutNode(), "brokers can be reached again"), 1);
      });
    });

    test("where all brokers are away for all nodes each keeps what it has, and goes on by itself", async () => {
      await until(areShared("2,2,2,0"), { what: "shares" });
      const { nodes } = await brokers();
      await publishDuring(async (acknowledged) => {
        await acknowledged();
        const before = moves();
        for (const broker of nodes) broker.freeze();
        const areUnable = async () =>
          (await db.all("select number from cluster_node where able = 0")).length === numbers.length;
        await until(areUnable, { what: "the nodes to find it out" });
        // Longer than a node that is alone in it waits.
        await pause(12_000);
        for (const broker of nodes) broker.thaw();
        await acknowledged();
        const areAble = async () =>
          (await db.all("select number from cluster_node where able = 0")).length === 0;
        await until(areAble, { what: "the nodes to find it out" });
        assert.equal([moves(), await shares()], [before, [2, 2, 2, 0]]);
      });
    });

    test("a node that can open no shard keeps none from the others, and gets its share once it can", async () => {
      await until(areShared("2,2,2,0"), { what: "shares" });
      const place = 2;
      await publishDuring(async (acknowledged) => {
        await nodeAt(place).stop();
        const folder = join(dir.path, `node-${place}`, "shards");
        await rm(folder, { recursive: true });
        await writeFile(folder, "no folder");
        const node = await cluster.start(place);
        await until(() => said(node, "cannot open a shard") > 1, { what: "two attempts" });
        await until(areShared("3,3,0,0"), { what: "the others to have all" });
        await acknowledged();
        assert.is(said(node, "a shard is open"), 0);
        await rm(folder);
        await until(areShared("2,2,2,0"), { what: "its share" });
        await acknowledged();
        await node.stop();
        ownSettings.set(place, { FREE_BYTES_MIN: String(10 ** 15) });
        const full = await cluster.start(place);
        const isTold = () =>
          full.logged.some((line) => JSON.stringify(line).includes("disk full: a shard needs"));
        await until(isTold, { what: "an attempt" });
        await until(areShared("3,3,0,0"), { what: "the others to have all" });
        await acknowledged();
        // What it is given and cannot open is away for moments.
        await full.stop();
        ownSettings.delete(place);
        await cluster.start(place);
        await until(areShared("2,2,2,0"), { what: "its share" });
        await acknowledged();
      });
    });
  },
  () => startBrokers(3, { hasDetour: true }),
);
