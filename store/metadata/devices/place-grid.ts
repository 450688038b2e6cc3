/** The grid in which places on a map are put together. Degrees (WGS 84). Pure. */

/** A box whose west lies east of its east crosses the antimeridian. Its edges belong to it. */
export interface Box {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/** Places of one answer. */
export const clustersMax = 2000;

/** A map of zoom 0 is 256 pixels wide: cells are a quarter of that, 64 pixels, at every zoom. */
const cellsAcross = 4;

/**
 * The side of a cell: that of the zoom, doubled until the box has `clustersMax` cells at most. Cells lie at multiples
 * of their side, whatever the box is, so that clusters stay as they are while a map is moved.
 */
export function cellDegrees(box: Box, zoom: number): number {
  let degrees = 360 / (cellsAcross * 2 ** zoom);
  while (countCells(box, degrees) > clustersMax) degrees *= 2;
  return degrees;
}

function countCells(box: Box, degrees: number): number {
  const columns = splitLongitudes(box).reduce(
    (sum, [west, east]) => sum + cellsBetween(west + 180, east + 180, degrees),
    0,
  );
  return columns * cellsBetween(box.south + 90, box.north + 90, degrees);
}

const cellsBetween = (from: number, to: number, degrees: number): number =>
  Math.floor(to / degrees) - Math.floor(from / degrees) + 1;

/** The spans of longitudes of a box: two if it crosses the antimeridian. */
export function splitLongitudes({ west, east }: Box): readonly (readonly [west: number, east: number])[] {
  if (west <= east) return [[west, east]];
  return [
    [west, 180],
    [-180, east],
  ];
}
