import { timeText } from "../../../decode/time-text.js";

/** Precisions of a write, by the names of InfluxDB 2. */
export type Precision = "ns" | "us" | "ms" | "s";

export function isPrecision(text: string): text is Precision {
  return text === "ns" || text === "us" || text === "ms" || text === "s";
}

const microsEach = { us: 1n, ms: 1000n, s: 1_000_000n } as const;

/** Before it, microseconds would be read as a coarser unit. */
const plainMicros = 1e14;

/**
 * A timestamp as JSON that `readTime` reads as the same instant: the nearest microsecond, of two the later. Null beyond
 * the years that a time can have.
 */
export function jsonOfTimestamp(digits: string, precision: Precision): string | null {
  const micros = microsOf(digits, precision);
  if (micros === null) return null;
  return micros >= plainMicros ? String(micros) : `"${timeText(micros)}"`;
}

/** Years 1 to 9999. */
const [micros0001, micros9999] = [-62_135_596_800_000_000n, 253_402_300_799_999_999n];

function microsOf(digits: string, precision: Precision): number | null {
  // Nanoseconds of our time: the last three digits go.
  if (precision === "ns" && digits.length === 19 && !digits.startsWith("-")) {
    const micros = Number(digits.slice(0, 16));
    return (digits.charCodeAt(16) as number) >= five ? micros + 1 : micros;
  }
  const value = BigInt(digits);
  const micros = precision === "ns" ? rounded(value) : value * microsEach[precision];
  if (micros < micros0001 || micros > micros9999) return null;
  const number = Number(micros);
  return Number.isSafeInteger(number) ? number : null;
}

const five = 0x35;

function rounded(nanos: bigint): bigint {
  const shifted = nanos + 500n;
  const micros = shifted / 1000n;
  return shifted < 0n && shifted % 1000n !== 0n ? micros - 1n : micros;
}
