/** The tiles that were asked for last, in a bounded number of bytes. */
import type { TileAnswer } from "./fetch-tile.js";

export interface KeptTile extends Pick<TileAnswer, "tile"> {
  /** Milliseconds of this run. Later it serves only where no other is to be had. */
  readonly freshUntil: number;
}

interface TileCache {
  get(key: string): KeptTile | undefined;
  set(key: string, kept: KeptTile): void;
}

/** The overhead of one entry, whatever its tile. */
const entryBytes = 256;

export function createTileCache(bytesMax: number): TileCache {
  /** What was used last is last. */
  const entries = new Map<string, KeptTile>();
  let bytes = 0;
  const sizeOf = ({ tile }: KeptTile): number => entryBytes + (tile?.bytes.length ?? 0);

  function remove(key: string, kept: KeptTile): void {
    entries.delete(key);
    bytes -= sizeOf(kept);
  }
  return {
    get: (key) => {
      const kept = entries.get(key);
      if (kept === undefined) return undefined;
      entries.delete(key);
      entries.set(key, kept);
      return kept;
    },
    set: (key, kept) => {
      const before = entries.get(key);
      if (before !== undefined) remove(key, before);
      entries.set(key, kept);
      bytes += sizeOf(kept);
      for (const [oldest, other] of entries) {
        if (bytes <= bytesMax) break;
        remove(oldest, other);
      }
    },
  };
}
