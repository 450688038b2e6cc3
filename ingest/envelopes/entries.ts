/** The entries of an envelope. */
import { bareJson } from "../decode/bare-json.js";
import { readCbor } from "../decode/cbor.js";
import { toPlain } from "../decode/cbor-plain.js";
import { isNumber, parseJson, writeJson } from "../decode/exact-numbers.js";
import { isCbor } from "../decode/formats.js";
import { envelopeKey } from "../decode/json.js";
import { findTimeName } from "../decode/time-names.js";
import { timeText } from "../decode/time-text.js";
import { payloadBytesMax } from "../uplinks/accept.js";

/** Later entries are refused, because their number would not fit a record; so many of 16 bytes fill a payload. */
export const entriesMax = 65_536;

/** The entry as a message of its device; null if it cannot be one. `sentAt`: the envelope's time, microseconds. */
export function payloadOfEntry({ rest, time }: EnvelopeEntry, sentAt: number | null): Buffer | null {
  return toPayload(timed(rest, time ?? (sentAt === null ? null : timeText(sentAt))));
}

/** An entry without a time has that of its envelope. */
function timed(entry: Members, time: unknown): Members {
  const own = entry[findTimeName(entry, "TimeStamp")];
  const hasNone = own === undefined || own === null;
  return hasNone && time !== null ? { ...entry, TimeStamp: time } : entry;
}

/**
 * Null for an entry that is nested deeper than JSON.stringify follows (JSON.parse has no bound), and for one that has
 * grown larger than a message may be: `1e20` becomes 21 digits.
 */
function toPayload(entry: Members): Buffer | null {
  try {
    const payload = Buffer.from(writeJson(entry));
    return payload.length <= payloadBytesMax ? payload : null;
  } catch {
    return null;
  }
}

type Members = Readonly<Record<string, unknown>>;

export interface EnvelopeEntry {
  readonly deviceID: string;
  readonly rest: Members;
  /** As it stands beside the list of entries; null if there is none. */
  readonly time: unknown;
}

/** The entries in their order, null for what names no device. */
export function parseEntries(payload: Buffer): (EnvelopeEntry | null)[] {
  const parsed = isCbor(payload)
    ? toPlain(readCbor(payload)?.value, textOfBytes)
    : parseJson(bareJson(payload).toString("utf8"));
  const objects = Array.isArray(parsed) ? parsed : [parsed];
  return objects.flatMap((object: Members | null) => {
    const entries = object?.[envelopeKey];
    if (object === null || !Array.isArray(entries)) return [];
    const time = object[findTimeName(object, "time")] ?? null;
    return entries.map((entry: unknown) => toEntry(entry, time));
  });
}

/** Entries are JSON, where bytes are base64. */
const textOfBytes = (bytes: Buffer): string => bytes.toString("base64");

function toEntry(entry: unknown, time: unknown): EnvelopeEntry | null {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) return null;
  const { DeviceID, ...rest } = entry as Record<string, unknown>;
  return typeof DeviceID === "string" || isNumber(DeviceID)
    ? { deviceID: String(DeviceID), rest, time }
    : null;
}
