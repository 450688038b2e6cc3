import { pathToFileURL } from "node:url";
import { type Client, createClient } from "@libsql/client/sqlite3";

/**
 * The one connection to a database file that a caller has; nothing of the file is read before its first statement.
 * Loads SQLite alone: the client for remote stores takes longer to load than a thread to start.
 */
export function connect(path: string): Client {
  return createClient({ url: pathToFileURL(path).href, concurrency: 1 });
}
