/** The tiles that were asked for last, in a bounded number of bytes. */
import type { TileAnswer } from "./fetch-tile.js";

export interface CachedTile extends Pick<TileAnswer, "tile"> {
  /** Milliseconds of this run. Later it serves only where no other is to be had. */
  readonly freshUntil: number;
}

interface TileCache {
  get(key: string): CachedTile | undefined;
  set(key: string, cached: CachedTile): void;
}

/** The overhead of one entry, whatever its tile. */
const entryBytes = 256;

export function createTileCache(bytesMax: number): TileCache {
  /** In the order of use: the most recent is last. */
  const entries = new Map<string, CachedTile>();
  let bytes = 0;
  const cachedBytes = ({ tile }: CachedTile): number => entryBytes + (tile?.bytes.length ?? 0);

  function remove(key: string, cached: CachedTile): void {
    entries.delete(key);
    bytes -= cachedBytes(cached);
  }
  return {
    get: (key) => {
      const cached = entries.get(key);
      if (cached === undefined) return undefined;
      entries.delete(key);
      entries.set(key, cached);
      return cached;
    },
    set: (key, cached) => {
      const before = entries.get(key);
      if (before !== undefined) remove(key, before);
      entries.set(key, cached);
      bytes += cachedBytes(cached);
      for (const [oldest, other] of entries) {
        if (bytes <= bytesMax) break;
        remove(oldest, other);
      }
    },
  };
}
