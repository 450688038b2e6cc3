import { createHash } from "node:crypto";
import { Producer, stringSerializers } from "@platformatic/kafka";
import { openBrokerLink } from "../../../../store/journal/kafka/broker-link.js";
import { openPartition } from "../../../../store/journal/kafka/partition.js";
import {
  AppendError,
  type LoggedFrame,
  type PartitionLog,
} from "../../../../store/journal/kafka/partition-log.js";
import { calls } from "../../../../store/journal/kafka/protocol.js";
import { prepareTopic } from "../../../../store/journal/kafka/topic.js";
import { StoreError } from "../../../../store/lib/errors.js";
import type { Brokers } from "../../../kafka/brokers.js";
import { assert, kafkaSuite, rejects, until } from "../../../suite.js";

const frameBytesMax = 256 * 1024;
const never = new AbortController().signal;
const needs = { partitions: 1, replicas: 3, frameBytesMax, acceptsUnflushed: false, clientID: "test" };

/** Bytes that belong to the number and to no other. */
function frameOf(n: number): Buffer {
  const frame = Buffer.alloc(4 + ((n * 7919) % 3000), createHash("sha256").update(String(n)).digest());
  frame.writeUInt32BE(n);
  return frame;
}

kafkaSuite("a partition of Kafka as the journal's log", (test, startBrokers) => {
  const opened: PartitionLog[] = [];
  let topics = 0;

  function open(
    cluster: Brokers,
    topic: string,
    more: { fetchBytesMax?: number; callTimeMs?: number } = {},
  ): PartitionLog {
    const brokers = addressesOf(cluster);
    const options = { brokers, topic, partition: 0, clientID: "test", frameBytesMax };
    const times = { appendTimeMs: 2500, callTimeMs: 5000 };
    const log = openPartition({ ...options, ...times, ...more });
    opened.push(log);
    return log;
  }
  /** The log of a new topic. */
  async function openNew(more: { fetchBytesMax?: number; callTimeMs?: number } = {}) {
    const cluster = await startBrokers();
    const topic = `journal-${topics++}`;
    await prepareTopic({ ...needs, brokers: addressesOf(cluster), topic }, never);
    return { cluster, topic, log: open(cluster, topic, more) };
  }
  test.after.each(() => {
    for (const log of opened.splice(0)) log.close();
  });

  test("frames come back byte for byte, in order, from any offset", async () => {
    const { log } = await openNew({ fetchBytesMax: 4096 });
    assert.equal(await Promise.all([log.start(), log.end(), log.end()]), [0, 0, 0]);
    const frames = Array.from({ length: 60 }, (_, n) => frameOf(n));
    frames.push(Buffer.alloc(frameBytesMax, 7), Buffer.of(0));
    for (const [n, frame] of frames.entries()) assert.is(await log.append(frame), n);
    assert.is(await log.end(), frames.length);
    for (const from of [0, 1, 59, 60, 61]) {
      const read = await all(log.read(from, frames.length));
      assert.equal(
        read.map(({ offset }) => offset),
        frames.map((_, n) => n).slice(from),
      );
      assert.ok(read.every(({ offset, frame }) => frames[offset]?.equals(frame)));
    }
    assert.equal((await all(log.read(10, 13))).length, 3);
    assert.equal(await all(log.read(5, 5)), []);
  });

  test("a frame that is empty or too long, and a second append meanwhile, are refused", async () => {
    const { log } = await openNew();
    for (const length of [0, frameBytesMax + 1]) {
      const error = await rejects(() => log.append(Buffer.alloc(length)), /1 to 262144; it was not written/);
      assert.equal(outcomeOf(error), "not written LIMIT");
    }
    const first = log.append(frameOf(1));
    assert.equal(outcomeOf(await rejects(() => log.append(frameOf(2)))), "not written CONFLICT");
    assert.is(await first, 0);
    assert.is(await log.append(frameOf(3)), 1);
  });

  test("records are deleted before an offset, and reading from below it is an error", async () => {
    const { log } = await openNew();
    for (let n = 0; n < 10; n++) await log.append(frameOf(n));
    assert.is(await log.deleteBefore(4), 4);
    assert.equal([await log.start(), await log.end()], [4, 10]);
    assert.is(await log.deleteBefore(2), 4);
    assert.is((await all(log.read(4, 10))).length, 6);
    for (const from of [3, 11]) {
      const error = await rejects(() => all(log.read(from, 20)), /lies outside what the log keeps/);
      assert.is(codeOf(error), "NOT_FOUND");
    }
    assert.is(codeOf(await rejects(() => log.deleteBefore(11), /beyond the end/)), "NOT_FOUND");
  });

  test("a reader without an end follows what is appended, until it is stopped", async () => {
    const { log } = await openNew();
    const stop = new AbortController();
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { frame } of log.read(0, Number.POSITIVE_INFINITY, stop.signal)) {
        seen.push(frame.readUInt32BE());
      }
    })();
    for (let n = 0; n < 5; n++) {
      await log.append(frameOf(n));
      await until(() => seen.length === n + 1, { what: `frame ${n}` });
    }
    stop.abort();
    await reading;
    assert.equal(seen, [0, 1, 2, 3, 4]);
  });

  test("a log that is closed ends its readers with an error", async () => {
    const { log } = await openNew();
    await log.append(frameOf(0));
    const frames = log.read(0, 2);
    assert.is((await frames.next()).value?.offset, 0);
    const rest = rejects(() => frames.next(), /^cannot read from offset 1: /);
    log.close();
    assert.is(codeOf(await rest), "UNAVAILABLE");
    await rejects(() => log.read(0, 1).next(), /^cannot read from offset 0: the log was closed$/);
  });

  test("what others have written is no frame", async () => {
    const { cluster, topic, log } = await openNew();
    const producer = new Producer({
      clientId: "other",
      bootstrapBrokers: [...cluster.addresses],
      serializers: stringSerializers,
    });
    await log.append(frameOf(0));
    await producer.send({ messages: [{ topic, key: "k", value: "v", partition: 0 }], acks: -1 });
    await producer.send({
      messages: [{ topic, value: "v".repeat(99), partition: 0 }],
      acks: -1,
      compression: "gzip",
    });
    await producer.close();
    await rejects(() => all(log.read(0, 3)), /offset 1: it has a key: it was not written by Tidemark/);
    await rejects(() => all(log.read(2, 3)), /offset 2: compressed/);
    assert.is((await all(log.read(0, 1))).length, 1);
  });
  test("acknowledged frames survive a leader that is killed and a follower that is frozen", async () => {
    const { cluster, topic, log } = await openNew();
    const acknowledged = new Map<number, number>();
    let n = 0;
    let isEnding = false;
    const writing = (async () => {
      for (; !isEnding; n++) acknowledged.set(await appendUntilTaken(log, frameOf(n)), n);
    })();
    const written = (more: number) => {
      const goal = n + more;
      return until(() => n >= goal, { what: `${more} more frames` });
    };
    await written(20);
    const killed = cluster.node(await leaderOf(cluster, topic));
    await killed.kill();
    await written(20);
    const restarted = killed.start();
    await written(20);
    await restarted;
    await until(async () => (await stateOf(cluster, topic)).inSync === 3, { what: "all in sync" });
    const frozen = cluster.node(await leaderOf(cluster, topic));
    frozen.freeze();
    // Beyond its session: another leads, and it does not know.
    await until(async () => (await leaderOf(cluster, topic, frozen.id)) !== frozen.id, {
      what: "another leader",
    });
    await written(20);
    frozen.thaw();
    await written(20);
    isEnding = true;
    await writing;
    await until(async () => (await stateOf(cluster, topic)).inSync === 3, { what: "all in sync again" });

    const read = await all(open(cluster, topic).read(0, (await log.append(frameOf(n))) + 1));
    for (const [offset, number] of acknowledged) {
      assert.ok(read[offset]?.frame.equals(frameOf(number)), `frame ${number} at offset ${offset}`);
    }
    const numbers = read.map(({ frame }) => frame.readUInt32BE());
    const firsts = numbers.filter((number, at) => numbers.indexOf(number) === at);
    assert.equal(
      firsts,
      Array.from({ length: n + 1 }, (_, number) => number),
    );
    assert.ok(n > 100 && acknowledged.size === n, `${n}, ${acknowledged.size}`);
  });

  test("with two of three away an append fails and says whether it was written; then it goes on", async () => {
    const { cluster, topic, log } = await openNew();
    await log.append(frameOf(0));
    const leader = await leaderOf(cluster, topic);
    const followers = cluster.nodes.filter(({ id }) => id !== leader);
    await Promise.all(followers.map((node) => node.kill()));
    // The leader has it and waits for the others: it may come.
    const unknown = await rejects(
      () => log.append(frameOf(1)),
      /^cannot append a frame: .*written is unknown$/,
    );
    assert.is(outcomeOf(unknown), "unknown UNAVAILABLE");
    cluster.node(leader).freeze();
    const refused = await rejects(
      () => log.append(frameOf(2)),
      /^cannot append a frame: .*it was not written$/,
    );
    assert.is(outcomeOf(refused), "not written UNAVAILABLE");
    const hasty = open(cluster, topic, { callTimeMs: 500 });
    assert.is(codeOf(await rejects(() => hasty.end(), /^cannot find the end of the log: /)), "UNAVAILABLE");
    cluster.node(leader).thaw();
    await Promise.all(followers.map((node) => node.start()));
    const offset = await appendUntilTaken(log, frameOf(3));
    const read = await all(log.read(0, offset + 1));
    const numbers = read.map(({ frame }) => frame.readUInt32BE());
    assert.ok(read.every(({ frame }) => frame.equals(frameOf(frame.readUInt32BE()))));
    assert.is(numbers[0], 0);
    assert.is(numbers.at(-1), 3);
    assert.not.ok(numbers.includes(2), "what was not written is there");
  });
});

