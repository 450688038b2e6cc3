import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { unzip as unzipWithCallback } from "node:zlib";
import { failureAnswer, type UplinkAnswer } from "./answers.js";
import type { BodyBudgets } from "./body-budget.js";
import { type BodySource, readWhole, requestBytes } from "./body-reader.js";
import { acceptedCodings, parseCoding } from "./content-coding.js";

/** Unpacks gzip and deflate. */
const unzip = promisify(unzipWithCallback);

/** Most bytes of a batch or of line protocol, after it is unpacked. */
export const uplinkBatchBytesMax = 16 * 1024 * 1024;

/** The owner of a body, and where its bytes are counted as they come, for as long as they are held. */
interface Sender {
  readonly tenant: number;
  readonly device: number;
  readonly budgets: BodyBudgets;
}

/** A body, and what releases its part of the budget. */
export interface UplinkBody {
  readonly bytes: Buffer;
  release(): void;
}

type BodyRequest = Pick<IncomingMessage, "headers"> & BodySource;

const nothing: UplinkBody = { bytes: Buffer.alloc(0), release: () => undefined };
const full = failureAnswer(
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
  { tenant, device, budgets }: Sender,
): Promise<UplinkBody | UplinkAnswer | undefined> {
  const { "content-length": length, "content-encoding": encoding } = request.headers;
  const coding = parseCoding(encoding);
  const tooLarge = () => failureAnswer(413, "PAYLOAD_TOO_LARGE", `the body may have ${bytesMax} bytes`);
  if (coding === null)
    return failureAnswer(
      415,
      "UNSUPPORTED_MEDIA_TYPE",
      "Content-Encoding may be gzip or deflate",
      acceptedCodings,
    );
  if (length === "0") return nothing;
  if (length !== undefined && Number(length) > bytesMax) return tooLarge();
  // A declared length reserves nothing; only bytes that have come do.
  const isWhole = coding === "identity" && length !== undefined;
  const reservation = budgets(isWhole ? Number(length) : bytesMax).open(tenant, device);
  const { release } = reservation;
  const packed = await readWhole(request, bytesMax, reservation);
  if (!Buffer.isBuffer(packed)) return packed === "large" ? tooLarge() : packed === "full" ? full : undefined;
  if (coding === "identity") return { bytes: packed, release };
  // Nobody knows before how large it becomes.
  if (!reservation.resize(reservation.amount + bytesMax)) {
    release();
    return full;
  }
  try {
    const bytes = await unzip(packed, { maxOutputLength: bytesMax });
    reservation.resize(requestBytes + bytes.length);
    return { bytes, release };
  } catch (error) {
    release();
    const isLarge = (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
    return isLarge ? tooLarge() : failureAnswer(400, "BAD_REQUEST", `the body is not ${coding}`);
  }
}
