/** A connection to the metadata, wherever they are kept; `db.ts` makes the store of it. */

/** What SQLite binds. */
export type BoundValue = string | number | null | Uint8Array;

export interface BoundStatement {
  readonly sql: string;
  readonly args: readonly BoundValue[];
}

/** By column; of columns with one name the first. Blobs are ArrayBuffers. */
export type DatabaseRow = Readonly<Record<string, string | number | null | ArrayBuffer>>;

/** The result of one statement of a transaction. */
export interface WriteResult {
  readonly rowsAffected: number;
  /** Absent for statements that return rows. */
  readonly lastInsertRowid: number | undefined;
  readonly rows: readonly DatabaseRow[];
}

/** What statements found. */
export interface Found {
  /** The rows of each statement. */
  readonly rows: DatabaseRow[][];
  /** How long they held a thread of this process. */
  readonly ms: number;
}

export interface DatabaseConnection {
  /**
   * Reads all statements from one snapshot. `isStep`: a step of long work, which gives way to other reads.
   * @throws SqlError, and what a remote store's client throws
   */
  read(statements: readonly BoundStatement[], isStep?: boolean): Promise<Found>;
  /**
   * As `read`, of a few rows that an index finds, in the calling thread; null if they might hold it now. Absent where
   * that is no faster. @throws SqlError
   */
  readHere?(statements: readonly BoundStatement[]): DatabaseRow[][] | null;
  /** One transaction, all or none. @throws SqlError, and what a remote store's client throws */
  write(statements: readonly BoundStatement[]): Promise<WriteResult[]>;
  /** Resolves once all that was asked before has ended. */
  close(): Promise<void>;
}

/** The error code of calls after `close`. */
export const closedCode = "CLOSED";

/** What SQLite refuses; `code` is its own, as SQLITE_BUSY. */
export class SqlError extends Error {
  constructor(
    message: string,
    readonly code: string,
  ) {
    super(message);
    this.name = "SqlError";
  }
}
