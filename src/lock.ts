import { createClient } from "@libsql/client";
import { StoreError } from "../store/errors.js";

/**
 * Holds a folder for this process alone: an exclusive lock on a database file, which the kernel gives back
 * whatever way the process ends.
 */
export async function lockDataDir(path: string): Promise<{ release(): void }> {
  const client = createClient({ url: `file:${path}`, concurrency: 1 });
  try {
    await client.execute("pragma locking_mode = exclusive");
    await client.execute("create table if not exists holder (pid integer not null) strict");
    await client.execute("delete from holder");
    await client.execute({ sql: "insert into holder (pid) values (?)", args: [process.pid] });
  } catch (error) {
    client.close();
    throw new StoreError(
      "UNAVAILABLE",
      `cannot use the data folder: another process holds ${path}`,
      {},
      {
        cause: error,
      },
    );
  }
  return { release: () => client.close() };
}
