/** How long to wait before each attempt to connect. */
interface ReconnectBackOff {
  /** Milliseconds before the next attempt; the connection before it had been of use for `usefulMs`. */
  next(usefulMs: number): number;
}

const firstMs = 250;
const longestMs = 30_000;
/** A connection that held so long was a good one: a broker that disconnects in a loop is not asked all the time. */
const usefulMsMin = 10_000;

/** Doubled with each failure, the later half of it at random, so that processes do not come back together. */
export function createReconnectBackOff(random: () => number): ReconnectBackOff {
  let failures = 0;
  return {
    next: (usefulMs) => {
      if (usefulMs >= usefulMsMin) failures = 0;
      const waitMs = Math.min(firstMs * 2 ** Math.min(failures++, 16), longestMs);
      return Math.round(waitMs * (0.5 + random() / 2));
    },
  };
}
