import { type Child, pathOf } from "./child.js";

/** Bytes, after garbage has been collected. */
export interface Memory {
  readonly rss: number;
  readonly heapUsed: number;
  /** Buffers, and what OpenSSL and libuv report that they keep for JavaScript objects. */
  readonly external: number;
}

/** For the environment of a process that is to answer `settledMemory`. */
export const probed = { NODE_OPTIONS: `--import=file://${pathOf("subjects/memory-probe.js")}` } as const;

/** What a process holds once its garbage is collected. */
export async function settledMemory(child: Child): Promise<Memory> {
  const answer = child.next("event", "memory");
  process.kill(child.pid, "SIGUSR2");
  return (await answer) as unknown as Memory;
}
