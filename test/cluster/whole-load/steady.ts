/** Keeps a device connected whatever becomes of the cluster, as its firmware would. */
import { setTimeout as pause } from "node:timers/promises";

interface Client {
  /** Connects and works until the connection breaks. */
  run(address: string): Promise<void>;
  cut(): Promise<void>;
}

interface Steady {
  /** Longest time without progress, ms, since it was asked last. */
  longestPause(): number;
  /** Lets it work on until `isDone`, and then no more. */
  end(isDone?: () => boolean): Promise<void>;
}

const lookMs = 20;
/** Without progress for so long, a device gives its connection up: what it is connected to may be frozen. */
const patienceMs = 5000;
const againMs = 50;

/** @param progress grows with each answer that the device hears */
export function keepRunning(client: Client, address: string, progress: () => number): Steady {
  let isOver = false;
  let seen = progress();
  let progressAt = performance.now();
  let connectedAt = progressAt;
  let longestMs = 0;

  const timer = setInterval(() => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - progressAt);
    if (progress() !== seen) {
      seen = progress();
      progressAt = now;
    } else if (now - Math.max(progressAt, connectedAt) > patienceMs) {
      connectedAt = now;
      void client.cut();
    }
  }, lookMs);

  async function run(): Promise<void> {
    while (!isOver) {
      connectedAt = performance.now();
      await client.run(address).catch(() => undefined);
      await pause(againMs);
    }
  }
  const running = run();

  return {
    longestPause: () => {
      const longest = longestMs;
      longestMs = performance.now() - progressAt;
      return longest;
    },
    end: async (isDone = () => true) => {
      while (!isDone()) await pause(lookMs);
      isOver = true;
      clearInterval(timer);
      // Its `run` may open a connection after a cut: it is cut until it has ended.
      let hasEnded = false;
      void running.then(() => {
        hasEnded = true;
      });
      while (!hasEnded) {
        await client.cut();
        await pause(lookMs);
      }
    },
  };
}
