/** Messages of the broker on their way from the node that follows it to the one that has the shard. */
import fc from "fast-check";
import { type ByShard, Elsewhere } from "../../ingest/directory/by-shard.js";
import type { DeviceEntry } from "../../ingest/directory/entries.js";
import { messageKey } from "../../ingest/uplinks/redelivery.js";
import type { LocalShard } from "../../src/brokers/local-shard.js";
import { brokerBegin, brokerTake, brokerTaken, type FollowerCall } from "../../src/brokers/shard-calls.js";
import { createShardQueue } from "../../src/brokers/shard-queue.js";
import { createFollowerCalls, type FollowerCalls } from "../../src/brokers/take-for-follower.js";
import { assert, suite } from "../suite.js";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const entryOf = (id: number) => ({ id, device: { tenant: 1 } }) as unknown as DeviceEntry;

interface Kept {
  readonly device: number;
  readonly text: string;
  readonly messageID: number;
  readonly topic: string;
  readonly properties: unknown;
}

/** The lease in the metadata. */
interface SeatRow {
  owner: string;
}

/** A node that may have the shard, until it is killed: what is on the disk stays, and goes where the shard goes. */
function openKeeper(disk: Kept[] = [], seat: SeatRow = { owner: "1" }) {
  const published: string[] = [];
  const state = { isFull: false, followers: 0, isStuck: false, moved: new Set<number>() };
  /** On their way to the disk. */
  const stuck: (() => void)[] = [];
  let shard: (LocalShard & { close(): void }) | null = null;

  function openShard(): LocalShard & { close(): void } {
    const closed = new AbortController();
    const keep = (one: Kept, done: () => void): void => {
      const put = (): void => {
        if (closed.signal.aborted) return;
        disk.push(one);
        done();
      };
      if (state.isStuck) stuck.push(put);
      else setImmediate(put);
    };
    return {
      number: 3,
      accept: {
        uplink: ({ device }, { payload, messageID, topic, properties }, _refused, done) =>
          keep(
            { device: device.id, text: String(payload), messageID, topic, properties },
            done ?? (() => undefined),
          ),
      },
      registry: {
        publish: ({ payload }) => void published.push(String(payload)),
        publishCost: () => 0,
      },
      work: { room: async () => undefined, give: () => undefined },
      takenBefore: async (device) => {
        await turn();
        await turn();
        const own = disk.filter((one) => one.device === device);
        return new Set(own.map(({ text, ...one }) => messageKey({ ...one, payload: Buffer.from(text) })));
      },
      isFull: () => state.isFull,
      closed: closed.signal,
      close: () => closed.abort(),
    };
  }

  const start = (): FollowerCalls =>
    createFollowerCalls({
      shards: {
        of: async ({ id }: DeviceEntry) =>
          shard === null || state.moved.has(id) ? new Elsewhere(2, 4) : shard,
        get all() {
          return shard === null ? [] : [shard];
        },
      } as unknown as ByShard<LocalShard>,
      directory: { get: async (id) => (id === deleted ? undefined : entryOf(id)) },
      isSeated: async (owner) => {
        await turn();
        return owner === seat.owner;
      },
      onFollower: () => {
        state.followers++;
      },
      now: () => 0,
    });
  shard = openShard();
  let calls = start();
  return {
    disk,
    published,
    state,
    seat,
    /** The shard goes elsewhere: what is on its way to the disk is lost, or still comes to it unnoticed. */
    give: () => {
      for (const put of stuck.splice(0, Math.ceil(stuck.length / 2))) put();
      stuck.length = 0;
      shard?.close();
      shard = null;
    },
    receive: () => {
      shard = openShard();
    },
    /** Another process with the same disk. */
    restart: () => {
      shard?.close();
      shard = openShard();
      calls = start();
    },
    move: () => {
      state.isStuck = false;
      for (const put of stuck.splice(0)) put();
    },
    answer: async (call: FollowerCall): Promise<unknown> => {
      const body: unknown = JSON.parse(JSON.stringify(call));
      const one = [brokerBegin, brokerTake, brokerTaken].find((form) => form.safeParse(body).success);
      return JSON.parse(JSON.stringify(await calls.answer((one ?? brokerTake).parse(body))));
    },
  };
}

const deleted = 99;

/** @param term as the lease's owner as well */
function follow(call: (call: FollowerCall) => Promise<unknown>, term = 1) {
  const ended = new AbortController();
  const refused: number[] = [];
  /** What waits still, each time that some has been kept. */
  const rooms: number[] = [];
  const shard = createShardQueue({
    shard: 3,
    seat: { owner: String(term), term },
    session: 7,
    call,
    signal: ended.signal,
    sleep: turn,
    onRefused: (device) => refused.push(device),
    onKept: () => rooms.push(shard.waiting),
    onTrouble: () => undefined,
  });
  const done: string[] = [];
  return {
    done,
    refused,
    rooms,
    shard,
    ended,
    send: (device: number, messageID: number, text: string, more: object = {}) => {
      const origin = { device: entryOf(device), connection: 0, session: 7, ip: "" };
      const plain = { topic: "data", qos: 1, dup: false, retain: false, properties: null, messageID };
      shard.accept.uplink(origin, { ...plain, payload: Buffer.from(text), ...more }, false, () =>
        done.push(text),
      );
    },
  };
}

