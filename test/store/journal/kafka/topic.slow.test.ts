import { Admin } from "@platformatic/kafka";
import { openPartition } from "../../../../store/journal/kafka/partition.js";
import { prepareTopic } from "../../../../store/journal/kafka/topic.js";
import { listProblems, type TopicNeeds, topicSettings } from "../../../../store/journal/kafka/topic-needs.js";
import { StoreError } from "../../../../store/lib/errors.js";
import { assert, kafkaSuite, rejects, suite, until } from "../../../suite.js";

const needs: TopicNeeds = { partitions: 2, replicas: 3, frameBytesMax: 10_000, acceptsUnflushed: false };
const never = new AbortController().signal;

suite("what the journal needs of its topic", (test) => {
  const settings = new Map<string, string | null>(Object.entries(topicSettings(needs)));

  test("a topic as it is made for the journal serves", () => {
    assert.equal(listProblems({ replicas: [3, 3], settings }, needs), []);
    assert.equal(listProblems({ replicas: [5, 3], settings }, needs), []);
  });

  test("each need that is not met is named, all at once", () => {
    const wrong = new Map(settings);
    const changes = {
      "min.insync.replicas": "1",
      "flush.messages": "9223372036854775807",
      "unclean.leader.election.enable": "true",
      "cleanup.policy": "compact,delete",
      "retention.ms": "604800000",
      "retention.bytes": "1000",
      "compression.type": "zstd",
      "max.message.bytes": "10000",
    };
    for (const [name, value] of Object.entries(changes)) wrong.set(name, value);
    assert.equal(listProblems({ replicas: [3, 1, 3], settings: wrong }, needs), [
      "it has 3 partitions, not 2",
      "a partition has 1 replicas, fewer than 3",
      "min.insync.replicas is 1, less than 2",
      "flush.messages is 9223372036854775807, not 1",
      "unclean.leader.election.enable is true, not false",
      "cleanup.policy is compact,delete, not delete",
      "retention.ms is 604800000, not -1",
      "retention.bytes is 1000, not -1",
      "compression.type is zstd, not producer or uncompressed",
      "max.message.bytes is 10000, less than 11024",
    ]);
    assert.is(listProblems({ replicas: [3, 3], settings: new Map() }, needs).length, 8, "not reported");
  });

  test("a topic that is not flushed serves those who accept it", () => {
    const unflushed = new Map(settings).set("flush.messages", "1000");
    assert.equal(listProblems({ replicas: [3, 3], settings: unflushed }, needs), [
      "flush.messages is 1000, not 1",
    ]);
    assert.equal(
      listProblems({ replicas: [3, 3], settings: unflushed }, { ...needs, acceptsUnflushed: true }),
      [],
    );
    assert.not.ok("flush.messages" in topicSettings({ ...needs, acceptsUnflushed: true }));
  });
});

kafkaSuite("the topic of a journal on Kafka", (test, cluster) => {
  async function prepare(topic: string, more: Partial<TopicNeeds & { timeMs: number }> = {}) {
    const brokers = (await cluster()).nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
    return prepareTopic({ ...needs, brokers, topic, clientID: "test", ...more }, never);
  }

  test("it is made once, and found as it was made; several may make it at once", async () => {
    const made = await Promise.all([prepare("one"), prepare("one"), prepare("one")]);
    for (const other of [...made, await prepare("one")]) assert.equal(other, made[0]);
    assert.ok((made[0]?.clusterID.length ?? 0) > 10);
    assert.is.not((await prepare("other")).topicID, made[0]?.topicID);
  });

  test("a topic that does not serve is refused with all that is wrong", async () => {
    await prepare("lax", { replicas: 1, acceptsUnflushed: true });
    const error = await rejects(() => prepare("lax", { partitions: 3, frameBytesMax: 20_000 }));
    assert.is(
      error.message,
      "cannot use topic lax: it has 2 partitions, not 3; a partition has 1 replicas, fewer than 3; " +
        "flush.messages is 9223372036854775807, not 1; max.message.bytes is 11024, less than 21024",
    );
    assert.is(error instanceof StoreError && error.code, "MISMATCH");
  });

  test("more replicas than brokers, and a name that Kafka does not take, are errors that say so", async () => {
    const few = await rejects(() => prepare("few", { replicas: 4, timeMs: 1000 }));
    assert.match(few.message, /^cannot prepare topic few: .*only 3 broker.*asked for 4 replicas/);
    assert.is(error(few), "UNAVAILABLE");
    const name = await rejects(() => prepare("a b"));
    assert.match(name.message, /^cannot prepare topic a b: INVALID_TOPIC/);
    assert.is(error(name), "INVALID");
  });

  test("a log whose topic was deleted and made again does not go on with the new one", async () => {
    const { nodes, addresses } = await cluster();
    const brokers = nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
    const { topicID } = await prepare("again");
    const place = { brokers, topic: "again", partition: 0, clientID: "test" };
    const log = openPartition({ ...place, frameBytesMax: needs.frameBytesMax });
    await log.append(Buffer.from("frame"));
    const admin = new Admin({ clientId: "test", bootstrapBrokers: [...addresses] });
    await admin.deleteTopics({ topics: ["again"] });
    await admin.close();
    await until(async () => (await prepare("again")).topicID !== topicID, { what: "the new topic" });
    const thrown = await rejects(async () => {
      for await (const _ of log.read(0, 1)) assert.unreachable("a frame of a topic that is gone");
    });
    log.close();
    assert.match(thrown.message, /topic again: it was deleted and made again since it was opened$/);
    assert.is(error(thrown), "MISMATCH");
  });
});

const error = (thrown: Error): string | undefined => (thrown instanceof StoreError ? thrown.code : undefined);
