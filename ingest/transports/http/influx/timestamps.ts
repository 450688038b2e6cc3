import { bareTimeLeast } from "../../../decode/time.js";

/** Precisions of a write; minutes and hours are of InfluxDB 1 alone. */
export type Precision = PrecisionOf2 | "m" | "h";

type PrecisionOf2 = "ns" | "us" | "ms" | "s";

/** Whether it is one by the names of InfluxDB 2. */
export function isPrecision(text: string): text is PrecisionOf2 {
  return text === "ns" || text === "us" || text === "ms" || text === "s";
}

const microsEach = { us: 1n, ms: 1000n, s: 1_000_000n, m: 60_000_000n, h: 3_600_000_000n } as const;

/**
 * A timestamp as the JSON number of microseconds that a payload takes: the nearest, of two the later. Null before
 * 2000-01-01, whatever the precision (188 s is a counter, not a time), and from 2^53 on.
 */
export function jsonOfTimestamp(digits: string, precision: Precision): string | null {
  const micros = parseMicros(digits, precision);
  return micros >= bareTimeLeast && micros < 2 ** 53 ? String(micros) : null;
}

function parseMicros(digits: string, precision: Precision): number {
  // Nanoseconds of our time: the last three digits go.
  if (precision === "ns" && digits.length === 19 && !digits.startsWith("-")) {
    const micros = Number(digits.slice(0, 16));
    return (digits.charCodeAt(16) as number) >= five ? micros + 1 : micros;
  }
  const value = BigInt(digits);
  return Number(precision === "ns" ? (value + 500n) / 1000n : value * microsEach[precision]);
}

const five = 0x35;
