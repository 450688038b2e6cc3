/** A backup of a node of a cluster on Kafka, made while shards move, and what it is good for. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { runTool, toolAnswer } from "../flow/run-tool.js";
import { provision, type RunningService } from "../flow/support.js";
import { assert, influxKafkaSuite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { assertKeptOnce, publishNumbers } from "./publish-numbers.js";
import { startCluster, untilSharedOut } from "./three-nodes.js";

const shards = 6;

influxKafkaSuite("a backup of a node", (test, { influx, brokers }) => {
  test(
    "is sound though shards come and go meanwhile, and its folder goes on from the topic",
    () =>
      withTempDir(async (dir) => {
        const { addresses } = await brokers();
        const cluster = await startCluster(dir, await influx(), {
          JOURNAL_URL: `kafka://${addresses.join()}/backup`,
          JOURNAL_SHARDS: String(shards),
        });
        const nodeAt = (place: number): RunningService => cluster.nodes[place] as RunningService;
        const devices = await provision(nodeAt(0), 9);
        let isOver = false;
        const publishing = devices.map((device, i) =>
          publishNumbers(
            () => nodeAt(i % 3).mqtt,
            device,
            () => isOver,
          ),
        );
        const folder = join(dir, "node-0");
        const opened = (): number => nodeAt(0).logged.filter(({ msg }) => msg === "a shard is open").length;
        await untilSharedOut(cluster, shards);
        const before = opened();
        const restarting = nodeAt(1).stop();
        const tool = cluster.environmentOf(0);
        const backUp = async (): Promise<string> =>
          String((await toolAnswer(folder, tool, "backup", join(dir, "backups"))).folder);
        const made: string[] = [];
        // The first backups are made while the node takes shards of another, the last while it gives them back.
        while (made.length < 2 || opened() === before) {
          made.push(await backUp());
        }
        await restarting;
        const coming = cluster.start(1);
        const last = await backUp();
        made.push(last);
        await coming;
        for (const one of made) {
          const { answer, code, errors } = await runTool(folder, tool, "verify", one).ended;
          assert.equal({ findings: answer.findings, code, errors }, { findings: [], code: 0, errors: "" });
        }

        await nodeAt(0).kill();
        await rm(folder, { recursive: true });
        const { missing } = await toolAnswer(folder, tool, "restore", last);
        assert.match(JSON.stringify(missing), /points: bucket/);
        await cluster.start(0);
        await until(() => opened() >= 2, { what: "shards at the node of the backup" });
        isOver = true;
        const acknowledged = await Promise.all(publishing);
        for (const node of cluster.nodes) await node.settled();
        for (const [i, device] of devices.entries()) {
          await assertKeptOnce(() => nodeAt(i % 3), device as Rec, acknowledged[i] ?? []);
        }
        await cluster.stop();
      }),
    { timeoutMs: 300_000 },
  );
});
