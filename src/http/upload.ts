import { createWriteStream, type WriteStream } from "node:fs";
import { type Duplex, Transform } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { Busboy } from "@fastify/busboy";
import { openBody, parseMediaType, type RequestBody } from "./body.js";
import { ApiError, invalid } from "./errors.js";

/** Bytes that a form may hold besides its file: boundaries, headers, small fields. */
const overheadBytesMax = 64 * 1024;
/** Besides its one file a form may have a few fields and unasked-for files; the first part beyond these ends it. */
const partsMax = 110;
const filesMax = 10;
/**
 * How much of the form is parsed at once: parsing ends at the first part beyond the limit, but reads a piece
 * to its end.
 */
const pieceBytes = 4096;

const tooManyParts = () =>
  new ApiError("BAD_REQUEST", `the form has more than ${partsMax} parts or ${filesMax} files`);

interface Upload {
  /** Name of the form's field that carries the file. */
  readonly field: string;
  readonly bytesMax: number;
  /** The path of the file; the caller removes it if this throws. */
  readonly path: string;
  /** Streams that the file passes through, in order. */
  readonly through?: readonly Duplex[];
}

/**
 * Writes the one file of a multipart form to disk as it arrives. @throws ApiError UNSUPPORTED_MEDIA_TYPE,
 * PAYLOAD_TOO_LARGE, BAD_REQUEST, SERVICE_UNAVAILABLE, PARAMETER_INVALID without the file
 */
export async function receiveFile(body: RequestBody, upload: Upload): Promise<void> {
  const { headers } = body;
  if (parseMediaType(headers) !== "multipart/form-data") {
    throw new ApiError("UNSUPPORTED_MEDIA_TYPE", "the body must be multipart/form-data");
  }
  const { field, bytesMax, path } = upload;
  const tooLarge = () => new ApiError("PAYLOAD_TOO_LARGE", `the file is larger than ${bytesMax} bytes`);
  if (Number(headers.get("content-length") ?? 0) > bytesMax + overheadBytesMax) throw tooLarge();
  const form = openForm(headers.get("content-type") ?? "");
  let file: WriteStream | null = null;
  let written: Promise<void> | null = null;
  for (const bound of ["partsLimit", "filesLimit", "fieldsLimit"] as const) {
    form.on(bound, () => form.destroy(tooManyParts()));
  }
  form.on("file", (name, stream) => {
    if (name !== field || written !== null) {
      stream.resume();
      return;
    }
    file = createWriteStream(path);
    written = pipeline([stream, limited(bytesMax, tooLarge), ...(upload.through ?? []), file]);
    written.catch((error: Error) => form.destroy(error));
  });
  try {
    await pipeline(openBody(body), limited(bytesMax + overheadBytesMax, tooLarge), inPieces(), form);
    await (written as Promise<void> | null);
  } catch (error) {
    await close(file);
    if (error instanceof ApiError || isDiskError(error)) throw error;
    throw new ApiError("BAD_REQUEST", "the multipart body is broken or incomplete");
  }
  if (written === null) throw invalid({ [field]: "is required, as a file" });
}

/**
 * Closes the file of a form that ends early: the form does not notify the file, which may still be about to be
 * opened.
 */
async function close(file: WriteStream | null): Promise<void> {
  if (file === null || file.closed) return;
  file.destroy();
  await finished(file).catch(() => undefined);
}

function openForm(type: string) {
  try {
    const limits = { parts: partsMax, files: filesMax, fields: partsMax };
    return new Busboy({ headers: { "content-type": type }, limits });
  } catch {
    throw new ApiError("BAD_REQUEST", "the multipart body has no boundary");
  }
}

function inPieces(): Transform {
  return new Transform({
    transform(chunk: Buffer, _, done) {
      for (let at = 0; at < chunk.length; at += pieceBytes) this.push(chunk.subarray(at, at + pieceBytes));
      done();
    },
  });
}

export function limited(bytesMax: number, tooLarge: () => Error): Transform {
  let bytes = 0;
  return new Transform({
    transform: (chunk: Buffer, _, done) => {
      bytes += chunk.length;
      if (bytes > bytesMax) done(tooLarge());
      else done(null, chunk);
    },
  });
}

/** Errors of a socket that ends: they are the sender's doing, not a fault of the disk. */
const senderCodes = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED", "ETIMEDOUT"]);

export function isDiskError(error: unknown): boolean {
  if (!(error instanceof Error) || !("syscall" in error)) return false;
  return !senderCodes.has(String((error as NodeJS.ErrnoException).code));
}
