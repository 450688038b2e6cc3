import { startChild } from "../subjects/child.js";
import type { CrowdOptions } from "./crowd.js";
import type { LoadOptions } from "./load.js";
import type { RoundOptions, RoundResult } from "./round.js";

export interface Generator {
  readonly connectSeconds: number;
  round(options: RoundOptions): Promise<RoundResult>;
  close(): Promise<void>;
}

/** Starts the load generator as a child process; resolves when every connection is accepted. */
export async function startGenerator(options: LoadOptions): Promise<Generator> {
  const child = startChild("load/load.js", [JSON.stringify(options)]);
  const connected = (await child.next("event", "connected")) as { seconds: number };

  async function round(roundOptions: RoundOptions): Promise<RoundResult> {
    const result = child.next("event", "round");
    child.write(roundOptions);
    return (await result) as unknown as RoundResult;
  }
  return { connectSeconds: connected.seconds, round, close: () => child.stop() };
}

export interface Crowd {
  /** From the first connection asked for until the last one is accepted. */
  readonly connectSeconds: number;
  /** Resolves with the time of the message that completes `total` since the beginning, milliseconds since 1970. */
  received(total: number): Promise<number>;
  close(): Promise<void>;
}

/** Starts a crowd as a child process; resolves when all of it is connected. */
export async function startCrowd(options: CrowdOptions): Promise<Crowd> {
  const child = startChild("load/crowd.js", [JSON.stringify(options)]);
  const { seconds } = (await child.next("event", "connected")) as { seconds: number };
  return {
    connectSeconds: seconds,
    received: async (total) => {
      const answer = child.next("event", "received");
      child.write({ total });
      return ((await answer) as { at: number }).at;
    },
    close: () => child.stop(),
  };
}