async function until(condition: () => boolean): Promise<void> {
  for (let turns = 0; !condition(); turns++) {
    if (turns > 50_000) throw new Error("it does not come");
    await turn();
  }
}

suite("messages of a broker for the node that has their shard", (test) => {
  test("are kept there in their order with all that belongs to them, then acknowledged", async () => {
    const keeper = openKeeper();
    const { send, done } = follow(keeper.answer);
    const properties = { contentType: "x", correlationData: Buffer.from("c"), userProperties: [["a", "b"]] };
    send(1, 11, "first", { properties });
    for (let n = 0; n < 1200; n++) send(2, 1000 + n, `${n}`);
    send(deleted, 12, "of a device that is gone");
    await until(() => done.length === 1202);
    assert.equal(keeper.disk[0]?.text, "first");
    const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
    assert.equal(plain(keeper.disk[0]?.properties), plain(properties));
    assert.equal(
      keeper.disk.slice(1).map(({ text }) => text),
      Array.from({ length: 1200 }, (_, n) => `${n}`),
    );
    assert.equal(keeper.published.length, 1201);
  });

  test("none is acknowledged before it is on the disk; a full node takes nothing", async () => {
    const keeper = openKeeper();
    const { send, done, refused } = follow(keeper.answer);
    keeper.state.isStuck = true;
    send(1, 1, "a");
    for (let turns = 0; turns < 20; turns++) await turn();
    assert.equal(done, []);
    keeper.move();
    await until(() => done.length === 1);
    keeper.state.isFull = true;
    send(1, 2, "b");
    for (let turns = 0; turns < 20; turns++) await turn();
    assert.equal(keeper.disk.length, 1);
    assert.equal([...new Set(refused)], [1], "it receives whose message is not taken");
    keeper.state.isFull = false;
    await until(() => done.length === 2);
  });

  test("what the broker sends again is kept unless it is there, and keeps its place", async () => {
    const keeper = openKeeper();
    const before = follow(keeper.answer, 1);
    before.send(1, 1, "a");
    before.send(1, 2, "b");
    await until(() => before.done.length === 2);
    const { send, done } = follow(keeper.answer, 2);
    for (const [n, text] of ["a", "b", "c"].entries()) send(1, n + 1, text, { dup: true });
    send(1, 4, "d");
    send(1, 5, "e", { dup: true });
    send(1, 6, "f");
    await until(() => done.length === 6);
    assert.equal(
      keeper.disk.map(({ text }) => text),
      ["a", "b", "c", "d", "e", "f"],
    );
  });

  test("whatever calls and answers are lost, each is there once, in the order of its device", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("good", "good", "unheard", "unanswered", "killed", "full"), {
          maxLength: 40,
        }),
        fc.integer({ min: 1, max: 30 }),
        async (fates, count) => {
          const keeper = openKeeper();
          const left = [...fates];
          const { send, done } = follow(async (call) => {
            const fate = left.shift() ?? "good";
            if (fate === "unheard") throw new Error("unheard");
            keeper.state.isFull = fate === "full";
            const answer = await keeper.answer(call);
            if (fate === "killed") keeper.restart();
            if (fate === "unanswered" || fate === "killed") throw new Error(fate);
            return answer;
          });
          for (let n = 0; n < count; n++) {
            send(1 + (n % 2), n + 1, `${n}`);
            if (n % 3 === 0) await turn();
          }
          await until(() => done.length === count);
          for (const device of [1, 2]) {
            const texts = keeper.disk.filter((one) => one.device === device).map(({ text }) => Number(text));
            const sent = Array.from({ length: count }, (_, n) => n).filter((n) => 1 + (n % 2) === device);
            assert.equal(texts, sent);
          }
        },
      ),
      { numRuns: 150, endOnFailure: true },
    ));

  test("a message of a device that has moved is refused, and a message that was kept before is not sent after it", async () => {
    const keeper = openKeeper();
    let isHeard = true;
    const { send, done, refused } = follow(async (call) => {
      const answer = await keeper.answer(call);
      if (!isHeard && call.call === "brokerTake") throw new Error("unheard");
      return answer;
    });
    isHeard = false;
    send(1, 1, "kept, and not told");
    await until(() => keeper.disk.length === 1);
    send(1, 2, "not kept");
    send(2, 3, "of another device");
    keeper.state.moved.add(1);
    isHeard = true;
    await until(() => refused.length > 0);
    assert.equal([done, refused[0], keeper.disk.length], [["kept, and not told"], 1, 1]);
    keeper.state.moved.clear();
    await until(() => done.length === 3);
  });

  test("it receives how many wait, of QoS 0 too, and when fewer do", async () => {
    const keeper = openKeeper();
    const { send, shard, rooms } = follow(keeper.answer);
    keeper.state.isStuck = true;
    for (let n = 0; n < 600; n++) send(1, 0, `${n}`, { qos: 0 });
    assert.equal([shard.waiting, rooms], [600, []]);
    for (let turns = 0; turns < 20; turns++) await turn();
    keeper.move();
    await until(() => shard.waiting === 0);
    assert.equal(rooms.at(-1), 0);
  });

  test("no call is longer than a node takes, however much the messages have besides their payloads", async () => {
    const keeper = openKeeper();
    const lengths: number[] = [];
    const { send, done } = follow((call) => {
      lengths.push(JSON.stringify(call).length);
      return keeper.answer(call);
    });
    const properties = { userProperties: [["a", "b".repeat(6000)]] };
    for (let n = 0; n < 500; n++) send(1, n + 1, `${n}`, { properties });
    await until(() => done.length === 500);
    assert.ok(Math.max(...lengths) < 512 * 1024, `${Math.max(...lengths)} bytes`);
  });

  test("each message of a shard that goes from node to node, with late calls, is there once, in the order of its device", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("good", "good", "unanswered", "late", "moves", "moves stuck", "killed"), {
          maxLength: 40,
        }),
        fc.integer({ min: 1, max: 30 }),
        async (fates, count) => {
          const disk: Kept[] = [];
          const nodes = [openKeeper(disk), openKeeper(disk)] as const;
          nodes[1].give();
          let holder: 0 | 1 = 0;
          /** Calls of some time ago: they reach the node that they were sent to. */
          const late: (() => Promise<unknown>)[] = [];
          const move = (): void => {
            const node = nodes[holder];
            node.give();
            node.state.isStuck = false;
            holder = holder === 0 ? 1 : 0;
            nodes[holder].receive();
          };
          const left = [...fates];
          const { send, done } = follow(async (call) => {
            const fate = left.shift() ?? "good";
            const node = nodes[holder];
            if (fate === "late") {
              late.push(() => node.answer(call).catch(() => undefined));
              throw new Error(fate);
            }
            if (fate === "moves stuck") node.state.isStuck = true;
            const answering = node.answer(call);
            answering.catch(() => undefined);
            if (fate.startsWith("moves")) {
              for (let turns = 0; turns < 5; turns++) await turn();
              move();
            }
            const answer = await answering;
            if (fate === "killed") node.restart();
            // What is answered now may find any of those on their way.
            void late.shift()?.();
            if (fate === "unanswered" || fate === "killed") throw new Error(fate);
            return answer;
          });
          for (let n = 0; n < count; n++) {
            send(1 + (n % 2), n + 1, `${n}`);
            if (n % 3 === 0) await turn();
          }
          await until(() => done.length === count);
          await Promise.all(late.map((come) => come()));
          for (const device of [1, 2]) {
            const texts = disk.filter((one) => one.device === device).map(({ text }) => Number(text));
            const sent = Array.from({ length: count }, (_, n) => n).filter((n) => 1 + (n % 2) === device);
            assert.equal(texts, sent);
          }
        },
      ),
      { numRuns: 300, endOnFailure: true },
    ));

  test("what comes late of one that another has followed is not taken", async () => {
    const keeper = openKeeper();
    const late: (() => void)[] = [];
    let isLate = false;
    const before = follow(async (call) => {
      if (isLate) await new Promise<void>((resolve) => late.push(resolve));
      return keeper.answer(call);
    }, 1);
    before.send(1, 1, "a");
    await until(() => before.done.length === 1);
    isLate = true;
    before.send(1, 2, "b");
    keeper.seat.owner = "2";
    const now = follow(keeper.answer, 2);
    now.send(1, 2, "b");
    await until(() => now.done.length === 1);
    assert.is(keeper.state.followers, 2);
    for (let turns = 0; turns < 50; turns++) {
      late.shift()?.();
      await turn();
    }
    assert.equal([before.done, keeper.disk.map(({ text }) => text)], [["a"], ["a", "b"]]);
    before.ended.abort();
  });

  test("a node that knows of no follower yet, as after its start, asks who has the seat", async () => {
    const keeper = openKeeper();
    keeper.seat.owner = "2";
    const before = follow(keeper.answer, 1);
    before.send(1, 1, "a");
    for (let turns = 0; turns < 50; turns++) await turn();
    assert.equal([keeper.disk, keeper.state.followers], [[], 0]);
    const now = follow(keeper.answer, 2);
    now.send(1, 1, "a");
    await until(() => now.done.length === 1);
    for (let turns = 0; turns < 50; turns++) await turn();
    assert.equal([before.done, keeper.disk.length], [[], 1]);
    before.ended.abort();
  });
});
