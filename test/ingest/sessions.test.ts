import type { DeviceEntry } from "../../ingest/directory.js";
import {
  createSessions,
  type Session,
  type Sessions,
  type Settled,
  sessionsPerDeviceMax,
} from "../../ingest/sessions/live.js";
import { assert, suite } from "../suite.js";

interface Fake extends Session {
  readonly got: string[];
  readonly ended: string[];
  readonly subscriptions: Map<string, number>;
  hasInbox: boolean;
  /** Takes nothing: a reader that is too slow. */
  slow: boolean;
  /** Of the messages of QoS 1 and 2, in order. */
  readonly waiting: Settled[];
}

function fake(sessions: Sessions, clientID: string, device = 1, token = "secret"): Fake {
  const session: Fake = {
    clientID,
    token,
    entry: { id: device, device: { deviceID: `d${device}` } } as DeviceEntry,
    subscriptions: new Map(),
    hasInbox: true,
    slow: false,
    waiting: [],
    got: [],
    ended: [],
    deliver: (topic, payload, qos, settled) => {
      if (session.slow) return false;
      session.got.push(`${topic} ${Buffer.from(payload)} ${qos}`);
      if (settled !== undefined) session.waiting.push(settled);
      return true;
    },
    end: (reason) => {
      session.ended.push(reason);
      sessions.close(session);
    },
  };
  return session;
}

const rowOf = (fields: object): DeviceEntry =>
  ({ id: 1, device: { blocked: 0, authType: 1, token: "secret", ...fields } }) as DeviceEntry;

