/**
 * The arithmetic of formulas where it differs from JavaScript's own: the number semantics of mathjs 15, with its
 * tolerances, written for plain numbers because the typed functions of mathjs cost ten times as much.
 */
const relativeTolerance = 1e-12;
const absoluteTolerance = 1e-15;
const toleranceDecimals = 12;

export function nearlyEqual(a: number, b: number): boolean {
  if (a === b) return true;
  if (!Number.isFinite(a) || !Number.isFinite(b)) return false;
  const scale = Math.max(Math.abs(a), Math.abs(b));
  return Math.abs(a - b) <= Math.max(relativeTolerance * scale, absoluteTolerance);
}

export function smaller(a: number, b: number): boolean {
  return a < b && !nearlyEqual(a, b);
}

export function smallerEq(a: number, b: number): boolean {
  return a <= b || nearlyEqual(a, b);
}

export function min(a: number, b: number): number {
  return Number.isNaN(b) || smaller(b, a) ? b : a;
}

export function max(a: number, b: number): number {
  return Number.isNaN(b) || smaller(a, b) ? b : a;
}

export function isDecimals(count: number): boolean {
  return Number.isInteger(count) && count >= 0 && count <= 15;
}

/** Rounds halves away from zero, by the decimal digits that print the number. */
export function round(x: number, decimals: number): number {
  const shift = 10 ** decimals;
  const scaled = Math.abs(x) * shift;
  const below = Math.floor(scaled);
  const fraction = scaled - below;
  // Away from a half neither the scaling nor the tolerance decides, and one division rounds as the digits would.
  const doubt = scaled * relativeTolerance + 10 ** (decimals - toleranceDecimals);
  if (scaled < 1e15 && decimals < toleranceDecimals && Math.abs(fraction - 0.5) > doubt) {
    const rounded = (fraction < 0.5 ? below : below + 1) / shift;
    // A number that counts as zero loses its sign, which atan2 would show.
    return x < -absoluteTolerance ? -rounded : rounded;
  }
  return roundSlowly(x, decimals);
}

function roundSlowly(x: number, decimals: number): number {
  if (decimals >= toleranceDecimals) return signed(x, roundDigits(Math.abs(x), decimals));
  const tidy = signed(x, roundDigits(Math.abs(x), toleranceDecimals));
  const meant = nearlyEqual(x, tidy) ? tidy : x;
  return signed(meant, roundDigits(Math.abs(meant), decimals));
}

const signed = (x: number, size: number): number => (x < 0 ? -size : size);

/** Below this (scaled), a half has at most 15 digits, so no other such decimal reads as its double. */
const halvesExactBelow = 1e14;
/** From here on (scaled), the at most 17 digits that a double prints end before those that would be rounded. */
const wholeFrom = 2e16;

/**
 * The decimal digits that print `size` (not negative), rounded: what parsing its text, cut by the digits, gives. By
 * arithmetic wherever that is exact: x 10ⁿ may be rounded, but a quotient of whole numbers is the double nearest it.
 */
function roundDigits(size: number, decimals: number): number {
  const shift = 10 ** decimals;
  const scaled = size * shift;
  if (!(scaled < wholeFrom)) return size;
  if (scaled < halvesExactBelow) {
    const below = Math.floor(scaled);
    const half = (10 * below + 5) / (10 * shift);
    return (size < half ? below : below + 1) / shift;
  }
  // A number that prints with so few decimals is its own rounding.
  if (Math.round(scaled) / shift === size) return size;
  return roundText(String(size), decimals);
}

/** @param text a number from 0.1 up to 1e17, printed without an exponent */
function roundText(text: string, decimals: number): number {
  const point = text.indexOf(".");
  const end = point + 1 + decimals;
  if (point < 0 || text.length <= end) return Number(text);
  if ((text[end] as string) < "5") return Number(text.slice(0, end));
  const digits = BigInt(text.slice(0, point) + text.slice(point + 1, end));
  return Number(`${digits + 1n}e-${decimals}`);
}

/** A number that differs from an integer only by rounding error counts as that integer. */
function towards(end: (x: number) => number, x: number): number {
  const plain = end(x);
  if (nearlyEqual(x, plain)) return plain;
  const other = plain > x ? plain - 1 : plain + 1;
  if (!nearlyEqual(x, other)) return plain;
  // The number is so large that both are near, one of them by rounding: take the one that x rounds to.
  return Math.abs(x - other) < 0.4 ? other : round(x, 0);
}

export function floor(x: number, decimals: number): number {
  const shift = 10 ** decimals;
  return towards(Math.floor, x * shift) / shift;
}

export function ceil(x: number, decimals: number): number {
  const shift = 10 ** decimals;
  return towards(Math.ceil, x * shift) / shift;
}

export function fix(x: number, decimals: number): number {
  return x > 0 ? floor(x, decimals) : ceil(x, decimals);
}

/** The result takes the sign of the divisor; modulo zero gives the dividend. */
export function mod(x: number, y: number): number {
  return y === 0 ? x : x - y * floor(x / y, 0);
}

function vanishes(x: number, y: number): boolean {
  return (x * x < 1 && y === Infinity) || (x * x > 1 && y === -Infinity);
}

export function isRealPower(x: number, y: number): boolean {
  return x >= 0 || Number.isInteger(y) || vanishes(x, y);
}

export function pow(x: number, y: number): number {
  return vanishes(x, y) ? 0 : x ** y;
}

export function isRealRoot(x: number, root: number): boolean {
  return root !== 0 && !(x < 0 && Math.abs(root) % 2 !== 1);
}

export function nthRoot(x: number, root: number): number {
  const degree = Math.abs(root);
  const size = x === 0 || !Number.isFinite(x) ? x : Math.abs(x) ** (1 / degree) * (x < 0 ? -1 : 1);
  return root < 0 ? invertRoot(x, size) : size;
}

function invertRoot(x: number, size: number): number {
  if (x === 0) return Infinity;
  return Number.isFinite(x) ? 1 / size : 0;
}

/** Scales by the largest part, so that squares do not overflow. */
export function hypot(...parts: readonly number[]): number {
  let sum = 0;
  let largest = 0;
  for (const part of parts) {
    const size = Math.abs(part);
    if (smaller(largest, size)) {
      sum = sum * ((largest / size) * (largest / size)) + 1;
      largest = size;
    } else {
      sum += size > 0 && !nearlyEqual(size, 0) ? (size / largest) * (size / largest) : size;
    }
  }
  return largest * Math.sqrt(sum);
}
