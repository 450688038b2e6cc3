/** Watches over a connection to the broker: it must answer in time, and be heard while it is kept alive. */

export interface SilenceWatch {
  /** Something has been received. */
  heard(): void;
  /** CONNECT and SUBSCRIBE have been answered. */
  answered(): void;
  /** Pings twice in so many seconds; 0: never. */
  keepAlive(seconds: number): void;
  /** While we do not listen, silence does not count. */
  pause(): void;
  resume(): void;
  stop(): void;
}

interface SilenceEvents {
  readonly ping: () => void;
  /**
   * Called at most once each. `timeout`: no answer; `keep_alive`: nothing was heard for one and a half times the
   * seconds.
   */
  readonly onSilence: (reason: "timeout" | "keep_alive", text: string) => void;
}

const answerMsMax = 10_000;

export function watchSilence({ ping, onSilence }: SilenceEvents): SilenceWatch {
  let isPaused = false;
  let heardAt = performance.now();
  let pings: NodeJS.Timeout | undefined;
  let answer = setTimeout(giveUp, answerMsMax);

  function giveUp(): void {
    if (isPaused) answer = setTimeout(giveUp, answerMsMax);
    else onSilence("timeout", "the broker does not answer");
  }

  function check(seconds: number): void {
    if (isPaused) heardAt = performance.now();
    if (performance.now() - heardAt > seconds * 1500)
      onSilence("keep_alive", "nothing is heard of the broker");
    else ping();
  }

  return {
    heard: () => {
      heardAt = performance.now();
    },
    answered: () => clearTimeout(answer),
    keepAlive: (seconds) => {
      if (seconds > 0) pings = setInterval(check, seconds * 500, seconds);
    },
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
      heardAt = performance.now();
    },
    stop: () => {
      clearTimeout(answer);
      clearInterval(pings);
    },
  };
}
