import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { BackupWork, FromChild, ToChild } from "./backup.child.js";

/** The result of the work, as its process reports it. */
export type BackupEnd = Extract<FromChild, { readonly kind: "made" | "verified" | "failed" }>;

interface Watching {
  /** Keeps the service's files in place for so many seconds; 0 ends it. Returns the id of each shard up to which all is on disk. */
  hold(seconds: number): Promise<readonly number[]>;
  /** @param reached 0 to 100 */
  progress(reached: number): void;
  readonly signal: AbortSignal;
}

const program = fileURLToPath(new URL("./backup.child.js", import.meta.url));
/** How long files are kept in place after each asking, and how often it is asked. */
const holdSeconds = 60;
const holdAgainMs = 15_000;
/** What a process that ends without a word has written last. */
const errorCharactersMax = 2000;

/**
 * Does the work in a child process, so that copying and checksums do not block the service's event loop. `signal` ends
 * it at any point.
 * @throws the abort, or an Error if the process ended without a result
 */
export async function workInProcess(work: BackupWork, watching: Watching): Promise<BackupEnd> {
  const { hold, signal } = watching;
  signal.throwIfAborted();
  let holding: NodeJS.Timeout | undefined;
  const extendHold = (): Promise<readonly number[] | null> => {
    holding ??= setInterval(() => void hold(holdSeconds).catch(() => undefined), holdAgainMs);
    return hold(holdSeconds);
  };
  const release = async (): Promise<null> => {
    clearInterval(holding);
    holding = undefined;
    await hold(0);
    return null;
  };
  try {
    return await ended(work, watching, (isWanted) => (isWanted ? extendHold() : release()).catch(() => null));
  } finally {
    await release().catch(() => undefined);
  }
}

function ended(
  work: BackupWork,
  { progress, signal }: Watching,
  held: (isWanted: boolean) => Promise<readonly number[] | null>,
): Promise<BackupEnd> {
  return new Promise((resolve, reject) => {
    // It needs nothing of the environment; what it prints would end up in the middle of our log.
    const child = fork(program, [], { env: {}, execArgv: [], stdio: ["ignore", "ignore", "pipe", "ipc"] });
    let end: BackupEnd | null = null;
    let errors = "";
    const answer = (message: ToChild): void => {
      if (child.connected) child.send(message, () => undefined);
    };
    const stop = (): void => void child.kill("SIGKILL");
    signal.addEventListener("abort", stop, { once: true });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      errors = (errors + text).slice(-errorCharactersMax);
    });
    child.on("message", (message: FromChild) => {
      if (message.kind === "progress") progress(message.reached);
      else if (message.kind === "hold")
        void held(message.isWanted).then((journalIDs) => answer({ kind: "held", journalIDs }));
      else end = message;
    });
    child.once("error", reject);
    child.once("close", (code, killedBy) => {
      signal.removeEventListener("abort", stop);
      if (end !== null) resolve(end);
      else if (signal.aborted) reject(signal.reason);
      else reject(new Error(`its process ended with ${killedBy ?? code}: ${errors}`));
    });
    answer({ kind: "work", work });
  });
}
