import { StoreError } from "../lib/errors.js";

const damageCodes: ReadonlySet<string> = new Set(["SQLITE_CORRUPT", "SQLITE_NOTADB"]);
/** Nobody asks for a table that was never made, so a missing one means that the schema can no longer be read. */
const schemaLost = /\bno such (table|column)\b/;

/** Whether an error says that a database's file is damaged. */
export function isDamage(error: unknown): boolean {
  if (error instanceof StoreError) return error.code === "CORRUPT";
  if (!(error instanceof Error) || !("code" in error)) return false;
  const code = String(error.code);
  return damageCodes.has(code) || (code === "SQLITE_ERROR" && schemaLost.test(error.message));
}

/** The fault in a row of `quick_check`; null for a sound database. */
export function toFault(row: unknown): string | null {
  return row === undefined || row === "ok"
    ? null
    : String(row).replace(/^\*\*\* in database main \*\*\*\n/, "");
}