/** What a journal does after an unknown outcome: the same bytes again. */
async function appendUntilTaken(log: PartitionLog, frame: Buffer): Promise<number> {
  return until(async () => ({ offset: await log.append(frame) }), { what: "an append" }).then(
    ({ offset }) => offset,
  );
}

/** Reads the state from a node that is not `except`. */
async function stateOf(cluster: Brokers, topic: string, except?: number) {
  const node = cluster.nodes.find(({ id, pid }) => id !== except && pid !== undefined);
  const options = { clientID: "test", timeMs: 5000, answerBytesMax: 1 << 20 };
  const link = await openBrokerLink({ host: "127.0.0.1", port: node?.port ?? 0 }, options);
  try {
    const { topics } = await link.call(calls.metadata, [[topic], false, false], 5000);
    const partition = topics[0]?.partitions[0];
    return { leader: partition?.leaderId ?? -1, inSync: partition?.isrNodes.length ?? 0 };
  } finally {
    link.close();
  }
}

async function leaderOf(cluster: Brokers, topic: string, except?: number): Promise<number> {
  const { leader } = await stateOf(cluster, topic, except);
  if (leader < 0) throw new Error(`nobody leads ${topic}`);
  return leader;
}

async function all(frames: AsyncIterable<LoggedFrame>): Promise<LoggedFrame[]> {
  const read: LoggedFrame[] = [];
  for await (const one of frames) read.push(one);
  return read;
}

const addressesOf = ({ nodes }: Brokers) => nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
const codeOf = (error: Error): string | undefined => (error instanceof StoreError ? error.code : undefined);
const outcomeOf = (error: Error): string | undefined =>
  error instanceof AppendError ? `${error.outcome} ${error.code}` : undefined;
