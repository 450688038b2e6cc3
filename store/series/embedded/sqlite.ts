import { pathToFileURL } from "node:url";
import { type Client, createClient, type Transaction } from "@libsql/client/sqlite3";
import { closeFile } from "../../files/closing.js";
import { StoreError } from "../../lib/errors.js";
import { retryUntil } from "../../lib/retry.js";
import { readErrorCode, toSeriesError } from "./failures.js";

export type Pragmas = Readonly<Record<string, string | number>>;

const whileLocked = {
  signal: null,
  delayMs: { first: 25, longest: 25 },
  retriesMax: 200,
  isTransient: (error: unknown) => readErrorCode(error) === "SQLITE_BUSY",
};

/**
 * Opens one file on one connection (pragmas hold for a connection, not for a file) and reads every pragma back.
 * @throws StoreError UNAVAILABLE, CORRUPT.
 */
export async function openFile(path: string, pragmas: Pragmas): Promise<Client> {
  return whileBusy(async () => {
    const client = createClient({ url: pathToFileURL(path).href, concurrency: 1, timeout: 0 });
    try {
      for (const [name, value] of Object.entries(pragmas)) {
        await client.execute(`pragma ${name} = ${value}`);
        const now = (await client.execute(`pragma ${name}`)).rows[0]?.[0];
        if (now !== value)
          throw new StoreError("UNAVAILABLE", `cannot set ${name} of ${path}: it stays ${now}`);
      }
      return client;
    } catch (error) {
      await closeFile(client);
      throw error;
    }
  });
}

/** Runs `work` in one write transaction, all or nothing. */
export async function inTransaction<T>(
  client: Pick<Client, "transaction">,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const tx = await client.transaction("write");
  try {
    const result = await work(tx);
    await tx.commit();
    return result;
  } finally {
    tx.close();
  }
}

/**
 * Retries while another thread recovers or closes the file: the only moments in which a reader of a WAL file
 * meets a lock. libSQL's own timeout would block the thread instead.
 */
export async function whileBusy<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await retryUntil(work, whileLocked);
  } catch (error) {
    throw toSeriesError(error, "use series file");
  }
}
