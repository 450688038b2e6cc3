import { createWriteStream } from "node:fs";
import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createInflate } from "node:zlib";
import { acceptedCodings, parseCoding } from "../../ingest/transports/http/requests/content-coding.js";
import { openBody, parseMediaType, type RequestBody } from "./body.js";
import { type DiskClaim, diskFull, guardClaim } from "./disk-space.js";
import { ApiError } from "./errors.js";
import { isDiskError, limited, receiveFile } from "./upload.js";

/** A body that is processed after its request has ended: it is written to disk as it arrives. */
interface Spool {
  /** Content types that the body itself may have; a multipart form carries it in the field `file`. */
  readonly types: readonly string[];
  /** The most bytes of the file, unpacked. */
  readonly bytesMax: number;
  /** Claims the space into which it grows. */
  readonly room: DiskClaim;
  /** The path of the file; the caller removes it if this throws. */
  readonly path: string;
}

const form = "multipart/form-data";

/**
 * Writes the body to disk, unpacked if it is gzip.
 * @throws ApiError UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, BAD_REQUEST, SERVICE_UNAVAILABLE, RESOURCE_LIMITED
 */
export async function spoolBody(body: RequestBody, spool: Spool): Promise<void> {
  const { types, bytesMax, room, path } = spool;
  const { headers } = body;
  const type = parseMediaType(headers);
  const guard = guardClaim(room);
  try {
    if (type === form) return await receiveFile(body, { field: "file", bytesMax, path, through: [guard] });
    if (!types.includes(type)) {
      throw new ApiError("UNSUPPORTED_MEDIA_TYPE", `the body must be ${[...types, form].join(" or ")}`);
    }
    const tooLarge = () => new ApiError("PAYLOAD_TOO_LARGE", `the file is larger than ${bytesMax} bytes`);
    const unpack = unpackers(headers.get("content-encoding"));
    if (unpack.length === 0 && Number(headers.get("content-length") ?? 0) > bytesMax) throw tooLarge();
    // The file is read again after a restart, and must then have its full length.
    const file = createWriteStream(path, { flush: true });
    await pipeline([openBody(body), ...unpack, limited(bytesMax, tooLarge), guard, file]);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    if (isDiskError(error)) {
      if ((error as NodeJS.ErrnoException).code === "ENOSPC") throw diskFull();
      const code = (error as NodeJS.ErrnoException).code ?? "";
      if (!code.startsWith("Z_")) throw error;
    }
    throw new ApiError("BAD_REQUEST", "the body is broken or incomplete");
  }
}

function unpackers(encoding: string | null): Transform[] {
  const coding = parseCoding(encoding);
  if (coding === "identity") return [];
  if (coding !== null) return [coding === "gzip" ? createGunzip() : createInflate()];
  throw new ApiError(
    "UNSUPPORTED_MEDIA_TYPE",
    "the Content-Encoding must be gzip, deflate or none",
    {},
    acceptedCodings,
  );
}
