/** What the console may weigh: the build fails beyond. Bytes as they travel, packed with gzip. */

/** One file of the console, as esbuild tells of it. */
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
  charts: 28 * kB,
  markdown: 17 * kB,
  total: 250 * kB,
} as const;

interface Sizes {
  readonly firstLoad: number;
  readonly total: number;
  /** Of each file that is loaded when it is needed, with what it alone brings. */
  readonly lazy: ReadonlyMap<string, number>;
  /** What is larger than it may be, in words. */
  readonly excess: readonly string[];
}

/**
 * @param first names of the files that a first load takes besides those that they import
 * @param all files, without those that only the map takes
 */
export function sizesOf(first: readonly string[], all: readonly BuiltFile[]): Sizes {
  const byName = new Map(all.map((file) => [file.name, file]));
  const loaded = closure(first, byName);
  const sum = (names: Iterable<string>): number =>
    [...names].reduce((bytes, name) => bytes + (byName.get(name)?.gzipBytes ?? 0), 0);
  const firstLoad = sum(loaded);
  const total = sum(byName.keys());
  const lazy = new Map<string, number>();
  for (const { name, entry } of all) {
    if (entry === null || loaded.has(name)) continue;
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
  for (const [entry, bytes] of lazy) hold(entry, bytes, boundOf(entry));
  return { firstLoad, total, lazy, excess };
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
