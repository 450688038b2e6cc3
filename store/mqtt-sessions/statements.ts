import { cleanText } from "../metadata/db/sql-values.js";
import type { RowChanges } from "./session-rows.js";

/** A statement and its arguments, with texts as libSQL takes them. */
export interface SessionStatement {
  readonly sql: string;
  readonly args: readonly Bound[];
}

export type Bound = string | number | null | Uint8Array;

/** Bounds of one statement, except for a single row that is larger. The parameters stay below SQLite's bound. */
export const rowsPerStatement = 200;
export const bytesPerStatement = 1 << 20;

/**
 * The changes as statements, each made when it is asked for. Deletions come first, because what replaces a deleted row
 * is stored after it.
 */
export function* listStatements(changes: RowChanges): Generator<SessionStatement> {
  for (const gone of portions(changes.endedSessions)) {
    yield removed("session", ["device", "clientID"], gone);
    yield removed("message", ["device", "clientID"], gone);
  }
  for (const gone of portions(changes.endedMessages)) {
    yield removed("message", ["device", "clientID", "messageID"], gone);
  }
  for (const gone of portions(changes.endedRetained)) yield removed("retained", ["device", "topic"], gone);
  for (const gone of portions(changes.endedWills)) yield removed("will", ["connection"], gone);
  for (const rows of portions(changes.sessions)) yield stored("session", ["device", "clientID"], rows);
  for (const rows of portions(changes.messages)) {
    yield stored("message", ["device", "clientID", "messageID"], rows);
  }
  for (const rows of portions(changes.retained)) yield stored("retained", ["device", "topic"], rows);
  for (const rows of portions(changes.wills)) yield stored("will", ["connection"], rows);
}

/** The rows in portions that stay within a statement's bounds. */
function* portions<One extends object>(rows: Iterable<One>): Generator<readonly One[]> {
  let portion: One[] = [];
  let bytes = 0;
  for (const row of rows) {
    const weight = estimateBytes(row);
    if (portion.length === rowsPerStatement || (portion.length > 0 && bytes + weight > bytesPerStatement)) {
      yield portion;
      portion = [];
      bytes = 0;
    }
    portion.push(row);
    bytes += weight;
  }
  if (portion.length > 0) yield portion;
}

/** Bytes of the row's blobs and texts, as these are held in memory. */
function estimateBytes(row: object): number {
  let bytes = 0;
  for (const value of Object.values(row)) {
    if (typeof value === "string") bytes += 2 * value.length;
    else if (value instanceof Uint8Array) bytes += value.length;
  }
  return bytes;
}

function removed(
  table: string,
  keys: readonly string[],
  rows: readonly (readonly Bound[])[],
): SessionStatement {
  const members = keys.map((_, i) => `value ->> ${i}`).join(", ");
  return {
    sql: `delete from ${table} where (${keys.join(", ")}) in (select ${members} from json_each(?))`,
    args: [cleanText(JSON.stringify(rows))],
  };
}

function stored(table: string, keys: readonly string[], rows: readonly object[]): SessionStatement {
  const columns = Object.keys(rows[0] ?? {});
  const own = columns.filter((column) => !keys.includes(column));
  const row = `(${columns.map(() => "?").join(", ")})`;
  return {
    sql: `insert into ${table} (${columns.join(", ")}) values ${rows.map(() => row).join(", ")}
      on conflict (${keys.join(", ")}) do update set ${own.map((one) => `${one} = excluded.${one}`).join(", ")}`,
    args: rows.flatMap((one) =>
      columns.map((column) => bound((one as Record<string, Bound>)[column] ?? null)),
    ),
  };
}

function bound(value: Bound): Bound {
  return typeof value === "string" ? cleanText(value) : value;
}
