/** What a broken link, a kill and a slow disk do to messages on their way, step by step and without a broker. */
import type { DeviceEntry } from "../../../../ingest/directory/entries.js";
import { createMeter } from "../../../../ingest/meter.js";
import type { BrokerShard } from "../../../../ingest/transports/broker/broker-shard.js";
import { createInbound } from "../../../../ingest/transports/broker/inbound.js";
import type { BrokerLink } from "../../../../ingest/transports/broker/link.js";
import { OrderedAcks } from "../../../../ingest/transports/broker/ordered-acks.js";
import { createOutbound } from "../../../../ingest/transports/broker/outbound.js";
import { readRare } from "../../../../ingest/transports/broker/packets.js";
import { takenByEarlierRun } from "../../../../ingest/transports/broker/redelivery.js";
import { brokerReceiveMaximum } from "../../../../ingest/transports/broker/settings.js";
import { messageKey, type Taken } from "../../../../ingest/uplinks/redelivery.js";
import { createWorkBudget, workMax } from "../../../../ingest/uplinks/work-budget.js";
import type { JournalRecord, UplinkRecord } from "../../../../store/journal/record.js";
import { recordKinds } from "../../../../store/journal/record-kinds.js";
import { journalRecord } from "../../../store/journal/support.js";
import { assert, suite } from "../../../suite.js";

const session = 11;
const entryOf = (id: number, deviceID: string): DeviceEntry =>
  ({ id, device: { deviceID, blocked: 0 }, access: null }) as unknown as DeviceEntry;
const device = entryOf(7, "d");
/** A device of another shard. */
const other = entryOf(8, "e");
const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

function fakeLink() {
  const acknowledged: number[] = [];
  const pushed: Uint8Array[] = [];
  const state = { waitingBytes: 0 };
  const link: BrokerLink = {
    acknowledge: (messageID) => void acknowledged.push(messageID),
    push: (bytes) => void pushed.push(bytes),
    flush: () => undefined,
    get waitingBytes() {
      return state.waitingBytes;
    },
    pause: () => undefined,
    resume: () => undefined,
    close: () => undefined,
  };
  return { link, acknowledged, pushed, state };
}

interface World {
  readonly before?: readonly (readonly [messageID: number, text: string])[];
  readonly find?: () => Promise<DeviceEntry | undefined>;
  /** Cost of the work that a message causes. */
  readonly cost?: number;
}

/** An inbound bridge whose disk commits only by `commit`. */
function openInbound({ before = [], find, cost = 0 }: World = {}) {
  const work = createWorkBudget();
  const appended: { text: string; of: number; done: () => void }[] = [];
  const kept = new Set<object>();
  const waiting = () => appended.filter((one) => !kept.has(one));
  const published: { text: string; at: number }[] = [];
  const clock = { now: 1000 };
  const taken: Taken = new Set(
    before.map(([messageID, text]) => messageKey({ messageID, topic: "data", payload: Buffer.from(text) })),
  );
  const shard: BrokerShard = {
    accept: {
      uplink: (origin, { payload }, _refused, done) =>
        void appended.push({
          text: String(payload),
          of: origin.device.id,
          done: done ?? (() => undefined),
        }),
    },
    registry: {
      publish: ({ payload, at }) => void published.push({ text: String(payload), at }),
      publishCost: () => cost,
    },
    takenBefore: async () => taken,
    work,
  };
  const inbound = createInbound({
    isFull: () => false,
    peekShard: () => shard,
    findShard: async () => shard,
    meter: createMeter(),
    limits: null,
    session,
    topics: { bytesMax: 1024, levelsMax: 32 },
    peek: (deviceID) => (find !== undefined ? undefined : deviceID === "d" ? device : other),
    find: find ?? (async () => device),
    now: () => clock.now,
    onAnswer: () => undefined,
    onRoom: () => undefined,
    onTrouble: () => undefined,
    onFault: () => undefined,
    signal: new AbortController().signal,
  });
  return {
    appended,
    published,
    clock,
    work,
    connect: (resumed: boolean) => {
      const made = fakeLink();
      inbound.begin(made.link, resumed);
      return made.acknowledged;
    },
    take: (messageID: number, text: string, dup = false, deviceID = "d") =>
      inbound.take({
        qos: 1,
        dup,
        messageID,
        topic: `devices/${deviceID}/up/data`,
        properties: null,
        flaw: null,
        payload: Buffer.from(text),
      }),
    /** Commits all that is not kept yet, or that of one device's shard. */
    commit: (of: number | null = null) => {
      for (const one of waiting().filter((each) => of === null || each.of === of)) {
        kept.add(one);
        one.done();
      }
    },
    end: () => inbound.end(),
    texts: () => appended.map(({ text }) => text),
  };
}

