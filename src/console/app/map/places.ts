/** What GET /device_places answers, and where on a map it goes. Nothing here draws. */
export type LngLat = readonly [longitude: number, latitude: number];

/** Devices that stand close together; of one alone, which it is. */
export interface Cluster {
  readonly longitude: number;
  readonly latitude: number;
  readonly count: number;
  readonly deviceIntID: number | null;
  readonly deviceName: string | null;
  readonly deviceStatus: number | null;
  /** 1 is the worst; null: no alerts. */
  readonly worstSeverity: number | null;
}

export interface Places {
  readonly clusters: readonly Cluster[];
  readonly total: number;
  readonly isTruncated: boolean;
}

/** What a map shows. */
export interface MapView {
  readonly latitude: number;
  readonly longitude: number;
  readonly zoom: number;
}

export interface Bounds {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

export const zoomMax = 18;
export const wholeEarth = "-180,-90,180,90";

/** The view that an address has, as `47.37,8.54,9`; null for none. */
export function parseMapView(text: string | undefined): MapView | null {
  const numbers = (text ?? "").split(",").map((one) => (one.trim() === "" ? Number.NaN : Number(one)));
  const [latitude = Number.NaN, longitude = Number.NaN, zoom = Number.NaN] = numbers;
  const isView = Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 && zoom >= 0 && zoom <= zoomMax;
  return numbers.length === 3 && isView ? { latitude, longitude, zoom: Math.round(zoom) } : null;
}

/** As many digits as a pixel is worth. */
export function viewText({ latitude, longitude, zoom }: MapView): string {
  const digits = Math.min(6, 1 + Math.ceil(zoom / 3));
  return `${latitude.toFixed(digits)},${wrapped(longitude).toFixed(digits)},${zoom}`;
}

/** A longitude from -180 to 180. */
export const wrapped = (longitude: number): number => longitude - 360 * Math.floor((longitude + 180) / 360);

/** What to ask for, of a map whose longitudes go on beyond 180°. */
export function formatBbox({ west, south, east, north }: Bounds): string {
  const [low, high] = [Math.max(-90, south), Math.min(90, north)];
  const text = (degrees: number): string => String(Number(degrees.toFixed(6)));
  if (east - west >= 360) return `-180,${text(low)},180,${text(high)}`;
  const [from, to] = [text(wrapped(west)), text(wrapped(east))];
  return from === to ? `-180,${text(low)},180,${text(high)}` : `${from},${text(low)},${to},${text(high)}`;
}

/** The longitude on the turn of the earth that is nearest to another. */
export const turnedTo = (longitude: number, near: number): number =>
  longitude + 360 * Math.round((near - longitude) / 360);

/** The smallest box around places, which may lie across the antimeridian; null for none. */
export function boxAround(
  places: readonly { readonly longitude: number; readonly latitude: number }[],
): Bounds | null {
  if (places.length === 0) return null;
  const eastward = places.map(({ longitude }) => longitude).sort((a, b) => a - b);
  // Outside the box is the widest gap on the way round.
  let [west, widest] = [eastward[0] ?? 0, 0];
  for (const [i, longitude] of eastward.entries()) {
    const before = i === 0 ? (eastward.at(-1) ?? 0) - 360 : (eastward[i - 1] ?? 0);
    if (longitude - before > widest) [west, widest] = [longitude, longitude - before];
  }
  const latitudes = places.map(({ latitude }) => latitude);
  return {
    west,
    east: west + 360 - widest,
    south: Math.min(...latitudes),
    north: Math.max(...latitudes),
  };
}

const roundsMax = 4;
const zoomOfFit = 12;
/** Most cells of one answer. */
const cellsMax = 2000;

/**
 * A box around all places of a query; null for none. An answer has only the mean of places that stand together, so the
 * box is queried again, in finer cells, until that makes no difference.
 */
export async function boxOfAll(ask: (bbox: string, zoom: number) => Promise<Places>): Promise<Bounds | null> {
  let asked: Bounds = { west: -180, south: -90, east: 180, north: 90 };
  for (let round = 1; ; round++) {
    const { clusters } = await ask(formatBbox(asked), zoomOfFit);
    const box = boxAround(clusters);
    if (box === null || clusters.every(({ count }) => count === 1)) return box;
    const cell = measureCell(asked);
    asked = {
      west: box.west - cell,
      east: box.east + cell,
      south: Math.max(-90, box.south - cell),
      north: Math.min(90, box.north + cell),
    };
    const isFine = cell * 10 <= Math.max(box.east - box.west, box.north - box.south);
    if (isFine || cell <= cellAt(zoomOfFit) || round === roundsMax) return asked;
  }
}

const cellAt = (zoom: number): number => 360 / (4 * 2 ** zoom);

/** Degrees that a cluster of an answer is wide, at the most. */
function measureCell({ west, south, east, north }: Bounds): number {
  const [width, height] = [east - west, north - south];
  const least = Math.max(Math.sqrt((width * height) / cellsMax), width / cellsMax, height / cellsMax);
  return Math.max(2 * least, cellAt(zoomOfFit));
}

/** The worst first, then the most. */
export function byUrgency(a: Cluster, b: Cluster): number {
  return (a.worstSeverity ?? 9) - (b.worstSeverity ?? 9) || b.count - a.count;
}

/** `47.37690° N, 8.54170° E`. */
export function placeText(latitude: number, longitude: number): string {
  const east = wrapped(longitude);
  const side = (degrees: number, sides: string): string =>
    `${Math.abs(degrees).toFixed(5)}° ${degrees < 0 ? sides[1] : sides[0]}`;
  return `${side(latitude, "NS")}, ${side(east, "EW")}`;
}

interface Pixel {
  readonly x: number;
  readonly y: number;
}

const labelWidth = 150;
const lineHeight = 18;
const markWidth = 36;

/** Finds the marks that have space for a name on their right, over no other mark and no other name. */
export function withSpace(marks: readonly (Pixel & { readonly isNamed: boolean })[]): Set<number> {
  const found = new Set<number>();
  const isFree = (i: number, { x, y }: Pixel): boolean =>
    marks.every(
      (other, k) =>
        k === i ||
        Math.abs(other.y - y) > lineHeight ||
        other.x + (found.has(k) ? labelWidth : markWidth / 2) < x ||
        other.x - markWidth / 2 > x + labelWidth,
    );
  for (const [i, mark] of marks.entries()) if (mark.isNamed && isFree(i, mark)) found.add(i);
  return found;
}

const countHeight = 26;
/** The width of a count's mark: its shape, and each digit. */
const countWidth = (count: number): number => 34 + 8 * String(count).length;

/** Counts whose marks would lie over each other are one, which stands where the larger of them does. */
export function withoutOverlap(
  clusters: readonly Cluster[],
  pixelOf: (cluster: Cluster) => Pixel,
): Cluster[] {
  const shown: { readonly at: Pixel; cluster: Cluster }[] = [];
  for (const cluster of [...clusters].sort((a, b) => b.count - a.count)) {
    const at = pixelOf(cluster);
    const larger = shown.find(
      (other) =>
        cluster.count > 1 &&
        Math.abs(other.at.y - at.y) < countHeight &&
        Math.abs(other.at.x - at.x) < (countWidth(other.cluster.count) + countWidth(cluster.count)) / 2,
    );
    if (larger === undefined) shown.push({ at, cluster });
    else larger.cluster = together(larger.cluster, cluster);
  }
  return shown.map(({ cluster }) => cluster);
}

function together(larger: Cluster, smaller: Cluster): Cluster {
  const worst = Math.min(larger.worstSeverity ?? Infinity, smaller.worstSeverity ?? Infinity);
  return {
    ...larger,
    count: larger.count + smaller.count,
    worstSeverity: worst === Infinity ? null : worst,
  };
}
