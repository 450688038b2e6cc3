import { formatPosition } from "./db/containing.js";
import type { Condition, Db } from "./db/db.js";
import { listTerms } from "./db/text-index.js";
import { fleetMatches } from "./fleet/matches.js";

/** Whatever a tenant has that is called so: some of each type, looked for within bounds. */

export const hitTypes = [
  ...(["product", "device", "gateway", "group", "dataPoint", "alertRule"] as const),
  ...(["dashboard", "user"] as const),
] as const;
type HitType = (typeof hitTypes)[number];

export interface SearchHit {
  readonly type: HitType;
  readonly id: number;
  readonly name: string;
  /** Its string id, or a user's role; null if it has none. */
  readonly code: string | null;
  readonly productName: string | null;
  /** 0: called exactly so; 1: its name or string id begins so; 2: it is somewhere within. */
  readonly rank: number;
}

/** The newest rows of each type that are searched; for devices those, or what an index finds. */
const hitRowsMax = 5000;
/** Devices that the index finds, of which the best are taken. */
const deviceMatchesMax = 200;
/** Rows of the index that are looked at for devices that contain it, where others begin so. */
const rowsBesideMax = 10_000;

interface Source {
  readonly type: HitType;
  readonly table: string;
  readonly name: string;
  /** Looked at as the name is; null if there is none. */
  readonly code: string | null;
  /** Shown in place of the code. */
  readonly shown?: string;
  /** The column of its product's record id. */
  readonly product: string | null;
}

const sources: readonly Source[] = [
  { type: "product", table: "product", name: "productName", code: "productID", product: null },
  { type: "group", table: "device_group", name: "groupName", code: "groupID", product: "productIntID" },
  {
    type: "dataPoint",
    table: "data_point",
    name: "dataPointName",
    code: "dataPointID",
    product: "productIntID",
  },
  { type: "alertRule", table: "alert_rule", name: "alertName", code: null, product: "productIntID" },
  { type: "dashboard", table: "dashboard", name: "name", code: null, product: null },
  { type: "user", table: "user", name: "username", code: null, shown: "role", product: null },
];

/** At most `limit` hits of each of the types, by rank, then the newest first. */
export async function findHits(
  db: Db,
  tenant: number,
  q: string,
  types: ReadonlySet<HitType>,
  limit: number,
): Promise<SearchHit[]> {
  const some = sources.filter(({ type }) => types.has(type));
  const found = await db.snapshot(some.map((source) => findTableHits(source, tenant, q, limit)));
  const hits = found.flatMap((rows, i) =>
    (rows as Omit<SearchHit, "type">[]).map((row) => ({ ...row, type: some[i]?.type ?? "product" })),
  );
  return [...hits, ...(await deviceHits(db, tenant, q, limit))];
}

const formatRank = (name: Condition, code: Condition, q: string): Condition => {
  const exact = `(${name.sql} = 1 and length(r.name) = length(?)) or (${code.sql} = 1 and length(r.code) = length(?))`;
  const begins = `${name.sql} = 1 or ${code.sql} = 1`;
  return {
    sql: `case when ${exact} then 0 when ${begins} then 1 else 2 end`,
    args: [...name.args, q, ...code.args, q, ...name.args, ...code.args],
  };
};

function findTableHits(
  { table, name, code, shown, product }: Source,
  tenant: number,
  q: string,
  limit: number,
): Condition {
  const [inName, inCode] = [formatPosition("r.name", q), formatPosition("r.code", q)];
  const rank = formatRank(inName, inCode, q);
  const rows = `select id, ${name} name, ${code ?? "null"} code, ${shown ?? code ?? "null"} shown,
    ${product ?? "null"} product from ${table} where tenant = ? order by id desc limit ${hitRowsMax}`;
  return {
    sql: `select r.id, r.name, r.shown code, (select productName from product where id = r.product) productName,
        ${rank.sql} rank
      from (${rows}) r where ${inName.sql} > 0 or ${inCode.sql} > 0 order by rank, r.id desc limit ?`,
    args: [...rank.args, tenant, ...inName.args, ...inCode.args, limit],
  };
}

/** Beyond every text that begins with another. */
const last = "\u{10ffff}";

async function deviceHits(db: Db, tenant: number, q: string, limit: number): Promise<SearchHit[]> {
  const ids = new Set<number>();
  for (const column of ["deviceName", "deviceID"]) {
    const key = `${column} collate nocase`;
    const rows = await db.all<{ id: number }>(
      `select id from device where tenant = ? and ${key} >= ? and ${key} < ? order by ${key} limit ?`,
      [tenant, q, `${q}${last}`, limit],
    );
    for (const { id } of rows) ids.add(id);
  }
  // Those that begin so are better: with as many as are wanted, what else contains it is not shown.
  if (ids.size < limit) {
    for (const id of await within(db, tenant, q, ids.size === 0 ? undefined : rowsBesideMax)) ids.add(id);
  }
  const rank = formatRank(formatPosition("r.name", q), formatPosition("r.code", q), q);
  const rows = `select d.id, d.kind, d.deviceName name, d.deviceID code, p.productName
    from json_each(?) c cross join device d on d.id = c.value join product p on p.id = d.productIntID where d.tenant = ?`;
  const hits = await db.all<Omit<SearchHit, "type"> & { readonly kind: "device" | "gateway" }>(
    `select r.id, r.kind, r.name, r.code, r.productName, ${rank.sql} rank from (${rows}) r order by rank, r.id desc`,
    [...rank.args, [...ids], tenant],
  );
  const of = (kind: "device" | "gateway") => hits.filter((hit) => hit.kind === kind).slice(0, limit);
  return [...of("device"), ...of("gateway")].map(({ kind, ...hit }) => ({ ...hit, type: kind }));
}

/** Finds ids, newest first: by the trigram index, or among the newest rows where the index cannot serve the text. */
async function within(db: Db, tenant: number, q: string, lookedMax?: number): Promise<readonly number[]> {
  if (listTerms(tenant, [q]).length > 0)
    return (await fleetMatches(db, tenant, { q }, deviceMatchesMax, lookedMax)).ids;
  const [name, code] = [formatPosition("r.deviceName", q), formatPosition("r.deviceID", q)];
  const rows = await db.all<{ id: number }>(
    `select r.id from (select id, deviceName, deviceID from device where tenant = ? order by id desc limit ${hitRowsMax}) r
     where ${name.sql} > 0 or ${code.sql} > 0 order by r.id desc limit ${deviceMatchesMax}`,
    [tenant, ...name.args, ...code.args],
  );
  return rows.map(({ id }) => id);
}
