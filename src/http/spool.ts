import { createWriteStream } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { ApiError } from "./errors.js";
import { isDiskError, limited, receiveFile } from "./upload.js";

/** A body that is worked on after its request has ended: it goes to disk as it comes. */
export interface Spool {
  /** Content types that the body itself may have; a multipart form carries it in the field `file`. */
  readonly types: readonly string[];
  /** Of the file, unpacked. */
  readonly bytesMax: number;
  /** Below so many free bytes nothing more is taken: the journal needs them. */
  readonly freeBytesMin: number;
  /** Where it goes; the caller removes it when this throws. */
  readonly path: string;
}

const form = "multipart/form-data";
const lookBytes = 16 << 20;

/**
 * Writes the body to disk, unpacked if it is gzip.
 * @throws ApiError UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, BAD_REQUEST, SERVICE_UNAVAILABLE when the disk is full
 */
export async function spoolBody(request: Request, spool: Spool): Promise<void> {
  const { types, bytesMax, freeBytesMin, path } = spool;
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  const guard = diskGuard(dirname(path), freeBytesMin);
  try {
    if (type === form) return await receiveFile(request, { field: "file", bytesMax, path, through: [guard] });
    if (!types.includes(type)) {
      throw new ApiError("UNSUPPORTED_MEDIA_TYPE", `the body must be ${[...types, form].join(" or ")}`);
    }
    const tooLarge = () => new ApiError("PAYLOAD_TOO_LARGE", `the file is larger than ${bytesMax} bytes`);
    const unpack = unpackers(request.headers.get("content-encoding"));
    if (unpack.length === 0 && Number(request.headers.get("content-length") ?? 0) > bytesMax)
      throw tooLarge();
    const body = Readable.fromWeb((request.body ?? new Blob([]).stream()) as never);
    // Read again after a restart: it must not be shorter then.
    const file = createWriteStream(path, { flush: true });
    await pipeline([body, ...unpack, limited(bytesMax, tooLarge), guard, file]);
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
  if (encoding === null || encoding === "" || encoding === "identity") return [];
  if (encoding.trim().toLowerCase() === "gzip") return [createGunzip()];
  throw new ApiError("UNSUPPORTED_MEDIA_TYPE", "the Content-Encoding must be gzip or none");
}

const retryAfterSeconds = "60";

const diskFull = () =>
  new ApiError(
    "SERVICE_UNAVAILABLE",
    "the disk is too full for the file",
    {},
    { "Retry-After": retryAfterSeconds },
  );

/** Ends the stream while there is still room for what must not stop. */
function diskGuard(dir: string, freeBytesMin: number): Transform {
  let ahead = 0;
  return new Transform({
    transform: (chunk: Buffer, _, done) => {
      ahead -= chunk.length;
      if (ahead > 0) return done(null, chunk);
      statfs(dir).then(({ bavail, bsize }) => {
        ahead = lookBytes;
        if (bavail * bsize < freeBytesMin + lookBytes) done(diskFull());
        else done(null, chunk);
      }, done);
    },
  });
}
