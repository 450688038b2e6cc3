import { type DeviceHistory, messageKey, takenBefore } from "../../../ingest/uplinks/redelivery.js";
import type { JournalInput, JournalRecord, UplinkRecord } from "../../../store/journal/record.js";
import {
  encodeDisconnectDetails,
  encodeUplinkDetails,
  plainUplink,
} from "../../../store/journal/record-details.js";
import { recordKinds } from "../../../store/journal/record-kinds.js";
import { journalInput } from "../../store/journal/support.js";
import { assert, suite } from "../../suite.js";

const second = 1e6;
const session = 11;

/** A journal of one device, written as connections would. */
function story() {
  const records: JournalRecord[] = [];
  let clock = 1_700_000_000 * second;
  const add = (input: JournalInput): number => {
    const id = records.length + 1;
    records.push({ ...input, id, receivedAt: clock, stamp: clock });
    return id;
  };
  const history: DeviceHistory = async function* (_device, recordsMax) {
    yield* [...records].reverse().slice(0, recordsMax);
  };
  return {
    wait: (seconds: number) => {
      clock += seconds * second;
    },
    connect: (of = session) => add(journalInput({ kind: recordKinds.connect, session: of })),
    publish: (connection: number, messageID: number, text: string, fields: Partial<UplinkRecord> = {}) =>
      add(journalInput({ session, connection, messageID, payload: Buffer.from(text), ...fields })),
    end: (connection: number, orderly: boolean, of = session, endedAt: number | null = null) =>
      add(
        journalInput({
          kind: recordKinds.disconnect,
          connection,
          session: of,
          orderly,
          details: encodeDisconnectDetails({ expiry: null, endedAt }),
        }),
      ),
    now: () => clock,
    taken: async (connection: number, killedAt = 0): Promise<string[]> => {
      const found = await takenBefore(history, { device: 7, session, connection }, killedAt);
      return [...found].sort();
    },
  };
}

const key = (messageID: number, text: string): string =>
  messageKey({ messageID, topic: "data", payload: Buffer.from(text) });

suite("redelivery", (test) => {
  test("what a broken connection sent is recognised on the next one", async () => {
    const { connect, publish, end, taken } = story();
    const first = connect();
    publish(first, 1, "a");
    publish(first, 2, "b");
    end(first, false);
    assert.equal(await taken(connect()), [key(1, "a"), key(2, "b")]);
  });

  test("also after connections that broke off before their redelivery was through", async () => {
    for (const orderly of [false, null]) {
      const { connect, publish, end, taken, wait, now } = story();
      const first = connect();
      publish(first, 1, "a");
      publish(first, 2, "b");
      publish(first, 3, "c");
      end(first, false);
      wait(3600);
      end(connect(), false);
      wait(1);
      const third = connect();
      publish(third, 3, "new");
      wait(60);
      if (orderly !== null) end(third, orderly);
      assert.equal(await taken(connect(), now()), [key(1, "a"), key(2, "b"), key(3, "new")]);
    }
  });

  test("but not after one that lasted, or that said goodbye", async () => {
    for (const [lasted, orderly] of [
      [60.000001, false],
      [1, true],
    ] as const) {
      const { connect, publish, end, taken, wait } = story();
      const first = connect();
      publish(first, 1, "a");
      end(first, false);
      const next = connect();
      wait(lasted);
      end(next, orderly);
      assert.equal(await taken(connect()), []);
    }
  });

  test("nothing is after an orderly DISCONNECT", async () => {
    const { connect, publish, end, taken } = story();
    const first = connect();
    publish(first, 1, "a");
    end(first, true);
    assert.equal(await taken(connect()), []);
  });

  test("a will that comes hours after the end does not move the end", async () => {
    const { connect, publish, end, taken, wait } = story();
    const first = connect();
    publish(first, 1, "a");
    end(first, false);
    wait(7200);
    publish(first, 0, "gone", { details: encodeUplinkDetails({ ...plainUplink, isWill: true }) });
    assert.equal(await taken(connect()), [key(1, "a")]);
  });

  test("id, topic and payload must be those of the latest message of the id", async () => {
    const { connect, publish, end, taken } = story();
    const first = connect();
    publish(first, 1, "old");
    publish(first, 1, "new");
    publish(first, 2, "c", { topic: "other" });
    end(first, false);
    const found = await taken(connect());
    assert.ok(found.includes(key(1, "new")));
    assert.not.ok(found.includes(key(1, "old")));
    assert.not.ok(found.includes(key(2, "c")), "another topic is another message");
    assert.not.ok(found.includes(key(3, "new")));
  });

  test("only QoS 1 counts", async () => {
    const { connect, publish, end, taken } = story();
    const first = connect();
    publish(first, 0, "a", { qos: 0 });
    publish(first, 1, "b", { qos: 2 });
    publish(first, 2, "c");
    end(first, false);
    assert.equal(await taken(connect()), [key(2, "c")]);
  });

  test("received within 60 s before the end, to the microsecond", async () => {
    const { connect, publish, end, taken, wait } = story();
    const first = connect();
    publish(first, 1, "too old");
    wait(0.000001);
    publish(first, 2, "just in time");
    wait(60);
    end(first, false);
    wait(1000);
    assert.equal(await taken(connect()), [key(2, "just in time")]);
  });

  test("of the last 1,000 messages", async () => {
    const { connect, publish, end, taken } = story();
    const first = connect();
    for (let id = 1; id <= 1001; id++) publish(first, id, "x");
    end(first, false);
    const found = await taken(connect());
    assert.is(found.length, 1000);
    assert.not.ok(found.includes(key(1, "x")));
  });

  test("after a kill the end is the time of the run's last record", async () => {
    const { connect, publish, taken, wait, now } = story();
    const first = connect();
    publish(first, 1, "early");
    wait(59);
    publish(first, 2, "late");
    wait(2);
    const killedAt = now();
    assert.equal(await taken(connect(), killedAt), [key(2, "late")]);
  });

  test("also where the next start has written the end down, however much later", async () => {
    const { connect, publish, end, taken, wait, now } = story();
    const first = connect();
    publish(first, 1, "early");
    wait(59);
    publish(first, 2, "late");
    wait(2);
    const killedAt = now();
    wait(3600);
    end(first, false, session, killedAt);
    assert.equal(await taken(connect(), now()), [key(2, "late")]);
  });

  test("after a kill before the first message there is nothing", async () => {
    const { connect, taken, now } = story();
    connect();
    assert.equal(await taken(connect(), now()), []);
  });

  test("other sessions of the device have no part in it", async () => {
    const { connect, publish, end, taken } = story();
    const own = connect();
    const other = connect(99);
    publish(other, 1, "theirs", { session: 99 });
    publish(own, 2, "ours");
    end(own, false);
    publish(other, 3, "theirs", { session: 99 });
    end(other, true, 99);
    assert.equal(await taken(connect()), [key(2, "ours")]);
  });

  test("payloads that look alike in text are distinguished", () => {
    const keys = [[0xff], [0xfe], [0xef, 0xbf, 0xbd]].map((bytes) =>
      messageKey({ messageID: 1, topic: "t", payload: Uint8Array.from(bytes) }),
    );
    assert.is(new Set(keys).size, 3);
  });
});
