/** What a journal promises on a disk it promises in a log: in memory, and on brokers. */
import { openPartition } from "../../../../store/journal/kafka/partition.js";
import { prepareTopic } from "../../../../store/journal/kafka/topic.js";
import { kafkaSuite, suite } from "../../../suite.js";
import { journalContract } from "../contract.js";
import { createMemoryLog, type MemoryLog } from "../memory-log.js";
import { openInLog } from "./support.js";

suite("journal in a log", (test) => {
  const logs = new Map<string, MemoryLog>();
  journalContract(test, (dir, options) => {
    const log = logs.get(dir) ?? createMemoryLog();
    logs.set(dir, log);
    return openInLog(dir, log.connect(), options);
  });
});

kafkaSuite("journal on Kafka", (test, startBrokers) => {
  const never = new AbortController().signal;
  const frameBytesMax = 1 << 20;
  /** By folder. */
  const topics = new Map<string, string>();
  journalContract(
    test,
    async (dir, options) => {
      const { nodes } = await startBrokers();
      const brokers = nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
      const topic = topics.get(dir) ?? `journal-${topics.size}`;
      const place = { brokers, topic, clientID: "test", frameBytesMax };
      if (!topics.has(dir)) {
        const needs = { partitions: 1, replicas: 3, acceptsUnflushed: false };
        await prepareTopic({ ...place, ...needs }, never);
        topics.set(dir, topic);
      }
      // Each test's topic has one partition, whatever the shard.
      return openInLog(dir, openPartition({ ...place, partition: 0 }), options);
    },
    10,
  );
});
