/** Dashboards and their shares; documents are in their revisions alone, so that lists never read them. */
export const dashboardsSchema: readonly string[] = [
  `create table dashboard (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    name text not null,
    description text,
    version integer not null,
    bytes integer not null,
    userIntID integer,
    createUser text,
    updateUser text,
    createAt integer not null,
    updateAt integer,
    unique (tenant, name)
  ) strict`,
  // With the bytes of the present documents, which are summed up.
  "create index dashboard_tenant on dashboard (tenant, id, version, bytes)",
  // The version of the dashboard and those before it; the document, JSON, comes last, so that no filter reads its pages.
  `create table dashboard_revision (
    id integer primary key autoincrement,
    tenant integer not null,
    dashboardIntID integer not null references dashboard (id) on delete cascade,
    version integer not null,
    bytes integer not null,
    createUser text,
    createAt integer not null,
    document text not null,
    unique (dashboardIntID, version)
  ) strict`,
  "create index dashboard_revision_list on dashboard_revision (dashboardIntID, tenant, id)",
  `create table dashboard_share (
    id integer primary key autoincrement,
    tenant integer not null,
    dashboardIntID integer not null references dashboard (id) on delete cascade,
    name text not null,
    tokenHash text not null unique,
    allowedOrigins text not null,
    expiresAt integer,
    enable integer not null,
    userIntID integer,
    createUser text,
    createAt integer not null,
    lastUsedAt integer
  ) strict`,
  "create index dashboard_share_list on dashboard_share (dashboardIntID, tenant, id)",
  "create index dashboard_share_tenant on dashboard_share (tenant)",
  "create index dashboard_revision_tenant on dashboard_revision (tenant, id, dashboardIntID, version, bytes)",
];
