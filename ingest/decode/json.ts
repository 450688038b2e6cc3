import { isUtf8 } from "node:buffer";
import type { Reason } from "./reasons.js";

/** One value as a device sent it; `time` is undefined when it gave none. */
export interface Reading {
  readonly key: string;
  readonly value: unknown;
  readonly time: unknown;
}

/**
 * Reads a JSON payload: `{"temp": 21.5}`, `{"temp": {"value": 21.5, "time": …}}`, `{"time": …, "temp": 21.5}`,
 * or an array of these. The keys are not looked up here.
 */
export function readJson(payload: Buffer, take: (reading: Reading) => void): Reason | null {
  const text = payload.toString("utf8");
  // Bytes that are no UTF-8 have become U+FFFD; only a text with one is worth a second look.
  if (text.includes("\ufffd") && !isUtf8(payload)) return "format";
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return "format";
  }
  if (!Array.isArray(parsed)) return readObject(parsed, take);
  let refused: Reason | null = null;
  for (const entry of parsed) refused = readObject(entry, take) ?? refused;
  return refused;
}

function readObject(entry: unknown, take: (reading: Reading) => void): Reason | null {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) return "shape";
  const object = entry as Record<string, unknown>;
  const common = object.time ?? undefined;
  for (const key in object) {
    if (key === "time") continue;
    const value = object[key];
    if (isValueForm(value)) take({ key, value: value.value, time: value.time ?? common });
    else take({ key, value, time: common });
  }
  return null;
}

function isValueForm(value: unknown): value is { value: unknown; time?: unknown } {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, "value")
  );
}
