/**
 * One message of the broker, once its device is known: refused, recognised as sent again, or on its way to the disk.
 */
import type { IngestLimits, Limiter } from "../../access/limits.js";
import type { DeviceEntry } from "../../directory/entries.js";
import { isWithinBytes, type TopicBounds } from "../../messages/topics.js";
import { addCount, type BrokerRefusal, type Meter } from "../../meter.js";
import { mayPublish } from "../../policies.js";
import { countRefusal, publishUplink } from "../../sessions/publish.js";
import type { Origin } from "../../uplinks/accept.js";
import type { Addressee } from "./broker-shard.js";
import type { OrderedAcks } from "./ordered-acks.js";
import type { BrokerDelivery } from "./packets.js";
import type { Redeliveries } from "./redelivery.js";
import { readUplinkTopic, type UplinkTopic } from "./topics.js";

export interface IntakeDeps {
  readonly meter: Meter;
  readonly limits: IngestLimits | null;
  readonly topics: TopicBounds;
  /** Hash of our client id. */
  readonly session: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** A message and the connection that it came on. */
export interface BrokerReceived {
  readonly acks: OrderedAcks;
  readonly delivery: BrokerDelivery;
}

export interface BrokerIntake {
  /** Topic and device of a message; null if it has been refused for what needs no device. */
  read(received: BrokerReceived): UplinkTopic | null;
  /**
   * Refuses it, recognises it as redelivered, or appends it. `cost`, acquired from the shard's work budget, is released
   * in each case.
   */
  take(received: BrokerReceived, to: Addressee, topic: string, cost: number): void;
  /** Nobody has the id that its topic names. */
  ofNobody(received: BrokerReceived): void;
  refuse(received: BrokerReceived, reason: BrokerRefusal): void;
  /** Messages on their way to the disk, and their bytes. */
  readonly inFlight: number;
  readonly inFlightBytes: number;
}

export function createBrokerIntake(deps: IntakeDeps, redeliveries: Redeliveries): BrokerIntake {
  const { meter, session, limits } = deps;
  const limiters = new WeakMap<DeviceEntry, Limiter>();
  let inFlight = 0;
  let inFlightBytes = 0;

  function refuse({ acks, delivery }: BrokerReceived, reason: BrokerRefusal): void {
    addCount(meter.brokerRefused, reason);
    acks.answer(delivery.messageID);
  }

  /** A device over its limit is refused, not waited for: all the others would wait with it. */
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
    { acks, delivery }: BrokerReceived,
    { device, shard }: Addressee,
    topic: string,
    cost: number,
  ): void {
    const { payload, qos, dup, messageID, properties } = delivery;
    const origin: Origin = { device, connection: 0, session, ip: "" };
    const refused = !mayPublish(device, topic);
    if (refused) countRefusal(meter, device.device.tenant, "policy");
    const trace = qos === 1 ? redeliveries.add(delivery) : null;
    const kept = acks.awaitKept(messageID);
    inFlight++;
    const bytes = topic.length + payload.length;
    inFlightBytes += bytes;
    // Messages of a shared subscription are never retained ones [MQTT-3.3.1-13].
    const uplink = { topic, payload, qos, messageID, dup, retain: false, properties };
    publishUplink({ ...shard, now: deps.now }, origin, uplink, refused, cost, () => {
      inFlight--;
      inFlightBytes -= bytes;
      kept();
      trace?.keep();
    });
  }

  /** True if the message had been taken before: it is acknowledged once that is on disk. */
  function isRedelivered({ acks, delivery }: BrokerReceived, device: DeviceEntry, topic: string): boolean {
    const known = redeliveries.find(delivery, device, topic);
    if (known === null) return false;
    meter.redelivered++;
    if (known.isKept) acks.answer(delivery.messageID);
    else known.onKept(acks.awaitKept(delivery.messageID));
    return true;
  }

  return {
    read: (received) => {
      const { topic, flaw } = received.delivery;
      const named = topic === null ? null : readUplinkTopic(topic);
      if (flaw !== null) refuse(received, flaw);
      else if (named === null || !isWithinBytes(named.topic, deps.topics)) refuse(received, "topic");
      else return named;
      return null;
    },
    take: (received, to, topic, cost) => {
      const { delivery } = received;
      const { device, shard } = to;
      const { tenant, blocked } = device.device;
      redeliveries.note(delivery);
      const isRepeated = isRedelivered(received, device, topic);
      const isTaken =
        !isRepeated && blocked !== 1 && isWithinLimits(device, topic.length + delivery.payload.length);
      if (isTaken) return append(received, to, topic, cost);
      if (cost > 0) shard.work.give(tenant, cost);
      if (isRepeated) return;
      const reason = blocked === 1 ? "blocked" : "rate";
      meter.rates.refused(tenant, reason, 1);
      refuse(received, reason);
    },
    ofNobody: (received) => {
      redeliveries.note(received.delivery);
      refuse(received, "device");
    },
    refuse,
    get inFlight() {
      return inFlight;
    },
    get inFlightBytes() {
      return inFlightBytes;
    },
  };
}
