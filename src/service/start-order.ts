import type { Follower } from "../../store/journal/dead-letters.js";

export type StartOrder = ReturnType<typeof createStartOrder>;

/** Alerts wait until the series consumer has started and isolates no record; sessions start before both. */
export function createStartOrder() {
  let release: () => void = () => undefined;
  let isHeld = true;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const letOn = (): void => {
    isHeld = false;
    release();
  };
  return {
    letOn,
    of: (follower: Follower) => ({
      isHeld: () => follower === "alerts" && isHeld,
      turn: () => (follower === "alerts" ? released : Promise.resolve()),
      onWide: () => {
        if (follower === "series") letOn();
      },
    }),
  };
}
