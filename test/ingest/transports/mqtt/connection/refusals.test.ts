/** What a policy refuses, what cannot be taken for now, and answers that must be short. */

import { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import mqttPacket from "mqtt-packet";
import type { DeviceEntry } from "../../../../../ingest/directory/entries.js";
import { createMeter } from "../../../../../ingest/meter.js";
import { compilePolicies } from "../../../../../ingest/policies.js";
import { createSessionState } from "../../../../../ingest/sessions/state.js";
import * as answers from "../../../../../ingest/transports/mqtt/codec/acknowledgements.js";
import type {
  MqttVersion,
  PublishPacket,
  Terms,
} from "../../../../../ingest/transports/mqtt/codec/packets.js";
import {
  connectTimeoutMs,
  MqttConnection,
} from "../../../../../ingest/transports/mqtt/connection/connection.js";
import type { MqttContext } from "../../../../../ingest/transports/mqtt/connection/context.js";
import {
  Inbound,
  type InboundContext,
  receiveMaximum,
} from "../../../../../ingest/transports/mqtt/connection/inbound.js";
import { createReadingTurns } from "../../../../../ingest/transports/mqtt/connection/reading.js";
import type { Accept, AcceptedUplink } from "../../../../../ingest/uplinks/accept.js";
import { systemClock } from "../../../../../store/lib/clock.js";
import { createStillClock } from "../../../../clock.js";
import { assert, suite, until } from "../../../../suite.js";
import { incomingFrom } from "../../../support.js";

const termsOf = (version: MqttVersion, packetBytesMax = Number.POSITIVE_INFINITY): Terms => ({
  version,
  receiveMaximum: 10,
  packetBytesMax,
  topicAliasMax: 0,
  problemInformation: version === 5,
});

const denied = compilePolicies([{ id: 1, topic: "no/#", access: 0, allow: 0 }], {
  deviceID: "d",
  deviceUsername: "u",
});

/** An inbound side whose device may not publish below `no/`; what it keeps and what it answers. */
function guarded(version: MqttVersion, keepsAtOnce = true, access = denied) {
  const kept: AcceptedUplink[] = [];
  const answered: string[] = [];
  const waiting: (() => void)[] = [];
  const accept = {
    uplink: (_origin: unknown, uplink: AcceptedUplink, _refused: boolean, done?: () => void) => {
      kept.push(uplink);
      if (keepsAtOnce) done?.();
      else waiting.push(done ?? (() => undefined));
    },
  } as unknown as Accept;
  const state = createSessionState(1, 1, "c", 1);
  const context = {
    accept,
    meter: createMeter(),
    topics: { bytesMax: 1024, levelsMax: 32 },
    registry: {
      publishCost: () => 0,
      publish: () => undefined,
      held: { mayGrow: () => true },
      took: (_: unknown, id: number) => {
        state.unreleased = new Set([...state.unreleased, id]);
      },
    },
    records: {
      release: (_origin: unknown, _state: unknown, id: number, done: () => void) => {
        const unreleased = new Set(state.unreleased);
        unreleased.delete(id);
        state.unreleased = unreleased;
        done();
      },
    },
    now: Date.now,
    takenBefore: () => Promise.resolve(new Set<string>()),
  } as unknown as InboundContext;
  const owner = {
    origin: { device: { id: 1, access, device: { tenant: 1 } }, connection: 1, session: 1, ip: "" },
    terms: termsOf(version),
    isClosed: false,
    isBehind: false,
    end: (reason: string) => answered.push(`end ${reason}`),
    suspend: (action: () => Promise<void>, resume: () => void) => {
      answered.push("held back");
      void action().then(resume);
    },
    markDirty: () => undefined,
  };
  const writeBuffer = {
    acknowledge: (firstByte: number, id: number) => answered.push(`${firstByte.toString(16)} ${id}`),
    push: (bytes: Uint8Array) => answered.push(Buffer.from(bytes).toString("hex")),
    flush: () => undefined,
    waitingBytes: 0,
  };
  const commit = (): void => {
    for (const done of waiting.splice(0)) done();
  };
  const inbound: Inbound = new Inbound(context, writeBuffer, owner as never, state);
  return { inbound, kept, answered, commit };
}

const message = (topic: string, qos: 0 | 1 | 2, messageID: number): PublishPacket => ({
  cmd: "publish",
  topic,
  alias: 0,
  payload: Buffer.from("m"),
  qos,
  dup: false,
  retain: false,
  messageID,
  properties: null,
  excess: null,
});

function send(version: MqttVersion): { kept: string[]; answered: string[] } {
  const { inbound, kept, answered } = guarded(version);
  for (const [topic, qos, id] of [
    ["no/a", 0, 0],
    ["no/a", 1, 1],
    ["no/a", 2, 2],
    ["no/a", 2, 2],
    ["yes", 2, 2],
    ["yes", 1, 3],
  ] as const) {
    inbound.publish(message(topic, qos, id));
  }
  return { kept: kept.map(({ topic, qos }) => `${topic} ${qos}`), answered };
}

/** A connection whose other end is this test; `authenticate` is all that it is asked for. */
function connection(
  parts: Pick<MqttContext, "authenticate"> & Partial<MqttContext>,
  version: MqttVersion,
): { readonly connection: MqttConnection; readonly got: Buffer[]; end: () => boolean } {
  const got: Buffer[] = [];
  const socket = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      got.push(chunk);
      done();
    },
  });
  const nothing = () => undefined;
  const context = {
    accept: { full: false },
    meter: createMeter(),
    ...systemClock,
    takesNothing: () => false,
    markDirty: nothing,
    markPaused: nothing,
    onClosed: nothing,
    turns: createReadingTurns(),
    neighbours: null,
    ...parts,
  } as unknown as MqttContext;
  const open = new MqttConnection(context, socket, incomingFrom("192.0.2.1"), null);
  const connect = { cmd: "connect", clientId: "c", keepalive: 0, clean: true } as const;
  socket.push(
    mqttPacket.generate({ ...connect, protocolId: "MQTT", protocolVersion: version === 5 ? 5 : 4 }),
  );
  return { connection: open, got, end: () => open.isClosed };
}

