import { recordKinds } from "../../../store/journal/record-kinds.js";
import { crc32c } from "../../../store/lib/crc32c.js";
import { type DeviceHistory, messageKey, type Taken } from "../../uplinks/redelivery.js";
import { receiveMaximum } from "./settings.js";

/** A message by what the broker sends again with DUP: packet id, topic and payload. */
interface Named {
  readonly messageID: number;
  readonly topic: string;
  readonly payload: Uint8Array;
}

/** One of them. */
export interface Trace {
  readonly isKept: boolean;
  /** Calls back once it is; it must not be kept yet. */
  onKept(tell: () => void): void;
  /** It is on disk now. */
  keep(): void;
}

/** What this run has taken of one session of the broker. */
interface Recent {
  /** A message that is on its way to the disk. */
  add(message: Named): Trace;
  find(message: Named): Trace | undefined;
  clear(): void;
}

/**
 * The broker has at most `receiveMaximum` messages open and we acknowledge in its order: what it may send again on
 * the next connection is among the last that many.
 */
export function createRecent(): Recent {
  const traces = new Map<number, NamedTrace>();
  return {
    add: (message) => {
      const trace = new NamedTrace(message);
      traces.delete(message.messageID);
      traces.set(message.messageID, trace);
      if (traces.size <= receiveMaximum) return trace;
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

  constructor({ topic, payload }: Named) {
    this.#topic = topic;
    this.#bytes = payload.length;
    this.#crc = crc32c(payload);
  }

  isOf({ topic, payload }: Named): boolean {
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
export interface EarlierRun {
  readonly lastID: number;
}

const windowMicros = 60e6;
const recordsMax = 10_000;

/**
 * What an earlier run had taken of a device through the broker and may not have acknowledged: at most its last
 * `receiveMaximum` messages, received within 60 s before the last of them. Of an id the latest counts. Other ways in
 * may have gone on for long: neither their records nor the end of the run tell when the broker was there.
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
    if (last - record.receivedAt > windowMicros || seen.size >= receiveMaximum) return taken;
    if (!seen.has(record.messageID)) taken.add(messageKey(record));
    seen.add(record.messageID);
  }
  return taken;
}
