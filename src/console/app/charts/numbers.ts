/** A measured value as it is read: six digits that count, never a tail of binary fractions. */
export function numberText(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e9 || size < 1e-4)) return value.toExponential(3);
  return String(Number(value.toPrecision(size >= 1e6 ? 9 : 6)));
}
