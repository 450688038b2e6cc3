/** Messages of the broker that come again: recognised among what this run and the one before have taken. */
import { recordKinds } from "../../../store/journal/record-kinds.js";
import { crc32c } from "../../../store/lib/crc32c.js";
import type { DeviceEntry } from "../../directory/entries.js";
import { type DeviceHistory, messageKey, type Taken } from "../../uplinks/redelivery.js";
import type { Addressee } from "./broker-shard.js";
import type { BrokerDelivery } from "./packets.js";
import { openMax } from "./settings.js";

/** A message that the broker sends again with DUP, known by packet id, topic and payload. */
interface NamedMessage {
  readonly messageID: number;
  readonly topic: string;
  readonly payload: Uint8Array;
}

/** A message that has been taken. */
interface Trace {
  readonly isKept: boolean;
  /** Calls back once it is; it must not be kept yet. */
  onKept(tell: () => void): void;
  /** It is on disk now. */
  keep(): void;
}

/** Distinguishes messages that the broker sends again from new ones, also those that the run before has taken. */
export interface Redeliveries {
  /** A connection begins; `resumed`: the broker goes on with what it had open. */
  begin(resumed: boolean): void;
  /** Whether what an earlier run had taken of the device must be read before the message can be judged. */
  needsHistory(delivery: BrokerDelivery, to: Addressee): boolean;
  readHistory(to: Addressee): Promise<void>;
  /** Must be called with each message before it is taken. */
  note(delivery: BrokerDelivery): void;
  /** The trace of a message that is sent again; null if it is new. `topic` is that of the device. */
  find(delivery: BrokerDelivery, device: DeviceEntry, topic: string): Trace | null;
  /** A message that is on its way to the disk. */
  add(delivery: BrokerDelivery): Trace;
}

export function createRedeliveries(): Redeliveries {
  const recent = createRecent();
  /** What an earlier run had taken of each device. The broker sends it again before anything new [MQTT-4.4.0-1]. */
  const earlier = new Map<number, Taken>();
  let mayRepeatEarlier = true;

  const isAgain = ({ dup, qos }: BrokerDelivery): boolean => dup && qos === 1;
  const add = ({ messageID, topic, payload }: BrokerDelivery): Trace =>
    recent.add({ messageID, topic: topic ?? "", payload });

  return {
    begin: (resumed) => {
      mayRepeatEarlier = resumed && mayRepeatEarlier;
      earlier.clear();
      if (!resumed) recent.clear();
    },
    needsHistory: (delivery, { device, shard }) =>
      mayRepeatEarlier && isAgain(delivery) && shard.takenBefore !== null && !earlier.has(device.id),
    readHistory: async ({ device, shard: { takenBefore } }) => {
      if (takenBefore !== null) earlier.set(device.id, await takenBefore(device.id));
    },
    note: ({ qos, dup }) => {
      if (qos === 1 && !dup) mayRepeatEarlier = false;
    },
    find: (delivery, device, topic) => {
      if (!isAgain(delivery)) return null;
      const { messageID, payload } = delivery;
      const known = recent.find({ messageID, topic: delivery.topic ?? "", payload });
      if (known !== undefined) return known;
      if (earlier.get(device.id)?.has(messageKey({ messageID, topic, payload })) !== true) return null;
      // It may come once more, when nobody asks any more what an earlier run took.
      const trace = add(delivery);
      trace.keep();
      return trace;
    },
    add,
  };
}

/** What this run has taken of one session of the broker. */
interface Recent {
  /** A message that is on its way to the disk. */
  add(message: NamedMessage): Trace;
  find(message: NamedMessage): Trace | undefined;
  clear(): void;
}

/**
 * The broker has at most `openMax` messages open and we acknowledge in its order: what it may send again on
 * the next connection is among the last that many.
 */
function createRecent(): Recent {
  const traces = new Map<number, NamedTrace>();
  return {
    add: (message) => {
      const trace = new NamedTrace(message);
      traces.delete(message.messageID);
      traces.set(message.messageID, trace);
      if (traces.size <= openMax) return trace;
      const oldest = traces.keys().next().value;
      if (oldest !== undefined) traces.delete(oldest);
      return trace;
    },
    find: (message) => {
      const known = traces.get(message.messageID);
      return known?.isOf(message) === true ? known : undefined;
    },
    clear: () => traces.clear(),
  };
}

/** A class, because there is one for each message. */
class NamedTrace implements Trace {
  readonly #topic: string;
  readonly #bytes: number;
  readonly #crc: number;
  #tell: (() => void)[] | null = null;
  isKept = false;

  constructor({ topic, payload }: NamedMessage) {
    this.#topic = topic;
    this.#bytes = payload.length;
    this.#crc = crc32c(payload);
  }

  isOf({ topic, payload }: NamedMessage): boolean {
    return this.#topic === topic && this.#bytes === payload.length && this.#crc === crc32c(payload);
  }

  onKept(tell: () => void): void {
    this.#tell ??= [];
    this.#tell.push(tell);
  }

  keep(): void {
    this.isKept = true;
    for (const tell of this.#tell ?? []) tell();
    this.#tell = null;
  }
}

/** The run before this one: its last journal id. */
interface EarlierRun {
  readonly lastID: number;
}

const windowMicros = 60e6;
/** With those of other transports. */
const recordsMax = 2 * openMax;

/**
 * What an earlier run had taken of a device through the broker and may not have acknowledged: at most its last
 * `openMax` messages, received within 60 s before the last of them. The latest of each id counts. Other
 * transports may have gone on for long: neither their records nor the end of the run show when the broker was there.
 */
export async function takenByEarlierRun(
  history: DeviceHistory,
  device: number,
  session: number,
  { lastID }: EarlierRun,
): Promise<Taken> {
  const taken = new Set<string>();
  const seen = new Set<number>();
  let last: number | null = null;
  for await (const record of history(device, recordsMax)) {
    if (record.id > lastID || record.kind !== recordKinds.uplink || record.qos !== 1) continue;
    if (record.session !== session || record.connection !== 0) continue;
    last ??= record.receivedAt;
    if (last - record.receivedAt > windowMicros || seen.size >= openMax) return taken;
    if (!seen.has(record.messageID)) taken.add(messageKey(record));
    seen.add(record.messageID);
  }
  return taken;
}
