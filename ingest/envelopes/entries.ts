/** The entries of an envelope. */
import { envelopeKey } from "../decode/points.js";
import { timeText } from "../decode/time-text.js";
import { isNumber, parseJson, writeJson } from "../decode/whole.js";
import { payloadBytesMax } from "../uplinks/accept.js";

/** Later entries are refused, because their number would not fit a record; so many of 16 bytes fill a payload. */
export const entriesMax = 65_536;

/** The entry as a message of its device; null if it cannot be one. `sentAt`: the envelope's time, microseconds. */
export function payloadOfEntry({ rest }: Entry, sentAt: number | null): Buffer | null {
  return toPayload(timed(rest, sentAt));
}

/** The time that the sender of the envelope says is that of entries without one. */
function timed(entry: object, sentAt: number | null): object {
  return sentAt === null || "TimeStamp" in entry ? entry : { ...entry, TimeStamp: timeText(sentAt) };
}

/**
 * Null for an entry that is nested deeper than JSON.stringify follows (JSON.parse has no bound), and for one that has
 * grown larger than a message may be: `1e20` becomes 21 digits.
 */
function toPayload(entry: object): Buffer | null {
  try {
    const payload = Buffer.from(writeJson(entry));
    return payload.length <= payloadBytesMax ? payload : null;
  } catch {
    return null;
  }
}

interface Entry {
  readonly deviceID: string;
  readonly rest: object;
}

/** The entries in their order, null for what names no device. */
export function entriesOf(payload: Uint8Array): (Entry | null)[] {
  const parsed = parseJson(Buffer.from(payload).toString("utf8"));
  const objects = Array.isArray(parsed) ? parsed : [parsed];
  return objects.flatMap((object: unknown) => {
    const entries = (object as Record<string, unknown> | null)?.[envelopeKey];
    return Array.isArray(entries) ? entries.map(toEntry) : [];
  });
}

function toEntry(entry: unknown): Entry | null {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) return null;
  const { DeviceID, ...rest } = entry as Record<string, unknown>;
  return typeof DeviceID === "string" || isNumber(DeviceID) ? { deviceID: String(DeviceID), rest } : null;
}
