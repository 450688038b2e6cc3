/** The slope of the line that fits the points best, y for each unit of x; 0 for fewer than two points. */
export function slopeOf(samples: readonly (readonly [x: number, y: number])[]): number {
  const n = samples.length;
  if (n < 2) return 0;
  const meanX = samples.reduce((sum, [x]) => sum + x, 0) / n;
  const meanY = samples.reduce((sum, [, y]) => sum + y, 0) / n;
  const covariance = samples.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const variance = samples.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return covariance / variance;
}
