import type { InStatement, ResultSet } from "@libsql/client";
import type { BoundStatement, DatabaseConnection, DatabaseRow } from "./connection.js";

/** A remote libSQL: its address, http, https, ws, wss or libsql. */
export async function openRemote(url: string, authToken: string | undefined): Promise<DatabaseConnection> {
  // Loading it takes longer than all else of a start, and most deployments have no remote store.
  const { createClient } = await import("@libsql/client");
  const client = createClient({ url, ...(authToken === undefined ? {} : { authToken }) });
  return {
    read: async (statements) => {
      const [first] = statements;
      const results =
        statements.length === 1 && first !== undefined
          ? [await client.execute(toInput(first))]
          : await client.batch(statements.map(toInput), "read");
      return { rows: results.map(toRows), ms: 0 };
    },
    write: async (statements) =>
      (await client.batch(statements.map(toInput), "write")).map((result) => ({
        rowsAffected: result.rowsAffected,
        lastInsertRowid: result.lastInsertRowid === undefined ? undefined : Number(result.lastInsertRowid),
        rows: toRows(result),
      })),
    close: async () => client.close(),
  };
}

const toInput = ({ sql, args }: BoundStatement): InStatement => ({ sql, args: [...args] });
const toRows = ({ rows }: ResultSet): DatabaseRow[] => rows as unknown as DatabaseRow[];
