import type { Actor } from "../db/changes.js";
import type { Db, Statement } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import {
  integerColumn,
  type Listing,
  notFound,
  type Page,
  type PageRequest,
  textColumn,
  time,
} from "../db/table.js";

/** The versions of dashboards. */
export interface Revision {
  readonly id: number;
  readonly version: number;
  /** The author of this version. */
  readonly createUser: string | null;
  readonly createAt: number;
}

/** A version with its document, JSON. */
export interface RevisionWithDocument extends Revision {
  readonly document: string;
}

const columns = "r.id, r.version, r.createUser, r.createAt";
const listing: Listing = {
  select: columns,
  from: "dashboard_revision r",
  filters: {
    version: integerColumn("version"),
    createUser: textColumn("createUser"),
    createAt: time("createAt"),
  },
};

export const revisionFilters = listing.filters;

/** The most that a dashboard may have, including the current one. */
const revisionsMax = 20;

export function listRevisions(
  db: Db,
  tenant: number,
  request: PageRequest,
  dashboard: number,
): Promise<Page<Revision>> {
  const scope = { sql: "r.dashboardIntID = ?", args: [dashboard] };
  return listRows<Revision>(db, listing, tenant, request, scope);
}

/** @throws StoreError NOT_FOUND */
export async function getRevision(
  db: Db,
  tenant: number,
  dashboard: number,
  version: number,
): Promise<RevisionWithDocument> {
  const row = await db.first<RevisionWithDocument>(
    `select ${columns}, r.document from dashboard_revision r
     where r.dashboardIntID = ? and r.version = ? and r.tenant = ?`,
    [dashboard, version, tenant],
  );
  if (row === undefined) throw notFound(`version ${version}`);
  return row;
}

/** The version of a dashboard that the statement before it has traced. */
export function addRevision(
  { tenant, username }: Actor,
  now: number,
  { name, version }: { readonly name: string; readonly version: number },
  document: string,
): Statement {
  return {
    sql: `insert into dashboard_revision (tenant, dashboardIntID, version, bytes, createUser, createAt, document)
      select tenant, id, version, ?, ?, ?, ? from dashboard
      where tenant = ? and name = ? and version = ? and changes() = 1`,
    args: [Buffer.byteLength(document), username, now, document, tenant, name, version],
  };
}

/**
 * What follows a version of so many bytes: beyond `revisionsMax` of the dashboard, and beyond `bytesMax` of the tenant,
 * the oldest go, never the present ones.
 */
export async function removeOldRevisions(
  db: Db,
  tenant: number,
  dashboard: number,
  bytes: number,
  bytesMax: number,
): Promise<Statement[]> {
  const surplus = {
    sql: `delete from dashboard_revision where dashboardIntID = ?1
      and version <= (select version from dashboard where id = ?1) - ${revisionsMax}`,
    args: [dashboard],
  };
  // To add them up takes a thread some milliseconds, to find the oldest some tens.
  const held = await db.first<{ bytes: number }>(
    "select coalesce(sum(bytes), 0) bytes from dashboard_revision where tenant = ?",
    [tenant],
  );
  if ((held?.bytes ?? 0) + bytes <= bytesMax) return [surplus];
  const aged = `select r.id, r.version < d.version isEarlier,
      sum(r.bytes) over (order by r.version < d.version, r.id desc rows unbounded preceding) total
    from dashboard_revision r join dashboard d on d.id = r.dashboardIntID where r.tenant = ?`;
  return [
    surplus,
    {
      sql: `delete from dashboard_revision
        where id in (select id from (${aged}) where isEarlier = 1 and total > ?)`,
      args: [tenant, bytesMax],
    },
  ];
}
