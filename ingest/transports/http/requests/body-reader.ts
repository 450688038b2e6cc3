/**
 * The one reader of requests' bodies, for devices and callers alike. Node hands over a Buffer for each chunk that a
 * client makes, some 350 bytes of memory beside its own: pieces are copied together as they come, and what they take
 * is reserved before.
 */
import type { EventEmitter } from "node:events";
import type { Readable } from "node:stream";
import { GrowingBuffer } from "../../../../store/lib/growing-buffer.js";
import type { Reservation } from "../../../../store/lib/reservation.js";

/** A request, as far as its body goes. */
export type BodySource = Pick<Readable, "destroyed"> & Pick<EventEmitter, "on" | "off">;
/** One that can be made to wait. */
export type PausableSource = BodySource & Pick<Readable, "pause" | "resume">;

/** Why there is no body: more than may come, no budget for it now, or the client has gone. */
type BodyFailure = "large" | "full" | "lost";

/** What a request holds while its body is on its way, beside the body: its head, its parser, its answer. */
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
/** What is reserved for a body that passes: what is gathered, and what stands in the streams that it passes through. */
const passingBytes = 256 * 1024;

/**
 * The body's bytes as they come, in pieces of 16 KiB and more but for the last. @throws BodyError
 * @param length of the body in bytes, where its head declares it: a short one reserves less
 */
export async function* readPieces(
  source: PausableSource,
  reservation: Reservation,
  length = passingBytes,
): AsyncGenerator<Buffer, void> {
  // What is gathered takes at most twice its bytes, and is copied once on its way out.
  if (!reservation.resize(Math.min(passingBytes, requestBytes + 3 * length))) throw new BodyError("full");
  // The last piece may come on top of what is almost enough.
  const gathered = new GrowingBuffer(Number.MAX_SAFE_INTEGER);
  let end: "ended" | "lost" | null = source.destroyed ? "lost" : null;
  let wake: (() => void) | null = null;
  const onData = (piece: Buffer): void => {
    gathered.append(piece);
    if (gathered.length >= waitingBytesMax) source.pause();
    if (gathered.length >= pieceBytes) wake?.();
  };
  const finish = (how: "ended" | "lost"): void => {
    end ??= how;
    wake?.();
  };
  const onEnd = (): void => finish("ended");
  const onLost = (): void => finish("lost");
  source.on("data", onData);
  source.on("end", onEnd);
  source.on("close", onLost);
  source.on("error", onLost);
  try {
    for (;;) {
      while (end === null && gathered.length < pieceBytes) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      if (gathered.length > 0) yield gathered.take();
      if (end === "lost") throw new BodyError("lost");
      if (end === "ended" && gathered.length === 0) return;
      source.resume();
    }
  } finally {
    source.off("data", onData);
    source.off("end", onEnd);
    source.off("close", onLost);
    source.off("error", onLost);
    // What is left of it is discarded, so that an answer can follow.
    source.resume();
    reservation.release();
  }
}

/** A body that could not be passed on to its end. */
export class BodyError extends Error {
  readonly failure: Exclude<BodyFailure, "large">;

  constructor(failure: Exclude<BodyFailure, "large">) {
    super(failure === "full" ? "the budget for bodies is exhausted" : "the body is broken or incomplete");
    this.failure = failure;
  }
}