suite("sessions", (test) => {
  test("the same client id takes over, another lives beside it", () => {
    const sessions = createSessions();
    const [first, second, other] = [fake(sessions, "a"), fake(sessions, "a"), fake(sessions, "b")];
    for (const one of [first, other, second]) assert.ok(sessions.open(one));
    assert.equal(first.ended, ["taken_over"]);
    assert.equal(other.ended, []);
    assert.is(sessions.size, 2);
    sessions.close(first);
    assert.is(sessions.size, 2, "the end of what was taken over ends nothing else");
  });

  test("the same client id of another device is another session", () => {
    const sessions = createSessions();
    const [one, two] = [fake(sessions, "a", 1), fake(sessions, "a", 2)];
    assert.ok(sessions.open(one) && sessions.open(two));
    assert.equal(one.ended, []);
  });

  test("so many live side by side; one more is refused, one of them may come again", () => {
    const sessions = createSessions();
    const all = Array.from({ length: sessionsPerDeviceMax }, (_, i) => fake(sessions, `c${i}`));
    for (const one of all) assert.ok(sessions.open(one));
    assert.not.ok(sessions.open(fake(sessions, "ninth")));
    assert.ok(sessions.open(fake(sessions, "c3")));
    assert.is(sessions.size, sessionsPerDeviceMax);
    assert.ok(sessions.open(fake(sessions, "ninth", 2)));
  });

  test("a message reaches its device's subscribers once, at the lower of both QoS", () => {
    const sessions = createSessions();
    const [one, two, elsewhere] = [fake(sessions, "a"), fake(sessions, "b"), fake(sessions, "a", 2)];
    for (const session of [one, two, elsewhere]) sessions.open(session);
    one.subscriptions.set("x/#", 0).set("x/+", 2).set("x/y", 1);
    two.subscriptions.set("z", 2);
    elsewhere.subscriptions.set("#", 2);
    for (const qos of [0, 1, 2]) sessions.publish(1, "x/y", Buffer.from("m"), qos);
    assert.equal(one.got, ["x/y m 0", "x/y m 1", "x/y m 2"]);
    assert.equal([two.got, elsewhere.got], [[], []]);
  });

  test("every session has its inbox, under either name, until it says otherwise", () => {
    const sessions = createSessions();
    const one = fake(sessions, "a");
    sessions.open(one);
    const got = (topic: string, qos = 1) => {
      sessions.publish(1, topic, Buffer.from("m"), qos);
      return one.got.splice(0);
    };
    assert.equal([got("inbox", 2), got("/devices/d1/inbox", 0)], [["inbox m 1"], ["inbox m 0"]]);
    assert.equal([got("/devices/d2/inbox"), got("/devices/d1/inbox/x"), got("inbox/x")], [[], [], []]);
    one.subscriptions.set("#", 0);
    assert.equal([got("inbox"), got("/devices/d1/inbox")], [["inbox m 1"], ["inbox m 1"]], "the higher QoS");
    assert.equal(got("/devices/d2/inbox"), ["/devices/d2/inbox m 0"], "of others it is a plain topic");
    one.subscriptions.clear();
    one.subscriptions.set("/devices/+/inbox", 2);
    one.hasInbox = false;
    assert.equal(
      [got("inbox", 2), got("/devices/d1/inbox", 2)].flat(),
      Array(2).fill("/devices/d1/inbox m 2"),
    );
    one.subscriptions.clear();
    assert.equal(got("inbox"), []);
  });

  test("a command: covered or not, and the first acknowledgement settles it", () => {
    const sessions = createSessions();
    const [one, two, elsewhere] = [fake(sessions, "a"), fake(sessions, "b"), fake(sessions, "a", 2)];
    for (const session of [one, two, elsewhere]) sessions.open(session);
    const ends: boolean[] = [];
    const send = (topic: string, qos: 0 | 1 = 1) =>
      sessions.send(1, { topic, payload: Buffer.from("c"), qos }, (acknowledged) => ends.push(acknowledged));
    assert.equal([sessions.reaches(1, "x"), send("x")], [false, "none"]);
    assert.equal([sessions.reaches(3, "inbox"), sessions.has(3), sessions.has(1)], [false, false, true]);
    assert.equal([sessions.reaches(1, "inbox"), send("inbox")], [true, "awaited"]);
    assert.equal([one.got, two.got, elsewhere.got], [["inbox c 1"], ["inbox c 1"], []]);
    one.waiting[0]?.(false);
    assert.equal(ends, []);
    two.waiting[0]?.(true);
    assert.equal(ends, [true]);

    assert.is(send("inbox"), "awaited");
    two.waiting[1]?.(true);
    one.waiting[1]?.(true);
    assert.equal(ends, [true, true], "once");
    assert.is(send("inbox"), "awaited");
    for (const session of [one, two]) session.waiting[2]?.(false);
    assert.equal(ends, [true, true, false], "both ended without");

    assert.is(send("inbox", 0), "sent");
    one.subscriptions.set("x", 0);
    assert.is(send("x"), "sent", "as low as granted");
    for (const session of [one, two]) session.slow = true;
    assert.equal([send("inbox"), send("x", 0)], ["none", "none"]);
    assert.is(ends.length, 3);
  });

  test("to all clients of a device, subscribed or not", () => {
    const sessions = createSessions();
    const [one, two] = [fake(sessions, "a"), fake(sessions, "b")];
    for (const session of [one, two]) sessions.open(session);
    two.slow = true;
    assert.ok(sessions.sendToAll(1, "/groups/g/inbox", Buffer.from("m")));
    assert.equal([one.got, two.got], [["/groups/g/inbox m 0"], []]);
    one.slow = true;
    assert.not.ok(sessions.sendToAll(1, "/groups/g/inbox", Buffer.from("m")));
    assert.not.ok(sessions.sendToAll(2, "/groups/g/inbox", Buffer.from("m")));
  });

  const thrownOut: readonly (readonly [string, DeviceEntry | undefined, boolean])[] = [
    ["unchanged", rowOf({}), false],
    ["blocked", rowOf({ blocked: 1 }), true],
    ["with another token", rowOf({ token: "other" }), true],
    ["by certificate only", rowOf({ authType: 2 }), true],
    ["deleted", undefined, true],
  ];
  for (const [state, entry, expected] of thrownOut) {
    test(`a device ${state} ${expected ? "is thrown out" : "stays"}`, () => {
      const sessions = createSessions();
      const all = [fake(sessions, "a"), fake(sessions, "b"), fake(sessions, "a", 2)];
      for (const one of all) sessions.open(one);
      sessions.check(1, entry);
      const reasons = expected ? ["thrown_out"] : [];
      assert.equal(
        all.map(({ ended }) => ended),
        [reasons, reasons, []],
      );
    });
  }

  test("ends everybody", async () => {
    const sessions = createSessions();
    const all = Array.from({ length: 1000 }, (_, i) => fake(sessions, "a", i));
    for (const one of all) sessions.open(one);
    await sessions.endAll("shutdown");
    assert.is(sessions.size, 0);
    assert.ok(all.every(({ ended }) => ended.length === 1));
  });
});
