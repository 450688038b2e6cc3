import type { WriteResult } from "./connection/connection.js";

/** Types of SQL parameters; objects and arrays are stored as JSON text. */
export type SqlValue = string | number | boolean | null | Uint8Array | object;

export interface Statement {
  readonly sql: string;
  readonly args?: readonly SqlValue[];
  /** Rows that it writes, if they are known to be many: then it shares no transaction with many other statements. */
  readonly rows?: number;
}

/** An SQL condition with its arguments. */
export type Condition = Required<Pick<Statement, "sql" | "args">>;

/** An insert of values that happens only if the statement before it, in the same transaction, changed one row. */
export function onlyIfChanged({ sql, args = [] }: Statement): Statement {
  const values = /^(insert into \w+ \([^)]*\)) values \(([^()]*)\)$/.exec(sql.trim());
  if (values === null) throw new Error(`cannot make conditional: ${sql}`);
  return { sql: `${values[1]} select ${values[2]} where changes() = 1`, args };
}

/** The metadata store (products, devices, users …) with the change feed over it. */
export interface Db {
  all<Row>(sql: string, args?: readonly SqlValue[]): Promise<Row[]>;
  /** The rows of several statements, all of one snapshot. */
  snapshot(statements: readonly Statement[]): Promise<unknown[][]>;
  /**
   * The rows of one step of long work: reads that are no steps go before it. `ms`: how long it held a thread of this
   * process.
   */
  inStep<Row>(
    sql: string,
    args?: readonly SqlValue[],
  ): Promise<{ readonly rows: Row[]; readonly ms: number }>;
  /**
   * The rows of statements that find a few rows by an index, all of one snapshot: read in the calling thread if that
   * does not hold it for long, as `snapshot` otherwise.
   */
  lookUp(statements: readonly Statement[]): Promise<unknown[][]>;
  first<Row>(sql: string, args?: readonly SqlValue[]): Promise<Row | undefined>;
  /**
   * Runs the statements in one transaction, all or none, and wakes the change feed.
   * @throws StoreError CONFLICT (fields names the column), REFERENCED, UNAVAILABLE
   */
  write(statements: readonly Statement[]): Promise<WriteResult[]>;
  /**
   * For a write through another connection of this process: no write of this connection runs at the same time; they
   * wait without holding the event loop. The change feed is woken afterwards.
   */
  exclusive<T>(action: () => Promise<T>): Promise<T>;
  /**
   * Calls the listener after each committed write of this process that is in the log of changes; `write` returns once
   * all listeners have finished.
   */
  onWrite(listener: () => Promise<void> | void): void;
  /** The same, for listeners that take long: other writes do not wait for them. */
  afterWrite(listener: () => Promise<void>): void;
  /** True when other processes may write to the same metadata. */
  readonly shared: boolean;
  /** Resolves once what was asked before has ended. */
  close(): Promise<void>;
}

/** `db` for statements that find a few rows by an index. */
export const forFewRows = (db: Pick<Db, "lookUp">): Pick<Db, "all" | "snapshot"> => ({
  all: async <Row>(sql: string, args: readonly SqlValue[] = []) => {
    const [rows = []] = await db.lookUp([{ sql, args }]);
    return rows as Row[];
  },
  snapshot: db.lookUp,
});

/** The one row that a statement finds by an index. */
export async function lookUpFirst<Row>(
  db: Pick<Db, "lookUp">,
  sql: string,
  args: readonly SqlValue[],
): Promise<Row | undefined> {
  return (await forFewRows(db).all<Row>(sql, args))[0];
}