suite("messages from a broker, in order", (test) => {
  test("what is sent again before it is on disk is acknowledged when it is, in its order", () => {
    const { connect, take, commit, texts } = openInbound();
    const first = connect(false);
    take(1, "a");
    take(2, "b");
    const second = connect(true);
    take(1, "a", true);
    take(2, "b", true);
    take(3, "c");
    assert.equal(second, [], "nothing is kept yet");
    commit();
    assert.equal([first, second, texts()], [[], [1, 2, 3], ["a", "b", "c"]]);
    const third = connect(true);
    take(3, "c", true);
    assert.equal(third, [3], "kept: at once");
  });

  test("what the shards keep each at its own time is acknowledged in the broker's order", () => {
    const { connect, take, commit } = openInbound();
    const acknowledged = connect(false);
    take(1, "a");
    take(2, "b", false, "e");
    take(3, "c", false, "e");
    take(4, "nobody's", false, "d/x");
    take(5, "d");
    commit(other.id);
    assert.equal(acknowledged, [], "the first one is not kept");
    commit(device.id);
    assert.equal(acknowledged, [1, 2, 3, 4, 5]);
    take(6, "e", false, "e");
    commit();
    assert.equal(acknowledged, [1, 2, 3, 4, 5, 6]);
  });

  test("what is never acknowledged takes no place behind one that waits for long", () => {
    const { link, acknowledged } = fakeLink();
    const acks = new OrderedAcks(link, () => undefined);
    const kept = acks.awaitKept(1);
    assert.is(acks.awaitKept(0), acks.awaitKept(0), "nothing is made for it");
    acks.awaitKept(0)();
    acks.answer(0);
    acks.answer(2);
    assert.equal(acknowledged, []);
    kept();
    assert.equal(acknowledged, [1, 2]);
  });

  test("a third link while the disk still waits: only the last one is answered", () => {
    const { connect, take, commit, texts } = openInbound();
    const links = [connect(false)];
    take(1, "a");
    for (let i = 0; i < 2; i++) {
      links.push(connect(true));
      take(1, "a", true);
    }
    commit();
    assert.equal([links, texts()], [[[], [], [1]], ["a"]]);
  });

  test("known of an earlier run, and sent again on the next link too: still one event", async () => {
    const { connect, take, commit, texts } = openInbound({ before: [[1, "a"]] });
    const first = connect(true);
    take(1, "a", true);
    await settled();
    take(2, "b");
    assert.equal(first, [1]);
    const second = connect(true);
    take(1, "a", true);
    take(2, "b", true);
    commit();
    await settled();
    assert.equal([second, texts()], [[1, 2], ["b"]]);
  });

  test("a device that is found when the link has gone: the next link brings the message", async () => {
    let found: (entry: DeviceEntry) => void = () => undefined;
    const slow = new Promise<DeviceEntry>((resolve) => {
      found = resolve;
    });
    const { connect, take, commit, texts } = openInbound({ find: () => slow });
    const first = connect(false);
    take(1, "a");
    const second = connect(true);
    take(1, "a", true);
    found(device);
    await settled();
    commit();
    assert.equal([first, second, texts()], [[], [1], ["a"]]);
  });

  test("one that is closed takes nothing more of what waits: another may have been sent it by then", async () => {
    let found: (entry: DeviceEntry) => void = () => undefined;
    const slow = new Promise<DeviceEntry>((resolve) => {
      found = resolve;
    });
    const { connect, take, end, texts } = openInbound({ find: () => slow });
    const acknowledged = connect(false);
    take(1, "a");
    take(2, "b");
    end();
    take(3, "c");
    found(device);
    await settled();
    assert.equal([acknowledged, texts()], [[], []]);
  });

  test("what brings much about waits for its tenant's turn, in its order, and gives it back with its commit", async () => {
    const { connect, take, commit, texts, work } = openInbound({ cost: workMax / 2 });
    const acknowledged = connect(false);
    take(1, "a");
    take(2, "b");
    await settled();
    assert.equal(texts(), ["a"], "the second one waits for the commit of the first");
    assert.is(work.take(2, 1), true, "another tenant does not wait for what is light");
    work.give(2, 1);
    commit();
    await settled();
    commit();
    assert.equal(
      [texts(), acknowledged],
      [
        ["a", "b"],
        [1, 2],
      ],
    );
    assert.is(work.take(1, workMax), true, "all of it has been given back");
  });

  test("what goes on to clients bears the time at which it came, not that of the commit", () => {
    const { connect, take, commit, published, clock } = openInbound();
    connect(false);
    take(1, "a");
    clock.now = 9000;
    commit();
    assert.equal(published, [{ text: "a", at: 1000 * 1000 }]);
  });
});

