/**
 * A budget for the bytes that all responses in progress hold, shared by tenants, so that a client that does not read
 * its answer does not block others. Small responses are counted, and never wait.
 */
import type { Meter } from "../../ingest/meter.js";
import { withDeadline } from "../../store/lib/abortable.js";
import { createSemaphore, type Semaphore } from "../../store/lib/semaphore.js";
import { createShares } from "../../store/lib/shares.js";
import { ApiError } from "./errors.js";

/** The bytes that one answer holds. */
export interface Reservation {
  /** Bytes counted for the answer. */
  readonly bytes: number;
  /**
   * Asks for this many more bytes; resolves when they are reserved. @throws ApiError TOO_MANY_REQUESTS if too much
   * waits already, or for too long
   */
  take(bytes: number): Promise<void>;
  /** The same, whether or not the budget allows it: work already done must be reported. */
  force(bytes: number): void;
  /**
   * Makes the answer in its turn: so few are made at once that the data read for them stays small. While one waits for
   * its bytes, others are made.
   */
  make<T>(kind: Making, work: () => Promise<T> | T): Promise<T>;
  /** Gives back this many of its bytes, which have been sent, or as many as there are. */
  give(bytes: number): void;
  /** Gives back the rest: all have been sent, or nobody waits for them. */
  end(): void;
}

/**
 * What a handler waits for: the metadata and the journal, the series store, which may be slow, or another server; how
 * many of those may wait for that it says itself.
 */
export type Making = "rows" | "series" | "outside";

export interface ResponseBudget {
  /** @param signal called only if something has to wait */
  open(tenant: number, signal: () => AbortSignal): Reservation;
  /** Takes bytes for an answer to a device; returns what gives them back, or null if the budget is used up. */
  takeNow(tenant: number, bytes: number): (() => void) | null;
}

/** An answer of at most this many bytes is made whatever others hold: most, and those that say what is wrong. */
export const smallAnswerBytes = 16 * 1024;
/** Answers made at once: each reads a page, or pieces of series, before its size is known. */
const madeAtOnce = 16;
/** The part of the budget that answers may hold in addition, already made and waiting for their bytes. */
const waitingPart = 1 / 4;
const usualWaitMs = 5000;
const retryAfter = { "Retry-After": "5" };

/**
 * @param bytesMax the most that answers may hold together; one tenant alone gets seven eighths of it
 * @param waitMs how long an answer may wait for its bytes
 */
export function createResponseBudget(
  bytesMax: number,
  meter: Pick<Meter, "answerBytes" | "answersRefused">,
  waitMs = usualWaitMs,
): ResponseBudget {
  const bytes = createSemaphore<number>(bytesMax);
  const waiting = createShares<number>(bytesMax * waitingPart);
  const turns = { rows: createSemaphore<number>(madeAtOnce), series: createSemaphore<number>(madeAtOnce) };

  function budgetExceeded(): ApiError {
    meter.answersRefused++;
    return new ApiError(
      "TOO_MANY_REQUESTS",
      "answers that were asked for and are not read hold all that they may: read them, or try again later",
      {},
      retryAfter,
    );
  }

  const shared: SharedBudget = {
    bytes,
    turns,
    measure: () => {
      meter.answerBytes = bytes.total;
    },
    wait: async (tenant, more, signal) => {
      if (!waiting.take(tenant, more)) throw budgetExceeded();
      try {
        await withDeadline(waitMs, signal, (ended, isLate) =>
          bytes.enter(tenant, more, {
            signal: ended,
            left: () => (isLate() ? budgetExceeded() : clientGone()),
          }),
        );
      } finally {
        waiting.give(tenant, more);
      }
    },
  };
  return {
    open: (tenant, signal) => createReservation(shared, tenant, signal),
    takeNow: (tenant, wanted) => {
      if (wanted <= smallAnswerBytes) bytes.force(tenant, wanted);
      else if (!bytes.tryEnter(tenant, wanted)) {
        meter.answersRefused++;
        return null;
      }
      let held = wanted;
      shared.measure();
      return () => {
        if (held > 0) bytes.leave(tenant, held);
        held = 0;
        shared.measure();
      };
    },
  };
}

/** The part that the answers of all tenants share. */
interface SharedBudget {
  readonly bytes: Semaphore<number>;
  readonly turns: Readonly<Record<Exclude<Making, "outside">, Semaphore<number>>>;
  /** Reports to the meter how much is held now. */
  measure(): void;
  /** Waits a while for its bytes, with an answer that is already made. @throws ApiError TOO_MANY_REQUESTS */
  wait(tenant: number, bytes: number, signal: AbortSignal): Promise<void>;
}

const clientGone = () => new ApiError("SERVICE_UNAVAILABLE", "nobody waits for the answer", {}, retryAfter);

function createReservation(budget: SharedBudget, tenant: number, signal: () => AbortSignal): Reservation {
  let held = 0;
  let over = false;
  /** The turns in which the answer has a place while it is being made. */
  let slot: Semaphore<number> | null = null;

  function give(bytes: number): void {
    const some = Math.min(bytes, held);
    held -= some;
    if (some > 0) budget.bytes.leave(tenant, some);
    budget.measure();
  }
  function grow(bytes: number): void {
    held += bytes;
    budget.measure();
    // The answer ended while it waited.
    if (over) give(held);
  }
  function force(bytes: number): void {
    budget.bytes.force(tenant, bytes);
    grow(bytes);
  }
  async function enterSlot(turns: Semaphore<number>): Promise<void> {
    if (!turns.tryEnter(tenant, 1)) await turns.enter(tenant, 1, { signal: signal(), left: clientGone });
    slot = turns;
  }
  function leaveSlot(): Semaphore<number> | null {
    const turns = slot;
    turns?.leave(tenant, 1);
    slot = null;
    return turns;
  }
  return {
    get bytes() {
      return held;
    },
    take: async (bytes) => {
      if (held + bytes <= smallAnswerBytes) return force(bytes);
      // An answer in progress goes before those that hold nothing yet, because they may wait for what it holds.
      const enters = held > 0 ? budget.bytes.tryGrow(tenant, bytes) : budget.bytes.tryEnter(tenant, bytes);
      if (!enters) {
        const turns = leaveSlot();
        await budget.wait(tenant, bytes, signal());
        if (turns !== null) await enterSlot(turns);
      }
      grow(bytes);
    },
    force,
    make: async (kind, work) => {
      if (kind === "outside") return work();
      await enterSlot(budget.turns[kind]);
      try {
        return await work();
      } finally {
        leaveSlot();
      }
    },
    give,
    end: () => {
      over = true;
      give(held);
    },
  };
}

/** A body that releases what it holds as it is read: gradually, or all of it at its end. */
export function heldBody(
  body: ReadableStream<Uint8Array>,
  hold: Reservation,
  byAndBy: boolean,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const { value, done } = await reader.read();
          if (done) {
            hold.end();
            controller.close();
            return;
          }
          controller.enqueue(value);
          if (byAndBy) hold.give(value.length);
        } catch (error) {
          hold.end();
          controller.error(error);
        }
      },
      cancel: async (reason) => {
        hold.end();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Roughly the bytes that a plain value holds: its texts, and a word for everything else. */
export function bytesHeld(value: unknown): number {
  if (typeof value === "string") return 2 * value.length + 16;
  if (typeof value !== "object" || value === null) return 8;
  let bytes = 16;
  for (const one of Array.isArray(value) ? value : Object.values(value)) bytes += bytesHeld(one);
  return bytes;
}
