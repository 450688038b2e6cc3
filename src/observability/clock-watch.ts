import type { Clock } from "../../store/lib/clock.js";
import type { Logger } from "./log.js";

/** Which way the wall clock was set; labels of `tidemark_clock_jumps_total`. */
export const clockJumps = ["forward", "back"] as const;
export type ClockJump = (typeof clockJumps)[number];

/** Smaller steps are corrections of the clock, or the time between two readings. */
const jumpMsMin = 500;

/**
 * Returns a check of both clocks, to be run each second: if the wall clock has moved differently from the monotonic
 * one, somebody has set it, or the machine slept. Each jump is logged once, with its size.
 */
export function createClockWatch(
  { now, monotonic }: Clock,
  log: Logger,
  onJump: (jump: ClockJump) => void,
): () => void {
  const apart = (): number => now() - monotonic();
  let known = apart();
  return () => {
    const before = known;
    known = apart();
    const jumpMs = Math.round(known - before);
    if (Math.abs(jumpMs) < jumpMsMin) return;
    const jump = jumpMs > 0 ? "forward" : "back";
    onJump(jump);
    log.warn(`the wall clock has jumped ${jump}: times before and after it are that far apart`, { jumpMs });
  };
}
