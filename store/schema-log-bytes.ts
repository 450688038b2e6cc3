/** What a row of a control log costs beside its topic and payload: its columns, and its places in the indexes. */
const rowBytes = 200;

const tables = ["control_log", "group_control_log"] as const;

/** Of a row `r`, as it is counted. */
export const logRowBytes = (r: string): string => `length(${r}.payload) + length(${r}.topic) + ${rowBytes}`;

/** The bytes of each tenant's control logs, counted as rows come and go. Triggers move neither changes() nor rowids. */
export const logBytesSchema: readonly string[] = [
  "create table control_log_bytes (tenant integer primary key, bytes integer not null) strict",
  `insert into control_log_bytes
    select tenant, sum(bytes) from (${tables
      .map((table) => `select r.tenant, ${logRowBytes("r")} bytes from ${table} r`)
      .join(" union all ")}) group by tenant`,
  ...tables.flatMap((table) => [
    `create trigger ${table}_made after insert on ${table} begin
      insert or ignore into control_log_bytes (tenant, bytes) values (new.tenant, 0);
      update control_log_bytes set bytes = bytes + ${logRowBytes("new")} where tenant = new.tenant;
    end`,
    `create trigger ${table}_gone after delete on ${table} begin
      update control_log_bytes set bytes = bytes - (${logRowBytes("old")}) where tenant = old.tenant;
    end`,
  ]),
];
