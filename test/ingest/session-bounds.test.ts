import { createMeter } from "../../ingest/meter.js";
import {
  heldBytesMax,
  outgoingBytesMax,
  outgoingMessagesMax,
  retainedBytesMax,
  retainedMessagesMax,
  sessionsPerDeviceMax,
} from "../../ingest/sessions/bounds.js";
import { createChanges } from "../../ingest/sessions/changes.js";
import { createSpaces } from "../../ingest/sessions/spaces.js";
import { assert, suite } from "../suite.js";
import { subscription } from "./session-support.js";

/** Spaces in which clients are away for an hour, subscribed to everything. */
function begin() {
  const meter = createMeter();
  const spaces = createSpaces(createChanges(), meter);
  let connections = 0;
  const dropped = (reason: "queue_full" | "retained_full" | "session_room") => meter.dropped.get(reason) ?? 0;
  const away = (clientID: string, device = 1) => {
    const connection = ++connections;
    const at = connection * 1e6;
    const { state } = spaces.connect({
      ...{ tenant: 1, device, deviceID: `d${device}`, clientID, session: connection, connection, at },
      ...{ cleanStart: false, expiry: 3600, will: null, ip: "", keepAlive: 0 },
    });
    spaces.subscribe(state, "#", subscription({ qos: 2 }), at);
    spaces.disconnect({ device, connection, at, orderly: true, expiry: null, ofEarlierRun: false });
    return state;
  };
  const publish = (
    topic: string,
    bytes: number,
    fields: { qos?: number; retain?: boolean } = {},
    device = 1,
  ) =>
    spaces.publish({
      ...{ device, session: -1, topic, payload: Buffer.alloc(bytes), qos: 1, retain: false },
      ...{ properties: null, at: 0, ...fields },
    });
  return { spaces, dropped, away, publish };
}

const kibi = 1024;

suite("bounds of sessions", (test) => {
  test("so many messages wait; the next is not taken and counted, until there is room", () => {
    const { spaces, dropped, away, publish } = begin();
    const state = away("a");
    for (let i = 0; i < outgoingMessagesMax; i++) publish(`${i}`, 1);
    assert.equal([state.outgoing.size, dropped("queue_full")], [outgoingMessagesMax, 0]);
    for (const qos of [1, 2, 0]) publish("more", 1, { qos });
    assert.equal([state.outgoing.size, dropped("queue_full")], [outgoingMessagesMax, 2]);
    const [[first = 0] = []] = state.outgoing;
    spaces.delivered(state, first);
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
    const { spaces, dropped, away, publish } = begin();
    const state = away("a");
    const retained = () => spaces.get(1)?.retained.size;
    for (let i = 0; i < retainedMessagesMax + 1; i++) publish(`${i}`, 1, { retain: true, qos: 0 });
    assert.equal([retained(), dropped("retained_full")], [retainedMessagesMax, 1]);
    publish("0", 5, { retain: true, qos: 0 });
    publish("1", 0, { retain: true, qos: 0 });
    publish("new", 1, { retain: true, qos: 0 });
    assert.equal([retained(), dropped("retained_full")], [retainedMessagesMax, 1], "in the place of others");
    for (let i = 10; i < 20; i++) publish(`${i}`, 256 * kibi, { retain: true });
    assert.ok((spaces.get(1)?.retainedBytes ?? 0) <= retainedBytesMax);
    assert.equal([state.outgoing.size, dropped("retained_full")], [10, 8]);
  });

  test("a ninth session takes the place of the one that is away longest", () => {
    const { spaces, dropped, away } = begin();
    for (let i = 0; i < sessionsPerDeviceMax; i++) away(`c${i}`);
    away("c0");
    assert.is(dropped("session_room"), 0);
    away("new");
    const left = [...(spaces.get(1)?.sessions.keys() ?? [])].sort();
    assert.equal(
      [left.length, left.includes("c0"), left.includes("c1")],
      [sessionsPerDeviceMax, true, false],
    );
    assert.is(dropped("session_room"), 1);
  });

  test("so much over all devices, and what ends frees its part, once", () => {
    const { spaces, dropped, away, publish } = begin();
    const each = 250 * kibi;
    const fill = (device: number) => {
      for (let i = 0; i < 16; i++) publish("x", each, {}, device);
    };
    let device = 0;
    while (dropped("queue_full") === 0) {
      away("a", ++device);
      fill(device);
    }
    const before = heldBytesMax / (each * 16);
    assert.ok(device > before - 1 && device < before + 2, `${device} devices`);
    const state = spaces.get(1)?.sessions.get("a");
    const [[id = 0] = []] = state?.outgoing ?? [];
    spaces.forget(1);
    if (state !== undefined) spaces.delivered(state, id);
    const full = dropped("queue_full");
    away("b", device + 1);
    fill(device + 1);
    const taken = spaces.get(device + 1)?.sessions.get("b")?.outgoing.size;
    assert.equal([taken, dropped("queue_full")], [16, full], "as much as was freed");
    const tooMuch = away("c", device + 2);
    fill(device + 2);
    assert.ok(tooMuch.outgoing.size < 16);
  });
});
