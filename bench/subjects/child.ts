import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface Child {
  readonly pid: number;
  /** The next line of standard output that is a JSON object with `key` = `value`; other lines are passed over. */
  next(key: string, value: string): Promise<Record<string, unknown>>;
  write(line: object): void;
  /** Ends input and sends SIGTERM, then SIGKILL after `graceMs`. */
  stop(graceMs?: number): Promise<void>;
}

const stderrCharactersMax = 4_000;

/** The path of a built program; `program` is seen from the bench's folder. */
export function pathOf(program: string): string {
  return fileURLToPath(new URL(`../${program}`, import.meta.url));
}

/** Starts a Node program that speaks JSON lines. Without `env` it inherits ours. */
export function startChild(program: string, args: readonly string[], env?: Record<string, string>): Child {
  const child = spawn(process.execPath, [pathOf(program), ...args], {
    stdio: "pipe",
    ...(env ? { env } : {}),
  });
  const waiting = new Set<{ take(line: Record<string, unknown>): boolean; fail(error: Error): void }>();
  let stderr = "";
  let ended: Error | null = null;
  child.stderr.on("data", (chunk) => {
    stderr = (stderr + String(chunk)).slice(-stderrCharactersMax);
  });
  child.stdin.on("error", () => {});
  // A bench that fails midway leaves nothing running behind it.
  const killAtExit = () => void child.kill("SIGKILL");
  process.once("exit", killAtExit);
  const exited = new Promise<void>((resolve) => {
    child.once("close", (code, signal) => {
      process.off("exit", killAtExit);
      ended = new Error(`${program} ended with ${signal ?? code}: ${stderr}`);
      for (const waiter of waiting) waiter.fail(ended);
      resolve();
    });
  });
  createInterface({ input: child.stdout }).on("line", (text) => {
    const line = parseObject(text);
    if (line === null) return;
    for (const waiter of waiting) if (waiter.take(line)) break;
  });

  function next(key: string, value: string): Promise<Record<string, unknown>> {
    return new Promise((resolve, reject) => {
      if (ended !== null) return reject(ended);
      const waiter = {
        take(line: Record<string, unknown>): boolean {
          if (line[key] !== value) return false;
          waiting.delete(waiter);
          resolve(line);
          return true;
        },
        fail: reject,
      };
      waiting.add(waiter);
    });
  }
  async function stop(graceMs = 15_000): Promise<void> {
    child.stdin.end();
    child.kill("SIGTERM");
    const hard = setTimeout(() => child.kill("SIGKILL"), graceMs);
    await exited;
    clearTimeout(hard);
  }
  return {
    pid: child.pid ?? 0,
    next,
    write: (line) => void child.stdin.write(`${JSON.stringify(line)}\n`),
    stop,
  };
}

function parseObject(text: string): Record<string, unknown> | null {
  if (!text.startsWith("{")) return null;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
}
