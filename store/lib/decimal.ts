/** A decimal fraction: digits / 10^scale. */
export interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

const numberForm = /^(-?\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/;

/** Expects a finite number. */
export function toDecimal(value: number): Decimal {
  const [, whole = "0", fraction = "", exponent = "0"] = numberForm.exec(String(value)) ?? [];
  const scale = fraction.length - Number(exponent);
  const digits = BigInt(whole + fraction);
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale };
}

export function addDecimals(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  const at = ({ digits, scale: own }: Decimal) => digits * 10n ** BigInt(scale - own);
  return { digits: at(a) + at(b), scale };
}

/** decimal × 10^exponent as a whole number; null from 2^53 on. */
export function nearest({ digits, scale }: Decimal, exponent: number): number | null {
  const up = 10n ** BigInt(Math.max(0, exponent));
  const unit = 10n ** BigInt(scale + Math.max(0, -exponent));
  const twice = 2n * digits * up + unit;
  const floor = twice / (2n * unit) - (twice < 0n && twice % (2n * unit) !== 0n ? 1n : 0n);
  return floor < 2n ** 53n && floor > -(2n ** 53n) ? Number(floor) : null;
}
