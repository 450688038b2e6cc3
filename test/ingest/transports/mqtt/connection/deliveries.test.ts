/** The window over a long queue. */
import { createMeter } from "../../../../../ingest/meter.js";
import { createDelivery } from "../../../../../ingest/sessions/delivery.js";
import {
  createDeviceSessions,
  createSessionState,
  isExpired,
  type Outgoing,
  type Retained,
  type SessionMessage,
} from "../../../../../ingest/sessions/state.js";
import {
  createMqttDeliveries,
  inFlightMax,
} from "../../../../../ingest/transports/mqtt/connection/deliveries.js";
import { nextTurn } from "../../../../../store/lib/scheduling.js";
import { assert, suite } from "../../../../suite.js";

suite("MQTT, deliveries", (test) => {
  function begin(receiveMaximum: number) {
    const outgoing = new Map<number, Outgoing>();
    const sent: number[] = [];
    const deliveries = createMqttDeliveries({ outgoing } as never, {
      writeBuffer: { waitingBytes: 0, push: () => undefined, acknowledge: () => undefined } as never,
      encoder: {
        receiveMaximum,
        encode: ({ messageID }: { messageID: number }) => {
          sent.push(messageID);
          return Buffer.alloc(1);
        },
      } as never,
      meter: createMeter(),
      records: { delivered: (id) => void outgoing.delete(id), received: (_, done) => done() },
      isDue: (message) => !isExpired(message, 0),
      isClosed: () => false,
      markDirty: () => undefined,
      onHandOver: () => undefined,
      onFault: (error) => assert.unreachable(error.message),
      now: () => 0,
    });
    const queue = (messageID: number) => {
      const message = {
        topic: "t",
        payload: Buffer.alloc(1),
        qos: 1 as const,
        retain: false,
        properties: null,
        identifiers: [],
        at: 0,
        messageID,
        sent: false,
        received: false,
        receipt: null,
        settled: undefined,
      } as const;
      outgoing.set(messageID, message);
      return message;
    };
    return { deliveries, sent, queue, outgoing };
  }

  test("a burst of 3,000 to a client with Receive Maximum 20 comes whole, in order, 20 at a time", () => {
    const { deliveries, sent, queue, outgoing } = begin(20);
    const all = Array.from({ length: 3000 }, (_, i) => i + 1);
    for (const id of all) deliveries.send(queue(id));
    assert.is(sent.length, 20);
    for (const id of all) {
      deliveries.acknowledged(id, 0);
      assert.is(sent.length, Math.min(3000, id + 20), "the window moves by one");
    }
    assert.equal([sent, outgoing.size], [all, 0]);
  });

  test("what comes while others wait goes after them, also after a resumption", () => {
    const { deliveries, sent, queue } = begin(65_535);
    for (let id = 1; id <= 250; id++) queue(id);
    deliveries.resume();
    assert.is(sent.length, inFlightMax);
    for (let id = 251; id <= 260; id++) deliveries.send(queue(id));
    for (let id = 1; id <= 260; id++) deliveries.acknowledged(id, 0);
    deliveries.send(queue(261));
    assert.equal(
      sent,
      Array.from({ length: 261 }, (_, i) => i + 1),
    );
  });

  test("retained messages that do not match are looked at in turns, by the dozen", () => {
    const deviceSessions = createDeviceSessions(1, 1, "d");
    const message = { payload: Buffer.alloc(1), properties: null, at: 0 };
    const retained = new Map<string, Retained>();
    for (let i = 0; i < 1000; i++) {
      const qos = i % 2 === 0 ? 0 : 1;
      retained.set(i === 999 ? "found" : `other/${i}`, { ...message, qos: i === 999 ? 0 : qos, order: 0 });
    }
    deviceSessions.retained = retained;
    const queued: SessionMessage[] = [];
    const delivery = createDelivery({
      queue: (_state, one) => queued.push(one) > 0,
      lastRetained: Number.POSITIVE_INFINITY,
    });
    for (const filter of ["found", "#"]) {
      const found: (SessionMessage | null)[] = [];
      const state = createSessionState(1, 1, "c", 1);
      state.link = {
        deliver: () => true,
        send: () => undefined,
        waitingBytes: 0,
        handOver: (messages) => {
          for (let next = messages.next(); next.done !== true; next = messages.next()) found.push(next.value);
        },
      };
      const subscription = { qos: 1, noLocal: false, retainAsPublished: true, retainHandling: 0 } as const;
      const wanted = { filter, subscription: { ...subscription, identifier: null }, known: false, at: 0 };
      delivery.handOver(deviceSessions, state, wanted);
      assert.ok(found.filter((one) => one === null).length >= 15, "it stops between them");
      assert.is(found.filter((one) => one !== null).length, filter === "found" ? 1 : 500 + 1);
    }
    assert.is(queued.length, 499);
    // Between them it is asked whether the turn is over.
    const { deliveries } = begin(1);
    let asked = 0;
    deliveries.handOver([null, null, null, null][Symbol.iterator]());
    deliveries.handOverSome(() => ++asked > 2);
    assert.equal([asked, deliveries.isHandingOver], [3, true]);
  });

  test("thousands that have expired are passed over in turns, and what comes after them goes", async () => {
    const { deliveries, sent, queue, outgoing } = begin(20);
    for (let id = 1; id <= 5000; id++) {
      outgoing.set(id, { ...queue(id), properties: { messageExpiryInterval: 1 }, at: -2e6 });
    }
    queue(5001);
    deliveries.resume();
    assert.is(outgoing.size, 5001 - 500, "so many in the first turn");
    deliveries.send(queue(5002));
    for (let turns = 0; sent.length < 2 && turns < 20; turns++) await nextTurn();
    assert.equal(
      [sent, [...outgoing.keys()]],
      [
        [5001, 5002],
        [5001, 5002],
      ],
    );
  });

  test("one that is settled otherwise while it waits is passed over", () => {
    const { deliveries, sent, queue, outgoing } = begin(1);
    for (let id = 1; id <= 5; id++) deliveries.send(queue(id));
    outgoing.delete(2);
    outgoing.delete(5);
    for (const id of [1, 3, 4]) deliveries.acknowledged(id, 0);
    deliveries.send(queue(6));
    assert.equal(sent, [1, 3, 4, 6]);
  });
});
