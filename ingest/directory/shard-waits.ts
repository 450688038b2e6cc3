/** Callers that need a shard without an owner wait a while: it may be on its way from one process to another. */
import { createPacer } from "../../store/lib/scheduling.js";

export interface ShardWaits {
  /** Resolves once somebody has the shard, or is not to be waited for. Never rejects. */
  untilPlaced(shard: number): Promise<void>;
  /** Somebody may have a shard now that nobody had. */
  look(): void;
  /** Nobody waits any more. */
  end(): void;
}

interface ShardWaitsOptions {
  /** Whether somebody has the shard. */
  readonly isPlaced: (shard: number) => boolean;
  /** How long a shard is waited for, from when it was first missed. */
  readonly waitMs?: number;
  /** All those that wait: more are not let wait. */
  readonly waitersMax?: number;
}

/** An orderly move takes a second or two. */
const usualWaitMs = 3000;
const usualWaitersMax = 10_000;

/** A shard that somebody has missed, until it is found. */
interface Absence {
  readonly over: Promise<void>;
  readonly end: () => void;
  /** It has not come in time: new callers do not wait, so that a caller with one device after another goes on. */
  isLong: boolean;
}

export function createShardWaits({
  isPlaced,
  waitMs = usualWaitMs,
  waitersMax = usualWaitersMax,
}: ShardWaitsOptions): ShardWaits {
  const absences = new Map<number, Absence>();
  const pacer = createPacer();
  let waiters = 0;
  let isEnded = false;

  function begin(shard: number): Absence {
    let resolve = (): void => undefined;
    const over = new Promise<void>((done) => {
      resolve = done;
    });
    const timer = setTimeout(() => {
      absence.isLong = true;
      resolve();
    }, waitMs);
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const absence: Absence = { over, end, isLong: false };
    absences.set(shard, absence);
    return absence;
  }

  return {
    untilPlaced: async (shard) => {
      if (isEnded || isPlaced(shard)) return;
      const absence = absences.get(shard) ?? begin(shard);
      if (absence.isLong || waiters >= waitersMax) return;
      waiters++;
      await absence.over;
      waiters--;
      // Many go on at once.
      await pacer(() => undefined);
    },
    look: () => {
      for (const [shard, absence] of absences) {
        if (!isPlaced(shard)) continue;
        absences.delete(shard);
        absence.end();
      }
    },
    end: () => {
      isEnded = true;
      for (const absence of absences.values()) absence.end();
      absences.clear();
    },
  };
}
