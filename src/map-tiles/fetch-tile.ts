/** One tile from the map's tile server, which may be slow, wrong or gone. */
import { withDeadline } from "../../store/lib/abortable.js";
import { version } from "../host/version.js";

/** What browsers show as an image and nothing else: SVG may hold scripts. */
export const tileTypes = ["image/png", "image/jpeg", "image/webp", "image/avif"] as const;
type TileType = (typeof tileTypes)[number];

export interface Tile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: TileType;
}

/** What the server answers, and for how long that holds; a null tile: it has none there. */
export interface TileAnswer {
  readonly tile: Tile | null;
  /** 0: it must not be kept. */
  readonly freshMs: number;
}

/** A tile that the server should have given, and did not. */
export class TileFault extends Error {
  constructor(
    message: string,
    /** server: it will do no better with any other tile. */
    readonly of: "tile" | "server",
    readonly isLate = false,
  ) {
    super(message);
    this.name = "TileFault";
  }
}

const tileMs = 8000;
export const tileBytesMax = 512 * 1024;
const [freshMsMin, freshMsUsual, freshMsMax] = [60_000, 24 * 3_600_000, 7 * 24 * 3_600_000] as const;
/** Statuses of a server that has no tile there, and of one that gives none at all. */
const noTile: ReadonlySet<number> = new Set([204, 404, 410]);
const noService: ReadonlySet<number> = new Set([401, 403, 407, 429, 502, 503, 504]);

/** @throws TileFault */
export function fetchTile(url: string, ending: AbortSignal): Promise<TileAnswer> {
  return withDeadline(tileMs, ending, async (signal, isLate) => {
    try {
      const headers = { "User-Agent": `Tidemark/${version}`, Accept: tileTypes.join(", ") };
      // A redirect would lead where nobody has looked.
      return await read(await fetch(url, { headers, redirect: "manual", signal }));
    } catch (error) {
      if (error instanceof TileFault) throw error;
      if (isLate()) throw new TileFault(`it gave no tile within ${tileMs / 1000} s`, "server", true);
      throw new TileFault(`it cannot be reached (${formatFetchError(error)})`, "server");
    }
  });
}

async function read(response: Response): Promise<TileAnswer> {
  try {
    const { status, headers } = response;
    const freshMs = parseFreshMs(headers.get("cache-control") ?? "");
    if (noTile.has(status)) return { tile: null, freshMs };
    if (status !== 200) throw refusal(status);
    const type = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
    if (!isTileType(type)) throw new TileFault(`it answered ${shortened(type)} in place of an image`, "tile");
    return { tile: { bytes: await readBytes(response.body), type }, freshMs };
  } finally {
    // A body that is not read would keep its connection.
    if (!response.bodyUsed) await response.body?.cancel();
  }
}

const isTileType = (type: string): type is TileType => (tileTypes as readonly string[]).includes(type);

function refusal(status: number): TileFault {
  const isRedirect = status >= 300 && status < 400;
  const detail = isRedirect ? `${status}, a redirect, which is not followed` : String(status);
  return new TileFault(`it answered ${detail}`, isRedirect || noService.has(status) ? "server" : "tile");
}

async function readBytes(body: ReadableStream<Uint8Array> | null): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > tileBytesMax) throw new TileFault(`its tile has more than ${tileBytesMax} bytes`, "tile");
    chunks.push(chunk);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** As the server wishes, within bounds. */
function parseFreshMs(cacheControl: string): number {
  if (/\bno-store\b/i.test(cacheControl)) return 0;
  const [, seconds] = /(?:^|[,\s])max-age=(\d{1,12})/i.exec(cacheControl) ?? [];
  if (seconds === undefined) return freshMsUsual;
  return Math.max(freshMsMin, Math.min(Number(seconds) * 1000, freshMsMax));
}

/** A header of another server, as part of a sentence. */
const shortened = (type: string): string =>
  /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type.slice(0, 60) : "no type";

/** Never the address, which may hold a key. */
function formatFetchError(error: unknown): string {
  const { cause } = error as { cause?: { code?: string } };
  return cause?.code ?? "no connection";
}
