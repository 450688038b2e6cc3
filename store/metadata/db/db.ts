import { fileURLToPath, pathToFileURL } from "node:url";
import type { ThreadGate } from "../../lib/thread-gate.js";
import type { DatabaseConnection } from "./connection/connection.js";
import { flushTexts } from "./fts-flush.js";
import { migrate } from "./migrations.js";
import type { Db, SqlValue, Statement } from "./sql.js";
import { toStoreError } from "./sql-errors.js";
import { bindSought, bindStored } from "./sql-values.js";
import { createWriteQueue } from "./write-queue.js";

export type { Condition, Db, SqlValue, Statement } from "./sql.js";
export { forFewRows, lookUpFirst } from "./sql.js";

interface DbOptions {
  /** `file:` path or a remote libSQL address. */
  readonly url: string;
  readonly authToken?: string;
  readonly shared: boolean;
  /** False for a further connection of a process that has already opened the store: the schema is left alone. */
  readonly migrates?: boolean;
  /**
   * The gate of a thread that may be ended from outside: each call goes through it, and one to a file is made in this
   * thread.
   */
  readonly gate?: Pick<ThreadGate, "within">;
}

/** Opens the metadata store and brings its schema up to date. */
export async function openDb(options: DbOptions): Promise<Db> {
  const run = <T>(action: () => Promise<T>): Promise<T> =>
    (options.gate?.within(action) ?? action()).catch((error: unknown) => {
      throw toStoreError(error);
    });
  const connection = await run(() => connect(options));
  const listeners: (() => Promise<void> | void)[] = [];
  const notify = () => Promise.all(listeners.map((listener) => listener()));
  const afterwards: (() => Promise<void>)[] = [];
  const notifyListeners = () => Promise.all(afterwards.map((tell) => tell()));
  // Writes of logs, counters and receipts change nothing that anybody follows.
  const isFollowed = (statements: readonly Statement[]) => statements.some(({ sql }) => traced.test(sql));
  const { write, exclusive, settled } = createWriteQueue(async (statements) => {
    const { all, own } = flushTexts(
      statements.map(({ sql, args = [] }) => ({ sql, args: args.map(bindStored) })),
    );
    const made = await run(() => connection.write(all));
    const results = made.filter((_, i) => own[i] === true);
    if (isFollowed(statements)) await notify();
    return results;
  });
  const boundToRead = (statements: readonly Statement[]) =>
    statements.map(({ sql, args = [] }) => ({ sql, args: args.map(bindSought) }));
  const read = async (statements: readonly Statement[], isStep: boolean) => {
    const bound = boundToRead(statements);
    return run(() => connection.read(bound, isStep));
  };
  const db: Db = {
    shared: options.shared,
    all: async <Row>(sql: string, args: readonly SqlValue[] = []) => {
      const [rows = []] = (await read([{ sql, args }], false)).rows;
      return rows as unknown as Row[];
    },
    snapshot: async (statements) => (await read(statements, false)).rows,
    inStep: async <Row>(sql: string, args: readonly SqlValue[] = []) => {
      const { rows, ms } = await read([{ sql, args }], true);
      return { rows: (rows[0] ?? []) as unknown as Row[], ms };
    },
    lookUp: async (statements) => {
      const bound = boundToRead(statements);
      return run(async () => connection.readHere?.(bound) ?? (await connection.read(bound)).rows);
    },
    first: async <Row>(sql: string, args: readonly SqlValue[] = []) => (await db.all<Row>(sql, args))[0],
    write: async (statements) => {
      const results = await write(statements);
      if (afterwards.length > 0 && isFollowed(statements)) await notifyListeners();
      return results;
    },
    exclusive: async (action) => {
      const result = await exclusive(action);
      await notify();
      await notifyListeners();
      return result;
    },
    onWrite: (listener) => {
      listeners.push(listener);
    },
    afterWrite: (listener) => {
      afterwards.push(listener);
    },
    close: async () => {
      await settled();
      await connection.close();
    },
  };
  if (options.migrates !== false) await migrate(db);
  return db;
}

/** Each is loaded only where it is used: remote stores and threads of their own take longer to load than to open. */
async function connect({ url, authToken, gate }: DbOptions): Promise<DatabaseConnection> {
  if (!url.startsWith("file:")) return (await import("./connection/remote.js")).openRemote(url, authToken);
  const path = fileURLToPath(new URL(url, pathToFileURL(`${process.cwd()}/`)));
  if (gate !== undefined) return (await import("./connection/in-thread.js")).openInThread(path);
  return (await import("./connection/local-threads.js")).openLocalThreads(path);
}

/** Matches statements that leave a row in the log of changes. */
const traced = /\binto change\b/;
