/** What the console may weigh: the build fails beyond. Bytes as they travel, packed with gzip. */

/** One file of the console, as esbuild reports it. */
export interface BuiltFile {
  readonly name: string;
  readonly gzipBytes: number;
  /** Files that it cannot run without. */
  readonly imports: readonly string[];
  /** The source that it begins with; null for what several share. */
  readonly entry: string | null;
}

const kB = 1000;
const bounds = {
  firstLoad: 120 * kB,
  page: 15 * kB,
  charts: 29 * kB,
  markdown: 17 * kB,
  /** Leaflet and the outlines of the land. */
  map: 125 * kB,
  /** Without the map. */
  total: 250 * kB,
} as const;

interface Sizes {
  readonly firstLoad: number;
  readonly total: number;
  readonly map: number;
  /** The size that each lazily loaded file adds by itself. */
  readonly lazy: ReadonlyMap<string, number>;
  /** The parts that are larger than allowed, in words. */
  readonly excess: readonly string[];
}

/**
 * @param first names of the files that a first load takes besides those that they import
 */
export function sizesOf(first: readonly string[], all: readonly BuiltFile[]): Sizes {
  const byName = new Map(all.map((file) => [file.name, file]));
  const loaded = closure(first, byName);
  const sum = (names: Iterable<string>): number =>
    [...names].reduce((bytes, name) => bytes + (byName.get(name)?.gzipBytes ?? 0), 0);
  const firstLoad = sum(loaded);
  const ofMap = all.filter(isOfMap).map(({ name }) => name);
  const map = sum(ofMap);
  const total = sum(byName.keys()) - map;
  const lazy = new Map<string, number>();
  for (const file of all) {
    const { name, entry } = file;
    if (entry === null || loaded.has(name) || isOfMap(file)) continue;
    const own = [...closure([name], byName)].filter((one) => !loaded.has(one));
    // What several pages share is weighed where it is one of charts.
    lazy.set(entry, sum(own.filter((one) => one === name || byName.get(one)?.entry !== null)));
  }
  const excess: string[] = [];
  const hold = (what: string, bytes: number, most: number): void => {
    if (bytes > most) excess.push(`${what} takes ${bytes} bytes with gzip, ${most} are allowed`);
  };
  hold("the first load", firstLoad, bounds.firstLoad);
  hold("the whole console", total, bounds.total);
  hold("the map", map, bounds.map);
  for (const [entry, bytes] of lazy) hold(entry, bytes, boundOf(entry));
  return { firstLoad, total, map, lazy, excess };
}

/** Whether the file belongs to the map: Leaflet, or the outlines of the land. */
function isOfMap({ name, entry }: BuiltFile): boolean {
  return entry?.endsWith("/map/drawn.ts") === true || name.startsWith("land-");
}

/** Parts that bring a library along may be larger than a page. */
function boundOf(entry: string): number {
  if (entry.includes("/charts/")) return bounds.charts;
  return entry.endsWith("/Markdown.tsx") ? bounds.markdown : bounds.page;
}

function closure(names: readonly string[], files: ReadonlyMap<string, BuiltFile>): Set<string> {
  const found = new Set<string>();
  const left = [...names];
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    left.push(...(files.get(name)?.imports ?? []));
  }
  return found;
}
