import { StoreError } from "../../lib/errors.js";
import { changedIfAny } from "../db/changed-if-any.js";
import { type Actor, changed, changedAll } from "../db/changes.js";
import { type Db, lookUpFirst, type SqlValue } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import { formatBytesSql } from "../db/page-bytes.js";
import {
  integerColumn,
  type Listing,
  notFound,
  type Page,
  type PageRequest,
  textColumn,
  time,
  updateRow,
} from "../db/table.js";

/** A token with which anybody sees a dashboard as it is now. */
export interface Share {
  readonly id: number;
  readonly tenant: number;
  readonly dashboardIntID: number;
  readonly name: string;
  /** Pages of these origins may show it in a frame. */
  readonly allowedOrigins: readonly string[];
  /** Milliseconds since 1970; null: never. */
  readonly expiresAt: number | null;
  readonly enable: number;
  readonly createUser: string | null;
  readonly createAt: number;
  readonly lastUsedAt: number | null;
}

type ShareRow = Omit<Share, "allowedOrigins"> & { readonly allowedOrigins: string };

const columns = `r.id, r.tenant, r.dashboardIntID, r.name, r.allowedOrigins, r.expiresAt, r.enable, r.createUser,
  r.createAt, r.lastUsedAt`;

const listing: Listing = {
  bytes: formatBytesSql("r.allowedOrigins"),
  select: columns,
  from: "dashboard_share r",
  filters: {
    name: textColumn("name"),
    // There is no other.
    version: { column: "'latest'", type: "text" },
    expiresAt: time("expiresAt"),
    enable: integerColumn("enable"),
    createUser: textColumn("createUser"),
    createAt: time("createAt"),
    lastUsedAt: time("lastUsedAt"),
  },
};

export const shareFilters = listing.filters;

/** Most shares of a tenant. */
const sharesMax = 1000;

const toShare = (row: ShareRow): Share => ({
  ...row,
  allowedOrigins: JSON.parse(row.allowedOrigins) as string[],
});

export async function listShares(
  db: Db,
  tenant: number,
  request: PageRequest,
  dashboard: number,
): Promise<Page<Share>> {
  const scope = { sql: "r.dashboardIntID = ?", args: [dashboard] };
  const page = await listRows<ShareRow>(db, listing, tenant, request, scope);
  return { ...page, items: page.items.map(toShare) };
}

/** @throws StoreError NOT_FOUND */
export async function getShare(db: Db, tenant: number, dashboard: number, id: number): Promise<Share> {
  const row = await db.first<ShareRow>(
    `select ${columns} from dashboard_share r where r.id = ? and r.dashboardIntID = ? and r.tenant = ?`,
    [id, dashboard, tenant],
  );
  if (row === undefined) throw notFound(String(id));
  return toShare(row);
}

/** A share of any tenant, by the hash of its token. */
export async function findShare(db: Db, tokenHash: string): Promise<Share | undefined> {
  const row = await lookUpFirst<ShareRow>(
    db,
    `select ${columns} from dashboard_share r where r.tokenHash = ?`,
    [tokenHash],
  );
  return row === undefined ? undefined : toShare(row);
}

export type ShareInput = Pick<Share, "name" | "allowedOrigins" | "expiresAt" | "enable">;

/** @throws StoreError LIMIT at the most allowed, NOT_FOUND if the dashboard is gone */
export async function createShare(
  db: Db,
  actor: Actor,
  now: number,
  dashboard: number,
  input: ShareInput,
  tokenHash: string,
): Promise<Share> {
  const { tenant, userIntID, username: createUser } = actor;
  const record: Record<string, SqlValue> = {
    ...{ tenant, dashboardIntID: dashboard, ...input, tokenHash, userIntID, createUser, createAt: now },
  };
  const names = Object.keys(record);
  const [made] = await db.write([
    {
      sql: `insert into dashboard_share (${names.join(", ")}) select ${names.map(() => "?").join(", ")}
        where exists (select 1 from dashboard where id = ? and tenant = ?)
          and (select count(*) from dashboard_share where tenant = ?) < ${sharesMax}`,
      args: [...Object.values(record), dashboard, tenant, tenant],
    },
    changedIfAny(actor, now, "create", "dashboard_share", null, { dashboardIntID: dashboard, ...input }),
  ]);
  if (made?.rowsAffected === 0) {
    const found = await db.first("select 1 from dashboard where id = ? and tenant = ?", [dashboard, tenant]);
    if (found === undefined) throw notFound(String(dashboard));
    throw new StoreError("LIMIT", `a tenant may have ${sharesMax} shares`);
  }
  return getShare(db, tenant, dashboard, Number(made?.lastInsertRowid));
}

/** @throws StoreError NOT_FOUND */
export async function updateShare(
  db: Db,
  actor: Actor,
  now: number,
  { id, dashboardIntID }: Share,
  input: Partial<ShareInput>,
): Promise<Share> {
  if (Object.keys(input).length > 0) {
    await db.write([
      updateRow("dashboard_share", actor.tenant, id, input as Record<string, SqlValue>),
      changed(actor, now, "update", "dashboard_share", id, input),
    ]);
  }
  return getShare(db, actor.tenant, dashboardIntID, id);
}

/** All of them, or none. @throws StoreError NOT_FOUND if one is not of this dashboard */
export async function removeShares(
  db: Db,
  actor: Actor,
  now: number,
  dashboard: number,
  ids: readonly number[],
): Promise<void> {
  const own = { sql: "tenant = ? and dashboardIntID = ? and id in (select value from json_each(?))" };
  const args = [actor.tenant, dashboard, ids];
  const rows = await db.all<{ id: number }>(`select id from dashboard_share where ${own.sql}`, args);
  const known = new Set(rows.map(({ id }) => id));
  const missing = ids.find((id) => !known.has(id));
  if (missing !== undefined) throw notFound(String(missing));
  await db.write([
    { sql: `delete from dashboard_share where ${own.sql}`, args },
    changedAll(actor, now, "delete", "dashboard_share", ids),
  ]);
}

/** If several requests note a time at once, the latest stays. The change feed does not publish this. */
export async function noteShareUsed(db: Db, id: number, at: number): Promise<void> {
  await db.write([
    {
      sql: "update dashboard_share set lastUsedAt = max(coalesce(lastUsedAt, 0), ?) where id = ?",
      args: [at, id],
    },
  ]);
}
