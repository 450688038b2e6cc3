/**
 * The one reader of requests' bodies, for devices and callers alike. Node hands over a Buffer for each chunk that a
 * client makes, some 350 bytes of memory beside its own: pieces are copied together as they come, and what they take
 * is reserved before.
 */
import type { EventEmitter } from "node:events";
import { Readable } from "node:stream";
import { GrowingBuffer } from "../../../../store/lib/growing-buffer.js";
import type { Reservation } from "../../../../store/lib/reservation.js";

/** A request, as far as its body goes. */
export type BodySource = Pick<Readable, "destroyed"> & Pick<EventEmitter, "on" | "off">;
/** One that can be made to wait. */
export type PausableSource = BodySource & Pick<Readable, "pause" | "resume">;

/** Why there is no body: more than may come, no budget for it now, or the client has gone. */
type BodyFailure = "large" | "full" | "lost";
type PassingFailure = Exclude<BodyFailure, "large">;

/**
 * What a request holds while its body is on its way, beside the body: an ordinary head, its parser, its answer. A longer
 * head is counted by its connection.
 */
export const requestBytes = 2048;

/**
 * Resolves with the whole body, of at most `bytesMax`. The reservation then stands for what it takes in memory, and is
 * released by the caller once the body is no longer needed; after a failure it has been released.
 */
export async function readWhole(
  source: BodySource,
  bytesMax: number,
  reservation: Reservation,
): Promise<Buffer | BodyFailure> {
  const found = await gather(source, bytesMax, reservation);
  if (!Buffer.isBuffer(found)) reservation.release();
  return found;
}

function gather(
  source: BodySource,
  bytesMax: number,
  reservation: Reservation,
): Promise<Buffer | BodyFailure> {
  return new Promise((resolve) => {
    if (source.destroyed) return resolve("lost");
    if (!reservation.resize(requestBytes)) return resolve("full");
    const gathered = new GrowingBuffer(bytesMax);
    /** A body of one piece, which most are, is not copied. */
    let only: Buffer | null = null;
    const finish = (found: Buffer | BodyFailure): void => {
      source.off("data", onData);
      source.off("end", onEnd);
      source.off("close", onLost);
      source.off("error", onLost);
      resolve(found);
    };
    const add = (piece: Buffer): void => {
      if (gathered.length + piece.length > bytesMax) return finish("large");
      if (!reservation.resize(requestBytes + gathered.capacityWith(piece.length))) return finish("full");
      gathered.append(piece);
    };
    const onData = (piece: Buffer): void => {
      if (only !== null) {
        const first = only;
        only = null;
        add(first);
        return add(piece);
      }
      if (gathered.length > 0) return add(piece);
      if (piece.length > bytesMax) finish("large");
      else if (!reservation.resize(requestBytes + piece.length)) finish("full");
      else only = piece;
    };
    const onEnd = (): void => finish(only ?? gathered.take());
    const onLost = (): void => finish("lost");
    source.on("data", onData);
    source.on("end", onEnd);
    source.on("close", onLost);
    source.on("error", onLost);
  });
}

/** Bytes that are gathered before they are handed on, and those beyond which the source waits. */
const [pieceBytes, waitingBytesMax] = [16 * 1024, 64 * 1024];
/** Bytes reserved for a body that passes: those that are gathered, and those in the streams that it passes through. */
const passingBytes = 256 * 1024;

/**
 * The body's bytes as they come, in pieces of 16 KiB and more but for the last. It releases the reservation once it ends
 * or is destroyed. What its reader leaves of the body is discarded, so that an answer can follow.
 * @param options `toError`: what it fails with; `length`: of the body in bytes, where its head declares it, since a short
 * one reserves less
 */
export function createPieceStream(
  source: PausableSource,
  reservation: Reservation,
  {
    toError = (failure) => new BodyError(failure),
    length = passingBytes,
  }: { readonly toError?: (failure: PassingFailure) => Error; readonly length?: number } = {},
): Readable {
  // The last piece may come on top of what is almost enough.
  const gathered = new GrowingBuffer(Number.MAX_SAFE_INTEGER);
  let [isWanted, hasEnded] = [false, false];
  const pass = (): void => {
    if (!isWanted) return;
    const isEnough = gathered.length >= pieceBytes || (hasEnded && gathered.length > 0);
    isWanted = !isEnough && !hasEnded;
    if (isEnough) stream.push(gathered.take());
    else if (hasEnded) stream.push(null);
    else source.resume();
  };
  const onData = (piece: Buffer): void => {
    gathered.append(piece);
    if (gathered.length >= waitingBytesMax) source.pause();
    pass();
  };
  const onEnd = (): void => {
    hasEnded = true;
    pass();
  };
  const onLost = (): void => {
    if (!hasEnded) stream.destroy(toError("lost"));
  };
  const stream = new Readable({
    highWaterMark: pieceBytes,
    read: () => {
      isWanted = true;
      pass();
    },
    destroy: (error, done) => {
      source.off("data", onData);
      source.off("end", onEnd);
      source.off("close", onLost);
      source.off("error", onLost);
      source.resume();
      reservation.release();
      done(error);
    },
  });
  // The gathered pieces take at most twice their bytes, and are copied once on their way out.
  const bytes = Math.min(passingBytes, requestBytes + 3 * length);
  if (!reservation.resize(bytes)) return stream.destroy(toError("full"));
  if (source.destroyed) return stream.destroy(toError("lost"));
  source.on("data", onData);
  source.on("end", onEnd);
  source.on("close", onLost);
  source.on("error", onLost);
  return stream;
}

/** A body that could not be passed on to its end. */
export class BodyError extends Error {
  readonly failure: PassingFailure;

  constructor(failure: PassingFailure) {
    super(failure === "full" ? "the budget for bodies is exhausted" : "the body is broken or incomplete");
    this.failure = failure;
  }
}
