/** Fences on the earth: degrees of longitude and latitude (WGS 84), metres. Pure. */

/** [longitude, latitude] */
export type LngLat = readonly [number, number];

export type Fence = (location: LngLat) => boolean;

const earthRadius = 6_371_008.8;
const radians = Math.PI / 180;

/** Within `radius` metres of the centre along the surface (haversine); the edge belongs to it. */
export function circle(center: LngLat, radius: number): Fence {
  return (location) => distance(center, location) <= radius;
}

export function distance([lngA, latA]: LngLat, [lngB, latB]: LngLat): number {
  const north = Math.sin(((latB - latA) * radians) / 2);
  const east = Math.sin(((lngB - lngA) * radians) / 2);
  const h = north * north + Math.cos(latA * radians) * Math.cos(latB * radians) * east * east;
  return 2 * earthRadius * Math.asin(Math.min(1, Math.sqrt(h)));
}

/**
 * Inside a polygon, whose edges are straight on a map of longitude and latitude and belong to it. An edge takes the
 * short way round the earth, so that a fence may lie across the 180th meridian; one that goes round it encloses the
 * nearer pole.
 */
export function polygon(points: readonly LngLat[]): Fence {
  const ring = unroll(points);
  const lngs = ring.map(([lng]) => lng);
  const lats = ring.map(([, lat]) => lat);
  const west = least(lngs);
  const east = -least(lngs.map((lng) => -lng));
  const south = least(lats);
  const north = -least(lats.map((lat) => -lat));
  return ([lng, lat]) => {
    if (lat < south || lat > north) return false;
    for (let turned = lng + 360 * Math.ceil((west - lng) / 360); turned <= east; turned += 360) {
      if (isInside(ring, turned, lat)) return true;
    }
    return false;
  };
}

/** Not Math.min(...all), whose arguments a large ring would not fit. */
const least = (all: readonly number[]): number => all.reduce((so, one) => Math.min(so, one), Infinity);

/** Longitudes that go on beyond 180°, so that no edge jumps. Points that repeat the one before are left out. */
export function unroll(points: readonly LngLat[]): LngLat[] {
  const ring: LngLat[] = [];
  for (const [lng, lat] of points) {
    const before = ring.at(-1);
    const next: LngLat = [before === undefined ? lng : before[0] + shortWay(lng - before[0]), lat];
    if (before === undefined || next[0] !== before[0] || next[1] !== before[1]) ring.push(next);
  }
  return closed(ring);
}

const shortWay = (degrees: number): number => degrees - 360 * Math.round(degrees / 360);

function closed(ring: LngLat[]): LngLat[] {
  const first = ring[0];
  const last = ring.at(-1);
  if (first === undefined || last === undefined || ring.length < 2) return ring;
  const end = last[0] + shortWay(first[0] - last[0]);
  if (Math.abs(end - first[0]) < 180) {
    if (end === last[0] && first[1] === last[1]) ring.pop();
    return ring;
  }
  const pole = ring.reduce((sum, [, lat]) => sum + lat, 0) < 0 ? -90 : 90;
  ring.push([end, first[1]], [end, pole], [first[0], pole]);
  return ring;
}

/** Counts the edges east of the location. */
function isInside(ring: readonly LngLat[], lng: number, lat: number): boolean {
  let inside = false;
  let [fromLng, fromLat] = ring.at(-1) ?? [Number.NaN, Number.NaN];
  for (const [toLng, toLat] of ring) {
    const side = (toLng - fromLng) * (lat - fromLat) - (toLat - fromLat) * (lng - fromLng);
    if (side === 0 && isBetween(fromLng, lng, toLng) && isBetween(fromLat, lat, toLat)) return true;
    if (fromLat > lat !== toLat > lat && side > 0 === toLat > fromLat) inside = !inside;
    fromLng = toLng;
    fromLat = toLat;
  }
  return inside;
}

function isBetween(a: number, value: number, b: number): boolean {
  return a < b ? a <= value && value <= b : b <= value && value <= a;
}

/** The first two edges, by their number from 0, that meet although they are not neighbours; null: a simple polygon. */
export function crossing(points: readonly LngLat[]): readonly [number, number] | null {
  const ring = unroll(points);
  const edges = ring.map((from, at) => {
    const to = ring[(at + 1) % ring.length] as LngLat;
    return { at, from, to, west: Math.min(from[0], to[0]), east: Math.max(from[0], to[0]) };
  });
  edges.sort((a, b) => a.west - b.west);
  for (const [i, one] of edges.entries()) {
    for (let j = i + 1; j < edges.length; j++) {
      const other = edges[j] as (typeof edges)[number];
      if (other.west > one.east) break;
      const apart = Math.abs(one.at - other.at);
      if (apart <= 1 || apart === edges.length - 1) continue;
      if (meet(one.from, one.to, other.from, other.to)) {
        return [Math.min(one.at, other.at), Math.max(one.at, other.at)];
      }
    }
  }
  return null;
}

function meet(a: LngLat, b: LngLat, c: LngLat, d: LngLat): boolean {
  const [abc, abd, cda, cdb] = [turn(a, b, c), turn(a, b, d), turn(c, d, a), turn(c, d, b)];
  if (abc !== abd && cda !== cdb) return true;
  return (
    (abc === 0 && isOn(a, c, b)) ||
    (abd === 0 && isOn(a, d, b)) ||
    (cda === 0 && isOn(c, a, d)) ||
    (cdb === 0 && isOn(c, b, d))
  );
}

const turn = (a: LngLat, b: LngLat, c: LngLat): number =>
  Math.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));

const isOn = (a: LngLat, point: LngLat, b: LngLat): boolean =>
  isBetween(a[0], point[0], b[0]) && isBetween(a[1], point[1], b[1]);
