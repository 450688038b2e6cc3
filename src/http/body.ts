import type { Readable } from "node:stream";
import { jsonLevelsMax } from "../../ingest/decode/json-bounds.js";
import {
  createPieceStream,
  type PausableSource,
  readWhole,
} from "../../ingest/transports/http/requests/body-reader.js";
import { parseCoding } from "../../ingest/transports/http/requests/content-coding.js";
import type { Reservation } from "../../store/lib/reservation.js";
import { nextTurn } from "../../store/lib/scheduling.js";
import { createSemaphore } from "../../store/lib/semaphore.js";
import { ApiError } from "./errors.js";
import { measureJSONCost } from "./json-cost.js";
import { requireShallow } from "./json-depth.js";

export const jsonBytesMax = 1024 * 1024;
/**
 * JSON.parse takes 2 to 4 ms for so many numbers or empty lists, and 10 to 30 ms for as many different texts or names
 * of members. A sixth of them would stay below 5 ms, and refuse payloads and dashboards of 256 KiB that are allowed.
 */
const jsonValuesMax = 100_000;
/** For a body whose sender need not authenticate: a login with every character written as an escape. */
export const publicBodyBytesMax = 16 * 1024;
/** A longer one is parsed in a turn of the event loop that no other longer one shares. */
const shortBytes = 64 * 1024;

/** The body of a request that is not read yet. */
export interface RequestBody {
  readonly headers: Headers;
  readonly source: PausableSource;
  /** Where it is counted while it is held. */
  readonly reservation: Reservation;
  /** Tenants take turns when their long bodies are parsed. */
  readonly tenant: number | undefined;
}

const unpacked = { "Accept-Encoding": "identity" };

const full = () =>
  new ApiError(
    "SERVICE_UNAVAILABLE",
    "too many bytes of requests are under way, try again later",
    {},
    { "Retry-After": "1" },
  );
const broken = () => new ApiError("BAD_REQUEST", "the body is broken or incomplete");

/** The content type in lower case, without its parameters; empty without one. */
export function parseMediaType(headers: Headers): string {
  return headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
}

/**
 * The value of a body of JSON. It stays reserved, as large as it is in memory, until the reservation is released.
 * @throws ApiError UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, BAD_REQUEST, SERVICE_UNAVAILABLE, PARAMETER_INVALID if
 * nested too deeply
 */
export async function readJsonBody(body: RequestBody, bytesMax = jsonBytesMax): Promise<unknown> {
  const { headers, source, reservation, tenant } = body;
  if (parseMediaType(headers) !== "application/json") {
    throw new ApiError("UNSUPPORTED_MEDIA_TYPE", "the body must be application/json");
  }
  if (parseCoding(headers.get("content-encoding")) !== "identity") {
    throw new ApiError(
      "UNSUPPORTED_MEDIA_TYPE",
      "a body of JSON must have no Content-Encoding",
      {},
      unpacked,
    );
  }
  const tooLarge = () => new ApiError("PAYLOAD_TOO_LARGE", `the body is larger than ${bytesMax} bytes`);
  if (Number(headers.get("content-length") ?? 0) > bytesMax) throw tooLarge();
  const bytes = await readWhole(source, bytesMax, reservation);
  if (!Buffer.isBuffer(bytes)) throw bytes === "large" ? tooLarge() : bytes === "full" ? full() : broken();
  const cost = measureJSONCost(bytes);
  if (cost.values > jsonValuesMax) {
    throw new ApiError("PAYLOAD_TOO_LARGE", `the body has more than ${jsonValuesMax} values`);
  }
  if (!reservation.resize(reservation.amount + cost.bytes)) throw full();
  const json = bytes.length <= shortBytes ? parse(decode(bytes)) : await parseFairly(bytes, tenant ?? 0);
  // Walking through the value takes as long as parsing it, and only names the fields of one that is too deep.
  if (cost.levels > jsonLevelsMax) requireShallow(json);
  return json;
}

const notJson = () => new ApiError("BAD_REQUEST", "the body is not JSON");

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw notJson();
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notJson();
  }
}

const parsing = createSemaphore<number>(1);

async function parseFairly(bytes: Buffer, tenant: number): Promise<unknown> {
  await parsing.enter(tenant, 1, { signal: null, left: broken });
  try {
    await nextTurn();
    const text = decode(bytes);
    await nextTurn();
    return parse(text);
  } finally {
    parsing.leave(tenant, 1);
  }
}

/** The bytes of the body as they come. Fails with ApiError SERVICE_UNAVAILABLE, or BAD_REQUEST if it is cut off. */
export function openBody({ source, reservation }: RequestBody): Readable {
  const toError = (failure: "full" | "lost") => (failure === "full" ? full() : broken());
  return createPieceStream(source, reservation, { toError });
}
