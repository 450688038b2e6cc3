/** Whether a person is there: a session goes on with what he does, not with what pages ask by themselves. */

/** Starts at 0: a user who opens a page counts as active. */
let actedAt = 0;
let saidAt = Number.NEGATIVE_INFINITY;

/** One thing that is done may need several calls. */
const togetherMs = 5_000;

export function watchPerson(): void {
  for (const kind of ["pointerdown", "keydown", "wheel"]) {
    addEventListener(kind, () => (actedAt = performance.now()), { capture: true, passive: true });
  }
}

/** What a call says: `1` where a person has done something since the last one that said so. */
export function personOrPoll(): "1" | "poll" {
  const now = performance.now();
  if (saidAt >= actedAt && now - actedAt > togetherMs) return "poll";
  saidAt = now;
  return "1";
}
