import { constants } from "node:fs";
import { access, mkdir, readdir, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "@libsql/client";
import { connect } from "../../store/files/connection.js";
import { asError, StoreError } from "../../store/lib/errors.js";
import { ConfigError } from "../config/config.js";

/** The data folder, held for this process alone. */
interface DataDirLock {
  release(): Promise<void>;
}

interface LockOptions {
  /** The file is no longer the locked one: another process may write here now, and this one must not. */
  readonly onLost: (error: Error) => void;
  readonly watchMs?: number;
  /** Longer than the holder of a removed file takes to notice. */
  readonly settleMs?: number;
}

/** For a tool that has lost its folder: another process may write there now. */
export function endTool(error: Error): void {
  process.stderr.write(`tidemark: ${error.message}\n`);
  process.exit(1);
}

const watchMs = 1000;
const settleMs = 2500;

/**
 * Holds a folder, made if missing, by a lock on a database file in it, which the kernel releases however the process
 * ends. Writes nothing if the file already exists, so that a folder on a full disk can be held too.
 * @throws ConfigError for a folder that cannot be written, StoreError UNAVAILABLE if another process holds it
 */
export async function lockDataDir(dir: string, options: LockOptions): Promise<DataDirLock> {
  await makeWritable(dir);
  const path = join(dir, "lock.db");
  const known = await identity(path);
  let anew = known === null;
  let client = await acquireLock(path).catch(async (error: unknown) => {
    if (errorCode(error) !== "SQLITE_NOTADB") throw whyNot(error, path);
    // The new file locks nobody out. The holder of the old one notices that it is gone.
    for (const suffix of ["", "-journal"]) await rm(path + suffix, { force: true });
    anew = true;
    return null;
  });
  client ??= await acquireLock(path).catch((error: unknown) => {
    throw whyNot(error, path);
  });
  const held = await identity(path);
  try {
    if (anew && (await holdsData(dir))) await delay(options.settleMs ?? settleMs);
    if (held === null || (await identity(path)) !== held) throw lost(path);
  } catch (error) {
    client.close();
    throw error;
  }
  return watch(client, path, held, options);
}

function watch(client: Client, path: string, held: string, options: LockOptions): DataDirLock {
  let released = false;
  const timer = setInterval(async () => {
    // A folder that does not answer for a moment says nothing about the file.
    const now = await identity(path).catch(() => held);
    if (now === held || released) return;
    released = true;
    clearInterval(timer);
    options.onLost(lost(path));
  }, options.watchMs ?? watchMs);
  timer.unref();
  return {
    release: async () => {
      released = true;
      clearInterval(timer);
      await unlock(client).catch(() => undefined);
      client.close();
    },
  };
}

/** Takes the lock by a transaction that changes nothing. */
async function acquireLock(path: string): Promise<Client> {
  const client = connect(path);
  try {
    await client.execute("pragma locking_mode = exclusive");
    await client.batch(["select count(*) from sqlite_schema"], "write");
    return client;
  } catch (error) {
    client.close();
    throw error;
  }
}

/**
 * Gives the lock up at the first read in the normal mode. A closed connection gives it up only when its memory is
 * collected, so that this process could not hold the folder again meanwhile.
 */
async function unlock(client: Client): Promise<void> {
  await client.execute("pragma locking_mode = normal");
  await client.execute("select count(*) from sqlite_schema");
}

/**
 * The identity of the file at the path, null if there is none. The file is never opened, because closing it would give
 * up the lock.
 */
async function identity(path: string): Promise<string | null> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(errorCode(error))) return null;
    throw error;
  }
}

async function holdsData(dir: string): Promise<boolean> {
  return (await readdir(dir)).some((name) => !name.startsWith("lock.db"));
}

const reasons: Readonly<Record<string, string>> = {
  EROFS: "it is on a read-only file system",
  EACCES: "permission denied",
  EPERM: "permission denied",
  ENOTDIR: "it is not a folder",
  EEXIST: "it is not a folder",
  ENOENT: "nothing can be made there",
};

async function makeWritable(dir: string): Promise<void> {
  try {
    await makeFolder(resolve(dir));
    await access(dir, constants.W_OK | constants.X_OK);
  } catch (error) {
    const code = errorCode(await parentRefuses(dir)) || errorCode(error);
    throw new ConfigError([`DATA_DIR: cannot write in ${dir}: ${reasons[code] ?? asError(error).message}`]);
  }
}

/**
 * Makes the folder and those above it, readable by nobody else. Not by mkdir's own recursion, which never ends on a
 * file system that allows nothing and reports ENOENT, as /proc does.
 */
async function makeFolder(path: string): Promise<void> {
  const missing: string[] = [];
  for (let at = path; (await readPathKind(at)) !== "folder"; at = dirname(at)) {
    if ((await readPathKind(at)) === "other")
      throw Object.assign(new Error("it is not a folder"), { code: "ENOTDIR" });
    missing.unshift(at);
  }
  for (const one of missing) {
    await mkdir(one, { mode: 0o700 }).catch((error: unknown) => {
      // Another process has made it meanwhile.
      if (errorCode(error) !== "EEXIST") throw error;
    });
  }
}

async function readPathKind(path: string): Promise<"folder" | "other" | "missing"> {
  try {
    return (await stat(path)).isDirectory() ? "folder" : "other";
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "missing";
    throw error;
  }
}

/** Why nothing can be made in the nearest existing folder; mkdir itself may report ENOENT for that. */
async function parentRefuses(dir: string): Promise<unknown> {
  for (let path = resolve(dir); ; path = dirname(path)) {
    const refusal = await access(path, constants.W_OK).then(
      () => null,
      (error: unknown) => error,
    );
    if (errorCode(refusal) !== "ENOENT" || path === dirname(path)) return refusal;
  }
}

function whyNot(error: unknown, path: string): Error {
  const code = errorCode(error);
  if (code === "SQLITE_BUSY") {
    return unavailable(`cannot use the data folder: another process holds ${path}`, error);
  }
  // The error of a file that cannot be opened at all has no code of its own.
  const unopened = asError(error).message.includes("Unable to open connection");
  if (unopened || ["SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM"].includes(code)) {
    return new ConfigError([`DATA_DIR: cannot write ${path}: ${asError(error).message}`]);
  }
  const why = code === "SQLITE_FULL" ? "the disk is full" : asError(error).message;
  return unavailable(`cannot use the data folder: cannot lock ${path}: ${why}`, error);
}

const lost = (path: string): StoreError =>
  unavailable(`cannot use the data folder: ${path} was removed or replaced while this process held it`);

function unavailable(message: string, cause?: unknown): StoreError {
  return new StoreError("UNAVAILABLE", message, {}, cause === undefined ? {} : { cause });
}

function errorCode(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
}
