import fc from "fast-check";
import { createMeter } from "../../../ingest/meter.js";
import {
  outgoingBytesMax,
  retainedBytesMax,
  retainedMessagesMax,
  sessionBounds,
  sessionsPerDeviceMax,
} from "../../../ingest/sessions/bounds.js";
import { createChanges } from "../../../ingest/sessions/changes.js";
import { ownBytesFree } from "../../../ingest/sessions/held-bytes.js";
import { createSessionRegistry } from "../../../ingest/sessions/session-registry.js";
import type { SessionState } from "../../../ingest/sessions/state.js";
import { unreleasedBytes } from "../../../ingest/sessions/weights.js";
import type { MessageProperties } from "../../../store/journal/message.js";
import { assert, suite } from "../../suite.js";
import { heldIn, subscription } from "./support.js";

/** Spaces in which clients are away for an hour, subscribed to everything. */
function begin(bounds = sessionBounds) {
  const meter = createMeter();
  const registry = createSessionRegistry(createChanges(), meter, [], bounds);
  let connections = 0;
  const dropped = (reason: "queue_full" | "retained_full" | "session_room") => meter.dropped.get(reason) ?? 0;
  const away = (clientID: string, device = 1, tenant = 1) => {
    const connection = ++connections;
    const at = connection * 1e6;
    const { state } = registry.connect({
      tenant,
      device,
      deviceID: `d${device}`,
      clientID,
      session: connection,
      connection,
      at,
      cleanStart: false,
      expiry: 3600,
      will: null,
      ip: "",
      keepAlive: 0,
    });
    registry.subscribe(state, "#", subscription({ qos: 2 }), at);
    registry.disconnect({ device, connection, at, orderly: true, expiry: null, ofEarlierRun: false });
    return state;
  };
  const publish = (
    topic: string,
    bytes: number,
    fields: { qos?: number; retain?: boolean; properties?: MessageProperties } = {},
    device = 1,
  ) =>
    registry.publish({
      device,
      session: -1,
      topic,
      payload: Buffer.alloc(bytes),
      qos: 1,
      retain: false,
      properties: null,
      at: 0,
      ...fields,
    });
  return { registry, dropped, away, publish };
}

const kibi = 1024;
const outgoingMessagesMax = 500;

