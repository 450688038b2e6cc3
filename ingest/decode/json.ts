import { isUtf8 } from "node:buffer";
import { flat, scanFlat } from "./flat-json.js";
import type { Refuse } from "./reasons.js";
import { isPack, readPack, type SenmlContext } from "./senml.js";
import type { Sink } from "./sink.js";
import { type LocalTime, readPointTime } from "./time.js";
import { parseJson } from "./whole.js";

export interface JsonContext extends SenmlContext {
  readonly local: LocalTime;
  /** Key of an object's common time. */
  readonly timeKey: "time" | "TimeStamp";
}

/**
 * Reads a JSON payload: `{"temp": 21.5}`, `{"temp": {"value": 21.5, "time": …}}`, `{"time": …, "temp": 21.5}`,
 * an array of these, or a SenML pack. The keys are not looked up here. An entry of another shape is refused alone.
 */
export function readJson(payload: Buffer, context: JsonContext, take: Sink, refuse: Refuse): void {
  const members = scanFlat(payload);
  if (members >= 0) {
    readFlat(members, context, take);
    return;
  }
  const parsed = parse(payload);
  if (parsed === undefined) refuse("format", 1);
  else if (!Array.isArray(parsed)) readObject(parsed, context, take, refuse);
  else if (isPack(parsed, context.knows)) readPack(parsed, context, take, refuse);
  else for (const entry of parsed) readObject(entry, context, take, refuse);
}

/** What a payload is that is read as JSON: null for what is not JSON in UTF-8. */
export function jsonFormOf(payload: Buffer, knows: SenmlContext["knows"]): "json" | "senml" | null {
  const parsed = parse(payload);
  if (parsed === undefined) return null;
  return Array.isArray(parsed) && isPack(parsed, knows) ? "senml" : "json";
}

/** Undefined for what is not JSON in UTF-8. */
function parse(payload: Buffer): unknown {
  const text = payload.toString("utf8");
  // Bytes that are not UTF-8 have become U+FFFD; only a text with one is worth a second look.
  if (text.includes("\ufffd") && !isUtf8(payload)) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function readFlat(members: number, { timeKey, local }: JsonContext, take: Sink): void {
  let common: number | null | undefined;
  const { keys, values, times, isTimed } = flat;
  for (let i = 0; i < members; i++) if (keys[i] === timeKey) common = timeOf(values[i], local);
  for (let i = 0; i < members; i++) {
    const key = keys[i] as string;
    if (key !== timeKey) take(key, values[i], isTimed ? timeOf(times[i], local, common) : common);
  }
}

function readObject(entry: unknown, context: JsonContext, take: Sink, refuse: Refuse): void {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
    refuse("shape", 1);
    return;
  }
  const object = entry as Record<string, unknown>;
  const { timeKey, local } = context;
  const common = timeOf(object[timeKey], local);
  for (const key in object) {
    if (key === timeKey) continue;
    const value = object[key];
    if (isValueForm(value)) take(key, value.value, timeOf(value.time, local, common));
    else take(key, value, common);
  }
}

function timeOf(time: unknown, local: LocalTime, otherwise?: number | null): number | null | undefined {
  return time === undefined || time === null ? otherwise : readPointTime(time, local);
}

function isValueForm(value: unknown): value is { value: unknown; time?: unknown } {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, "value")
  );
}
