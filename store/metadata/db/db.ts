import { type Client, createClient, type InStatement, LibsqlError } from "@libsql/client/sqlite3";
import { StoreError } from "../../lib/errors.js";
import { migrate } from "./migrations.js";
import type { Db, SqlValue, Statement } from "./sql.js";
import type { ThreadGate } from "./thread-gate.js";
import { createWriteQueue } from "./write-queue.js";

export type { Condition, Db, SqlValue, Statement } from "./sql.js";

/** The reason shown for a deviceID that is not free yet. */
export const beingRemoved = "its points are being removed";

interface DbOptions {
  /** `file:` path or a remote libSQL address. */
  readonly url: string;
  readonly authToken?: string;
  readonly shared: boolean;
  /** False for a further connection of a process that has already opened the store: the schema is left alone. */
  readonly migrates?: boolean;
  /** The gate of a thread that may be ended from outside: each call goes through it. */
  readonly gate?: Pick<ThreadGate, "within">;
}

/** Opens the metadata store and brings its schema up to date. */
export async function openDb(options: DbOptions): Promise<Db> {
  const client = await openClient(options);
  const listeners: (() => Promise<void> | void)[] = [];
  const run = <T>(action: () => Promise<T>): Promise<T> =>
    (options.gate?.within(action) ?? action()).catch((error: unknown) => {
      throw toStoreError(error);
    });
  const notify = () => Promise.all(listeners.map((listener) => listener()));
  const { write, exclusive } = createWriteQueue(async (statements) => {
    const results = await run(() => client.batch(statements.map(bind), "write"));
    // Writes of logs, counters and receipts change nothing that anybody follows.
    if (statements.some(({ sql }) => traced.test(sql))) await notify();
    return results;
  });
  const db: Db = {
    shared: options.shared,
    all: <Row>(sql: string, args: readonly SqlValue[] = []) =>
      run(async () => (await client.execute({ sql, args: args.map(bindSought) })).rows as unknown as Row[]),
    first: async <Row>(sql: string, args: readonly SqlValue[] = []) => (await db.all<Row>(sql, args))[0],
    write,
    exclusive: async (action) => {
      const result = await exclusive(action);
      await notify();
      return result;
    },
    onWrite: (listener) => {
      listeners.push(listener);
    },
    close: () => client.close(),
  };
  if (options.migrates !== false) await migrate(db);
  return db;
}

/** The bare connection: committed data is on disk. */
export async function openClient({
  url,
  authToken,
  shared,
}: Pick<DbOptions, "url" | "authToken" | "shared">): Promise<Client> {
  if (!url.startsWith("file:")) {
    // Loading it takes longer than all else of a start, and most deployments have no remote store.
    const remote = await import("@libsql/client");
    return remote.createClient({ url, ...(authToken === undefined ? {} : { authToken }) });
  }
  // Pragmas reach only one pooled connection.
  const client = createClient({ url, concurrency: 1 });
  await setPragmas(client, shared);
  return client;
}

/** Matches statements that leave a row in the log of changes. */
const traced = /\binto change\b/;

async function setPragmas(client: Client, shared: boolean): Promise<void> {
  await client.execute("pragma journal_mode = wal");
  await client.execute("pragma synchronous = full");
  await client.execute("pragma foreign_keys = on");
  // Waiting blocks the event loop, so only processes that share the file wait at all.
  if (shared) await client.execute("pragma busy_timeout = 2000");
  const foreignKeys = await client.execute("pragma foreign_keys");
  if (Number(foreignKeys.rows[0]?.foreign_keys) !== 1) {
    throw new StoreError("UNAVAILABLE", "cannot open the metadata store: foreign keys stay off");
  }
}

function bind(statement: Statement): InStatement {
  return { sql: statement.sql, args: (statement.args ?? []).map(bindValue) };
}

/** libSQL aborts the process on ill-formed text and cuts text at NUL: it must be given neither. */
function bindValue(value: SqlValue): string | number | null | Uint8Array {
  if (value === null || typeof value === "number" || value instanceof Uint8Array) return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  return cleanText(typeof value === "string" ? value : JSON.stringify(value));
}

/**
 * A value that a read looks for. No text with NUL is stored, so such a text must not find the one without it: NUL is
 * replaced by another control character, which no name has.
 */
function bindSought(value: SqlValue): string | number | null | Uint8Array {
  if (typeof value === "string") return cleanText(value.replaceAll("\0", standIn));
  const bound = bindValue(value);
  if (typeof bound !== "string" || !bound.includes(escapedNul)) return bound;
  return cleanText(
    JSON.stringify(value, (_, one) => (typeof one === "string" ? one.replaceAll("\0", standIn) : one)),
  );
}

const standIn = "\u0001";
/** NUL as JSON writes it. */
const escapedNul = "\\u0000";

/** The text without NUL and with lone surrogates replaced. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "");
}

/** SQLite names an expression index in its errors, not the index's columns. */
const indexFields: Readonly<Record<string, string>> = {
  device_modbus: "modBusIndex",
  data_stream_topic: "topic",
  gateway_name: "gatewayName",
  subscription_topic: "topic",
};

/** The message of fetch, which libSQL's client passes on, if a remote store is away or breaks off. */
const networkTrouble = /^(fetch failed|terminated)$/;

function toStoreError(error: unknown): unknown {
  if (error instanceof TypeError && networkTrouble.test(error.message)) {
    return new StoreError("UNAVAILABLE", "cannot reach the metadata store: NETWORK", {}, { cause: error });
  }
  if (!(error instanceof LibsqlError)) return error;
  const message = error.message;
  const unique = /UNIQUE constraint failed: (?:index '(\w+)'|([\w., ]+))/.exec(message);
  if (unique) {
    const field = unique[1] ? (indexFields[unique[1]] ?? unique[1]) : (unique[2]?.split(".").at(-1) ?? "id");
    return new StoreError("CONFLICT", `cannot store the record: ${field} exists already`, {
      [field]: "exists already",
    });
  }
  if (message.includes("REMOVAL constraint failed")) {
    return new StoreError(
      "CONFLICT",
      `cannot store the record: the deviceID is not free yet, ${beingRemoved}`,
      {
        deviceID: beingRemoved,
      },
    );
  }
  if (message.includes("FOREIGN KEY constraint failed")) {
    return new StoreError("REFERENCED", "cannot change the record: other records refer to it");
  }
  if (message.includes("STANDING constraint failed")) {
    return new StoreError("DENIED", "missing or wrong credentials", { token: "is none any more" });
  }
  if (message.includes("ADMIN constraint failed")) {
    return new StoreError("REFERENCED", "cannot change the user: the tenant must keep an admin");
  }
  const code = error.code;
  if (/BUSY|LOCKED|FULL|IOERR|NETWORK|HRANA|SERVER_ERROR/.test(code)) {
    return new StoreError("UNAVAILABLE", `cannot reach the metadata store: ${code}`, {}, { cause: error });
  }
  return error;
}
