import type { Statement } from "./sql.js";

/** What a write may demand; toStoreError says what the refusal of each is. */
type Assertion = "STANDING" | "HOLDER";

/**
 * Lets the transaction that it is part of happen only if a query finds a row.
 *
 * Outside triggers SQL has no statement that fails on purpose; an invalid JSON path does fail, with its text in the
 * error.
 */
export function assertRow(
  what: Assertion,
  sql: string,
  args: readonly (string | number | null)[],
): Statement {
  return {
    sql: `select json_extract('{}', case when exists (${sql}) then '$' else '${what} constraint failed' end)`,
    args,
  };
}
