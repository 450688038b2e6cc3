/** The outlines of the earth's land, made small for browsers: a step of the build. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { feature } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";

type Point = readonly [lng: number, lat: number];

/** How far an outline may be off, and the grid of its coordinates: both far below a pixel where it is drawn. */
const forms = {
  coarse: { file: "land-110m.json", unitsPerDegree: 60, tolerance: 0 },
  fine: { file: "land-50m.json", unitsPerDegree: 100, tolerance: 0.02 },
} as const;

/**
 * Numbers of any length (varints), the first the units of a degree; then for each ring how many points it has, and how
 * far each lies from the one before, east and north (zigzag).
 */
export async function landOutlines(detail: keyof typeof forms): Promise<Uint8Array> {
  const { file, unitsPerDegree, tolerance } = forms[detail];
  const path = createRequire(import.meta.url).resolve(`world-atlas/${file}`);
  const topology = JSON.parse(await readFile(path, "utf8")) as Topology<{ land: GeometryCollection }>;
  const bytes: number[] = [];
  const put = (number: number): void => {
    let left = number;
    for (; left > 127; left = Math.floor(left / 128)) bytes.push((left % 128) + 128);
    bytes.push(left);
  };
  put(unitsPerDegree);
  let before: Point = [0, 0];
  for (const ring of ringsOf(topology)) {
    const points = inUnits(simplified(unrolled(ring), tolerance), unitsPerDegree);
    if (points.length < 4) continue;
    put(points.length);
    for (const [x, y] of points) {
      put(zigzag(x - before[0]));
      put(zigzag(y - before[1]));
      before = [x, y];
    }
  }
  return Uint8Array.from(bytes);
}

const zigzag = (number: number): number => (number < 0 ? -2 * number - 1 : 2 * number);

function ringsOf(topology: Topology<{ land: GeometryCollection }>): Point[][] {
  return feature(topology, topology.objects.land).features.flatMap(({ geometry }) => {
    if (geometry.type === "Polygon") return geometry.coordinates as unknown as Point[][];
    if (geometry.type === "MultiPolygon") return geometry.coordinates.flat() as unknown as Point[][];
    throw new Error(`land is no ${geometry.type}`);
  });
}

/**
 * Longitudes that go on beyond 180°, so that no edge jumps over the map. A ring that goes round the earth begins and ends
 * on the antimeridian and is closed over the South Pole, the only one that has land around it.
 */
function unrolled(ring: readonly Point[]): readonly Point[] {
  const onward = goneOn(ring);
  const [[first = 0] = [], [last = 0] = []] = [onward[0], onward.at(-1)];
  if (Math.abs(last - first) < 180) return onward;
  const crossing = onward.findIndex(([lng], i) => turnOf(lng) !== turnOf(onward[i - 1]?.[0] ?? lng));
  const fromCrossing = [...onward.slice(crossing, -1), ...onward.slice(0, crossing)];
  const [from = [0, 0], to = [0, 0]] = [fromCrossing.at(-1), fromCrossing[0]];
  const latitude = (from[1] + to[1]) / 2;
  const way = goneOn(fromCrossing);
  const side = last > first ? -180 : 180;
  const turns = Math.round(((way[0]?.[0] ?? 0) - side) / 360) * 360;
  const inside = way.map(([lng, lat]): Point => [lng - turns, lat]);
  return [[side, -90], [side, latitude], ...inside, [-side, latitude], [-side, -90], [side, -90]];
}

const turnOf = (longitude: number): number => Math.floor((longitude + 180) / 360);

function goneOn(ring: readonly Point[]): Point[] {
  const onward: Point[] = [];
  for (const [lng, lat] of ring) {
    const before = onward.at(-1)?.[0] ?? lng;
    onward.push([lng - 360 * Math.round((lng - before) / 360), lat]);
  }
  return onward;
}

function inUnits(ring: readonly Point[], unitsPerDegree: number): Point[] {
  const points = ring.map(
    ([lng, lat]): Point => [Math.round(lng * unitsPerDegree), Math.round(lat * unitsPerDegree)],
  );
  return points.filter(([x, y], i) => i === 0 || x !== points[i - 1]?.[0] || y !== points[i - 1]?.[1]);
}

/** Without the points that lie closer than that to the line between those that stay (Douglas and Peucker). */
function simplified(ring: readonly Point[], tolerance: number): readonly Point[] {
  if (tolerance === 0) return ring;
  const middle = ring.length >> 1;
  const kept = new Set([0, middle, ring.length - 1]);
  const open: [number, number][] = [
    [0, middle],
    [middle, ring.length - 1],
  ];
  for (let span = open.pop(); span !== undefined; span = open.pop()) {
    const [first, last] = span;
    const farthest = farthestOf(ring, first, last);
    if (farthest.distance <= tolerance) continue;
    kept.add(farthest.index);
    open.push([first, farthest.index], [farthest.index, last]);
  }
  return ring.filter((_, i) => kept.has(i));
}

function farthestOf(
  ring: readonly Point[],
  first: number,
  last: number,
): { index: number; distance: number } {
  const [from = [0, 0], to = [0, 0]] = [ring[first], ring[last]];
  const found = { index: first, distance: 0 };
  for (let i = first + 1; i < last; i++) {
    const distance = distanceTo(ring[i] ?? from, from, to);
    if (distance > found.distance) Object.assign(found, { index: i, distance });
  }
  return found;
}

/** The distance of a point from the line between two others. */
function distanceTo([x, y]: Point, [fromX, fromY]: Point, [toX, toY]: Point): number {
  const [east, north] = [toX - fromX, toY - fromY];
  const square = east * east + north * north;
  const share = square === 0 ? 0 : ((x - fromX) * east + (y - fromY) * north) / square;
  const along = Math.max(0, Math.min(1, share));
  return Math.hypot(x - fromX - along * east, y - fromY - along * north);
}
