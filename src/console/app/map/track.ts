/** Where a device has been, as a line. Nothing here draws. */
import type { LngLat } from "./places.js";

export interface Position {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly lnglat: LngLat;
}

interface Pixel {
  readonly x: number;
  readonly y: number;
}

/** Longitudes that go on beyond 180°, so that the line takes the short way. */
export function onward(places: readonly LngLat[]): LngLat[] {
  const line: LngLat[] = [];
  for (const [longitude, latitude] of places) {
    const before = line.at(-1)?.[0] ?? longitude;
    line.push([longitude - 360 * Math.round((longitude - before) / 360), latitude]);
  }
  return line;
}

const earthRadius = 6_371_008.8;
const radians = Math.PI / 180;

/** In metres. */
function distance([lngA, latA]: LngLat, [lngB, latB]: LngLat): number {
  const north = Math.sin(((latB - latA) * radians) / 2);
  const east = Math.sin(((lngB - lngA) * radians) / 2);
  const h = north * north + Math.cos(latA * radians) * Math.cos(latB * radians) * east * east;
  return 2 * earthRadius * Math.asin(Math.min(1, Math.sqrt(h)));
}

export function measureTrack(positions: readonly Position[]): number {
  let metres = 0;
  for (const [i, { lnglat }] of positions.entries()) {
    const before = positions[i - 1]?.lnglat;
    if (before !== undefined) metres += distance(before, lnglat);
  }
  return metres;
}

export function lengthText(metres: number): string {
  if (metres < 1000) return `${Math.round(metres)} m`;
  return `${(metres / 1000).toFixed(metres < 100_000 ? 1 : 0)} km`;
}

/** The point of a line that is nearest to another; null where none is within reach. */
export function nearest(line: readonly Pixel[], { x, y }: Pixel, reach: number): number | null {
  let [found, least]: [number | null, number] = [null, reach * reach];
  for (const [i, point] of line.entries()) {
    const square = (point.x - x) ** 2 + (point.y - y) ** 2;
    if (square <= least) [found, least] = [i, square];
  }
  return found;
}

/** An arrowhead on each so many pixels of a line: three points, the second at its tip. */
export function arrowheads(line: readonly Pixel[], every: number, size: number, most: number): Pixel[][] {
  const heads: Pixel[][] = [];
  let left = every / 2;
  for (let i = 1; i < line.length && heads.length < most; i++) {
    const [from, to] = [line[i - 1], line[i]];
    if (from === undefined || to === undefined) continue;
    const [east, south] = [to.x - from.x, to.y - from.y];
    const length = Math.hypot(east, south);
    for (; left <= length && length > 0 && heads.length < most; left += every) {
      const tip = { x: from.x + (east * left) / length, y: from.y + (south * left) / length };
      heads.push(headAt(tip, Math.atan2(south, east), size));
    }
    left -= length;
  }
  return heads;
}

const spread = (5 * Math.PI) / 6;

function headAt(tip: Pixel, angle: number, size: number): Pixel[] {
  const [one, other] = [spread, -spread].map((turn) => ({
    x: tip.x + size * Math.cos(angle + turn),
    y: tip.y + size * Math.sin(angle + turn),
  }));
  return one === undefined || other === undefined ? [] : [one, tip, other];
}