suite("what an earlier run took from a broker", (test) => {
  const second = 1e6;
  const start = 1_700_000_000 * second;
  const record = (id: number, seconds: number, fields: Partial<UplinkRecord> = {}): JournalRecord => {
    const common = { session, connection: 0, messageID: id, payload: Buffer.from(String(id)) };
    return journalRecord(id, start + seconds * second, { ...common, ...fields });
  };
  const takenOf = async (records: readonly JournalRecord[], lastID: number) => {
    const history = async function* () {
      yield* [...records].reverse();
    };
    const taken = await takenByEarlierRun(history, 7, session, { lastID });
    return [...taken].map((key) => Number(key.split(" ")[0])).sort((a, b) => a - b);
  };

  test("its last 60 s count from its own last message, however long the run went on without the broker", async () => {
    const elsewhere = { session: 99, connection: 50 };
    const connect = journalRecord(5, start + 4000 * second, { kind: recordKinds.connect, session: 99 });
    const all = [
      ...[record(1, 0), record(2, 100), record(3, 130), record(4, 130, { qos: 0 })],
      ...[connect, record(6, 4100, elsewhere), record(7, 4200)],
    ];
    assert.equal(await takenOf(all, 6), [2, 3]);
  });

  test("more than a connection may have open: each connection that takes up the session adds as many", async () => {
    const messages = 3 * brokerReceiveMaximum;
    const all = Array.from({ length: messages }, (_, i) => record(i + 1, i / 1000));
    assert.is((await takenOf(all, messages)).length, messages);
  });
});

suite("commands through a broker, in order", (test) => {
  /** CONNACK with a receive maximum. */
  const accepted = (receiveMaximum: number) => {
    const body = Buffer.from([1, 0, 3, 0x21, receiveMaximum >> 8, receiveMaximum & 255]);
    const packet = readRare(0x20, body);
    if (packet.cmd !== "connack") throw new Error(packet.cmd);
    return packet;
  };
  const outboundAt = (now: () => number, onFault: (error: Error) => void = () => undefined) =>
    createOutbound({ now, onSent: () => undefined, onFault });
  const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString().slice(-1);
  const command = (text: string, qos: 0 | 1 = 1) =>
    ({ topic: "inbox", payload: Buffer.from(text), qos, ttl: 60 }) as const;

  test("what was sent when the link broke has failed and never goes again; what was not goes on the next", () => {
    const outbound = outboundAt(() => 1000);
    const results: [string, boolean][] = [];
    const send = (text: string) =>
      outbound.send("d", command(text), (acknowledged) => results.push([text, acknowledged]));
    const first = fakeLink();
    outbound.begin(first.link, accepted(2));
    assert.equal(["a", "b", "c"].map(send), ["awaited", "awaited", "awaited"]);
    assert.equal(first.pushed.map(textOf), ["a", "b"]);
    outbound.end();
    assert.is(outbound.isUp, false);
    assert.equal(results, [
      ["a", false],
      ["b", false],
    ]);
    const second = fakeLink();
    outbound.begin(second.link, accepted(2));
    assert.equal(second.pushed.map(textOf), ["c"]);
    outbound.acknowledged(3, 0);
    assert.equal(results.at(-1), ["c", true]);
  });

  test("a command that cannot be encoded has failed alone; those around it go", () => {
    const faults: string[] = [];
    const outbound = outboundAt(
      () => 1000,
      (error) => faults.push(error.message),
    );
    const { link, pushed } = fakeLink();
    outbound.begin(link, accepted(20));
    const ended: boolean[] = [];
    const settled = (acknowledged: boolean) => void ended.push(acknowledged);
    // More seconds than four bytes hold.
    const bad = (qos: 0 | 1) => ({ ...command("bad", qos), ttl: 2 ** 33 });
    assert.is(outbound.send("d", bad(0), settled), "none");
    assert.is(outbound.send("d", bad(1), settled), "awaited");
    assert.is(outbound.send("d", command("a"), settled), "awaited");
    assert.equal([ended, faults.length, pushed.map(textOf)], [[false], 2, ["a"]]);
  });

  test("QoS 0 is not taken beyond what the broker can read", () => {
    const outbound = outboundAt(() => 1000);
    const { link, pushed, state } = fakeLink();
    outbound.begin(link, accepted(20));
    const send = () => outbound.send("d", command("x", 0), () => undefined);
    assert.is(send(), "sent");
    state.waitingBytes = 17 * 1024 * 1024;
    assert.equal([send(), pushed.length], ["none", 1]);
    state.waitingBytes = 0;
    assert.is(send(), "sent");
  });
});
