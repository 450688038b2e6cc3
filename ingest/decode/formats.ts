import { type BinaryLayout, readBinary } from "./binary.js";
import { readCbor } from "./cbor.js";
import { toPlain } from "./cbor-plain.js";
import { type JsonContext, readJson, readObjects } from "./json.js";
import type { Refuse } from "./reasons.js";
import { isCborPack, readPack } from "./senml.js";
import type { Sink } from "./sink.js";

export interface FormatContext extends JsonContext {
  /** The layout of a binary stream; null if it has none; undefined for every other topic. */
  readonly layout: BinaryLayout | null | undefined;
}

type FormatName = "binary" | "cbor" | "json";

interface Format {
  readonly name: FormatName;
  matches(payload: Buffer, context: FormatContext): boolean;
  /** Answers whether a data point may occur twice: a list was read. */
  read(payload: Buffer, context: FormatContext, take: Sink, refuse: Refuse): boolean;
}

/** The forms that a payload may have, in the order in which they are tried; the last takes what is left. */
const formats = [
  {
    name: "binary",
    matches: (_payload, { layout }) => layout !== undefined,
    read: (payload, { layout }, take, refuse) => {
      const reason = layout
        ? readBinary(layout, payload, (key, value) => take(key, value, undefined))
        : "layout";
      if (reason !== null) refuse(reason, 1);
      return false;
    },
  },
  { name: "cbor", matches: isCbor, read: readCborPayload },
  { name: "json", matches: () => true, read: readJson },
] as const satisfies readonly Format[];

/** No JSON begins with a byte of these: an array or a map of CBOR, or the tag that says CBOR (RFC 8949 §3.4.6). */
export function isCbor(payload: Uint8Array): boolean {
  const first = payload[0] ?? 0;
  return (first >= 0x80 && first <= 0xbf) || first === 0xd9;
}

/** A SenML pack, or what JSON may be: an object of values, or a list of these. */
function readCborPayload(payload: Buffer, context: FormatContext, take: Sink, refuse: Refuse): boolean {
  const decoded = readCbor(payload);
  if (decoded === null) {
    refuse("format", 1);
    return false;
  }
  const { value } = decoded;
  if (!Array.isArray(value)) readObjects([toPlain(value)], context, take, refuse);
  else if (isCborPack(value, context.knows)) readPack(value, context, take, refuse);
  else
    readObjects(
      value.map((one) => toPlain(one)),
      context,
      take,
      refuse,
    );
  return Array.isArray(value);
}

/** Which of them takes a payload. */
export function detectFormat(payload: Buffer, context: FormatContext): FormatName {
  return formats.find(({ matches }) => matches(payload, context))?.name ?? "json";
}

/**
 * Gives the values of a payload to `take`, and reports to `refuse` each entry, or the whole, that cannot be read.
 * Answers whether a data point may occur twice.
 */
export function readPayload(payload: Buffer, context: FormatContext, take: Sink, refuse: Refuse): boolean {
  for (const format of formats) {
    if (format.matches(payload, context)) return format.read(payload, context, take, refuse);
  }
  return false;
}
