import { asStoreError, isUnavailable, StoreError } from "../../lib/errors.js";
import { appendOnce } from "./append.js";
import type { Address } from "./broker-link.js";
import { attemptTimeMs, createLeaderFinder } from "./leader-finder.js";
import { createLeaderLane, type LeaderLane } from "./leader-lane.js";
import type { LinkSecurity } from "./link-security.js";
import { deleteBelow, findEnd } from "./offsets.js";
import { AppendError, type PartitionLog } from "./partition-log.js";
import { readFrames } from "./read.js";
import { retryCall } from "./retry-call.js";

interface PartitionOptions {
  readonly brokers: readonly Address[];
  readonly topic: string;
  readonly partition: number;
  /** How the brokers' logs and metrics name us. */
  readonly clientID: string;
  /** How brokers are spoken to; undefined: in the clear, as nobody. */
  readonly security?: LinkSecurity | undefined;
  /** The longest frame, bytes. */
  readonly frameBytesMax: number;
  /** The most bytes of records in an answer, if no single frame is longer; default 1 MiB. */
  readonly fetchBytesMax?: number;
  /** After which an append fails, milliseconds; default 10,000. */
  readonly appendTimeMs?: number;
  /** After which any other call fails, milliseconds; default 10,000. */
  readonly callTimeMs?: number;
}

/** The overhead of an answer beside its frames. */
const answerHeadBytes = 64 * 1024;

/** The log on Kafka's protocol. Nothing is connected yet; the topic must be as `prepareTopic` leaves it. */
export function openPartition(options: PartitionOptions): PartitionLog {
  const { frameBytesMax, fetchBytesMax = 1 << 20, appendTimeMs = 10_000, callTimeMs = 10_000 } = options;
  const { clientID, security } = options;
  const answerBytesMax = Math.max(fetchBytesMax, frameBytesMax) + answerHeadBytes;
  const place = { topic: options.topic, partition: options.partition };
  const closing = new AbortController();
  const { signal } = closing;
  const pin = { topicID: undefined };
  const lane = (): LeaderLane => {
    const finder = createLeaderFinder({ ...options, answerBytesMax }, pin);
    return createLeaderLane({ finder, clientID, answerBytesMax, security });
  };
  const appends = lane();
  const reads = lane();
  let isAppending = false;

  async function append(frame: Uint8Array): Promise<number> {
    const retries = { timeMs: appendTimeMs, signal, mayPass: isCertain, onFailure: appends.drop };
    return retryCall(retries, async (timeMs) => {
      const deadline = performance.now() + timeMs;
      const { link } = await appends.link(timeMs).catch(asNotWritten);
      return appendOnce(link, place, frame, deadline - performance.now());
    });
  }

  async function ask<T>(what: string, attempt: (timeMs: number) => Promise<T>): Promise<T> {
    const retries = { timeMs: callTimeMs, signal, mayPass: isUnavailable, onFailure: reads.drop };
    try {
      return await retryCall(retries, (timeMs) => attempt(Math.min(timeMs, attemptTimeMs)));
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      throw new StoreError(error.code, `cannot ${what}: ${error.message}`);
    }
  }

  return {
    append: async (frame) => {
      if (isAppending) throw new AppendError("not written", "CONFLICT", "another append is under way");
      if (frame.length === 0 || frame.length > frameBytesMax) {
        const bounds = `it has ${frame.length} bytes, not 1 to ${frameBytesMax}`;
        throw new AppendError("not written", "LIMIT", bounds);
      }
      isAppending = true;
      try {
        return await append(frame);
      } finally {
        isAppending = false;
      }
    },
    start: () => ask("find the start of the log", (ms) => findEnd(reads, place, "start", ms)),
    end: () => ask("find the end of the log", (ms) => findEnd(reads, place, "end", ms)),
    read: (from, until, stopped = signal) => {
      const { partition } = options;
      // A read without an end waits for more, and requests behind it on the same link would wait too.
      const isShared = until < Number.POSITIVE_INFINITY;
      const times = { timeMs: callTimeMs, stopped, closing: signal };
      return readFrames(isShared ? reads : lane(), from, until, {
        partition,
        fetchBytesMax,
        isShared,
        ...times,
      });
    },
    deleteBefore: (offset) =>
      ask(`delete before offset ${offset}`, (ms) => deleteBelow(reads, place, offset, ms)),
    close: () => {
      closing.abort();
      for (const one of [appends, reads]) one.close();
    },
  };
}

/** A frame that is certainly not written may be sent again. */
function isCertain(error: StoreError): boolean {
  return error instanceof AppendError && error.outcome === "not written" && isUnavailable(error);
}

/** What fails before a frame is sent has not written it. */
function asNotWritten(error: unknown): never {
  const { code, message } = asStoreError(error);
  throw new AppendError("not written", code, message);
}
