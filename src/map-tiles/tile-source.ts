/** Tiles for all maps of this deployment: kept in memory, fetched by few at a time, shared by those who look. */
import { withDeadline } from "../../store/lib/abortable.js";
import type { Clock } from "../../store/lib/clock.js";
import { createSemaphore } from "../../store/lib/semaphore.js";
import { createShares } from "../../store/lib/shares.js";
import type { Config } from "../config/config.js";
import { type TilePlace, tileUrl } from "../config/tile-template.js";
import { ApiError } from "../http/errors.js";
import type { Logger } from "../observability/log.js";
import { fetchTile, type Tile, TileFault } from "./fetch-tile.js";
import { createServerWatch } from "./server-watch.js";
import { type CachedTile, createTileCache } from "./tile-cache.js";

interface FoundTile {
  /** Null: the server has none there. */
  readonly tile: Tile | null;
  /** For so long a browser need not ask again; 0: it must not keep it. */
  readonly freshMs: number;
}

/** The requester of a tile: no single one may use up the requests of all. */
interface TileRequester {
  readonly holder: string;
  readonly signal: AbortSignal;
}

export interface TileSource {
  /** @throws ApiError BAD_GATEWAY, GATEWAY_TIMEOUT, TOO_MANY_REQUESTS */
  tile(place: TilePlace, asker: TileRequester): Promise<FoundTile>;
  /** Ends requests under way. */
  close(): void;
}

const cacheBytesMax = 32 * 2 ** 20;
/** Requests to the server at once. */
export const fetchedAtOnce = 8;
/** Requests that wait for a turn, and for how long. */
const [waitingMax, waitMs] = [512, 10_000] as const;
/** A tile that is no longer fresh may be another soon. */
const staleMs = 60_000;

export function createTileSource(
  { template }: NonNullable<Config["mapTiles"]>,
  log: Logger,
  { monotonic }: Pick<Clock, "monotonic">,
): TileSource {
  const cache = createTileCache(cacheBytesMax);
  const slots = createFetchSlots();
  const watch = createServerWatch(new URL(template).host, log, monotonic);
  const ending = new AbortController();
  /** Requests for the same tile share one fetch. */
  const flights = new Map<string, Promise<FoundTile>>();

  function findFresh(key: string): FoundTile | null {
    const cached = cache.get(key);
    const freshMs = (cached?.freshUntil ?? 0) - monotonic();
    return cached === undefined || freshMs <= 0 ? null : { tile: cached.tile, freshMs };
  }

  async function fetchAnew(key: string, place: TilePlace): Promise<FoundTile> {
    try {
      const found = await fetchTile(tileUrl(template, place), ending.signal);
      watch.succeeded();
      if (found.freshMs > 0) cache.set(key, { tile: found.tile, freshUntil: monotonic() + found.freshMs });
      return found;
    } catch (error) {
      if (error instanceof TileFault && !ending.signal.aborted) watch.failed(error);
      throw error;
    } finally {
      flights.delete(key);
    }
  }

  function fetchShared(key: string, place: TilePlace): Promise<FoundTile> {
    const { pause } = watch;
    if (pause !== null) throw pause;
    const flight = flights.get(key) ?? fetchAnew(key, place);
    flights.set(key, flight);
    return flight;
  }

  return {
    tile: async (place, asker) => {
      const key = `${place.z}/${place.x}/${place.y}`;
      const fresh = findFresh(key);
      if (fresh !== null) return fresh;
      try {
        if (watch.pause !== null) throw watch.pause;
        return await slots(asker, async () => findFresh(key) ?? (await fetchShared(key, place)));
      } catch (error) {
        if (!(error instanceof TileFault)) throw error;
        return staleTile(cache.get(key), error);
      }
    },
    close: () => ending.abort(),
  };
}

/** What there was before is better than nothing. */
function staleTile(cached: CachedTile | undefined, { message, isLate }: TileFault): FoundTile {
  if (cached !== undefined) return { tile: cached.tile, freshMs: staleMs };
  throw new ApiError(isLate ? "GATEWAY_TIMEOUT" : "BAD_GATEWAY", `the map's tile server: ${message}`);
}

/** Lets so many fetch at once, and shares that out among those who ask. */
function createFetchSlots() {
  const places = createSemaphore<string>(fetchedAtOnce);
  const waiting = createShares<string>(waitingMax);
  const busy = () =>
    new ApiError("TOO_MANY_REQUESTS", "too many tiles are asked for at once", {}, { "Retry-After": "5" });

  async function wait({ holder, signal }: TileRequester): Promise<void> {
    if (!waiting.take(holder, 1)) throw busy();
    try {
      await withDeadline(waitMs, signal, (ended) => places.enter(holder, 1, { signal: ended, left: busy }));
    } finally {
      waiting.give(holder, 1);
    }
  }
  return async <T>(asker: TileRequester, work: () => Promise<T>): Promise<T> => {
    if (!places.tryEnter(asker.holder, 1)) await wait(asker);
    try {
      return await work();
    } finally {
      places.leave(asker.holder, 1);
    }
  };
}
