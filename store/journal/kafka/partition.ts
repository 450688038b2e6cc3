import { onAbort, sleep } from "../../lib/abortable.js";
import { asError, isUnavailable, StoreError } from "../../lib/errors.js";
import { retryDelays } from "../../lib/retry.js";
import { createBreather } from "../../lib/turns.js";
import { appendOnce } from "./append.js";
import { type Address, leastTimeMs } from "./broker-link.js";
import { attemptTimeMs, createLeaderFinder } from "./leader-finder.js";
import { createLeaderLane, type LeaderLane } from "./leader-lane.js";
import { deleteBelow, findEnd } from "./offsets.js";
import { AppendError, type LoggedFrame, type PartitionLog } from "./partition-log.js";
import { fetchOnce } from "./read.js";
import { framesOf } from "./record-batches.js";

interface PartitionOptions {
  readonly brokers: readonly Address[];
  readonly topic: string;
  readonly partition: number;
  /** How the brokers' logs and metrics name us. */
  readonly clientID: string;
  /** The longest frame, bytes. */
  readonly frameBytesMax: number;
  /** Of records in an answer, if no single frame is longer; default 1 MiB. */
  readonly fetchBytesMax?: number;
  /** After which an append fails, milliseconds; default 10,000. */
  readonly appendTimeMs?: number;
  /** After which any other call fails, milliseconds; default 10,000. */
  readonly callTimeMs?: number;
}

const fetchWaitMs = 500;
/** Of an answer beside its frames. */
const answerHeadBytes = 64 * 1024;

/** The log on Kafka's protocol. Nothing is connected yet; the topic must be as `prepareTopic` leaves it. */
export function openPartition(options: PartitionOptions): PartitionLog {
  const { frameBytesMax, fetchBytesMax = 1 << 20, appendTimeMs = 10_000, callTimeMs = 10_000 } = options;
  const { clientID } = options;
  const answerBytesMax = Math.max(fetchBytesMax, frameBytesMax) + answerHeadBytes;
  const place = { topic: options.topic, partition: options.partition };
  const closing = new AbortController();
  const finder = createLeaderFinder({ ...options, answerBytesMax });
  const lane = (): LeaderLane => createLeaderLane({ finder, clientID, answerBytesMax });
  const appends = lane();
  const questions = lane();
  let isAppending = false;

  async function append(frame: Uint8Array): Promise<number> {
    const deadline = performance.now() + appendTimeMs;
    for (const delays = retryDelays(50, 500); ; ) {
      const delayMs = delays.next().value;
      try {
        const { link } = await appends.link(deadline - performance.now());
        return await appendOnce(link, place, frame, deadline - performance.now());
      } catch (error) {
        const failure = asAppendError(error);
        appends.drop();
        const mayPass = failure.outcome === "not written" && isUnavailable(failure);
        const isOver = closing.signal.aborted || performance.now() + delayMs + leastTimeMs >= deadline;
        if (!mayPass || isOver) throw failure;
      }
      await sleep(delayMs, closing.signal);
    }
  }

  /** Tries until it succeeds, fails for good, or the call's time is over. */
  async function patiently<T>(
    attempt: (timeMs: number) => Promise<T>,
    through: LeaderLane,
    what: string,
    signal: AbortSignal,
  ): Promise<T> {
    const deadline = performance.now() + callTimeMs;
    for (const delays = retryDelays(50, 500); ; ) {
      const delayMs = delays.next().value;
      try {
        return await attempt(deadline - performance.now());
      } catch (error) {
        const { code, message } = error instanceof StoreError ? error : asUnexpected(error);
        through.drop();
        const isOver = signal.aborted || performance.now() + delayMs + leastTimeMs >= deadline;
        if (code !== "UNAVAILABLE" || isOver) throw new StoreError(code, `cannot ${what}: ${message}`);
      }
      await sleep(delayMs, signal);
    }
  }

  const ask = <T>(what: string, attempt: (timeMs: number) => Promise<T>): Promise<T> =>
    patiently((ms) => attempt(Math.min(ms, attemptTimeMs)), questions, what, closing.signal);

  async function* read(
    from: number,
    until: number,
    stopped = closing.signal,
  ): AsyncGenerator<LoggedFrame, void> {
    const signal = AbortSignal.any([stopped, closing.signal]);
    const through = lane();
    const stopListening = onAbort(signal, through.close);
    const breathe = createBreather();
    let next = from;
    let progressAt = performance.now();
    const fetchNext = (timeMs: number): Promise<Buffer> => {
      const asked = { ...place, offset: next, bytesMax: fetchBytesMax, waitMs: fetchWaitMs };
      return fetchOnce(through, asked, Math.min(timeMs, Math.max(attemptTimeMs, callTimeMs / 2)));
    };
    try {
      while (next < until && !signal.aborted) {
        const records = await patiently(fetchNext, through, `read from offset ${next}`, signal);
        const before = next;
        for (const one of framesOf(records, next)) {
          if (one.offset !== next) throw gap(next, one.offset);
          next++;
          yield one;
          if (next >= until) return;
          await breathe();
        }
        if (next > before) progressAt = performance.now();
        else if (records.length > 0) throw gap(next, "a batch that is cut off");
        else if (until < Number.POSITIVE_INFINITY && performance.now() - progressAt > callTimeMs) {
          throw new StoreError("UNAVAILABLE", `cannot read offset ${next}: it is not there yet`);
        }
      }
    } catch (error) {
      // Ended by who reads it; a log that is closed under a reader is an error.
      if (!stopped.aborted || closing.signal.aborted) throw error;
    } finally {
      stopListening();
      through.close();
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
    start: () => ask("find the start of the log", (ms) => findEnd(questions, place, "start", ms)),
    end: () => ask("find the end of the log", (ms) => findEnd(questions, place, "end", ms)),
    read,
    deleteBefore: (offset) =>
      ask(`delete before offset ${offset}`, (ms) => deleteBelow(questions, place, offset, ms)),
    close: () => {
      closing.abort();
      finder.close();
      for (const one of [appends, questions]) one.close();
    },
  };
}

/** What fails before a frame is sent has not written it. */
function asAppendError(error: unknown): AppendError {
  if (error instanceof AppendError) return error;
  const { code, message } = error instanceof StoreError ? error : asUnexpected(error);
  return new AppendError("not written", code, message);
}

function asUnexpected(error: unknown): StoreError {
  return new StoreError("INVALID", asError(error).message);
}

function gap(offset: number, found: number | string): StoreError {
  return new StoreError("CORRUPT", `cannot read the log at offset ${offset}: there is ${found} instead`);
}
