/** Decodes a message again to explain what became of it, and why; stores nothing. */
import { readBinary } from "./binary.js";
import { detectFormat } from "./formats.js";
import { detectJSONForm } from "./json.js";
import {
  type DecodableMessage,
  type DecodedPoint,
  type DecodeRules,
  decodePoints,
  findStream,
} from "./points.js";
import type { DecodableDevice } from "./product-model.js";
import type { Reason } from "./reasons.js";

export type FormName = "binary" | "cbor" | "senml" | "json";

export interface Refused {
  readonly reason: Reason;
  readonly count: number;
  /** The key and the value, if it is about a single value. */
  readonly key: string | undefined;
  readonly value: unknown;
}

/** A field of a binary stream in the payload; its bits, counted from the high bit of the first byte. */
interface FieldPlace {
  readonly dataPointID: string;
  readonly fromBit: number;
  readonly toBit: number;
}

export interface Explained {
  /** Null if the payload has no known form. */
  readonly form: FormName | null;
  readonly points: readonly DecodedPoint[];
  readonly refused: readonly Refused[];
  /** The fields of a binary stream, as far as the payload goes; null for other forms. */
  readonly fields: readonly FieldPlace[] | null;
  /** It carries entries of other devices. */
  readonly isEnvelope: boolean;
  /** A fault keeps its points out of the series. */
  readonly isDiscarded: boolean;
}

export function explainMessage(
  device: DecodableDevice,
  message: DecodableMessage,
  rules: Omit<DecodeRules, "asOfReceipt">,
): Explained {
  const decoded: DecodedPoint[] = [];
  const refused: Refused[] = [];
  const outcome = decodePoints(
    device,
    message,
    { ...rules, asOfReceipt: false },
    decoded,
    (reason, count, key, value) => refused.push({ reason, count, key, value }),
  );
  const discarded = outcome?.discarded ?? null;
  return {
    form: detectForm(device, message, rules),
    points: discarded ?? decoded,
    refused,
    fields: listFieldPlaces(device, message),
    isEnvelope: outcome?.isEnvelope === true,
    isDiscarded: discarded !== null,
  };
}

function detectForm(
  device: DecodableDevice,
  message: DecodableMessage,
  { local }: Omit<DecodeRules, "asOfReceipt">,
): FormName | null {
  const stream = findStream(device, message);
  const known = stream?.points ?? device.product.points;
  const knows = (key: string) => known.has(key);
  const { payload, receivedAt } = message;
  const noUnits = () => null;
  const context = {
    layout: stream?.layout,
    local,
    receivedAt,
    timeKey: "time",
    knows,
    unitsOf: noUnits,
  } as const;
  const format = detectFormat(payload, context);
  return format === "json" ? detectJSONForm(payload, knows) : format;
}

function listFieldPlaces(device: DecodableDevice, message: DecodableMessage): FieldPlace[] | null {
  const layout = findStream(device, message)?.layout;
  if (layout === undefined) return null;
  const fields: FieldPlace[] = [];
  if (layout === null) return fields;
  readBinary(
    layout,
    message.payload,
    () => undefined,
    (dataPointID, fromBit, toBit) => fields.push({ dataPointID, fromBit, toBit }),
  );
  return fields;
}
