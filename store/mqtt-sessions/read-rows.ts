import type { Client } from "@libsql/client";
import { createSlice } from "../lib/scheduling.js";
import type { MessageRow, SavedRows } from "./session-rows.js";

/** Rows of one query. */
const rowsAtOnce = 500;

/**
 * All rows of the file, read in slices: a shard that is taken over by a running process has its file read in the thread
 * in which the others take their messages.
 */
export async function readSavedRows(client: Client): Promise<SavedRows> {
  const slice = createSlice();

  async function all<Row extends object>(
    table: string,
    keys: readonly (keyof Row & string)[],
  ): Promise<Row[]> {
    const rows: Row[] = [];
    const order = keys.join(", ");
    const after = `where (${order}) > (${keys.map(() => "?").join(", ")})`;
    for (let last: Row | undefined; ; last = rows.at(-1)) {
      const seen = last;
      const found = await client.execute({
        sql: `select * from ${table} ${seen === undefined ? "" : after} order by ${order} limit ${rowsAtOnce}`,
        args: seen === undefined ? [] : keys.map((key) => seen[key] as string | number),
      });
      rows.push(...(found.rows as unknown as Row[]));
      if (found.rows.length < rowsAtOnce) return rows;
      if (slice.isOver()) await slice.next();
    }
  }

  return {
    sessions: await all("session", ["device", "clientID"]),
    messages: await all<MessageRow & { n: number }>("message", ["n"]),
    retained: await all("retained", ["device", "topic"]),
    wills: await all("will", ["connection"]),
  };
}
