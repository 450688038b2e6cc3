/** What an owner has taken of the broker, for the node that reads from the broker next. */
import type { DeviceEntry } from "../../ingest/directory/entries.js";
import { openMax } from "../../ingest/transports/broker/settings.js";
import { messageKey } from "../../ingest/uplinks/redelivery.js";
import { createLocalShard } from "../../src/brokers/local-shard.js";
import type { JournalRecord } from "../../store/journal/record.js";
import { journalRecord } from "../store/journal/support.js";
import { assert, rejects, suite } from "../suite.js";

const session = 7;
const second = 1e6;

/** A shard of one device whose journal is read back, and a clock in seconds. */
function openShard() {
  const records: JournalRecord[] = [];
  const clock = { now: 0 };
  /** What waits for a commit; null: each record is kept at once. */
  let uncommitted: JournalRecord[] | null = null;
  let look: (goesOn: boolean) => void = () => undefined;
  const start = () =>
    createLocalShard({
      number: 3,
      session,
      registry: { publish: () => undefined, publishCost: () => 0 },
      work: { room: async () => undefined, give: () => undefined },
      accept: {
        full: false,
        uplink: ({ connection }, { messageID, payload, qos, topic }, _refused, done) => {
          const at = 1_700_000_000 * second + clock.now * second;
          const fields = { session, connection, messageID, payload: Buffer.from(payload), qos, topic };
          const id = records.length + (uncommitted?.length ?? 0) + 1;
          (uncommitted ?? records).push(journalRecord(id, at, fields));
          if (uncommitted === null) done?.();
        },
      },
      closed: new AbortController().signal,
      journal: {
        waitFor: () =>
          new Promise((resolve) => {
            look = resolve;
          }),
        get appendedID() {
          return records.length + (uncommitted?.length ?? 0);
        },
        get committedID() {
          return records.length;
        },
      },
      history: async function* () {
        yield* [...records].reverse();
      },
    });
  let shard = start();
  const message = (text: string) => ({ topic: "data", payload: Buffer.from(text) });
  return {
    clock,
    holdCommits: () => {
      uncommitted = [];
    },
    commit: () => {
      records.push(...(uncommitted ?? []));
      uncommitted = null;
    },
    /** Wakes those that wait for a commit; false: the journal has closed. */
    wake: (goesOn: boolean) => look(goesOn),
    restart: () => {
      shard = start();
    },
    take: (device: number, messageID: number, text: string) => {
      const origin = { device: { id: device } as DeviceEntry, connection: 0, session, ip: "" };
      const plain = { qos: 1, dup: false, retain: false, properties: null };
      shard.accept.uplink(origin, { ...plain, ...message(text), messageID }, false);
    },
    has: async (device: number, messageID: number, text: string) =>
      (await shard.takenBefore(device)).has(messageKey({ ...message(text), messageID })),
  };
}

suite("messages that an owner has taken of a broker", (test) => {
  test("are known for as long as their acknowledgement may wait for another owner", async () => {
    const { clock, take, has } = openShard();
    take(1, 1, "a");
    clock.now = 100;
    take(1, 2, "b");
    clock.now = 4000;
    take(1, 3, "c");
    assert.equal([await has(1, 1, "a"), await has(1, 2, "b"), await has(1, 3, "c")], [true, true, true]);
    assert.equal([await has(1, 1, "x"), await has(1, 4, "a")], [false, false]);
  });

  test("is forgotten once the broker cannot have it open any more", async () => {
    const { clock, take, has } = openShard();
    take(1, 1, "a");
    take(1, 2, "b");
    clock.now = 100;
    for (let n = 0; n < openMax - 1; n++) take(1, 10 + n, `${n}`);
    assert.equal([await has(1, 1, "a"), await has(1, 2, "b")], [false, true]);
  });

  test("are reported once they are on the disk, also while the journal's log goes away and comes back; not by one that closes", async () => {
    const { take, has, holdCommits, commit, wake } = openShard();
    take(1, 1, "a");
    holdCommits();
    take(1, 2, "b");
    let told = 0;
    const first = has(1, 2, "b").finally(() => told++);
    for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate);
    wake(true);
    for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate);
    assert.is(told, 0);
    commit();
    wake(true);
    assert.is(await first, true);
    holdCommits();
    take(1, 3, "c");
    const second = has(1, 3, "c");
    for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate);
    wake(false);
    await rejects(() => second, /closing/);
  });

  test("is read from the journal after a start", async () => {
    const { restart, take, has } = openShard();
    take(1, 1, "a");
    restart();
    assert.is(await has(1, 1, "a"), true);
  });
});
