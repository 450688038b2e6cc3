import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { createGzip, gzip } from "node:zlib";
import { createSlice } from "../../store/lib/scheduling.js";
import { createSemaphore } from "../../store/lib/semaphore.js";
import { chunksOfTexts, createByteStream, isLong, jsonTexts, keyPieces } from "./json-stream.js";
import { jsonType, type RouteAnswer } from "./route.js";

/** Shorter texts fit one packet as they are. */
const gzipCharactersMin = 1024;
const gzipLevel = 4;
/** Compressing shares the threads of the pool with the journal's writes. */
const gzipSemaphore = createSemaphore<object>(2);
const compress = promisify(gzip);
/** Each work is a holder of its own, so they go in the order of asking. */
async function inGzipTurn<T>(work: () => Promise<T>): Promise<T> {
  const holder = {};
  await gzipSemaphore.enter(holder, 1, { signal: null, left: () => new Error("the request has ended") });
  try {
    return await work();
  } finally {
    gzipSemaphore.leave(holder, 1);
  }
}

/**
 * JSON that its reader may already have: 304 if `If-None-Match` names its tag, gzip if that is accepted. The tag
 * identifies the content, however it is encoded. A long answer is made as it is read, and is never held whole.
 * @param form the form of the columns' elements, which together with their keys identifies them
 */
export async function conditionalAnswer(
  request: Request,
  body: object,
  headers: Readonly<Record<string, string>>,
  form: string,
): Promise<RouteAnswer> {
  const text = isLong(body) ? null : JSON.stringify(body);
  const tag = await computeTag(
    text === null ? keyPieces(body) : [text],
    `${JSON.stringify(headers)} ${form}`,
  );
  const all = { ...headers, ETag: tag, "Cache-Control": "private, no-cache", Vary: "Accept-Encoding" };
  if (isKnown(request.headers.get("if-none-match"), tag)) return { status: 304, headers: all };
  const packs =
    (text === null || text.length >= gzipCharactersMin) &&
    acceptsGzip(request.headers.get("accept-encoding"));
  const packed = { ...all, "Content-Encoding": "gzip" };
  if (text === null) {
    const chunks = chunksOfTexts(jsonTexts(body));
    return packs
      ? { status: 200, body: createByteStream(gzipped(chunks)), type: jsonType, headers: packed }
      : { status: 200, body: createByteStream(chunks), type: jsonType, headers: all };
  }
  if (!packs) return { status: 200, body: text, type: jsonType, headers: all };
  const bytes = await inGzipTurn(() => compress(text, { level: gzipLevel }));
  return { status: 200, body: new Uint8Array(bytes), type: jsonType, headers: packed };
}

/** Compresses chunk by chunk, each in its turn of the pool. */
async function* gzipped(chunks: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void> {
  const pack = createGzip({ level: gzipLevel });
  const packed: Uint8Array[] = [];
  pack.on("data", (bytes: Uint8Array) => packed.push(bytes));
  const step = (begin: (done: (error?: Error | null) => void) => void) =>
    inGzipTurn(
      () => new Promise<void>((resolve, reject) => begin((error) => (error ? reject(error) : resolve()))),
    );
  try {
    for await (const chunk of chunks) {
      await step((done) => pack.write(chunk, done));
      yield* packed.splice(0);
    }
    await step((done) => pack.once("end", done).end());
    yield* packed.splice(0);
  } finally {
    pack.destroy();
  }
}

async function computeTag(pieces: Iterable<string | Uint8Array>, form: string): Promise<string> {
  const hash = createHash("sha1");
  const slice = createSlice();
  for (const piece of pieces) {
    hash.update(piece);
    if (slice.isOver()) await slice.next();
  }
  return `W/"${hash.update(form).digest("base64url")}"`;
}

/** RFC 9110 13.1.2: a list of tags, compared weakly, or *. */
function isKnown(ifNoneMatch: string | null, tag: string): boolean {
  if (ifNoneMatch === null) return false;
  const bare = (one: string) => one.trim().replace(/^W\//, "");
  return ifNoneMatch.trim() === "*" || ifNoneMatch.split(",").some((one) => bare(one) === bare(tag));
}

/** RFC 9110 12.5.3: gzip by its name or by *, unless its quality is 0. */
export function acceptsGzip(acceptEncoding: string | null): boolean {
  const qualities = parseQualities(acceptEncoding);
  return (qualities.get("gzip") ?? qualities.get("x-gzip") ?? qualities.get("*") ?? 0) > 0;
}

/** The entries of a header, in lower case, with their quality values (RFC 9110 12.4.2). */
export function parseQualities(header: string | null): ReadonlyMap<string, number> {
  return new Map(
    (header ?? "").split(",").map((entry) => {
      const [name = "", ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase());
      const quality = Number(parameters.find((one) => one.startsWith("q="))?.slice(2) ?? 1);
      return [name, Number.isNaN(quality) ? 0 : quality];
    }),
  );
}
