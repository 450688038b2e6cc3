import type { InStatement, ResultSet } from "@libsql/client";
import type { BoundStatement, Connection, Row } from "./connection.js";

/** A remote libSQL: its address, http, https, ws, wss or libsql. */
export async function openRemote(url: string, authToken: string | undefined): Promise<Connection> {
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
      return { rows: results.map(rowsOf), ms: 0 };
    },
    write: async (statements) =>
      (await client.batch(statements.map(toInput), "write")).map((result) => ({
        rowsAffected: result.rowsAffected,
        lastInsertRowid: result.lastInsertRowid === undefined ? undefined : Number(result.lastInsertRowid),
        rows: rowsOf(result),
      })),
    close: async () => client.close(),
  };
}

const toInput = ({ sql, args }: BoundStatement): InStatement => ({ sql, args: [...args] });
const rowsOf = ({ rows }: ResultSet): Row[] => rows as unknown as Row[];
