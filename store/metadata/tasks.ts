import { StoreError } from "../lib/errors.js";
import type { Actor } from "./db/changes.js";
import type { Db, Statement } from "./db/db.js";
import { countedRowsMax } from "./db/list-rows.js";
import {
  fromJson,
  insertInto,
  integerColumn,
  type Listing,
  type Page,
  type PageRequest,
  textColumn,
  time,
  toCondition,
} from "./db/table.js";

export const taskStates = ["PENDING", "STARTED", "PROGRESS", "SUCCESS", "FAILURE"] as const;
type TaskState = (typeof taskStates)[number];

/** Work that outlives its request. */
export interface Task {
  readonly id: string;
  readonly tenant: number;
  readonly kind: string;
  readonly state: TaskState;
  /** Progress, 0 to 100. */
  readonly current: number;
  /** The message for the caller, any JSON. */
  readonly msg: unknown;
  readonly input: unknown;
  /** Name of its result file in the tasks' folder. */
  readonly file: string | null;
  readonly node: number;
  readonly userIntID: number | null;
  readonly username: string | null;
  readonly createAt: number;
}

type TaskRow = Omit<Task, "msg" | "input"> & { msg: string | null; input: string };

const toTask = (row: TaskRow): Task => ({ ...row, msg: fromJson(row.msg), input: fromJson(row.input) });

/** A new waiting task, and the statement that stores it. */
export function newTask(
  actor: Actor,
  now: number,
  { id, kind, input, node }: Pick<Task, "id" | "kind" | "input" | "node">,
): { readonly task: Task; readonly statement: Statement } {
  const { tenant, userIntID, username } = actor;
  const row = {
    id,
    tenant,
    kind,
    state: "PENDING",
    input,
    node,
    userIntID,
    username,
    createAt: now,
  } as const;
  return {
    task: { ...row, current: 0, msg: null, file: null },
    statement: insertInto("task", { ...row, input: JSON.stringify(input) }),
  };
}

export async function createTask(
  db: Db,
  actor: Actor,
  now: number,
  task: Pick<Task, "id" | "kind" | "input" | "node">,
): Promise<Task> {
  const made = newTask(actor, now, task);
  await db.write([made.statement]);
  return made.task;
}

/** @throws StoreError NOT_FOUND */
export async function getTask(db: Db, tenant: number, id: string): Promise<Task> {
  const row = await db.first<TaskRow>("select * from task where tenant = ? and id = ?", [tenant, id]);
  if (row === undefined) throw new StoreError("NOT_FOUND", "cannot find the task");
  return toTask(row);
}

/** A task as lists show it. */
export interface ListedTask
  extends Pick<Task, "id" | "kind" | "state" | "current" | "username" | "createAt"> {
  /** The begin of its message, JSON that may be cut anywhere; null without one. */
  readonly msgStart: string | null;
  readonly endAt: number | null;
}

/** Characters of the JSON of a task's message that a list reads. */
const msgStartMax = 1000;

const endAt = "case when r.state in ('SUCCESS', 'FAILURE') then r.updateAt end";

const listing: Listing = {
  select: `r.id, r.kind, r.state, r.current, r.username, r.createAt, substr(r.msg, 1, ${msgStartMax}) msgStart,
    ${endAt} endAt`,
  from: "task r",
  filters: {
    taskID: textColumn("id"),
    kind: textColumn("kind"),
    state: textColumn("state"),
    current: integerColumn("current"),
    createUser: textColumn("username"),
    createAt: time("createAt"),
    endAt: { column: endAt, type: "time" },
  },
};

export const taskFilters = listing.filters;

/** Newest first. */
export async function listTasks(
  db: Db,
  tenant: number,
  { page, limit, filters }: PageRequest,
): Promise<Page<ListedTask>> {
  const { sql: where, args } = toCondition(listing, tenant, filters, { sql: "1" });
  const order = "order by r.createAt desc, r.id desc";
  const [items = [], counted = []] = (await db.snapshot([
    {
      sql: `select ${listing.select} from task r where r.id in
        (select r.id from task r where ${where} ${order} limit ? offset ?) ${order}`,
      args: [...args, limit, (page - 1) * limit],
    },
    {
      sql: `select count(*) n from (select 1 from task r where ${where} limit ?)`,
      args: [...args, countedRowsMax + 1],
    },
  ])) as [ListedTask[], { readonly n: number }[]?];
  const count = counted[0]?.n ?? 0;
  return { items, count: Math.min(count, countedRowsMax), truncated: count > countedRowsMax };
}

/** Updates a task unless it has ended. */
export async function updateTask(
  db: Db,
  now: number,
  id: string,
  change: Pick<Task, "state" | "current" | "msg"> & { readonly file?: string | null },
): Promise<void> {
  await db.write([
    {
      sql: `update task set state = ?, current = ?, msg = ?, file = coalesce(?, file), updateAt = ?
        where id = ? and state not in ('SUCCESS', 'FAILURE')`,
      args: [change.state, change.current, JSON.stringify(change.msg), change.file ?? null, now, id],
    },
  ]);
}

/** For a task whose work is one transaction: it has succeeded if and only if its work is stored. */
export function taskEnded(now: number, id: string, msg: unknown): Statement {
  return {
    sql: "update task set state = 'SUCCESS', current = 100, msg = ?, updateAt = ? where id = ?",
    args: [JSON.stringify(msg), now, id],
  };
}

/** The result files that a node keeps, by name, with their tenants. */
export function taskFiles(db: Db, node: number): Promise<{ file: string; tenant: number }[]> {
  return db.all("select file, tenant from task where node = ? and file is not null", [node]);
}

/** Tasks of a node that have not ended, oldest first. */
export async function openTasks(db: Db, node: number): Promise<Task[]> {
  const rows = await db.all<TaskRow>(
    "select * from task where node = ? and state not in ('SUCCESS', 'FAILURE') order by createAt, id",
    [node],
  );
  return rows.map(toTask);
}

/** Removes the node's ended tasks that were created before `createdBefore`; returns how many, and their files' names. */
export async function removeOldTasks(
  db: Db,
  node: number,
  createdBefore: number,
): Promise<{ readonly tasks: number; readonly files: string[] }> {
  const [removed] = await db.write([
    {
      sql: `delete from task where node = ? and createAt < ? and state in ('SUCCESS', 'FAILURE') returning file`,
      args: [node, createdBefore],
    },
  ]);
  const rows = removed?.rows ?? [];
  return { tasks: rows.length, files: rows.flatMap(({ file }) => (typeof file === "string" ? [file] : [])) };
}
