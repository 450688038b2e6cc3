import { createSlice } from "../../../store/lib/turns.js";
import type { Limiter, Limits } from "../../access/limits.js";
import type { DeviceEntry } from "../../directory/entries.js";
import { isWithin, type TopicBounds } from "../../messages/topics.js";
import { type BrokerRefusal, count, type Meter } from "../../meter.js";
import { mayPublish } from "../../policies.js";
import type { SessionRegistry } from "../../sessions/session-registry.js";
import type { Accept, Origin } from "../../uplinks/accept.js";
import { messageKey, type Taken } from "../../uplinks/redelivery.js";
import { lightWorkMax, type WorkBudget } from "../../uplinks/work-budget.js";
import type { Link } from "./link.js";
import type { Delivery } from "./packets.js";
import { createRecent, type Trace } from "./redelivery.js";
import { readUplinkTopic, type UplinkTopic } from "./topics.js";

export interface InboundDeps {
  readonly accept: Accept;
  readonly spaces: Pick<SessionRegistry, "publish" | "publishCost">;
  readonly work: WorkBudget;
  readonly meter: Meter;
  readonly limits: Limits | null;
  readonly topics: TopicBounds;
  /** Hash of our client id. */
  readonly session: number;
  /** By deviceID, from memory: null = nobody has it, undefined = it must be looked up. */
  readonly peek: (deviceID: string) => DeviceEntry | null | undefined;
  readonly find: (deviceID: string) => Promise<DeviceEntry | undefined>;
  /** What an earlier run had taken of a device. */
  readonly takenBefore: (device: number) => Promise<Taken>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** There are acknowledgements to flush, soon. */
  readonly onAnswer: () => void;
  /** What waited has been taken: there may be room again. */
  readonly onRoom: () => void;
  readonly onTrouble: (error: unknown) => void;
  /** A fault of ours, which one message has paid for. */
  readonly onFault: (error: unknown) => void;
}

/** What the broker hands us: in its order into the journal, acknowledged in that order. */
interface Inbound {
  /** A connection begins; `resumed`: the broker goes on with what it had open. */
  begin(link: Link, resumed: boolean): void;
  take(delivery: Delivery): void;
  /** Reading must wait. */
  readonly isFull: boolean;
  readonly inFlight: number;
}

const inFlightBytesMax = 8 * 1024 * 1024;
const lookupRetryMs = 1000;

/** One connection's acknowledgements. */
interface Turn {
  readonly link: Link;
  appended: number;
  kept: number;
  /** Messages that are not kept: acknowledged behind all that came before them [MQTT-4.6.0-2]. */
  readonly behind: { readonly after: number; readonly messageID: number }[];
}

/** A message that waits for its device, or for those before it. */
interface Waiting {
  readonly turn: Turn;
  readonly delivery: Delivery;
}