suite("MQTT, refusals", (test) => {
  test("MQTT 5 receives 0x87, and nothing is kept", () => {
    const { kept, answered } = send(5);
    assert.equal(kept, ["yes 2", "yes 1"]);
    const [puback, pubrec, again, ...rest] = answered;
    assert.ok(puback?.startsWith("40") && puback.slice(4).startsWith("000187"), puback);
    assert.ok(pubrec?.startsWith("50") && pubrec.slice(4).startsWith("000287"), pubrec);
    assert.is(again, pubrec);
    assert.equal(rest, ["50 2", "40 3"], "the id is free for a new message");
  });

  test("the policy is asked once a message, whatever its version and QoS, and one that is sent again", async () => {
    for (const version of [4, 5] as const) {
      const asked: string[] = [];
      const mayPublish = (topic: string) => {
        asked.push(topic);
        return true;
      };
      const access = { mayPublish, mayReceive: () => true, maySubscribe: () => true };
      const { inbound, kept } = guarded(version, true, access);
      for (const qos of [0, 1, 2] as const) inbound.publish(message(`qos ${qos}`, qos, qos));
      inbound.publish({ ...message("again", 1, 3), dup: true });
      await until(() => kept.length === 4, { what: "the message that waits for what was taken before" });
      assert.equal(asked, ["qos 0", "qos 1", "qos 2", "again"], `MQTT ${version}`);
    }
  });

  test("who exceeds our Receive Maximum has cost no more than it allows", () => {
    const { inbound, kept, answered } = guarded(5, false);
    for (let id = 1; id <= receiveMaximum; id++) inbound.publish(message("yes", 1, id));
    for (const [topic, qos] of [
      ["yes", 1],
      ["yes", 2],
      ["no/a", 1],
      ["no/a", 2],
    ] as const) {
      assert.throws(() => inbound.publish(message(topic, qos, 60_000)), /may be unacknowledged/);
    }
    assert.equal([kept.length, answered.length], [receiveMaximum, 0]);
  });

  test("what is sent again before its PUBACK counts once against Receive Maximum, and has one PUBACK", () => {
    const { inbound, kept, answered, commit } = guarded(5, false);
    const again = (id: number) => inbound.isSentAgain({ ...message("yes", 1, id), dup: true });
    for (let round = 0; round < 3; round++) {
      for (let id = 1; id <= receiveMaximum; id++) inbound.publish(message("yes", 1, id));
      for (let id = 1; id <= receiveMaximum; id++) assert.ok(again(id));
      commit();
      assert.equal([kept.length, answered.length], Array(2).fill(receiveMaximum * (round + 1)));
    }
    assert.not.ok(again(1), "after PUBACK the id is a new message");
    assert.not.ok(inbound.isSentAgain({ ...message("yes", 2, 1), dup: true }), "QoS 2 has ids of its own");
  });

  test("a PUBREL that no message waits for frees no place below Receive Maximum, nor does one that comes twice", () => {
    const { inbound, kept } = guarded(5);
    for (let id = 1; id < receiveMaximum; id++) inbound.publish(message("yes", 2, id));
    for (let i = 0; i < 100; i++) inbound.release(5000 + i);
    for (let i = 0; i < 3; i++) inbound.release(1);
    for (const id of [2000, 2001]) inbound.publish(message("yes", 2, id));
    assert.throws(() => inbound.publish(message("yes", 1, 2002)), /may be unacknowledged/);
    assert.is(kept.length, receiveMaximum + 1);
  });

  test("acknowledgements that wait for a commit are counted: nothing more is read beyond as many as messages", () => {
    const { inbound, answered, commit } = guarded(4, false);
    inbound.publish(message("yes", 2, 1));
    for (let i = 0; i < 1000 && !inbound.isFull(1); i++) inbound.publish(message("yes", 2, 1));
    assert.is(inbound.isFull(1), true);
    commit();
    assert.is(inbound.isFull(0.5), false);
    assert.ok(answered.length <= 1002 && answered.every((one) => one === "50 1"), `${answered.length}`);
  });

  test("3.1.1 has no word for no: a refused message is acknowledged", () => {
    const { kept, answered } = send(4);
    assert.equal(kept, ["no/a 0", "no/a 1", "no/a 2", "yes 1"], "of one id of QoS 2 only the first");
    assert.equal(answered, ["40 1", "50 2", "50 2", "50 2", "40 3"]);
  });

  test("what we cannot take for now ends the connection", async () => {
    for (const [version, answer] of [
      [4, "20020003"],
      [5, "88"],
    ] as const) {
      const authenticate = () => Promise.reject(new Error("the store is away"));
      const { got, end } = connection({ authenticate }, version);
      await until(end, { what: "the end" });
      assert.ok(Buffer.concat(got).toString("hex").includes(answer), Buffer.concat(got).toString("hex"));
    }
  });

  test("who goes in the moment in which it is let in leaves nothing on record", async () => {
    const calls: string[] = [];
    const note = (call: string) => () => calls.push(call);
    const shard = {
      ...{ now: Date.now, keepAliveMax: null, limits: null, accept: { full: false } },
      ...{ hold: note("hold"), connections: { open: note("open") }, records: { connect: note("connect") } },
      registry: { held: { mayGrow: () => true } },
    } as unknown as MqttContext;
    const device = {
      ...{ id: 1, certificates: new Map() },
      device: { tenant: 1, blocked: 0, authType: 1, deviceUsername: "", token: "" },
    } as unknown as DeviceEntry;
    let asked = false;
    const contextOf = (): Promise<MqttContext> => {
      const found = Promise.resolve(shard);
      // Two microtasks after the answer: after the code that awaits it, before the code that awaits that code.
      void found.then(() => undefined).then(() => entering.connection.end("thrown_out"));
      asked = true;
      return found;
    };
    const entering = connection({ authenticate: () => Promise.resolve(device), contextOf }, 5);
    await until(entering.end, { what: "the end" });
    await delay(5);
    assert.equal([asked, calls], [true, []]);
  });

  test("silence is measured by the clock that is never set", () => {
    const clock = createStillClock();
    const socket = new Duplex({ read: () => undefined, write: () => undefined });
    const nothing = () => undefined;
    const context = {
      meter: createMeter(),
      ...clock,
      onClosed: nothing,
      neighbours: null,
    } as unknown as MqttContext;
    const connection = new MqttConnection(context, socket, incomingFrom("192.0.2.1"), null);
    const look = () => connection.checkSilence(clock.now(), clock.monotonic());
    for (const ms of [300_000, -300_000, 21_600_000]) {
      clock.step(ms);
      look();
      assert.is(connection.isClosed, false, `${ms} ms`);
    }
    clock.step(-21_600_000);
    clock.pass(connectTimeoutMs + 1);
    look();
    assert.is(connection.isClosed, true);
    assert.equal([...context.meter.ended], [["connect_timeout", 1]]);
  });

  for (const full of [false, true]) {
    const meanwhile = full ? ", also while nothing can be taken" : "";
    test(`CONNECT has ten seconds in all, however often a byte of it comes${meanwhile}`, () => by(full));
  }

  function by(full: boolean): void {
    const clock = createStillClock();
    const socket = new Duplex({ read: () => undefined, write: () => undefined });
    const nothing = () => undefined;
    const context = {
      accept: { full },
      meter: createMeter(),
      ...clock,
      onClosed: nothing,
      markPaused: nothing,
      turns: createReadingTurns(),
      neighbours: null,
    } as unknown as MqttContext;
    const connection = new MqttConnection(context, socket, incomingFrom("192.0.2.1"), null);
    const packet = mqttPacket.generate({ cmd: "connect", clientId: "x".repeat(200), protocolId: "MQTT" });
    const seconds: number[] = [];
    for (let second = 0; !connection.isClosed && second < 60; second++) {
      socket.emit("data", packet.subarray(second, second + 1));
      clock.pass(1000);
      connection.checkSilence(clock.now(), clock.monotonic());
      seconds.push(second + 1);
    }
    assert.is(seconds.at(-1), connectTimeoutMs / 1000 + 1);
    assert.equal([...context.meter.ended], [["connect_timeout", 1]]);
  }

  test("words that do not fit are left out, and an answer that does not fit without them is none", () => {
    const reason = "a reason of some length";
    const all: readonly ((terms: Terms) => Buffer | null)[] = [
      (terms) => answers.connack(terms, 0x86, false, null, reason),
      (terms) => answers.suback(terms, 1, [0x87, 0], reason),
      (terms) => answers.encodeDisconnect(terms, 0x8b, reason),
      ...(["puback", "pubrec", "pubrel", "pubcomp"] as const).map(
        (cmd) => (terms: Terms) => answers.negativeAck(terms, cmd, 1, 0x92, reason),
      ),
    ];
    for (const answer of all) {
      const long = answer(termsOf(5));
      assert.ok(long?.includes(reason));
      const length = long?.length ?? 0;
      assert.equal(answer(termsOf(5, length)), long, "as large as allowed");
      const short = answer(termsOf(5, length - 1));
      assert.ok(short !== null && short.length < length && !short.includes("reason"));
      assert.equal(answer(termsOf(5, short?.length)), short);
      assert.is(answer(termsOf(5, (short?.length ?? 0) - 1)), null);
      assert.equal(answer({ ...termsOf(5), problemInformation: false }), short, "nobody wants them");
    }
  });
});
