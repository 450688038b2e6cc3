/**
 * The time by which retention removes. A wall clock may be wrong for a while (set by hand, or a machine that boots before
 * it has asked a time server), and what is removed by it is gone for good: so this time follows it slowly.
 */
import type { Clock } from "../../store/lib/clock.js";
import type { Logger } from "../observability/log.js";

export interface RetentionClock {
  /** Milliseconds since 1970, never after the wall clock; 0, so that nothing is old, before `begin`. */
  now(): number;
  /** Goes on from a time that was trusted before: that of an earlier run, or of the newest record; null without either. */
  begin(trusted: number | null): void;
  /** To be called every second. */
  tick(): void;
  /** The time that is trusted now, for the next run; null before `begin`, and until the first clock is trusted. */
  readonly trusted: number | null;
  /** How far the wall clock is ahead of it. */
  readonly lagMs: number;
}

/** The service is younger: a clock, or a record, of an earlier time was never right. Milliseconds since 1970. */
const earliest = Date.UTC(2026, 0, 1);
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** How long the wall clock must have run as the monotonic clock did. */
const agreementMs = hourMs;
/** A start this long after the last trusted time is a restart, and its clock agrees with that time. */
const restartMsMax = hourMs;
/** The clocks of a machine are no further apart after an hour of corrections. */
const driftMsMax = 60_000;
/** A day of the wall clock for each hour that passes. */
const catchUp = dayMs / hourMs;

/**
 * The trusted time moves on as monotonic time passes. Where the wall clock is further away, ahead or behind, it waits until
 * that clock has agreed with monotonic time for an hour, and then approaches it by a day an hour: a clock that was wrong
 * from the boot on agrees too. A run that begins without a trusted time takes the wall clock after its first hour of
 * agreement, as a whole: there is nothing yet that it could remove too early.
 */
export function createRetentionClock(
  { now, monotonic }: Clock,
  log: Pick<Logger, "warn" | "info">,
): RetentionClock {
  let trusted: number | null = null;
  /** A clock has been trusted, in this run or before. */
  let isAnchored = false;
  let tickedAt = monotonic();
  const apart = (): number => now() - monotonic();
  let known = apart();
  let knownAt = monotonic();
  let agreesSince = monotonic();
  /** The log says that retention waits, and not yet that it goes on. */
  let isWaitLogged = false;

  const iso = (ms: number): string => new Date(ms).toISOString();

  function logWait(from: number): void {
    const wall = now();
    if (Math.abs(wall - from) <= restartMsMax) return;
    isWaitLogged = true;
    log.warn("the wall clock is not trusted yet: retention removes nothing that only it calls old", {
      wallTime: iso(wall),
      trustedTime: iso(from),
      aheadMs: Math.round(wall - from),
    });
  }

  /** Notices that the wall clock was set. */
  function compare(at: number): void {
    const isSame = Math.abs(apart() - known) <= driftMsMax;
    if (isSame && at - knownAt < agreementMs) return;
    known = apart();
    knownAt = at;
    if (isSame) return;
    agreesSince = at;
    if (trusted !== null) logWait(trusted);
  }

  /** @param agreedMs of the time that has passed, how much came after an hour of agreement */
  function advance(from: number, passedMs: number, agreedMs: number): number {
    const wall = now();
    if (!isAnchored && agreedMs > 0 && wall >= earliest) {
      isAnchored = true;
      return wall;
    }
    const quickMs = agreedMs * catchUp;
    if (from > wall) return Math.max(wall, earliest, from - quickMs);
    return Math.min(wall, from + Math.max(passedMs, quickMs));
  }

  return {
    now: () => (trusted === null ? 0 : Math.min(now(), trusted)),
    begin: (before) => {
      const from = Math.max(before ?? now(), earliest);
      isAnchored = from === before;
      if (Math.abs(now() - from) <= restartMsMax) trusted = now();
      else trusted = from;
      tickedAt = monotonic();
      logWait(from);
    },
    tick: () => {
      const at = monotonic();
      compare(at);
      const agreedMs = Math.max(0, at - Math.max(tickedAt, agreesSince + agreementMs));
      if (trusted !== null) trusted = advance(trusted, at - tickedAt, agreedMs);
      tickedAt = at;
      if (isWaitLogged && trusted !== null && Math.abs(now() - trusted) <= driftMsMax) {
        isWaitLogged = false;
        log.info("retention goes by the wall clock again", { wallTime: iso(now()) });
      }
    },
    get trusted() {
      return isAnchored ? trusted : null;
    },
    get lagMs() {
      return trusted === null ? 0 : Math.max(0, now() - trusted);
    },
  };
}
