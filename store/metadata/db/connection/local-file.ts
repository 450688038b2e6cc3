import { statSync } from "node:fs";
import Database from "libsql";
import type { BoundStatement, BoundValue } from "./connection.js";
import { SqlError } from "./connection.js";

/** Rows as the engine returns them: an array for each, blobs as Buffers. */
export interface RowSet {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Value[])[];
}

type Value = string | number | null | Buffer;

export interface Executed extends RowSet {
  readonly rowsAffected: number;
  readonly lastInsertRowid: number | undefined;
}

/** A database file; each call holds the thread. */
export interface LocalFile {
  /** Rows of each statement, all of one snapshot. @throws SqlError */
  read(statements: readonly BoundStatement[]): RowSet[];
  /** One transaction, all or none. @throws SqlError */
  write(statements: readonly BoundStatement[]): Executed[];
  close(): void;
}

/** Milliseconds that a statement waits for another connection's lock, by default. */
const usualBusyMs = 2000;
/** Statements kept prepared, those used last. */
const preparedMax = 300;
/** A write-ahead log of this many bytes is emptied; while it cannot be, it is tried after each `logBytesMore`. */
const logBytesMax = 16 * 2 ** 20;
const logBytesMore = 2 ** 20;
/** Milliseconds that a write waits for readers so that the log can be emptied. */
const restartBusyMs = 100;

interface Prepared {
  readonly statement: Database.Statement;
  /** Null for a statement that returns no rows. */
  readonly columns: readonly string[] | null;
}

/** Opens a file; what is committed is on disk. `busyMs`: how long a statement waits for a lock. @throws SqlError */
export function openLocalFile(path: string, busyMs = usualBusyMs): LocalFile {
  const database = translated(() => new Database(path, { timeout: busyMs }));
  const prepared = new Map<string, Prepared>();
  let emptyLogAt = logBytesMax;

  /** Preparing takes as long as running most statements does. */
  function prepare(sql: string): Prepared {
    const known = prepared.get(sql);
    if (known !== undefined) {
      prepared.delete(sql);
      prepared.set(sql, known);
      return known;
    }
    const statement = database.prepare(sql);
    const made = statement.reader
      ? { statement: statement.raw(true), columns: listColumnNames(statement) }
      : { statement, columns: null };
    prepared.set(sql, made);
    const [oldest] = prepared.keys();
    if (prepared.size > preparedMax && oldest !== undefined) prepared.delete(oldest);
    return made;
  }

  function execute({ sql, args }: BoundStatement): Executed {
    const { statement, columns } = prepare(sql);
    const bound = args.map(bind);
    if (columns === null) {
      const { changes, lastInsertRowid } = statement.run(bound);
      return { columns: [], rows: [], rowsAffected: changes, lastInsertRowid: Number(lastInsertRowid) };
    }
    const rows = statement.all(bound) as Value[][];
    const width = rows[0]?.length ?? columns.length;
    // A column has been added: the engine prepares the statement anew by itself, and its names are no longer these.
    if (width !== columns.length) prepared.delete(sql);
    const names = width === columns.length ? columns : listColumnNames(statement);
    return { columns: names, rows, rowsAffected: 0, lastInsertRowid: undefined };
  }

  function within<T>(begin: string, action: () => T): T {
    return translated(() => {
      database.exec(begin);
      try {
        const result = action();
        database.exec("commit");
        return result;
      } catch (error) {
        // Some errors, as a full disk, have rolled it back already.
        if (database.inTransaction) database.exec("rollback");
        throw error;
      }
    });
  }

  /**
   * SQLite writes at the begin of its log again only when nobody reads from it: beside reads that overlap, it would
   * grow for as long as they do (https://sqlite.org/wal.html, "Avoiding Excessively Large WAL Files").
   */
  function boundLog(): void {
    if (logBytes(path) < emptyLogAt) return;
    try {
      database.exec(`pragma busy_timeout = ${restartBusyMs}`);
      database.exec("pragma wal_checkpoint(truncate)");
    } catch {
      // Committed data is in the log, whether or not it could be moved now.
    } finally {
      database.exec(`pragma busy_timeout = ${busyMs}`);
    }
    emptyLogAt = Math.max(logBytesMax, logBytes(path) + logBytesMore);
  }

  try {
    translated(() => {
      database.exec("pragma journal_mode = wal");
      database.exec("pragma synchronous = full");
      database.exec("pragma foreign_keys = on");
      const [state] = execute({ sql: "pragma foreign_keys", args: [] }).rows;
      if (state?.[0] !== 1) throw new SqlError("foreign keys stay off", "SQLITE_MISUSE");
    });
  } catch (error) {
    database.close();
    throw error;
  }
  return {
    read: (statements) => {
      const [first] = statements;
      if (statements.length === 1 && first !== undefined) return translated(() => [execute(first)]);
      return within("begin", () => statements.map(execute));
    },
    write: (statements) => {
      const executed = within("begin immediate", () => statements.map(execute));
      boundLog();
      return executed;
    },
    close: () => {
      prepared.clear();
      database.close();
    },
  };
}

/** Bytes of the write-ahead log; 0 if nothing can be said of it. */
function logBytes(path: string): number {
  try {
    return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    return 0;
  }
}

const listColumnNames = (statement: Database.Statement): string[] =>
  statement.columns().map(({ name }) => name);

function bind(value: BoundValue): string | number | null | Buffer {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new RangeError(`cannot bind ${value}: only finite numbers are stored`);
  }
  return value;
}

/** @throws SqlError for what the engine throws */
function translated<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
    // SQLITE_IOERR of SQLITE_IOERR_READ.
    const [code = error.code] = /^SQLITE_[A-Z]+/.exec(error.code) ?? [];
    throw new SqlError(`${error.code}: ${error.message}`, code);
  }
}
