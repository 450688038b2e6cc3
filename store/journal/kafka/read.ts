import { onAbort } from "../../lib/abortable.js";
import { isUnavailable, StoreError } from "../../lib/errors.js";
import { createYielder } from "../../lib/scheduling.js";
import { fetchOnce } from "./fetch.js";
import { attemptTimeMs } from "./leader-finder.js";
import type { LeaderLane } from "./leader-lane.js";
import type { LoggedFrame } from "./partition-log.js";
import { decodeFrames } from "./record-batches.js";
import { retryCall } from "./retry-call.js";

interface ReadOptions {
  readonly partition: number;
  readonly fetchBytesMax: number;
  /** The lane serves others too, and stays open. */
  readonly isShared: boolean;
  /** For which what is away is tried again, milliseconds. */
  readonly timeMs: number;
  /** The reader's signal: it ends the read without an error. */
  readonly stopped: AbortSignal;
  /** The log's signal: it ends the read with an error. */
  readonly closing: AbortSignal;
}

const fetchWaitMs = 500;

/** `read` of PartitionLog. */
export async function* readFrames(
  lane: LeaderLane,
  from: number,
  until: number,
  options: ReadOptions,
): AsyncGenerator<LoggedFrame, void> {
  const { stopped, closing, timeMs, isShared } = options;
  const signal = AbortSignal.any([stopped, closing]);
  const stopListening = onAbort(signal, isShared ? lane.drop : lane.close);
  const yieldIfDue = createYielder();
  let next = from;
  let progressAt = performance.now();
  try {
    while (next < until && !signal.aborted) {
      const records = await fetchWithRetry(lane, next, signal, options);
      const before = next;
      for (const one of decodeFrames(records, next)) {
        if (one.offset !== next) throw gap(next, `offset ${one.offset} follows`);
        next++;
        yield one;
        if (next >= until) return;
        await yieldIfDue();
      }
      if (next > before) progressAt = performance.now();
      else if (records.length > 0) throw gap(next, "its batch is cut off");
      else if (until < Number.POSITIVE_INFINITY && performance.now() - progressAt > timeMs) {
        throw new StoreError("UNAVAILABLE", `cannot read from offset ${next}: it is not there yet`);
      }
    }
    // A caller that reads up to an offset must not mistake this for the complete range.
    if (closing.aborted && next < until) throw closed(next);
  } catch (error) {
    if (closing.aborted || !stopped.aborted) throw error;
  } finally {
    stopListening();
    if (!isShared) lane.close();
  }
}

async function fetchWithRetry(
  lane: LeaderLane,
  offset: number,
  signal: AbortSignal,
  { partition, fetchBytesMax, timeMs }: ReadOptions,
): Promise<Buffer> {
  const asked = { partition, offset, bytesMax: fetchBytesMax, waitMs: fetchWaitMs };
  const attemptMs = Math.max(fetchWaitMs + attemptTimeMs, timeMs / 2);
  const retries = { timeMs, signal, mayPass: isUnavailable, onFailure: lane.drop };
  try {
    return await retryCall(retries, (left) => fetchOnce(lane, asked, Math.min(left, attemptMs)));
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new StoreError(error.code, `cannot read from offset ${offset}: ${error.message}`);
  }
}

function gap(offset: number, found: string): StoreError {
  return new StoreError("CORRUPT", `cannot read the log at offset ${offset}: ${found}`);
}

function closed(offset: number): StoreError {
  return new StoreError("UNAVAILABLE", `cannot read from offset ${offset}: the log was closed`);
}
