import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { dirname } from "node:path";
import type { Client } from "@libsql/client";
import { closeAtOnce } from "../files/closing.js";
import { copyFile, unthrottled } from "../files/copy-file.js";
import { openOrRemake, quarantineFile } from "../files/database-file.js";
import { syncFolder } from "../journal/segment.js";
import { StoreError } from "../lib/errors.js";
import { retryUntil } from "../lib/retry.js";
import { createLock } from "../lib/scheduling.js";
import { readSavedRows } from "./read-rows.js";
import { openSessionFile, readSavedID } from "./session-file.js";
import { createSessionFileThread, type SessionFileThread } from "./session-file-thread.js";
import type { RowChanges, SavedRows } from "./session-rows.js";
import { listStatements } from "./statements.js";

/** The saved form of the MQTT sessions: a file beside the journal that holds their state at one journal id. */
export interface SessionStore {
  load(): Promise<SavedRows>;
  /** The journal id of the state that the rows hold; 0 before the first save. */
  savedID(): Promise<number>;
  /** Saves all changes in one transaction on another thread, a piece of the changes at a time. */
  save(changes: RowChanges, journalID: number): Promise<void>;
  /** Quarantines the file, in which `fault` was found, and begins an empty one. */
  remake(fault: string): Promise<void>;
  /**
   * Copies the file to a path that does not exist; resolves with the journal id of the copy's state.
   * @throws StoreError UNAVAILABLE while somebody else reads the file, or before the first save
   */
  copyTo(path: string): Promise<number>;
  /** Puts a file like this one, which is synced and closed, in its place. */
  replaceWith(path: string): Promise<void>;
  /** Waits for the save under way. */
  close(): Promise<void>;
}

/**
 * Opens the file; makes it if missing. A damaged file is quarantined and an empty one begun; this is reported to
 * `onDamage`, here and at each `remake`.
 *
 * The file has one connection at a time: this thread's while it is read, then that of the thread that writes it, which
 * closes its connection before anybody else opens one.
 *
 * @param thread shared with the files of other journals
 */
export async function openSessionStore(
  path: string,
  onDamage: (fault: string, aside: string) => void,
  thread: SessionFileThread = createSessionFileThread(),
): Promise<SessionStore> {
  const inTurn = createLock();
  const writer = thread.writer(path);
  let savedID = await openOrRemake(path, () => withFile(path, readSavedID), onDamage);

  return {
    load: () =>
      inTurn(async () => {
        await writer.close();
        return withFile(path, readSavedRows);
      }),
    savedID: async () => savedID,
    save: (changes, journalID) =>
      inTurn(async () => {
        await writer.save(listStatements(changes), journalID);
        savedID = journalID;
      }),
    remake: (fault) =>
      inTurn(async () => {
        await writer.close();
        const aside = await quarantineFile(path);
        savedID = await withFile(path, readSavedID);
        onDamage(fault, aside);
      }),
    copyTo: (to) =>
      inTurn(async () => {
        await writer.close();
        if (savedID === 0)
          throw new StoreError("UNAVAILABLE", `cannot copy ${path}: nothing of them is saved yet`);
        refuseRead(path);
        await copyFile(path, to, unthrottled);
        return savedID;
      }),
    replaceWith: (from) =>
      inTurn(async () => {
        await writer.close();
        // A reader with the file open now, such as a backup, would remove the new file's log as it closes the old one.
        await retryUntil(async () => refuseRead(path), whileRead);
        await rename(from, path);
        await syncFolder(dirname(path));
        savedID = await withFile(path, readSavedID);
      }),
    close: () => inTurn(writer.close),
  };
}

/** For as long as a backup may read it, and no longer than a shard may take to open. */
const whileRead = {
  signal: null,
  delayMs: { first: 20, longest: 500 },
  retriesMax: 25,
  isTransient: (error: unknown) => error instanceof StoreError,
};

/**
 * The last connection that closes moves the log into the file, which is then whole.
 * @throws StoreError UNAVAILABLE if that was not this process's own
 */
function refuseRead(path: string): void {
  if (existsSync(`${path}-wal`)) throw new StoreError("UNAVAILABLE", `cannot take ${path}: it is being read`);
}

async function withFile<T>(path: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await openSessionFile(path);
  try {
    return await work(client);
  } finally {
    await closeAtOnce(client, path);
  }
}
