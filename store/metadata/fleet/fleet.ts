import type { Db } from "../db/db.js";
import { searchedRowsMax } from "../db/search-rows.js";
import { createSteps } from "../db/steps.js";
import type { DeviceStore } from "../devices/devices.js";
import { type FleetFacets, facetsAmong, keptCount, keptFacets } from "./counts.js";
import { type FleetFilters, fleetCondition, hasKeptCount, isUnfiltered } from "./filters.js";
import { fleetMatches } from "./matches.js";
import { type FleetPlace, type FleetSort, rowsAfter, rowsFrom, sortedAmong } from "./order.js";
import { type FleetRow, fleetRows } from "./rows.js";

/** A request for rows of the fleet: either those `after` a place, or from an `offset` on. */
export interface FleetRequest {
  readonly filters: FleetFilters;
  readonly sort: FleetSort;
  readonly limit: number;
  readonly after: FleetPlace | null;
  readonly offset: number;
  readonly facets: boolean;
}

interface FleetPage {
  readonly items: readonly FleetRow[];
  /** Where the next page begins; null after the last row. A page with a next one may also end before its limit. */
  readonly next: FleetPlace | null;
  readonly count: number;
  /** There are more than `count`. */
  readonly isCountBounded: boolean;
  readonly facets: FleetFacets | null;
}

/** Filtered rows that are counted, and sorted together: where more pass, the order is walked instead. */
export const fleetCountedMax = 10_000;

/** Rows of one step of a walk, at first and at most. */
const walkSteps = { first: 200, most: 2000 } as const;

/** A page of the tenant's devices and gateways. @param countedMax the most filtered rows that are counted */
export async function listFleet(
  { db, settlePresence }: Pick<DeviceStore, "db" | "settlePresence">,
  tenant: number,
  request: FleetRequest,
  countedMax = fleetCountedMax,
): Promise<FleetPage> {
  await settlePresence?.();
  const { filters, facets } = request;
  const kept = hasKeptCount(filters) ? await keptCount(db, tenant, filters) : null;
  const isMany = kept !== null && (isUnfiltered(filters) || kept > countedMax);
  if (isMany) {
    const found = isUnfiltered(filters)
      ? await inOrder(db, tenant, request, kept)
      : await walk(db, tenant, request);
    return {
      ...(await shown(db, tenant, found)),
      count: kept,
      isCountBounded: false,
      facets: facets ? await keptFacets(db, tenant, filters) : null,
    };
  }
  const { ids, isWhole } = await fleetMatches(db, tenant, filters, countedMax);
  const found = isWhole ? await among(db, request, ids) : await walk(db, tenant, request);
  return {
    ...(await shown(db, tenant, found)),
    count: ids.length,
    isCountBounded: !isWhole,
    facets: facets ? await facetsAmong(db, tenant, ids) : null,
  };
}

/** The places of a page's rows, and that of the next page. */
interface Found {
  readonly places: readonly FleetPlace[];
  readonly next: FleetPlace | null;
}

async function shown(
  db: Db,
  tenant: number,
  { places, next }: Found,
): Promise<Pick<FleetPage, "items" | "next">> {
  const items = await fleetRows(
    db,
    tenant,
    places.map(({ id }) => id),
  );
  return { items, next };
}

/** One more row than the page has was asked for: with it, there is a next page. */
function cut(rows: readonly FleetPlace[], limit: number): Found {
  const places = rows.slice(0, limit);
  return { places, next: rows.length > limit ? (places.at(-1) ?? null) : null };
}

/** Without filters: as the index has them. */
async function inOrder(
  db: Db,
  tenant: number,
  { sort, after, offset, limit }: FleetRequest,
  total: number,
): Promise<Found> {
  if (offset === 0) {
    const { sql, args } = rowsAfter(tenant, sort, after, limit + 1);
    return cut(await db.all<FleetPlace>(sql, args), limit);
  }
  const { question, isReversed } = rowsFrom(tenant, sort, offset, limit + 1, total);
  const rows = await db.all<FleetPlace>(question.sql, question.args);
  return cut(isReversed ? rows.reverse() : rows, limit);
}

/** Few rows are sorted together. */
async function among(
  db: Db,
  { sort, after, offset, limit }: FleetRequest,
  ids: readonly number[],
): Promise<Found> {
  const { sql, args } = sortedAmong(ids, sort, after, limit + 1, offset);
  return cut((await db.inStep<FleetPlace>(sql, args)).rows, limit);
}

/** Walks the rows in their order and keeps those that pass the filters; at the bound the page ends where it is. */
async function walk(db: Db, tenant: number, request: FleetRequest): Promise<Found> {
  const { sort, limit, offset } = request;
  const { sql: where, args } = fleetCondition(tenant, request.filters);
  const steps = createSteps(db, walkSteps.first, walkSteps.most);
  const rows: FleetPlace[] = [];
  let { after } = request;
  let skipped = 0;
  for (let looked = 0; looked < searchedRowsMax; ) {
    const asked = steps.rows;
    const some = rowsAfter(tenant, sort, after, asked);
    const found = await steps.run((all) =>
      all<FleetPlace & { hit: number }>(
        `select c.id, c.key, (${where}) hit from (${some.sql}) c cross join device r on r.id = c.id`,
        [...args, ...some.args],
      ),
    );
    for (const { id, key, hit } of found) {
      if (hit !== 1) continue;
      if (skipped < offset) skipped++;
      else rows.push({ id, key });
      if (rows.length > limit) return cut(rows, limit);
    }
    if (found.length < asked) return { places: rows, next: null };
    looked += found.length;
    const { id, key } = found.at(-1) as FleetPlace;
    after = { id, key };
  }
  return { places: rows, next: after };
}
