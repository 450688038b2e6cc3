import type { DeviceEntry } from "../../../ingest/directory/entries.js";
import { createMeter } from "../../../ingest/meter.js";
import { sessionsPerDeviceMax } from "../../../ingest/sessions/bounds.js";
import { createChanges } from "../../../ingest/sessions/changes.js";
import { createConnections, type DeviceConnection } from "../../../ingest/sessions/connections.js";
import { createDownlinks } from "../../../ingest/sessions/downlinks.js";
import { createSessionRegistry } from "../../../ingest/sessions/session-registry.js";
import type { Outgoing, SessionMessage, SessionState } from "../../../ingest/sessions/state.js";
import { createListenerSet } from "../../../store/lib/listeners.js";
import { assert, suite } from "../../suite.js";
import { subscription } from "./support.js";

interface Fake extends DeviceConnection {
  readonly state: SessionState;
  readonly got: string[];
  readonly ended: string[];
  /** Takes nothing: a reader that is too slow. */
  slow: boolean;
  /** Messages of QoS 1 and 2, in order. */
  readonly waiting: Outgoing[];
}

const text = ({ topic, payload, qos }: SessionMessage) => `${topic} ${Buffer.from(payload)} ${qos}`;

function begin() {
  const registry = createSessionRegistry(createChanges(), createMeter());
  let connections = 0;
  const sessions = createConnections({
    registry,
    now: () => 1_800_000_000_000,
  });
  const entries = new Map<number, DeviceEntry>();
  const downlinks = createDownlinks({
    registry,
    // These sessions end with their connections: nothing of theirs is the journal's.
    records: {
      send: () => assert.unreachable("no session outlives its connection"),
      openInbox: () => assert.unreachable("no device of these waits for commands"),
    },
    directory: { peek: (id) => entries.get(id), get: async (id) => entries.get(id) },
    now: () => 1_800_000_000_000,
    onClosed: () => {
      throw new Error("nobody waits for the journal");
    },
  });

  function fake(clientID: string, device = 1, token = "secret"): Fake {
    const ids = { tenant: 1, device, deviceID: `d${device}`, clientID, session: clientID.length };
    const connection = ++connections;
    const { state } = registry.connect({
      ...ids,
      connection,
      at: 0,
      cleanStart: true,
      expiry: 0,
      will: null,
      ip: "",
      keepAlive: 0,
    });
    const session: Fake = {
      clientID,
      username: "u",
      token,
      certificate: null,
      protocol: "mqtt4",
      openedAt: 0,
      state,
      slow: false,
      waiting: [],
      got: [],
      ended: [],
      entry: { id: device, device: { deviceID: `d${device}` } } as DeviceEntry,
      end: (reason) => {
        session.ended.push(reason);
        registry.disconnect({ device, connection, at: 0, orderly: false, expiry: null, ofEarlierRun: false });
        sessions.close(session);
      },
      subscribeByPlatform: () => undefined,
    };
    state.link = {
      deliver: (message) => {
        if (!session.slow) session.got.push(text(message));
        return !session.slow;
      },
      send: (message) => {
        session.got.push(text(message));
        session.waiting.push(message);
      },
      handOver: (messages) => {
        for (let next = messages.next(); next.done !== true; next = messages.next()) {
          if (next.value !== null) session.got.push(text(next.value));
        }
      },
      waitingBytes: 0,
    };
    return session;
  }

  const publish = (device: number, topic: string, qos: number) =>
    registry.publish({
      device,
      session: -1,
      topic,
      payload: Buffer.from("m"),
      qos,
      retain: false,
      properties: null,
      at: 0,
    });
  const subscribe = ({ state }: Fake, filter: string, qos: 0 | 1 | 2) =>
    registry.subscribe(state, filter, subscription({ qos }), 0);
  const settle = ({ state, waiting }: Fake, acknowledged = true) => {
    const first = waiting.shift();
    if (first !== undefined) registry.delivered(state, first.messageID, acknowledged);
  };
  return { registry, sessions, downlinks, entries, fake, publish, subscribe, settle };
}

const rowOf = (fields: object): DeviceEntry =>
  ({
    id: 1,
    device: { blocked: 0, authType: 1, deviceUsername: "u", token: "secret", ...fields },
  }) as DeviceEntry;

