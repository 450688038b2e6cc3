import type { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { unzip as unzipWithCallback } from "node:zlib";
import { type Answer, failure } from "./answers.js";
import type { BodyRooms } from "./body-room.js";
import { acceptedCodings, codingOf } from "./content-coding.js";

/** Of gzip and deflate. */
const unzip = promisify(unzipWithCallback);

/** Of a batch or of line protocol, after it is unpacked. */
export const batchBytesMax = 16 * 1024 * 1024;

/** Whose body it is, and where it is counted as it comes, for as long as it is held. */
interface Sender {
  readonly tenant: number;
  readonly device: number;
  readonly rooms: BodyRooms;
}

/** A body, and what gives its room back. */
export interface Body {
  readonly bytes: Buffer;
  release(): void;
}

type BodyRequest = Pick<IncomingMessage, "headers" | "destroyed"> & Pick<EventEmitter, "on" | "off">;

const nothing: Body = { bytes: Buffer.alloc(0), release: () => undefined };
const full = failure(
  503,
  "SERVICE_UNAVAILABLE",
  "too many bytes of requests of the device or its tenant are under way",
  {
    "Retry-After": "1",
  },
);

/**
 * Reads a body of at most `bytesMax`, also after it is unpacked; an answer if it is not to be had. Undefined: the
 * client has gone.
 */
export async function readBody(
  request: BodyRequest,
  bytesMax: number,
  { tenant, device, rooms }: Sender,
): Promise<Body | Answer | undefined> {
  const { "content-length": length, "content-encoding": encoding } = request.headers;
  const coding = codingOf(encoding);
  const tooLarge = () => failure(413, "PAYLOAD_TOO_LARGE", `the body may have ${bytesMax} bytes`);
  if (coding === null)
    return failure(415, "UNSUPPORTED_MEDIA_TYPE", "Content-Encoding may be gzip or deflate", acceptedCodings);
  if (length === "0") return nothing;
  if (length !== undefined && Number(length) > bytesMax) return tooLarge();
  // What is said of its length holds nothing; only what has come does.
  const isWhole = coding === "identity" && length !== undefined;
  const room = rooms(isWhole ? Number(length) : bytesMax);
  let held = 0;
  const take = (bytes: number): boolean => {
    if (!room.take(tenant, device, bytes)) return false;
    held += bytes;
    return true;
  };
  const keep = (bytes: number): void => {
    room.give(tenant, device, held - bytes);
    held = bytes;
  };
  const release = (): void => keep(0);
  const packed = await collect(request, bytesMax, take);
  if (!Buffer.isBuffer(packed)) {
    release();
    return packed === "large" ? tooLarge() : packed === "full" ? full : undefined;
  }
  if (coding === "identity") return { bytes: packed, release };
  // Nobody knows before how large it becomes.
  if (!take(bytesMax)) {
    release();
    return full;
  }
  try {
    const bytes = await unzip(packed, { maxOutputLength: bytesMax });
    keep(bytes.length);
    return { bytes, release };
  } catch (error) {
    release();
    const isLarge = (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
    return isLarge ? tooLarge() : failure(400, "BAD_REQUEST", `the body is not ${coding}`);
  }
}

/** @param take whether there is room for so many more bytes */
function collect(
  request: BodyRequest,
  bytesMax: number,
  take: (bytes: number) => boolean,
): Promise<Buffer | "large" | "full" | "lost"> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = (found: Buffer | "large" | "full" | "lost"): void => {
      request.off("data", onData);
      request.off("end", onEnd);
      request.off("close", onClose);
      resolve(found);
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > bytesMax) finish("large");
      else if (!take(chunk.length)) finish("full");
    };
    const onEnd = (): void => finish(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
    const onClose = (): void => finish("lost");
    if (request.destroyed) return resolve("lost");
    request.on("data", onData);
    request.on("end", onEnd);
    request.on("close", onClose);
  });
}
