import { StoreError } from "../store/lib/errors.js";
import { wallMs, type Zone } from "./zone.js";

/** The format of an answer's times. Times in microseconds. */
export type TimeFormat = "text" | "iso" | "ms";

/** An instant in milliseconds as `YYYY-MM-DD HH:MM:SS` in the zone. */
export function wallText(zone: Zone, utcMs: number): string {
  const wall = new Date(Math.floor(utcMs / 1000) * 1000 + zone.offsetAt(utcMs));
  const iso = wall.toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
}

/** RFC 3339 in UTC with as many decimals as needed, at most six. */
export function rfc3339(micros: number): string {
  const seconds = Math.floor(micros / 1e6);
  const fraction = micros - seconds * 1e6;
  const text = new Date(seconds * 1000).toISOString().slice(0, 19);
  if (fraction === 0) return `${text}Z`;
  return `${text}.${String(fraction)
    .padStart(6, "0")
    .replace(/0{1,5}$/, "")}Z`;
}

/** One time of an answer: text in the zone, RFC 3339 UTC, or milliseconds (fractions kept). */
export const timeWriters: Readonly<Record<TimeFormat, (zone: Zone, micros: number) => string | number>> = {
  text: (zone, micros) => wallText(zone, micros / 1000),
  iso: (_zone, micros) => rfc3339(micros),
  ms: (_zone, micros) => micros / 1000,
};

const wallForm = /^(\d{4})-(\d{2})-(\d{2}) (\d{2}):(\d{2}):(\d{2})$/;
const isoForm =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|z|[+ -]\d{2}:?\d{2})$/;

/*
 * A plus sign that a URL did not escape arrives as a space: both are read.
 */

/**
 * A time of a request in microseconds: `YYYY-MM-DD HH:MM:SS` in the zone, ISO 8601 with an offset or Z, or
 * milliseconds since 1970. @throws StoreError INVALID naming the parameter
 */
export function readRequestTime(text: string, zone: Zone, parameter: string): number {
  const micros = fromMs(text) ?? fromWallText(text, zone) ?? fromIso(text);
  if (micros === null || Math.abs(micros) > timeMicrosMax) {
    throw new StoreError("INVALID", `cannot read ${parameter}`, {
      [parameter]: "must be YYYY-MM-DD HH:MM:SS, ISO 8601 with an offset, or milliseconds since 1970",
    });
  }
  return micros;
}

/** Beyond 2^53 microseconds (the year 2255) times are no longer exact. */
const timeMicrosMax = Number.MAX_SAFE_INTEGER;

function fromMs(text: string): number | null {
  return /^-?\d{1,15}(\.\d{1,3})?$/.test(text) ? Math.round(Number(text) * 1000) : null;
}

function fromWallText(text: string, zone: Zone): number | null {
  const match = wallForm.exec(text);
  if (match === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  if (!isReal(year, month, day, hour, minute, second)) return null;
  return zone.fromWall(wallMs({ year, month, day, hour, minute, second })) * 1000;
}

function fromIso(text: string): number | null {
  const match = isoForm.exec(text);
  if (match === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0] = match.slice(1, 6).map(Number);
  const second = Number(match[6] ?? 0);
  if (!isReal(year, month, day, hour, minute, second)) return null;
  // Rounds to the nearest microsecond, of two the later, as for the times that devices send.
  const micros = Math.floor((Number((match[7] ?? "").padEnd(9, "0")) + 500) / 1000);
  const offset = offsetMs(match[8] ?? "Z");
  if (Math.abs(offset) > offsetMaxMs) return null;
  return (wallMs({ year, month, day, hour, minute, second }) - offset) * 1000 + micros;
}

function isReal(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
): boolean {
  const lastDay = new Date(Date.UTC(2000, month, 0)).getUTCDate();
  const days = month === 2 && !isLeap(year) ? 28 : lastDay;
  return month >= 1 && month <= 12 && day >= 1 && day <= days && hour <= 23 && minute <= 59 && second <= 59;
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

/** Offsets of real zones are well within this. */
const offsetMaxMs = 18 * 3_600_000;

function offsetMs(text: string): number {
  if (text === "Z" || text === "z") return 0;
  const minutes = Number(text.slice(1, 3)) * 60 + Number(text.slice(-2));
  return (text.startsWith("-") ? -minutes : minutes) * 60_000;
}
