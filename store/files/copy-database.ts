import { existsSync } from "node:fs";
import { open, rm, stat } from "node:fs/promises";
import type { Client, Transaction } from "@libsql/client/sqlite3";
import { retryUntil } from "../lib/retry.js";
import { closeAtOnce } from "./closing.js";
import { connect } from "./connection.js";
import { copyFile, type Throttle } from "./copy-file.js";

/**
 * Copies of databases that others write to meanwhile. A reader's transaction keeps the write-ahead log from being begun
 * anew, and from being moved into the file beyond what the reader sees: so the file, copied at leisure, and the log,
 * copied after it, are what a crash would have left at the moment at which the log was copied (SQLite, "WAL-mode File
 * Format", 4, "Reading"; the backfill never passes a reader's mark). Opening the copy recovers it.
 */
interface DatabaseCopy {
  /**
   * Copies the log: the copy is as of now. Makes one file of both.
   */
  finish(): Promise<void>;
  /** Lets the original go, without a copy. */
  abandon(): Promise<void>;
}

const walHeadBytes = 32;
const tries = 10;
const whileBusy = {
  signal: null,
  delayMs: { first: 25, longest: 100 },
  retriesMax: 200,
  isTransient: (error: unknown) => (error as { code?: string }).code?.startsWith("SQLITE_BUSY") === true,
};

/** Copies the database's file, and keeps hold of the original until `finish`. `to` must not exist. */
export async function beginDatabaseCopy(from: string, to: string, throttle: Throttle): Promise<DatabaseCopy> {
  const [log, inode] = [`${from}-wal`, await readInode(from)];
  const pin = await pinned(from);
  const hasLog = existsSync(log);
  /** What the reader holds must be what is copied. */
  const refuseAnother = async (): Promise<void> => {
    if ((await readInode(from)) !== inode || existsSync(log) !== hasLog) throw new ReplacedError(from);
  };
  try {
    await refuseAnother();
    await copyFile(from, to, throttle);
  } catch (error) {
    await releasePin(pin, from);
    throw error;
  }
  return {
    abandon: () => releasePin(pin, from),
    finish: async () => {
      try {
        await refuseAnother();
        await copyLog(log, `${to}-wal`, throttle).catch(async (error: unknown) => {
          await refuseAnother();
          throw error;
        });
        await refuseAnother();
      } finally {
        await releasePin(pin, from);
      }
      await mergeLog(to);
    },
  };
}

/** Another file has taken the database's place, as one that is made again does. */
class ReplacedError extends Error {
  constructor(path: string) {
    super(`cannot copy ${path}: another file has taken its place`);
    this.name = "ReplacedError";
  }
}

const whileReplaced = {
  signal: null,
  delayMs: { first: 20, longest: 200 },
  retriesMax: 20,
  isTransient: (error: unknown) => error instanceof ReplacedError,
};

/** A database as it is at one moment during the call; begun anew if another file takes its place meanwhile. */
export function copyDatabase(from: string, to: string, throttle: Throttle): Promise<void> {
  return retryUntil(async () => {
    try {
      const copy = await beginDatabaseCopy(from, to, throttle);
      await copy.finish();
    } catch (error) {
      if (whileReplaced.isTransient(error)) {
        for (const suffix of ["", "-wal", "-shm"]) await rm(to + suffix, { force: true });
      }
      throw error;
    }
  }, whileReplaced);
}

const readInode = async (path: string): Promise<bigint> => (await stat(path, { bigint: true })).ino;

/** A reader of a database, in its transaction. */
interface Pin {
  readonly client: Client;
  readonly transaction: Transaction;
}

async function pinned(path: string): Promise<Pin> {
  const client = connect(path);
  try {
    return await retryUntil(async () => {
      // The client ends a transaction that is begun by a statement: it must be one of its own.
      const transaction = await client.transaction("read");
      try {
        // A transaction has its mark once it has read.
        await transaction.execute("select count(*) from sqlite_master");
        return { client, transaction };
      } catch (error) {
        transaction.close();
        throw error;
      }
    }, whileBusy);
  } catch (error) {
    client.close();
    throw error;
  }
}

async function releasePin({ client, transaction }: Pin, path: string): Promise<void> {
  const isHeld = !transaction.closed;
  transaction.close();
  await closeAtOnce(client, path);
  if (!isHeld) throw new Error(`cannot copy ${path}: its transaction has ended meanwhile`);
}

/**
 * Copies the log whole. A reader of a file that has nothing in its log lets the log begin anew: then its head changes,
 * nothing of it has gone into the file, and it is copied again.
 */
async function copyLog(from: string, to: string, throttle: Throttle): Promise<void> {
  for (let n = 1; ; n++) {
    await rm(to, { force: true });
    if (!existsSync(from)) return;
    const before = await readHead(from);
    await copyFile(from, to, throttle);
    if (before.equals(await readHead(from))) return;
    if (n === tries) throw new Error(`cannot copy ${from}: it is begun anew all the time`);
  }
}

async function readHead(path: string): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(walHeadBytes), 0, walHeadBytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Moves the copied log into the copied file, which then stands alone. */
async function mergeLog(path: string): Promise<void> {
  const client = connect(path);
  try {
    await client.execute("pragma wal_checkpoint(truncate)");
  } finally {
    await closeAtOnce(client, path);
  }
  for (const suffix of ["-wal", "-shm"]) await rm(path + suffix, { force: true });
}
