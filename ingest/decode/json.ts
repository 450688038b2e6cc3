import { isUtf8 } from "node:buffer";
import { bareJson } from "./bare-json.js";
import { parseJson } from "./exact-numbers.js";
import { flat, scanFlat } from "./flat-json.js";
import type { Refuse } from "./reasons.js";
import { countRepeatedNames } from "./repeated-names.js";
import { isPack, readPack, type SenmlContext } from "./senml.js";
import type { Sink } from "./sink.js";
import { type LocalTime, readPointTime } from "./time.js";
import { findTimeName, type TimeName } from "./time-names.js";

export interface JsonContext extends SenmlContext {
  readonly local: LocalTime;
  /** The name of an object's common time; where it is missing, the other one counts. */
  readonly timeKey: TimeName;
}

/** The key of the entries that a gateway sends for other devices. */
export const envelopeKey = "Telemetry";

/**
 * Reads a JSON payload: `{"temp": 21.5}`, `{"temp": {"value": 21.5, "time": …}}`, `{"time": …, "temp": 21.5}`,
 * an array of these, or a SenML pack. The keys are not looked up here. An entry of another shape is refused alone.
 * Answers whether a data point may occur twice.
 */
export function readJson(received: Buffer, context: JsonContext, take: Sink, refuse: Refuse): boolean {
  const payload = bareJson(received);
  const objects = scanFlat(payload);
  if (objects >= 0) {
    for (let i = 0, from = 0; i < objects; i++) {
      const end = flat.ends[i] as number;
      readFlat(from, end, context, take);
      from = end;
    }
    return objects > 1;
  }
  const text = decodeText(payload);
  const parsed = text === null ? undefined : parse(text);
  if (text === null || parsed === undefined) {
    refuse("format", 1);
    return false;
  }
  const repeated = countRepeatedNames(payload, parsed);
  if (repeated > 0) refuse("duplicate", repeated);
  if (!Array.isArray(parsed)) readObject(parsed, context, take, refuse);
  else if (isPack(parsed, context.knows)) readPack(parsed, context, take, refuse);
  else readObjects(parsed, context, take, refuse);
  return Array.isArray(parsed);
}

/** Reads objects of values, as JSON or CBOR has them. */
export function readObjects(
  entries: readonly unknown[],
  context: JsonContext,
  take: Sink,
  refuse: Refuse,
): void {
  for (const entry of entries) readObject(entry, context, take, refuse);
}

/** The form of a payload that is read as JSON; null if it is not JSON in UTF-8. */
export function detectJSONForm(payload: Buffer, knows: SenmlContext["knows"]): "json" | "senml" | null {
  const text = decodeText(bareJson(payload));
  const parsed = text === null ? undefined : parse(text);
  if (parsed === undefined) return null;
  return Array.isArray(parsed) && isPack(parsed, knows) ? "senml" : "json";
}

/** Null if the bytes are not UTF-8. */
function decodeText(payload: Buffer): string | null {
  const text = payload.toString("utf8");
  // Bytes that are not UTF-8 have become U+FFFD; only a text with one is worth a second look.
  return text.includes("\ufffd") && !isUtf8(payload) ? null : text;
}

/** Undefined if the text is not JSON. */
function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** One object of those that were read. */
function readFlat(from: number, end: number, { timeKey, local, knows }: JsonContext, take: Sink): void {
  const { keys, values, times, isTimed } = flat;
  let timeAt = -1;
  let otherAt = -1;
  for (let i = from; i < end; i++) {
    const key = keys[i] as string;
    if (key === timeKey) timeAt = i;
    else if (key === "time" || key === "TimeStamp") otherAt = i;
  }
  if (timeAt < 0 && otherAt >= 0 && !knows(keys[otherAt] as string)) timeAt = otherAt;
  const common = timeAt < 0 ? undefined : readTime(values[timeAt], local);
  for (let i = from; i < end; i++) {
    if (i !== timeAt)
      take(keys[i] as string, values[i], isTimed ? readTime(times[i], local, common) : common);
  }
}

function readObject(entry: unknown, context: JsonContext, take: Sink, refuse: Refuse): void {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
    refuse("shape", 1);
    return;
  }
  const object = entry as Record<string, unknown>;
  const { timeKey, local, knows } = context;
  const timeName = findTimeName(object, timeKey, knows);
  const common = readTime(object[timeName], local);
  for (const key in object) {
    if (key === timeName) continue;
    const value = object[key];
    // An envelope is a list, never in the value form.
    if (!isValueForm(value) || (key === envelopeKey && !knows(key))) take(key, value, common);
    else readForm(key, value, context, common, take, refuse);
  }
}

/** `{"value": 21.5, "time": …}`; what else stands there is no value of a data point. */
function readForm(
  key: string,
  form: Readonly<Record<string, unknown>>,
  { local }: JsonContext,
  common: number | null | undefined,
  take: Sink,
  refuse: Refuse,
): void {
  const timeName = findTimeName(form, "time");
  take(key, form.value, readTime(form[timeName], local, common));
  for (const name in form) {
    if (name !== "value" && name !== timeName) refuse("unknown", 1, `${key}.${name}`, form[name]);
  }
}

function readTime(time: unknown, local: LocalTime, otherwise?: number | null): number | null | undefined {
  return time === undefined || time === null ? otherwise : readPointTime(time, local);
}

function isValueForm(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, "value")
  );
}