suite("sessions", (test) => {
  test("the same client id takes over, another lives beside it", () => {
    const { sessions, fake } = begin();
    const [first, second, other] = [fake("a"), fake("a"), fake("b")];
    for (const one of [first, other, second]) assert.ok(sessions.open(one));
    assert.equal(first.ended, ["taken_over"]);
    assert.equal(other.ended, []);
    assert.is(sessions.size, 2);
    sessions.close(first);
    assert.is(sessions.size, 2, "the end of what was taken over ends nothing else");
  });

  test("the same client id of another device is another session", () => {
    const { sessions, fake } = begin();
    const [one, two] = [fake("a", 1), fake("a", 2)];
    assert.ok(sessions.open(one) && sessions.open(two));
    assert.equal(one.ended, []);
  });

  test("so many live side by side; one more is refused, one of them may come again", () => {
    const { sessions, fake } = begin();
    const all = Array.from({ length: sessionsPerDeviceMax }, (_, i) => fake(`c${i}`));
    for (const one of all) assert.ok(sessions.open(one));
    assert.not.ok(sessions.open(fake("ninth")));
    assert.ok(sessions.open(fake("c3")));
    assert.is(sessions.size, sessionsPerDeviceMax);
    assert.ok(sessions.open(fake("ninth", 2)));
  });

  test("a message reaches its device's subscribers once, at the lower of both QoS", () => {
    const { sessions, fake, publish, subscribe } = begin();
    const [one, two, elsewhere] = [fake("a"), fake("b"), fake("a", 2)];
    for (const session of [one, two, elsewhere]) sessions.open(session);
    subscribe(one, "x/#", 0);
    subscribe(one, "x/+", 2);
    subscribe(one, "x/y", 1);
    subscribe(two, "z", 2);
    subscribe(elsewhere, "#", 2);
    for (const qos of [0, 1, 2]) publish(1, "x/y", qos);
    assert.equal(one.got, ["x/y m 0", "x/y m 1", "x/y m 2"]);
    assert.equal([two.got, elsewhere.got], [[], []]);
  });

  test("every session has its inbox, under either name, until it says otherwise", () => {
    const { registry, sessions, fake, publish, subscribe } = begin();
    const one = fake("a");
    sessions.open(one);
    const got = (topic: string, qos = 1) => {
      publish(1, topic, qos);
      return one.got.splice(0);
    };
    assert.equal([got("inbox", 2), got("/devices/d1/inbox", 0)], [["inbox m 1"], ["inbox m 0"]]);
    assert.equal([got("/devices/d2/inbox"), got("/devices/d1/inbox/x"), got("inbox/x")], [[], [], []]);
    subscribe(one, "#", 0);
    assert.equal([got("inbox"), got("/devices/d1/inbox")], [["inbox m 1"], ["inbox m 1"]], "the higher QoS");
    assert.equal(got("/devices/d2/inbox"), ["/devices/d2/inbox m 0"], "of others it is a plain topic");
    registry.unsubscribe(one.state, "#");
    subscribe(one, "/devices/+/inbox", 2);
    registry.unsubscribe(one.state, "inbox");
    assert.equal(
      [got("inbox", 2), got("/devices/d1/inbox", 2)].flat(),
      Array(2).fill("/devices/d1/inbox m 2"),
    );
    registry.unsubscribe(one.state, "/devices/+/inbox");
    assert.equal(got("inbox"), []);
  });

  test("a command: covered or not, and the first acknowledgement settles it", async () => {
    const { sessions, downlinks, entries, fake, subscribe, settle } = begin();
    const [one, two, elsewhere] = [fake("a"), fake("b"), fake("a", 2)];
    for (const session of [one, two, elsewhere]) {
      sessions.open(session);
      entries.set(session.entry.id, session.entry);
    }
    const ends: boolean[] = [];
    const send = (topic: string, qos: 0 | 1 = 1) =>
      downlinks.send(
        one.entry,
        { topic, payload: Buffer.from("c"), qos, ttl: 0, receipt: null },
        (acknowledged) => ends.push(acknowledged),
        () => undefined,
      );
    const reaches = async (device: number, topic: string) =>
      (await downlinks.reach(device, 1, topic, 1)) !== null;
    assert.equal([await reaches(1, "x"), send("x")], [false, "none"]);
    assert.equal([await reaches(3, "inbox"), sessions.has(3), sessions.has(1)], [false, false, true]);
    assert.equal([await reaches(1, "inbox"), send("inbox")], [true, "awaited"]);
    assert.equal([one.got, two.got, elsewhere.got], [["inbox c 1"], ["inbox c 1"], []]);
    settle(one, false);
    assert.equal(ends, []);
    settle(two);
    assert.equal(ends, [true]);

    assert.is(send("inbox"), "awaited");
    settle(two);
    settle(one);
    assert.equal(ends, [true, true], "once");

    assert.is(send("inbox", 0), "sent");
    subscribe(one, "x", 0);
    assert.is(send("x"), "sent", "as low as granted");
    for (const session of [one, two]) session.slow = true;
    assert.is(send("x", 0), "none");
    assert.is(ends.length, 2);

    assert.is(send("inbox"), "awaited");
    for (const session of [one, two]) session.end("lost");
    assert.equal(ends, [true, true, false], "both ended without");
  });

  test("a command that a client who is away would get as well goes through the journal", () => {
    const registry = createSessionRegistry(createChanges(), createMeter());
    const recorded: string[] = [];
    const closed = createListenerSet<[]>();
    const onDisk: (() => void)[] = [];
    const entry = { id: 1, device: { deviceID: "d1" } } as DeviceEntry;
    const downlinks = createDownlinks({
      registry,
      records: {
        send: (_device, { topic }, _settled, kept) => {
          onDisk.push(kept);
          return recorded.push(topic);
        },
        openInbox: () => undefined,
      },
      directory: { peek: () => entry, get: async () => entry },
      now: () => 0,
      onClosed: closed.add,
    });
    const told: boolean[] = [];
    const join = (clientID: string, connection: number, expiry: number) => {
      const ids = { tenant: 1, device: 1, deviceID: "d1", clientID, session: connection, connection, expiry };
      return registry.connect({ ...ids, at: 0, cleanStart: true, will: null, ip: "", keepAlive: 0 }).state;
    };
    const away = join("away", 1, 3600);
    const gone = { device: 1, connection: 1, at: 0, orderly: true, expiry: null, ofEarlierRun: false };
    registry.disconnect(gone);
    const state = join("here", 2, 0);
    const nothing = () => undefined;
    state.link = { deliver: () => true, send: nothing, handOver: nothing, waitingBytes: 0 };
    const send = (topic: string, qos: 0 | 1) =>
      downlinks.send(
        entry,
        { topic, payload: Buffer.of(), qos, ttl: 0, receipt: null },
        () => undefined,
        (isKept) => told.push(isKept),
      );
    assert.is(send("inbox", 1), "awaited");
    assert.equal([recorded, away.outgoing.size], [["inbox"], 0]);
    registry.subscribe(state, "x", subscription({ qos: 0 }), 0);
    registry.subscribe(away, "x", subscription({ qos: 1 }), 0);
    assert.is(send("x", 1), "awaited", "at QoS 0 here, at QoS 1 there");
    assert.equal([recorded, away.outgoing.size], [["inbox", "x"], 0]);
    assert.equal(told, [], "nothing is on disk");
    onDisk[1]?.();
    assert.equal(told, [true]);
    closed.tell();
    assert.equal(told, [true, false], "the shard has gone elsewhere with the first on its way");
    registry.unsubscribe(away, "inbox");
    send("inbox", 1);
    send("x", 0);
    assert.is(recorded.length, 2, "nothing that is kept");
  });

  test("to all clients of a device, subscribed or not", () => {
    const { sessions, fake } = begin();
    const [one, two] = [fake("a"), fake("b")];
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
    ["with another user name", rowOf({ deviceUsername: "v" }), true],
    ["by certificate only", rowOf({ authType: 2 }), true],
    ["deleted", undefined, true],
  ];
  for (const [state, entry, expected] of thrownOut) {
    test(`a device ${state} ${expected ? "is thrown out" : "stays"}`, () => {
      const { sessions, fake } = begin();
      const all = [fake("a"), fake("b"), fake("a", 2)];
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
    const { sessions, fake } = begin();
    const all = Array.from({ length: 1000 }, (_, i) => fake("a", i));
    for (const one of all) sessions.open(one);
    await sessions.endAll("shutdown");
    assert.is(sessions.size, 0);
    assert.ok(all.every(({ ended }) => ended.length === 1));
  });
});
