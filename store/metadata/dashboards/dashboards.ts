import { StoreError } from "../../lib/errors.js";
import { changedIfAny } from "../db/changed-if-any.js";
import { type Actor, deleteStatements, differing } from "../db/changes.js";
import type { Condition, Db, SqlValue } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import { formatBytesSql } from "../db/page-bytes.js";
import {
  getRow,
  integerColumn,
  type Listing,
  type Page,
  type PageRequest,
  stamps,
  textColumn,
} from "../db/table.js";
import { addRevision, removeOldRevisions } from "./revisions.js";

export interface Dashboard {
  readonly id: number;
  readonly tenant: number;
  readonly name: string;
  readonly description: string | null;
  /** 1 at first, and one more with each edit. */
  readonly version: number;
  /** The size of the document. */
  readonly bytes: number;
  readonly createUser: string | null;
  readonly updateUser: string | null;
  readonly createAt: number;
  readonly updateAt: number | null;
}

/** A dashboard with its document, JSON. */
export interface DashboardWithDocument extends Dashboard {
  readonly document: string;
}

const columns = `r.id, r.tenant, r.name, r.description, r.version, r.bytes, r.createUser, r.updateUser, r.createAt,
  r.updateAt`;

const listing: Listing = {
  bytes: formatBytesSql("r.description"),
  select: columns,
  from: "dashboard r",
  filters: {
    name: textColumn("name"),
    description: textColumn("description"),
    version: integerColumn("version"),
    createUser: textColumn("createUser"),
    updateUser: textColumn("updateUser"),
    ...stamps,
  },
};

const whole: Listing = {
  ...listing,
  select: `${columns}, v.document`,
  from: "dashboard r join dashboard_revision v on v.dashboardIntID = r.id and v.version = r.version",
};

export const dashboardFilters = listing.filters;
export const dashboardIDs = { name: "dashboard", column: null } as const;

/** Most dashboards of a tenant. */
export const dashboardsMax = 1000;
/** Bytes of a tenant's current documents. Earlier versions are deleted so that all versions together fit too. */
export const documentsBytesMax = 64 * 2 ** 20;

export function listDashboards(db: Db, tenant: number, request: PageRequest): Promise<Page<Dashboard>> {
  return listRows<Dashboard>(db, listing, tenant, request);
}

/** @throws StoreError NOT_FOUND */
export function getDashboard(db: Db, tenant: number, id: number): Promise<DashboardWithDocument> {
  return getRow<DashboardWithDocument>(db, whole, tenant, id);
}

type Naming = Pick<Dashboard, "name" | "description">;
type DashboardInput = Naming & Pick<DashboardWithDocument, "document">;

/** True while the tenant's other documents leave so many bytes. */
const isWithinLimits = (tenant: number, except: number, bytes: number): Condition => ({
  sql: `(select coalesce(sum(bytes), 0) from dashboard where tenant = ? and id <> ?) + ? <= ${documentsBytesMax}`,
  args: [tenant, except, bytes],
});

/** @throws StoreError CONFLICT when the name is taken, LIMIT at the most allowed */
export async function createDashboard(
  db: Db,
  actor: Actor,
  now: number,
  { document, ...naming }: DashboardInput,
): Promise<DashboardWithDocument> {
  const { tenant, userIntID, username: createUser } = actor;
  const bytes = Buffer.byteLength(document);
  const record: Record<string, SqlValue> = {
    ...{ tenant, ...naming, version: 1, bytes, userIntID, createUser, createAt: now },
  };
  const names = Object.keys(record);
  const isWithin = isWithinLimits(tenant, 0, bytes);
  const results = await db.write([
    {
      // A taken name is left to the index, which names the fault.
      sql: `insert into dashboard (${names.join(", ")}) select ${names.map(() => "?").join(", ")}
        where ((select count(*) from dashboard where tenant = ?) < ${dashboardsMax} and ${isWithin.sql})
          or exists (select 1 from dashboard where tenant = ? and name = ?)`,
      args: [...Object.values(record), tenant, ...isWithin.args, tenant, naming.name],
    },
    changedIfAny(actor, now, "create", "dashboard", null, naming),
    addRevision(actor, now, { name: naming.name, version: 1 }, document),
    ...(await removeOldRevisions(db, tenant, 0, bytes, documentsBytesMax)),
  ]);
  const [made] = results;
  if (made?.rowsAffected === 0) throw tooMuch();
  return getDashboard(db, tenant, Number(made?.lastInsertRowid));
}

/**
 * @param dashboard as it was when its caller had version `version` of it
 * @throws StoreError OUTDATED if there is another version by now, CONFLICT when the name is taken, LIMIT, NOT_FOUND
 */
export async function updateDashboard(
  db: Db,
  actor: Actor,
  now: number,
  dashboard: DashboardWithDocument,
  { document = dashboard.document, ...sent }: Partial<DashboardInput>,
): Promise<DashboardWithDocument> {
  const { tenant, username } = actor;
  const { id, version } = dashboard;
  const bytes = Buffer.byteLength(document);
  const edit = differing<Partial<Naming>>(dashboard, sent);
  const record: Record<string, SqlValue> = {
    ...(edit as Record<string, SqlValue>),
    ...{ version: version + 1, bytes, updateUser: username, updateAt: now },
  };
  const isWithin = isWithinLimits(tenant, id, bytes);
  const results = await db.write([
    {
      sql: `update dashboard set ${Object.keys(record)
        .map((name) => `${name} = ?`)
        .join(", ")} where tenant = ? and id = ? and version = ? and ${isWithin.sql}`,
      args: [...Object.values(record), tenant, id, version, ...isWithin.args],
    },
    changedIfAny(actor, now, "update", "dashboard", id, { ...edit, version: version + 1 }),
    addRevision(actor, now, { name: edit.name ?? dashboard.name, version: version + 1 }, document),
    ...(await removeOldRevisions(db, tenant, id, bytes, documentsBytesMax)),
  ]);
  if (results[0]?.rowsAffected === 0) {
    assertVersion(await getDashboard(db, tenant, id), version);
    throw tooMuch();
  }
  return getDashboard(db, tenant, id);
}

/** @throws StoreError OUTDATED */
export function assertVersion({ version }: Dashboard, expected: number): void {
  if (version === expected) return;
  throw new StoreError("OUTDATED", `cannot edit version ${expected}: there is another one by now`, {
    version: `is ${version}`,
  });
}

function tooMuch(): StoreError {
  const mebibytes = documentsBytesMax >> 20;
  return new StoreError(
    "LIMIT",
    `a tenant may have ${dashboardsMax} dashboards, and ${mebibytes} MiB of documents`,
  );
}

export async function removeDashboards(
  db: Db,
  actor: Actor,
  now: number,
  ids: readonly number[],
): Promise<void> {
  await db.write(deleteStatements("dashboard", actor, now, ids));
}
