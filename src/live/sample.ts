/** The most messages that one stream receives in a second. */
export const messagesPerSecondMax = 50;

interface Sample {
  /** Whether one more message may be sent. */
  take(): boolean;
  /** How many could not, in seconds that are over; each is said once. */
  skipped(): number;
}

/** @param nowMs a clock that is never set */
export function createSample(nowMs: () => number = () => performance.now()): Sample {
  let began = nowMs();
  let taken = 0;
  let left = 0;
  let over = 0;

  function turnOver(): void {
    if (nowMs() - began < 1000) return;
    over += left;
    began = nowMs();
    taken = 0;
    left = 0;
  }

  return {
    take: () => {
      turnOver();
      const fits = taken < messagesPerSecondMax;
      if (fits) taken++;
      else left++;
      return fits;
    },
    skipped: () => {
      turnOver();
      const reported = over;
      over = 0;
      return reported;
    },
  };
}
