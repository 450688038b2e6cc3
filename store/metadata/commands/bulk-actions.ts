import type { Actor } from "../db/changes.js";
import type { Db, Statement } from "../db/db.js";
import { fromJson, notFound } from "../db/table.js";
import { insertMemberLogs, type NewControlLog } from "./control-logs.js";

/** An action on many devices: each is in exactly one part, and each part is taken once, even across restarts. */
export interface BulkAction {
  readonly id: number;
  /** Null until all of its parts are stored. */
  readonly total: number | null;
  /** The part that comes next. */
  readonly part: number;
  readonly done: number;
  readonly failed: number;
  /** The first failures. */
  readonly errors: readonly BulkError[];
}

export interface BulkError {
  readonly id: number;
  readonly reason: string;
}

const bulkErrorsMax = 100;
/** Parts stored in one write. */
const partsPerWrite = 20;

type Row = Omit<BulkAction, "errors"> & { readonly errors: string };

/** The task's action: made by the task's first run, and found again by later ones. */
export async function openBulkAction(db: Db, task: string): Promise<BulkAction> {
  await db.write([
    { sql: "insert into bulk_action (task) values (?) on conflict (task) do nothing", args: [task] },
  ]);
  const row = await db.first<Row>(
    "select id, total, part, done, failed, errors from bulk_action where task = ?",
    [task],
  );
  if (row === undefined) throw notFound("the task's action");
  return { ...row, errors: fromJson(row.errors) ?? [] };
}

/** Stores whom it is for. A run that was cut short before all were stored begins anew: nothing has been done yet. */
export async function storeParts(
  db: Db,
  action: BulkAction,
  parts: readonly (readonly number[])[],
): Promise<BulkAction> {
  await db.write([{ sql: "delete from bulk_part where bulkIntID = ?", args: [action.id] }]);
  for (let at = 0; at < parts.length; at += partsPerWrite) {
    const some = parts.slice(at, at + partsPerWrite).map((ids, i) => [at + i, ids]);
    await db.write([
      {
        sql: `insert into bulk_part (bulkIntID, part, ids) select ?, value ->> 0, value ->> 1 from json_each(?)`,
        args: [action.id, some],
      },
    ]);
  }
  const total = parts.reduce((sum, ids) => sum + ids.length, 0);
  await db.write([{ sql: "update bulk_action set total = ? where id = ?", args: [total, action.id] }]);
  return { ...action, total };
}

/** The ids of the part that comes next; undefined after the last. */
export async function nextPart(db: Db, { id, part }: BulkAction): Promise<number[] | undefined> {
  const row = await db.first<{ ids: string }>("select ids from bulk_part where bulkIntID = ? and part = ?", [
    id,
    part,
  ]);
  return fromJson<number[]>(row?.ids ?? null) ?? undefined;
}

/** The action once its part has been taken: `count` devices, of which these have failed. */
export function withPart(action: BulkAction, count: number, failures: readonly BulkError[]): BulkAction {
  return {
    ...action,
    part: action.part + 1,
    done: action.done + count - failures.length,
    failed: action.failed + failures.length,
    errors: [...action.errors, ...failures].slice(0, bulkErrorsMax),
  };
}

function taking({ part }: BulkAction, after: BulkAction): Statement {
  return {
    sql: `update bulk_action set part = ?, done = ?, failed = ?, errors = ?,
        lastLog = coalesce((select max(id) from control_log), 0) where id = ? and part = ?`,
    args: [after.part, after.done, after.failed, JSON.stringify(after.errors), after.id, part],
  };
}

/** Takes a part whose effect is there, or would be the same if it were brought about again. */
export async function takePart(db: Db, action: BulkAction, after: BulkAction): Promise<void> {
  await db.write([taking(action, after)]);
}

/**
 * Takes a part of a command before any of it is sent. Returns the ids of its logs by device; so does a repeated call,
 * made because it was unknown whether the first had committed.
 */
export async function takeCommandPart(
  db: Db,
  actor: Actor,
  now: number,
  action: BulkAction,
  after: BulkAction,
  logs: readonly NewControlLog[],
): Promise<Map<number, number>> {
  const [taken, made] = await db.write([
    taking(action, after),
    ...(logs.length === 0 ? [] : [insertMemberLogs(actor, now, logs)]),
  ]);
  if (taken?.rowsAffected === 1) {
    const ids = (made?.rows ?? []).map(({ id }) => Number(id));
    return new Map(logs.map(({ deviceIntID }, i) => [deviceIntID, ids[i] ?? 0]));
  }
  const rows = await db.all<{ device: number; id: number }>(
    `select l.deviceIntID device, min(l.id) id from bulk_action b cross join json_each(?) d
       cross join control_log l on l.deviceIntID = d.value and l.id > b.lastLog
     where b.id = ? group by l.deviceIntID`,
    [logs.map(({ deviceIntID }) => deviceIntID), action.id],
  );
  return new Map(rows.map(({ device, id }) => [device, id]));
}

/** Nothing is left of it but what has become of the devices. */
export async function endBulkAction(db: Db, { id }: BulkAction): Promise<void> {
  await db.write([{ sql: "delete from bulk_part where bulkIntID = ?", args: [id] }]);
}