suite("bounds of sessions", (test) => {
  test("so many messages wait; the next is not taken and counted, until there is room", () => {
    const { registry, dropped, away, publish } = begin({ ...sessionBounds, outgoingMessagesMax });
    const state = away("a");
    for (let i = 0; i < outgoingMessagesMax; i++) publish(`${i}`, 1);
    assert.equal([state.outgoing.size, dropped("queue_full")], [outgoingMessagesMax, 0]);
    for (const qos of [1, 2, 0]) publish("more", 1, { qos });
    assert.equal([state.outgoing.size, dropped("queue_full")], [outgoingMessagesMax, 2]);
    const [[first = 0] = []] = state.outgoing;
    registry.delivered(state, first);
    publish("again", 1);
    assert.equal([...state.outgoing.values()].at(-1)?.topic, "again");
    assert.is([...state.outgoing.values()][0]?.topic, "1", "the oldest ones stay");
  });

  test("and so many bytes, of each session by itself", () => {
    const { dropped, away, publish } = begin();
    const [one, two] = [away("a"), away("b", 2)];
    for (let i = 0; i < 20; i++) publish("x", 256 * kibi);
    publish("x", 256 * kibi, {}, 2);
    assert.ok(one.outgoingBytes <= outgoingBytesMax && one.outgoingBytes > outgoingBytesMax - 300 * kibi);
    assert.equal([one.outgoing.size, two.outgoing.size, dropped("queue_full")], [15, 1, 5]);
    publish("x", 100);
    assert.is(one.outgoing.size, 16, "a small one fits");
  });

  test("so many retained messages and bytes; others are delivered, not kept, and counted", () => {
    const { registry, dropped, away, publish } = begin();
    const state = away("a");
    const retained = () => registry.get(1)?.retained.size;
    for (let i = 0; i < retainedMessagesMax + 1; i++) publish(`${i}`, 1, { retain: true, qos: 0 });
    assert.equal([retained(), dropped("retained_full")], [retainedMessagesMax, 1]);
    publish("0", 5, { retain: true, qos: 0 });
    publish("1", 0, { retain: true, qos: 0 });
    publish("new", 1, { retain: true, qos: 0 });
    assert.equal([retained(), dropped("retained_full")], [retainedMessagesMax, 1], "in the place of others");
    for (let i = 10; i < 20; i++) publish(`${i}`, 256 * kibi, { retain: true });
    assert.ok((registry.get(1)?.retainedBytes ?? 0) <= retainedBytesMax);
    assert.equal([state.outgoing.size, dropped("retained_full")], [10, 9]);
  });

  test("a ninth session takes the place of the one that is away longest", () => {
    const { registry, dropped, away } = begin();
    for (let i = 0; i < sessionsPerDeviceMax; i++) away(`c${i}`);
    away("c0");
    assert.is(dropped("session_room"), 0);
    away("new");
    const left = [...(registry.get(1)?.sessions.keys() ?? [])].sort();
    assert.equal(
      [left.length, left.includes("c0"), left.includes("c1")],
      [sessionsPerDeviceMax, true, false],
    );
    assert.is(dropped("session_room"), 1);
  });

  test("a burst of 3,000 waits whole, and comes in its order", () => {
    const { dropped, away, publish } = begin();
    const state = away("a");
    for (let i = 0; i < 3000; i++) publish(`burst/${i}`, 100);
    assert.equal(
      [...state.outgoing.values()].map(({ topic }) => topic),
      Array.from({ length: 3000 }, (_, i) => `burst/${i}`),
    );
    assert.is(dropped("queue_full"), 0);
  });

  test("properties and long topics count, and so does each copy", () => {
    const { registry, dropped, away, publish } = begin();
    const [one, two] = [away("a"), away("b")];
    const userProperties = Array.from({ length: 100 }, (_, i) => [`${i}`, "x".repeat(100)] as const);
    while (dropped("queue_full") === 0) {
      publish("t".repeat(1000), 1, { properties: { userProperties, correlationData: Buffer.alloc(1000) } });
    }
    // A hundred pairs of 100 characters take 20,000 bytes and more, whatever the payload.
    assert.ok(one.outgoing.size < outgoingBytesMax / 20_000, `${one.outgoing.size} messages`);
    assert.ok(one.outgoing.size > outgoingBytesMax / 50_000, `${one.outgoing.size} messages`);
    assert.is(two.outgoingBytes, one.outgoingBytes);
    assert.is(registry.held.of(1), one.outgoingBytes + two.outgoingBytes);
  });

  test("retained messages count by their properties as well", () => {
    const { registry, dropped, publish, away } = begin();
    away("a");
    const properties = { contentType: "x".repeat(10_000) };
    for (let i = 0; dropped("retained_full") === 0; i++) publish(`${i}`, 1, { retain: true, properties });
    assert.ok((registry.get(1)?.retained.size ?? 0) <= retainedBytesMax / 20_000);
    assert.ok((registry.get(1)?.retainedBytes ?? 0) <= retainedBytesMax);
  });

  test("where more is retained than there may be, by how an earlier version counted, values go on in their places", () => {
    const { registry, dropped, away, publish } = begin();
    away("a");
    for (let i = 0; i < 10; i++) publish(`${i}`, 100, { retain: true });
    const deviceSessions = registry.get(1);
    assert.ok(deviceSessions);
    deviceSessions.retainedBytes += retainedBytesMax;
    publish("3", 99, { retain: true });
    assert.is(deviceSessions.retained.get("3")?.payload.length, 99);
    publish("4", 101, { retain: true });
    assert.is(deviceSessions.retained.get("4")?.payload.length, 100, "nothing grows");
    assert.is(dropped("retained_full"), 1);
    deviceSessions.retainedBytes -= retainedBytesMax;
  });

  test("one tenant's full queues cost another nothing, and leave room to newcomers", () => {
    const heldBytesMax = 16 * 1024 * kibi;
    const { registry, dropped, away, publish } = begin({ ...sessionBounds, heldBytesMax });
    for (let device = 1; dropped("queue_full") === 0; device++) {
      away("a", device);
      for (let i = 0; i < 15; i++) publish("x", 250 * kibi, {}, device);
    }
    const first = registry.held.of(1);
    assert.ok(first > 0.8 * heldBytesMax && first <= (7 / 8) * heldBytesMax, `${first} bytes`);
    const full = dropped("queue_full");
    for (let tenant = 2; tenant < 7; tenant++) {
      const state = away("a", 1000 + tenant, tenant);
      publish("x", 250 * kibi, {}, 1000 + tenant);
      assert.is(state.outgoing.size, 1, `tenant ${tenant}`);
    }
    assert.is(dropped("queue_full"), full);
    publish("x", 250 * kibi);
    assert.is(dropped("queue_full"), full + 1, "the one at its limit gets no more");
  });

  test("what sessions take themselves counts beyond what each has free: subscriptions, wills, packet ids", () => {
    const { registry, away } = begin();
    const state = away("a");
    assert.is(registry.held.of(1), 0);
    for (let i = 0; i < 100; i++) registry.subscribe(state, `${i}/${"x".repeat(200)}`, subscription(), 0);
    const filters = registry.held.of(1);
    assert.ok(filters > 100 * 400 - ownBytesFree, `${filters} bytes`);
    for (let id = 1; id <= 10; id++) registry.took(state, id);
    registry.took(state, 1);
    assert.is(registry.held.of(1), filters + 10 * unreleasedBytes);
    for (let id = 1; id <= 10; id++) registry.released(state, id);
    registry.released(state, 1);
    assert.is(registry.held.of(1), filters);
    const will = { topic: "w", payload: Buffer.alloc(9000), qos: 1, retain: false, delay: 60 } as const;
    const ids = { tenant: 1, device: 1, deviceID: "d1", clientID: "a", session: 1, ip: "", keepAlive: 0 };
    const said = { cleanStart: false, expiry: 3600, will: { ...will, properties: null } };
    registry.connect({ ...ids, ...said, connection: 9, at: 2e6 });
    const withWill = registry.held.of(1);
    assert.ok(withWill > filters + 9000);
    const end = { device: 1, connection: 9, at: 3e6, expiry: null, ofEarlierRun: false };
    registry.disconnect({ ...end, orderly: false });
    assert.is(registry.held.of(1), withWill, "it waits to be published");
    registry.willPublished(1, 9);
    assert.is(registry.held.of(1), filters);
    registry.forget(1);
    assert.is(registry.held.total, 0);
  });

  test("a message that does not fit takes its packet id, so that other bounds at a replay move none", () => {
    const lastIDs = [3, 10].map((outgoingMessagesMax) => {
      const { away, publish } = begin({ ...sessionBounds, outgoingMessagesMax });
      const state = away("a");
      for (let i = 0; i < 8; i++) publish("x", 1);
      return [state.outgoing.size, state.lastMessageID];
    });
    assert.equal(lastIDs, [
      [3, 8],
      [8, 8],
    ]);
  });

  test("whatever is taken is given back, once", () => {
    const step = fc.record({
      do: fc.constantFrom(
        ...(["connect", "clean", "leave", "break", "subscribe", "unsubscribe", "publish", "retain"] as const),
        ...(["took", "released", "delivered", "platform", "published", "expire", "forget"] as const),
      ),
      device: fc.integer({ min: 1, max: 3 }),
      client: fc.constantFrom("a", "b"),
      n: fc.nat(4),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        // So little that bounds are met.
        const registry = createSessionRegistry(createChanges(), createMeter(), [], {
          outgoingMessagesMax: 5,
          heldBytesMax: 30_000,
        });
        /** Also those that are over: what is on its way to the disk comes after their end. */
        const states: SessionState[] = [];
        const tenantOf = (device: number) => (device === 3 ? 2 : 1);
        for (const [i, { do: what, device, client, n }] of steps.entries()) {
          const at = i * 1e6;
          const state = states[(n + i) % Math.max(1, states.length)];
          const filter = `f${n}/${"x".repeat(1500)}`;
          if (what === "connect" || what === "clean") {
            const ids = { tenant: tenantOf(device), device, deviceID: `d${device}`, clientID: client };
            const will = {
              topic: "w",
              payload: Buffer.alloc(n * 1000),
              qos: 1,
              retain: false,
              delay: 9,
            } as const;
            const expiry = n === 0 ? 0 : 20;
            const said = { cleanStart: what === "clean", expiry, ip: "", keepAlive: 0 };
            const connection = { session: client === "a" ? 1 : 2, connection: i + 1, at };
            const left = n > 2 ? { ...will, properties: { contentType: "text" } } : null;
            states.push(registry.connect({ ...ids, ...said, ...connection, will: left }).state);
          } else if (what === "leave" || what === "break") {
            const connection = state?.connection ?? 0;
            const end = { expiry: null, ofEarlierRun: false, orderly: what === "leave" };
            if (connection > 0 && state !== undefined)
              registry.disconnect({ ...end, device: state.device, connection, at });
          } else if (what === "publish" || what === "retain") {
            const retain = what === "retain";
            const payload = Buffer.alloc(n * 500);
            const properties = n % 2 === 0 ? null : { userProperties: [["k", "v".repeat(n)]] as const };
            const message = { topic: `t${n}`, payload, qos: n % 3, retain, properties, at };
            registry.publish({ ...message, device, session: -1 });
          } else if (what === "published") registry.willPublished(device, i - n);
          else if (what === "expire") void registry.expire(at);
          else if (what === "forget") registry.forget(device);
          else if (state === undefined) continue;
          else if (what === "subscribe")
            registry.subscribe(state, n === 4 ? "#" : filter, subscription(), at);
          else if (what === "unsubscribe") registry.unsubscribe(state, n === 4 ? "#" : filter);
          else if (what === "took") registry.took(state, n);
          else if (what === "released") registry.released(state, n);
          else if (what === "delivered") registry.delivered(state, n);
          else registry.subscribeByPlatform(state, [{ topic: `${filter}/p`, qos: 1 }].slice(n % 2), at);
          for (const tenant of [1, 2]) assert.is(registry.held.of(tenant), heldIn(registry, tenant), what);
        }
        for (const device of [1, 2, 3]) registry.forget(device);
        assert.is(registry.held.total, 0);
      }),
      { numRuns: 500 },
    );
  });

  test("so much over all devices, and what ends frees its part, once", () => {
    const { registry, dropped, away, publish } = begin();
    const each = 250 * kibi;
    const fill = (device: number) => {
      for (let i = 0; i < 16; i++) publish("x", each, {}, device);
    };
    let device = 0;
    while (dropped("queue_full") === 0) {
      away("a", ++device);
      fill(device);
    }
    // One tenant alone gets seven eighths.
    const before = ((7 / 8) * sessionBounds.heldBytesMax) / (each * 16);
    assert.ok(device > before - 1 && device < before + 2, `${device} devices`);
    const state = registry.get(1)?.sessions.get("a");
    const [[id = 0] = []] = state?.outgoing ?? [];
    registry.forget(1);
    if (state !== undefined) registry.delivered(state, id);
    const full = dropped("queue_full");
    away("b", device + 1);
    fill(device + 1);
    const taken = registry.get(device + 1)?.sessions.get("b")?.outgoing.size;
    assert.equal([taken, dropped("queue_full")], [16, full], "as much as was freed");
    const tooMuch = away("c", device + 2);
    fill(device + 2);
    assert.ok(tooMuch.outgoing.size < 16);
  });
});
