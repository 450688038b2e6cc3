import { asError } from "../lib/errors.js";
import { connect } from "./connection.js";
import { headFault } from "./database-file.js";

/** What SQLite finds wrong with a whole database, its indexes included; null where nothing is. It changes nothing. */
export async function integrityFault(path: string): Promise<string | null> {
  const head = await headFault(path);
  if (head !== null) return head;
  const client = connect(path);
  try {
    await client.execute("pragma query_only = 1");
    const { rows } = await client.execute("pragma integrity_check(10)");
    const found = rows.map((row) => String(row[0])).filter((one) => one !== "ok");
    return found.length === 0 ? null : found.join("; ");
  } catch (error) {
    return asError(error).message;
  } finally {
    client.close();
  }
}
