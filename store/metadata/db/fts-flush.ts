import type { BoundStatement } from "./connection/connection.js";

const asksChanges = /\bchanges\(\)/;
/** Has FTS5 write what it holds of earlier statements. */
const flush: readonly BoundStatement[] = [
  { sql: "savepoint texts", args: [] },
  { sql: "release texts", args: [] },
];

/**
 * Adds statements to a transaction so that `changes()` returns the rows of the statement before it. FTS5 buffers texts
 * of devices and writes them during a later statement, as rows that `changes()` counts too. So they are flushed before
 * a statement whose rows the next one reads. `own[i]` says whether `all[i]` is one of the given statements.
 */
export function flushTexts(statements: readonly BoundStatement[]): {
  readonly all: readonly BoundStatement[];
  readonly own: readonly boolean[];
} {
  const all: BoundStatement[] = [];
  const own: boolean[] = [];
  const add = (statement: BoundStatement, isOwn: boolean): void => {
    all.push(statement);
    own.push(isOwn);
  };
  for (const [i, statement] of statements.entries()) {
    const next = statements[i + 1];
    const readsChanges = next !== undefined && asksChanges.test(next.sql) && !asksChanges.test(statement.sql);
    if (readsChanges && i > 0) for (const one of flush) add(one, false);
    add(statement, true);
  }
  return { all, own };
}
