/** The outlines of the earth's land, as the build has packed them, and the parts of them that a tile shows. */

/** Points of a closed line on a square map of the world (Web Mercator), from 0 to 1 each: x, y, x, y … */
type Ring = Float64Array;

interface Box {
  readonly west: number;
  readonly north: number;
  readonly east: number;
  readonly south: number;
}

/** A ring with the box that it lies in. */
export interface Outline {
  readonly points: Ring;
  readonly box: Box;
}

/** The map ends where it is as high as it is wide. */
const latitudeMax = 85.0511287798;

export function mercatorY(latitude: number): number {
  if (Math.abs(latitude) >= latitudeMax) return latitude < 0 ? 1 : 0;
  const sine = Math.sin((latitude * Math.PI) / 180);
  return 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI);
}

/** What src/console/land.ts has packed. */
export function unpacked(bytes: Uint8Array): Outline[] {
  let at = 0;
  const next = (): number => {
    let number = 0;
    for (let unit = 1; ; unit *= 128) {
      const byte = bytes[at++] ?? 0;
      number += (byte & 127) * unit;
      if (byte < 128) return number;
    }
  };
  const step = (): number => {
    const number = next();
    return number % 2 === 0 ? number / 2 : -(number + 1) / 2;
  };
  const unitsPerDegree = next();
  const outlines: Outline[] = [];
  let [x, y] = [0, 0];
  while (at < bytes.length) {
    const points = new Float64Array(2 * next());
    for (let i = 0; i < points.length; i += 2) {
      x += step();
      y += step();
      points[i] = x / unitsPerDegree / 360 + 0.5;
      points[i + 1] = mercatorY(y / unitsPerDegree);
    }
    outlines.push({ points, box: measureBox(points) });
  }
  return outlines;
}

function measureBox(points: Ring): Box {
  const box = { west: Infinity, north: Infinity, east: -Infinity, south: -Infinity };
  for (let i = 0; i < points.length; i += 2) {
    const [x = 0, y = 0] = [points[i], points[i + 1]];
    box.west = Math.min(box.west, x);
    box.east = Math.max(box.east, x);
    box.north = Math.min(box.north, y);
    box.south = Math.max(box.south, y);
  }
  return box;
}

export const meets = (a: Box, b: Box): boolean =>
  a.west <= b.east && b.west <= a.east && a.north <= b.south && b.north <= a.south;

/** The part of a closed line inside a box (Sutherland and Hodgman): a canvas need not draw what nobody sees. */
export function clipped(points: Ring, { west, east, north, south }: Box): number[] {
  let part = cut(points, 0, 1, west);
  part = cut(part, 0, -1, east);
  part = cut(part, 1, 1, north);
  return cut(part, 1, -1, south);
}

/** What lies on one side of a line along an axis: beyond the edge for a side of 1, before it for -1. */
function cut(points: ArrayLike<number>, axis: 0 | 1, side: 1 | -1, edge: number): number[] {
  const kept: number[] = [];
  const { length } = points;
  for (let i = 0; i < length; i += 2) {
    const before = (i + length - 2) % length;
    const [x = 0, y = 0, fromX = 0, fromY = 0] = [
      points[i],
      points[i + 1],
      points[before],
      points[before + 1],
    ];
    const [own, from] = axis === 0 ? [x, fromX] : [y, fromY];
    const [isIn, wasIn] = [(own - edge) * side >= 0, (from - edge) * side >= 0];
    if (isIn !== wasIn) {
      const share = (edge - from) / (own - from);
      kept.push(fromX + (x - fromX) * share, fromY + (y - fromY) * share);
    }
    if (isIn) kept.push(x, y);
  }
  return kept;
}
