/** What tests need of others and have to build or fetch: it is made once, into a cache outside the checkout. */
import { type SpawnOptions, spawn } from "node:child_process";
import { constants } from "node:fs";
import { access, link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

const progressTimeMs = 15_000;

export function cacheDir(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "tidemark");
}

/**
 * Runs `make` if `target` is not there yet, in one process at a time: the lock file carries its owner's pid; who waits
 * for it finds the target afterwards. `make` must put the target there in one step. Rejects with what it throws.
 */
export async function makeOnce(
  target: string,
  make: () => Promise<void>,
  say: (text: string) => void,
): Promise<void> {
  await mkdir(cacheDir(), { recursive: true });
  const lock = `${target}.lock`;
  const claim = `${lock}.${process.pid}`;
  await writeFile(claim, String(process.pid));
  let told = false;
  try {
    while (!(await claimed(claim, lock))) {
      if (!told) say("another process is building it; waiting");
      told = true;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    try {
      if (!(await isThere(target))) await make();
    } finally {
      await rm(lock, { force: true });
    }
  } finally {
    await rm(claim, { force: true });
  }
}

async function claimed(claim: string, lock: string): Promise<boolean> {
  try {
    await link(claim, lock); // atomic, and with its content at once
    return true;
  } catch {
    const owner = Number(await readFile(lock, "utf8").catch(() => "0"));
    // Two that meet here may both make it; each makes one of its own and renames it, so nothing breaks.
    if (owner > 0 && !isAlive(owner)) await rm(lock, { force: true });
    return false;
  }
}

/** Runs one step of it, and reports its progress every 15 s; rejects with the end of its output. */
export async function runStep(
  [command, ...args]: readonly [string, ...string[]],
  options: SpawnOptions,
  say: (text: string) => void,
): Promise<void> {
  const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  const began = performance.now();
  let lines = 0;
  let tail = "";
  const listen = (chunk: Buffer) => {
    const text = chunk.toString();
    lines += text.split("\n").length - 1;
    tail = (tail + text).slice(-4000);
  };
  child.stdout?.on("data", listen);
  child.stderr?.on("data", listen);
  const timer = setInterval(() => {
    const last = tail.trimEnd().split("\n").at(-1) ?? "";
    say(`${Math.round((performance.now() - began) / 1000)} s, ${lines} lines of output, now ${last}`);
  }, progressTimeMs);
  try {
    const code = await new Promise((resolve, reject) => child.once("error", reject).once("close", resolve));
    if (code !== 0) throw new Error(`"${command} ${args[0]}" ended with ${code}\n${tail.trimEnd()}`);
  } finally {
    clearInterval(timer);
  }
}

/** Where the program is on PATH. */
export async function which(command: string): Promise<string | undefined> {
  for (const dir of (process.env.PATH ?? "").split(delimiter).filter(Boolean)) {
    const path = join(dir, command);
    if (await isThere(path)) return path;
  }
  return undefined;
}

/** A program that may be run, or a folder. */
export async function isThere(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
