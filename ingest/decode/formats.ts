import { type Layout, readBinary } from "./binary.js";
import { readCbor } from "./cbor.js";
import { type JsonContext, readJson } from "./json.js";
import type { Refuse } from "./reasons.js";
import { readPack } from "./senml.js";
import type { Sink } from "./sink.js";

export interface FormatContext extends JsonContext {
  /** Of a binary stream; null if it has no layout; undefined for every other topic. */
  readonly layout: Layout | null | undefined;
}

type FormatName = "binary" | "cbor" | "json";

interface Format {
  readonly name: FormatName;
  matches(payload: Buffer, context: FormatContext): boolean;
  read(payload: Buffer, context: FormatContext, take: Sink, refuse: Refuse): void;
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
    },
  },
  {
    name: "cbor",
    // No JSON begins with a byte of this kind: an array of CBOR, or the tag that says CBOR (RFC 8949 §3.4.6).
    matches: (payload) => {
      const first = payload[0] ?? 0;
      return (first >= 0x80 && first <= 0x9f) || first === 0xd9;
    },
    read: (payload, context, take, refuse) => {
      const decoded = readCbor(payload);
      if (decoded !== null && Array.isArray(decoded.value)) readPack(decoded.value, context, take, refuse);
      else refuse(decoded === null ? "format" : "shape", 1);
    },
  },
  { name: "json", matches: () => true, read: readJson },
] as const satisfies readonly Format[];

/** Which of them takes a payload. */
export function formatOf(payload: Buffer, context: FormatContext): FormatName {
  return formats.find(({ matches }) => matches(payload, context))?.name ?? "json";
}

/** Gives the values of a payload to `take`, and tells `refuse` of each entry, or of the whole, that cannot be read. */
export function readPayload(payload: Buffer, context: FormatContext, take: Sink, refuse: Refuse): void {
  for (const format of formats) {
    if (format.matches(payload, context)) {
      format.read(payload, context, take, refuse);
      return;
    }
  }
}
