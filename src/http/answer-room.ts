/**
 * What all answers under way may hold together, shared by tenants: whoever does not read what it asked for leaves room
 * for the others. Small answers are not counted, and never wait.
 */
import type { Meter } from "../../ingest/meter.js";
import { createSemaphore, type Semaphore } from "../../store/lib/semaphore.js";
import { createShares } from "../../store/lib/shares.js";
import { ApiError } from "./errors.js";

/** What one answer holds. */
export interface AnswerHold {
  /** What is counted for it, bytes. */
  readonly bytes: number;
  /**
   * The answer holds so many bytes more; resolves when there is room for them. @throws ApiError TOO_MANY_REQUESTS where
   * too much waits already, or for too long
   */
  take(bytes: number): Promise<void>;
  /** The same, whether or not there is room: what has been done already is told. */
  force(bytes: number): void;
  /**
   * Makes the answer in its turn: so few are made at once that what is read for them is little. While it waits for room
   * others are made.
   */
  make<T>(kind: Making, work: () => Promise<T> | T): Promise<T>;
  /** So many of its bytes have left, or as many as there are. */
  give(bytes: number): void;
  /** All have left, or nobody waits for them. */
  end(): void;
}

/** What a handler waits for: the metadata and the journal, or the series store, which may take long. */
export type Making = "rows" | "series";

export interface AnswerRoom {
  /** @param signal asked for only where something waits */
  open(tenant: number, signal: () => AbortSignal): AnswerHold;
}

/** An answer of no more than so many bytes is not counted. */
export const smallAnswerBytes = 64 * 1024;
/** Answers made at once: each reads a page, or pieces of series, before it is known what it will hold. */
const madeAtOnce = 16;
/** Of what is under way so much more may be made already and wait for room. */
const waitingPart = 1 / 4;
const usualWaitMs = 5000;
const retryAfter = { "Retry-After": "5" };

/**
 * @param bytesMax what answers may hold together; one tenant alone has seven eighths of it
 * @param waitMs so long an answer may wait for room
 */
export function createAnswerRoom(
  bytesMax: number,
  meter: Pick<Meter, "answerBytes" | "answersRefused">,
  waitMs = usualWaitMs,
): AnswerRoom {
  const bytes = createSemaphore<number>(bytesMax);
  const waiting = createShares<number>(bytesMax * waitingPart);
  const turns = { rows: createSemaphore<number>(madeAtOnce), series: createSemaphore<number>(madeAtOnce) };

  function noRoom(): ApiError {
    meter.answersRefused++;
    return new ApiError(
      "TOO_MANY_REQUESTS",
      "answers that were asked for and are not read hold all that they may: read them, or try again later",
      {},
      retryAfter,
    );
  }

  const shared: SharedRoom = {
    bytes,
    turns,
    measure: () => {
      meter.answerBytes = bytes.total;
    },
    wait: async (tenant, more, signal) => {
      if (!waiting.take(tenant, more)) throw noRoom();
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), waitMs);
      try {
        const left = () => (late.signal.aborted ? noRoom() : hasLeft());
        await bytes.enter(tenant, more, { signal: AbortSignal.any([signal, late.signal]), left });
      } finally {
        clearTimeout(timer);
        waiting.give(tenant, more);
      }
    },
  };
  return { open: (tenant, signal) => createHold(shared, tenant, signal) };
}

/** What the answers of all tenants share. */
interface SharedRoom {
  readonly bytes: Semaphore<number>;
  readonly turns: Readonly<Record<Making, Semaphore<number>>>;
  /** Tells the meter what is held now. */
  measure(): void;
  /** Waits a while for room, with an answer that is made already. @throws ApiError TOO_MANY_REQUESTS */
  wait(tenant: number, bytes: number, signal: AbortSignal): Promise<void>;
}

const hasLeft = () => new ApiError("SERVICE_UNAVAILABLE", "nobody waits for the answer", {}, retryAfter);

function createHold(room: SharedRoom, tenant: number, signal: () => AbortSignal): AnswerHold {
  let held = 0;
  let small = 0;
  let over = false;
  /** The turns that it has a place in, while it is being made. */
  let inTurn: Semaphore<number> | null = null;

  function give(bytes: number): void {
    const some = Math.min(bytes, held);
    held -= some;
    if (some > 0) room.bytes.leave(tenant, some);
    room.measure();
  }
  function grow(bytes: number): void {
    held += bytes;
    room.measure();
    // It has ended while it waited.
    if (over) give(held);
  }
  async function enterTurn(turns: Semaphore<number>): Promise<void> {
    if (!turns.tryEnter(tenant, 1)) await turns.enter(tenant, 1, { signal: signal(), left: hasLeft });
    inTurn = turns;
  }
  function leaveTurn(): Semaphore<number> | null {
    const turns = inTurn;
    turns?.leave(tenant, 1);
    inTurn = null;
    return turns;
  }
  /** What is to be counted of so many bytes more. */
  function countable(bytes: number): number {
    small += bytes;
    if (held === 0 && small <= smallAnswerBytes) return 0;
    const more = small;
    small = 0;
    return more;
  }

  return {
    get bytes() {
      return held;
    },
    take: async (bytes) => {
      const more = countable(bytes);
      if (more === 0) return;
      // One under way stands before those that hold nothing yet: they may wait for what it holds.
      const enters = held > 0 ? room.bytes.tryGrow(tenant, more) : room.bytes.tryEnter(tenant, more);
      if (!enters) {
        const turns = leaveTurn();
        await room.wait(tenant, more, signal());
        if (turns !== null) await enterTurn(turns);
      }
      grow(more);
    },
    force: (bytes) => {
      const more = countable(bytes);
      if (more === 0) return;
      room.bytes.force(tenant, more);
      grow(more);
    },
    make: async (kind, work) => {
      await enterTurn(room.turns[kind]);
      try {
        return await work();
      } finally {
        leaveTurn();
      }
    },
    give,
    end: () => {
      over = true;
      give(held);
    },
  };
}

/** A body that gives back what it holds as it is read: by and by, or all of it at its end. */
export function heldBody(
  body: ReadableStream<Uint8Array>,
  hold: AnswerHold,
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

/** About what a plain value holds, bytes: its texts, and a word for everything else. */
export function bytesHeld(value: unknown): number {
  if (typeof value === "string") return 2 * value.length + 16;
  if (typeof value !== "object" || value === null) return 8;
  let bytes = 16;
  for (const one of Array.isArray(value) ? value : Object.values(value)) bytes += bytesHeld(one);
  return bytes;
}
