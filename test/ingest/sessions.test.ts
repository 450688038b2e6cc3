import type { DeviceEntry } from "../../ingest/directory.js";
import { createSessions, type Session, type Sessions, sessionsPerDeviceMax } from "../../ingest/sessions.js";
import { assert, suite } from "../suite.js";

interface Fake extends Session {
  readonly got: string[];
  readonly ended: string[];
  readonly subscriptions: Map<string, number>;
}

function fake(sessions: Sessions, clientID: string, device = 1, token = "secret"): Fake {
  const session: Fake = {
    clientID,
    token,
    entry: { id: device } as DeviceEntry,
    subscriptions: new Map(),
    got: [],
    ended: [],
    deliver: (topic, payload, qos) => void session.got.push(`${topic} ${Buffer.from(payload)} ${qos}`),
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
