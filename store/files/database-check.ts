import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { CheckAnswer } from "./database-check.child.js";

const program = fileURLToPath(new URL("./database-check.child.js", import.meta.url));

/**
 * Checks databases that are in use (`quick_check`), in a process of its own; `onFault` receives each that is
 * damaged. Resolves at the end; `signal` ends it earlier, at any point: a thread could not be ended in the middle of
 * a gigabyte of one file (see thread-gate.ts).
 */
export function checkDatabases(
  paths: readonly string[],
  onFault: (answer: CheckAnswer) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return resolve();
    // It needs nothing of the environment; what it prints would end up in the middle of our log.
    const child = fork(program, paths, {
      env: {},
      execArgv: [],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    const end = (): void => void child.kill("SIGKILL");
    signal.addEventListener("abort", end, { once: true });
    child.on("message", (answer) => onFault(answer as CheckAnswer));
    child.once("error", reject);
    child.once("close", (code) => {
      signal.removeEventListener("abort", end);
      if (code === 0 || signal.aborted) resolve();
      else reject(new Error(`the check of the databases ended with ${code}`));
    });
  });
}
