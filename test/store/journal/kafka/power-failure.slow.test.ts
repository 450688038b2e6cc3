/** Brokers whose power fails, on disks that lose what was not synced: what was acknowledged is on the others, or was synced. */
import { createHash } from "node:crypto";
import { openPartition } from "../../../../store/journal/kafka/partition.js";
import type { PartitionLog } from "../../../../store/journal/kafka/partition-log.js";
import { prepareTopic } from "../../../../store/journal/kafka/topic.js";
import { isUnavailable } from "../../../../store/lib/errors.js";
import { type Brokers, startBrokers } from "../../../kafka/brokers.js";
import { lossyDiskMissing } from "../../../kafka/lossy-disk.js";
import { assert, kafkaSuite, rejects, until, withTempDir } from "../../../suite.js";
import { openInLog } from "../replicated/support.js";
import { keep } from "../support.js";

const frameBytesMax = 64 * 1024;
const never = new AbortController().signal;
const partitions = 4;
/** Frames of each partition, between one failure and the next. */
const framesBetween = 40;

const common = { clientID: "test", frameBytesMax };

/** Bytes that belong to the number and to no other. */
function frameOf(n: number): Buffer {
  const frame = Buffer.alloc(4 + ((n * 7919) % 900), createHash("sha256").update(String(n)).digest());
  frame.writeUInt32BE(n);
  return frame;
}

/** Appends to a partition, on and on. */
interface Appender {
  /** What was acknowledged, by its offset. */
  readonly acknowledged: ReadonlyMap<number, number>;
  /** Ends it; resolves with what was acknowledged and is not there. */
  lost(): Promise<number[]>;
}

kafkaSuite(
  "brokers whose power fails",
  (test, brokers) => {
    const appenders: Appender[] = [];
    const logs: PartitionLog[] = [];
    test.after.each(() => {
      for (const log of logs.splice(0)) log.close();
      appenders.splice(0);
    });

    /** An appender to each partition of a new topic. */
    async function append(cluster: Brokers, topic: string, acceptsUnflushed: boolean): Promise<void> {
      const place = { ...common, brokers: cluster.nodes, topic };
      await prepareTopic({ ...place, partitions, replicas: 3, acceptsUnflushed }, never);
      for (let partition = 0; partition < partitions; partition++) {
        const log = openPartition({ ...place, partition, callTimeMs: 60_000 });
        logs.push(log);
        appenders.push(startAppender(log));
      }
    }
    const framesIn = (appender: Appender): number => appender.acknowledged.size;
    /** Resolves once so many more frames of each partition are acknowledged. */
    async function goOn(after: string): Promise<void> {
      const before = appenders.map(framesIn);
      const isOn = (): boolean =>
        appenders.every((one, i) => framesIn(one) >= (before[i] ?? 0) + framesBetween);
      await until(isOn, { what: `frames to be acknowledged after ${after}`, timeoutMs: 90_000 });
    }
    async function failAll({ nodes }: Brokers): Promise<void> {
      await Promise.all(nodes.map((node) => node.cutPower()));
      await Promise.all(nodes.map((node) => node.start()));
    }
    const lost = async (): Promise<number> =>
      (await Promise.all(appenders.map((one) => one.lost()))).flat().length;

    test("nothing that is flushed before its acknowledgement is lost: one broker after the other, then all at once", async () => {
      const cluster = await brokers();
      await append(cluster, "flushed", false);
      await goOn("the start");
      for (const node of cluster.nodes) {
        await node.cutPower();
        await goOn(`node ${node.id} has gone`);
        await node.start();
        await goOn(`node ${node.id} has come back`);
      }
      await failAll(cluster);
      await goOn("all have come back");
      assert.is(await lost(), 0);
    });

    test("a folder with frames that the brokers have lost is not used with them, and nothing is appended", () =>
      withTempDir(async (dir) => {
        const cluster = await brokers();
        const topic = "lost";
        const place = { ...common, brokers: cluster.nodes, topic };
        await prepareTopic({ ...place, partitions, replicas: 3, acceptsUnflushed: true }, never);
        const open = (): PartitionLog => openPartition({ ...place, partition: 0, callTimeMs: 60_000 });
        const journal = await openInLog(dir, open());
        for (let i = 0; i < framesBetween; i++) await keep(journal);
        await journal.close();
        await failAll(cluster);
        const log = open();
        logs.push(log);
        const end = await log.end();
        assert.ok(end < framesBetween / 2, `${end} frames are left`);
        for (let i = 0; i < 2; i++)
          await rejects(() => openInLog(dir, open()), new RegExp(`lost frames: it ends at offset ${end},`));
        assert.is(await log.end(), end);
      }));

    test("everything that is not flushed goes once all brokers lose their power: these disks do lose something", async () => {
      const cluster = await brokers();
      await append(cluster, "unflushed", true);
      await goOn("the start");
      await failAll(cluster);
      await goOn("all have come back");
      const count = await lost();
      assert.ok(count >= partitions * framesBetween, `${count} were lost`);
    });
  },
  () => startBrokers(3, { loseUnsynced: true }),
  lossyDiskMissing,
);

function startAppender(log: PartitionLog): Appender {
  const acknowledged = new Map<number, number>();
  const overwritten: number[] = [];
  let isOver = false;
  async function run(): Promise<void> {
    for (let n = 0; !isOver; n++) {
      try {
        const offset = await log.append(frameOf(n));
        const before = acknowledged.get(offset);
        if (before !== undefined) overwritten.push(before);
        acknowledged.set(offset, n);
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
    }
  }
  const running = run();
  running.catch(() => undefined);
  return {
    acknowledged,
    lost: async () => {
      isOver = true;
      await running;
      const found = new Map<number, Buffer>();
      const end = await log.end();
      for await (const { offset, frame } of log.read(await log.start(), end)) found.set(offset, frame);
      const missing = [...acknowledged].filter(([offset, n]) => !found.get(offset)?.equals(frameOf(n)));
      return [...overwritten, ...missing.map(([, n]) => n)];
    },
  };
}
