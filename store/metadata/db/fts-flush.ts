import type { BoundStatement } from "./connection/connection.js";

const asksChanges = /\bchanges\(\)/;
/** Has FTS5 write what it holds of earlier statements. */
const flush: readonly BoundStatement[] = [
  { sql: "savepoint texts", args: [] },
  { sql: "release texts", args: [] },
];

/**
 * The statements of one transaction, with what makes `changes()` tell the rows of the statement before it. FTS5 holds
 * back the texts of devices that are written, and writes them in the midst of a later statement, as rows that
 * `changes()` counts too: so it is made to write them before a statement whose rows the next one asks for. `own[i]` says
 * whether `all[i]` is one of the given statements.
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