export function createInbound(deps: InboundDeps): Inbound {
  const { accept, meter, session, limits, spaces } = deps;
  const limiters = new WeakMap<DeviceEntry, Limiter>();
  const recent = createRecent();
  /** What an earlier run had taken of each device. The broker sends it again before anything new [MQTT-4.4.0-1]. */
  const earlier = new Map<number, Taken>();
  let mayRepeatEarlier = true;
  let current: Turn | null = null;
  let waiting: Waiting[] = [];
  let draining = false;
  let inFlight = 0;
  let inFlightBytes = 0;

  function answer(turn: Turn, messageID: number): void {
    if (turn !== current || messageID === 0) return;
    turn.link.acknowledge(messageID);
    deps.onAnswer();
  }

  function answerInTurn(turn: Turn, { messageID }: Delivery): void {
    if (turn.kept === turn.appended) return answer(turn, messageID);
    turn.behind.push({ after: turn.appended, messageID });
  }

  /** One more on its way to the disk; the callback is for when it is there. */
  function awaitKept(turn: Turn, messageID: number): () => void {
    turn.appended++;
    return () => {
      turn.kept++;
      answer(turn, messageID);
      if (turn.behind.length > 0) answerBehind(turn);
    };
  }

  function answerBehind(turn: Turn): void {
    let some = 0;
    for (const { after, messageID } of turn.behind) {
      if (after > turn.kept) break;
      answer(turn, messageID);
      some++;
    }
    turn.behind.splice(0, some);
  }

  function refuse({ turn, delivery }: Waiting, reason: BrokerRefusal): void {
    count(meter.brokerRefused, reason);
    answerInTurn(turn, delivery);
  }

  /** Over its limit a device is refused, not waited for: all the others stand behind it. */
  function isWithinLimits(device: DeviceEntry, bytes: number): boolean {
    if (limits === null) return true;
    let limiter = limiters.get(device);
    if (limiter === undefined) {
      const made = limits.limiter(device);
      if (made === null) return true;
      limiter = made;
      limiters.set(device, limiter);
    }
    return limiter.take(bytes) !== null;
  }

  function append(
    { turn, delivery }: Waiting,
    device: DeviceEntry,
    topic: string,
    onAppended?: () => void,
  ): void {
    const { payload, qos, dup, messageID, properties } = delivery;
    const origin: Origin = { device, connection: 0, session, ip: "" };
    const refused = !mayPublish(device, topic);
    if (refused) count(meter.policyRefused, "publish");
    const trace = qos === 1 ? recent.add({ messageID, topic: delivery.topic ?? "", payload }) : null;
    const kept = awaitKept(turn, messageID);
    inFlight++;
    const bytes = topic.length + payload.length;
    inFlightBytes += bytes;
    const at = deps.now() * 1000;
    // Messages of a shared subscription are never retained ones [MQTT-3.3.1-13].
    accept.uplink(origin, { topic, payload, qos, messageID, dup, retain: false, properties }, refused, () => {
      inFlight--;
      inFlightBytes -= bytes;
      onAppended?.();
      kept();
      trace?.keep();
      if (refused) return;
      spaces.publish({ device: device.id, session, topic, payload, qos, retain: false, properties, at });
    });
  }

  /** All that needs no device. */
  function read(one: Waiting): UplinkTopic | null {
    const { topic, flaw } = one.delivery;
    const named = topic === null ? null : readUplinkTopic(topic);
    if (flaw !== null) refuse(one, flaw);
    else if (named === null || !isWithin(named.topic, deps.topics)) refuse(one, "topic");
    else return named;
    return null;
  }

  /** Of a message that is sent again: what was taken of it. */
  function taken({ messageID, topic, payload }: Delivery, own: string, before?: Taken): Trace | null {
    const message = { messageID, topic: topic ?? "", payload };
    const known = recent.find(message);
    if (known !== undefined) return known;
    if (before?.has(messageKey({ messageID, topic: own, payload })) !== true) return null;
    // It may come again once more, when what an earlier run took is no longer asked for.
    const trace = recent.add(message);
    trace.keep();
    return trace;
  }

  /** True where it is on its way to the disk: `onAppended` is called once it is there. */
  function finish(one: Waiting, device: DeviceEntry | null, topic: string, onAppended?: () => void): boolean {
    const { delivery, turn } = one;
    if (delivery.qos === 1 && !delivery.dup) mayRepeatEarlier = false;
    if (device === null) {
      refuse(one, "device");
      return false;
    }
    const known = delivery.dup && delivery.qos === 1 ? taken(delivery, topic, earlier.get(device.id)) : null;
    if (known !== null) {
      meter.redelivered++;
      if (known.isKept) answerInTurn(turn, delivery);
      else known.onKept(awaitKept(turn, delivery.messageID));
      return false;
    }
    const isTaken =
      device.device.blocked !== 1 && isWithinLimits(device, topic.length + delivery.payload.length);
    if (isTaken) append(one, device, topic, onAppended);
    else refuse(one, device.device.blocked === 1 ? "blocked" : "rate");
    return isTaken;
  }

  /** One that brings much about in its commit: in the turn of its device's tenant. */
  async function finishInTurn(one: Waiting, device: DeviceEntry, topic: string, cost: number): Promise<void> {
    const { tenant } = device.device;
    await deps.work.room(tenant, cost);
    const give = (): void => deps.work.give(tenant, cost);
    let isAppended = false;
    try {
      isAppended = one.turn === current && finish(one, device, topic, give);
    } finally {
      if (!isAppended) give();
    }
  }

  const costOf = (device: DeviceEntry | null, topic: string): number =>
    device === null ? 0 : spaces.publishCost(device.id, topic);

  const needsHistory = ({ dup, qos }: Delivery, device: DeviceEntry): boolean =>
    mayRepeatEarlier && dup && qos === 1 && !earlier.has(device.id);

  /** A fault of ours at one message costs that one: sent again it would come to the same. */
  function passOver(one: Waiting, error: unknown): void {
    deps.onFault(error);
    refuse(one, "fault");
  }

  /** False where it has to wait for something. */
  function takeAtOnce(one: Waiting): boolean {
    const named = read(one);
    if (named === null) return true;
    const device = deps.peek(named.deviceID);
    if (device === undefined || (device !== null && needsHistory(one.delivery, device))) return false;
    if (costOf(device, named.topic) > lightWorkMax) return false;
    finish(one, device, named.topic);
    return true;
  }

  async function takeLater(one: Waiting): Promise<void> {
    const named = read(one);
    if (named === null) return;
    const device = (await lasting(() => deps.find(named.deviceID))) ?? null;
    if (device !== null && needsHistory(one.delivery, device)) {
      earlier.set(device.id, await lasting(() => deps.takenBefore(device.id)));
    }
    // Of a connection that has gone meanwhile: the broker sends it again.
    if (one.turn !== current) return;
    const cost = costOf(device, named.topic);
    if (device !== null && cost > lightWorkMax) await finishInTurn(one, device, named.topic, cost);
    else finish(one, device, named.topic);
  }

  /** The metadata may be away for a while; the messages wait for it. */
  async function lasting<T>(action: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await action();
      } catch (error) {
        deps.onTrouble(error);
        await new Promise((resolve) => setTimeout(resolve, lookupRetryMs).unref());
      }
    }
  }

  async function drain(): Promise<void> {
    draining = true;
    const slice = createSlice();
    for (let at = 0; at < waiting.length; at++) {
      if (slice.isOver()) await slice.next();
      const one = waiting[at];
      if (one === undefined || one.turn !== current) continue;
      try {
        if (!takeAtOnce(one)) await takeLater(one);
      } catch (error) {
        passOver(one, error);
      }
    }
    waiting = [];
    draining = false;
    deps.onRoom();
  }

  return {
    begin: (link, resumed) => {
      mayRepeatEarlier = resumed && mayRepeatEarlier;
      earlier.clear();
      if (!resumed) recent.clear();
      current = { link, appended: 0, kept: 0, behind: [] };
    },
    take: (delivery) => {
      const turn = current;
      if (turn === null) return;
      const one = { turn, delivery };
      try {
        if (!draining && takeAtOnce(one)) return;
      } catch (error) {
        return passOver(one, error);
      }
      waiting.push(one);
      if (!draining) {
        void drain();
        return;
      }
      // Asked for now, so that a burst of unknown devices is looked up together.
      const named = delivery.topic === null ? null : readUplinkTopic(delivery.topic);
      if (named !== null && deps.peek(named.deviceID) === undefined)
        deps.find(named.deviceID).catch(() => undefined);
    },
    get isFull() {
      return draining || inFlightBytes > inFlightBytesMax || accept.full;
    },
    get inFlight() {
      return inFlight;
    },
  };
}
