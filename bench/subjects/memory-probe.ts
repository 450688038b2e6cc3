/**
 * Preloaded into a process under test: at SIGUSR2 it collects its garbage and prints what it holds, so that idle
 * connections are compared and not the moods of two collectors.
 */
import { setTimeout as pause } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isMainThread } from "node:worker_threads";

/** Long enough for the collector to give its pages back. */
const settleMs = 300;
const collections = 3;

async function answer(collect: () => void): Promise<void> {
  for (let i = 0; i < collections; i++) {
    collect();
    await pause(settleMs);
  }
  process.stdout.write(`${JSON.stringify({ event: "memory", ...process.memoryUsage() })}\n`);
}

if (isMainThread) {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  process.on("SIGUSR2", () => void answer(collect));
}
