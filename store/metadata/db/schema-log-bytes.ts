/** Bytes of a control log's row besides its topic and payload: its columns, and its entries in the indexes. */
const rowBytes = 200;
/**
 * Larger payloads are counted one by one; of the others one row stands for so many, so that ordinary commands pay
 * little.
 */
const eachFrom = 4096;
const oneIn = 16;

const tables = ["control_log", "group_control_log"] as const;

/** Bytes of a row `r`. */
export const logRowBytes = (r: string): string => `length(${r}.payload) + length(${r}.topic) + ${rowBytes}`;

const isCounted = (r: string): string => `(length(${r}.payload) > ${eachFrom} or ${r}.id % ${oneIn} = 0)`;

/** The bytes that a row adds to its tenant's total, and takes away again when it goes. */
export const countedLogBytes = (r: string): string =>
  `iif(${isCounted(r)}, (${logRowBytes(r)}) * iif(length(${r}.payload) > ${eachFrom}, 1, ${oneIn}), 0)`;

/**
 * The bytes of each tenant's control logs, counted as rows come and go. Triggers change neither changes() nor rowids.
 */
export const logBytesSchema: readonly string[] = [
  "create table control_log_bytes (tenant integer primary key, bytes integer not null) strict",
  `insert into control_log_bytes
    select tenant, sum(bytes) from (${tables
      .map((table) => `select r.tenant, ${countedLogBytes("r")} bytes from ${table} r`)
      .join(" union all ")}) group by tenant`,
  ...tables.flatMap((table) => [
    `create trigger ${table}_made after insert on ${table} when ${isCounted("new")} begin
      insert or ignore into control_log_bytes (tenant, bytes) values (new.tenant, 0);
      update control_log_bytes set bytes = bytes + ${countedLogBytes("new")} where tenant = new.tenant;
    end`,
    `create trigger ${table}_gone after delete on ${table} when ${isCounted("old")} begin
      update control_log_bytes set bytes = bytes - (${countedLogBytes("old")}) where tenant = old.tenant;
    end`,
  ]),
];
