import type { Condition, Db } from "../db/db.js";
import { deviceTexts } from "../db/schema-search.js";
import { findMatches, type Looked, matchesAmong } from "../db/search.js";
import { searchedRowsMax } from "../db/search-rows.js";
import { listTerms } from "../db/text-index.js";
import { keptCount } from "./counts.js";
import { type FleetFilters, fleetCondition } from "./filters.js";

/** Record ids that pass filters, newest first. */
interface FleetMatches {
  readonly ids: readonly number[];
  /** Whether these are all; else there are more, or the search has ended at its bound. */
  readonly isWhole: boolean;
}

/** Finds the newest `most` rows that pass the filters; looks at about `lookedMax` rows. */
export async function fleetMatches(
  db: Db,
  tenant: number,
  filters: FleetFilters,
  most: number,
  lookedMax = searchedRowsMax,
): Promise<FleetMatches> {
  const ids: number[] = [];
  let looked = 0;
  for await (const { rows, found } of await lookedAt(db, tenant, filters)) {
    for (const id of found) ids.push(id);
    looked += rows;
    if (ids.length > most) return { ids: ids.slice(0, most), isWhole: false };
    if (looked > lookedMax) return { ids, isWhole: false };
  }
  return { ids, isWhole: true };
}

/** Where rows are looked for: by an index, newest first. */
interface Way {
  /** How many rows there are, as far as these are counted. */
  readonly rows: number;
  /** Asks for the next ids: `limit` of those below `before`. */
  idsBelow(before: number, limit: number): Condition;
}

/** Up to so many rows, comparing the text with each costs little. */
const fewRows = 10_000;

/** Looks through the rows of the index that names the fewest. */
async function lookedAt(db: Db, tenant: number, filters: FleetFilters): Promise<AsyncGenerator<Looked>> {
  const { q } = filters;
  const condition = fleetCondition(tenant, filters);
  const search = { from: "device r", where: condition.sql, args: condition.args };
  const ways = await listWays(db, tenant, filters);
  const [narrowest = everything(tenant)] = ways.sort((a, b) => a.rows - b.rows);
  if (q === undefined || narrowest.rows <= fewRows || listTerms(tenant, [q]).length === 0) {
    return matchesAmong(db, search, narrowest.idsBelow);
  }
  return findMatches(db, {
    ...search,
    tenant,
    within: { sql: "r.tenant = ?", args: [tenant] },
    texts: deviceTexts,
    // The trigram index does not say in which column a text is.
    patterns: [{ column: "deviceID", pattern: q }],
  });
}

async function listWays(
  db: Pick<Db, "first">,
  tenant: number,
  { productIntID, deviceStatus, blocked, kind, groupIntID, hasAlert }: FleetFilters,
): Promise<Way[]> {
  const ways: Way[] = [];
  const ofTenant = "r.tenant = ? and";
  const kept = async (filters: FleetFilters, sql: string, args: Condition["args"]) => {
    ways.push(createWay("r.id", "device r", { sql, args }, await keptCount(db, tenant, filters)));
  };
  const counted = async (from: string, where: Condition) => {
    const way = createWay("r.deviceIntID", from, where, 0);
    const { sql, args } = way.idsBelow(Number.MAX_SAFE_INTEGER, fewRows + 1);
    const row = await db.first<{ n: number }>(`select count(*) n from (${sql})`, args);
    ways.push({ ...way, rows: row?.n ?? 0 });
  };
  if (productIntID !== undefined) await kept({ productIntID }, "r.productIntID = ?", [productIntID]);
  if (deviceStatus !== undefined) {
    await kept({ deviceStatus }, `${ofTenant} r.deviceStatus = ?`, [tenant, deviceStatus]);
  }
  // Written out, as the indexes hold these rows only.
  if (blocked === 1) await kept({ blocked }, `${ofTenant} r.blocked = 1`, [tenant]);
  if (kind === "gateway") await kept({ kind }, `${ofTenant} r.kind = 'gateway'`, [tenant]);
  if (groupIntID !== undefined) {
    await counted("group_member r", { sql: "r.groupIntID = ?", args: [groupIntID] });
  }
  if (hasAlert === 1) await counted("alert r", { sql: `${ofTenant} r.endTime is null`, args: [tenant] });
  return ways;
}

const everything = (tenant: number): Way =>
  createWay("r.id", "device r", { sql: "r.tenant = ?", args: [tenant] }, Number.MAX_SAFE_INTEGER);

/** Rows of one device, such as its alerts, name it once. */
function createWay(id: string, from: string, { sql, args }: Condition, rows: number): Way {
  const distinct = from === "alert r" ? "distinct " : "";
  return {
    rows,
    idsBelow: (before, limit) => ({
      sql: `select ${distinct}${id} id from ${from} where ${sql} and ${id} < ? order by ${id} desc limit ?`,
      args: [...args, before, limit],
    }),
  };
}
