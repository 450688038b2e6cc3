/** Devices on a map: those of a box, put together where they stand close to each other. */
import type { Condition, Db, SqlValue } from "../db/db.js";
import { createSteps, type Steps } from "../db/steps.js";
import { type Box, cellDegrees, splitLongitudes } from "./place-grid.js";

export interface PlaceQuery {
  readonly box: Box;
  /** The map's zoom level, 0 to 22. */
  readonly zoom: number;
  readonly kinds: readonly ("device" | "gateway")[];
  readonly productIntID: number | null;
  readonly groupIntID: number | null;
  readonly deviceIntID: number | null;
}

/** Devices that stand close together, or one. */
export interface PlaceCluster {
  /** The mean of its devices. */
  readonly longitude: number;
  readonly latitude: number;
  readonly count: number;
  /** Null if they are several. */
  readonly device: PlacedDevice | null;
  /** The severity of the worst current alert of its devices, 1 is the worst; null without any. */
  readonly worstSeverity: number | null;
}

interface PlacedDevice {
  readonly id: number;
  readonly deviceName: string;
  readonly deviceStatus: number;
}

export interface Places {
  readonly clusters: readonly PlaceCluster[];
  /** Devices in the box. */
  readonly total: number;
  /** There are more devices, or current alerts, than were looked at. */
  readonly isTruncated: boolean;
}

/** Devices between the box's south and north that one query looks at, and current alerts of the tenant. */
export const placesWalkedMax = 250_000;
const alertsWalkedMax = 100_000;
/** Alerts are looked up device by device for so few devices; for more, all of the tenant's alerts are read. */
const fewPlaces = 4000;

const rowsFirst = 2000;
const rowsMost = 8000;

/** Which devices are asked for, apart from their latitude, and in which cell each lies; the device is `r`. */
interface PlaceFilter {
  readonly tenant: number;
  readonly where: Condition;
  readonly cell: Condition;
  readonly box: Box;
}

/** The devices of a box in at most `clustersMax` clusters. */
export async function devicePlaces(db: Db, tenant: number, query: PlaceQuery): Promise<Places> {
  const filter = toPlaceFilter(tenant, await resolveGroup(db, tenant, query));
  const steps = createSteps(db, rowsFirst, rowsMost);
  const { cells, walked, isCut } = await walkPlaces(steps, filter);
  const severities =
    walked <= fewPlaces
      ? { worst: await severitiesOfFew(steps, filter), isCut: false }
      : await severitiesOfAll(steps, filter);
  const single = [...cells.values()].filter(({ count }) => count === 1).map(({ id }) => id);
  const devices = await readDevices(db, tenant, single);
  let total = 0;
  const clusters = [...cells].map(([cell, { count, longitudes, latitudes, id }]): PlaceCluster => {
    total += count;
    return {
      longitude: longitudes / count,
      latitude: latitudes / count,
      count,
      device: (count === 1 ? devices.get(id) : undefined) ?? null,
      worstSeverity: severities.worst.get(cell) ?? null,
    };
  });
  return { clusters, total, isTruncated: isCut || severities.isCut };
}

/** One device stands at one latitude, or nowhere in the box: no other needs to be walked past. */
async function resolveGroup(db: Db, tenant: number, query: PlaceQuery): Promise<PlaceQuery> {
  const { box, deviceIntID } = query;
  if (deviceIntID === null) return query;
  const [device] = await db.all<{ readonly latitude: number | null }>(
    "select latitude from device where tenant = ? and id = ?",
    [tenant, deviceIntID],
  );
  const latitude = device?.latitude ?? null;
  const isWithin = latitude !== null && latitude >= box.south && latitude <= box.north;
  const [south, north] = isWithin ? [latitude, latitude] : [box.north, box.north];
  return { ...query, box: { ...box, south, north } };
}

function toPlaceFilter(tenant: number, query: PlaceQuery): PlaceFilter {
  const { box, zoom, kinds, productIntID, groupIntID, deviceIntID } = query;
  const degrees = cellDegrees(box, zoom);
  const columns = Math.floor(360 / degrees) + 1;
  const spans = splitLongitudes(box);
  const parts: Condition[] = [
    { sql: "r.tenant = ? and r.latitude is not null and r.longitude is not null", args: [tenant] },
    { sql: `(${spans.map(() => "r.longitude between ? and ?").join(" or ")})`, args: spans.flat() },
    { sql: `r.kind in (${kinds.map(() => "?").join(", ")})`, args: kinds },
  ];
  if (productIntID !== null) parts.push({ sql: "r.productIntID = ?", args: [productIntID] });
  if (deviceIntID !== null) parts.push({ sql: "r.id = ?", args: [deviceIntID] });
  if (groupIntID !== null) {
    const member = "exists (select 1 from group_member m where m.groupIntID = ? and m.deviceIntID = r.id)";
    parts.push({ sql: member, args: [groupIntID] });
  }
  return {
    tenant,
    box,
    where: { sql: parts.map(({ sql }) => sql).join(" and "), args: parts.flatMap(({ args }) => args) },
    cell: {
      sql: "cast((r.latitude + 90) / ? as integer) * ? + cast((r.longitude + 180) / ? as integer)",
      args: [degrees, columns, degrees],
    },
  };
}

/** Facts about the devices of one cell: sums of their degrees, and the id of one of them. */
interface Cell {
  readonly count: number;
  readonly longitudes: number;
  readonly latitudes: number;
  readonly id: number;
}

/** A place in the order in which the index has the devices. */
interface Place {
  readonly latitude: number;
  readonly longitude: number;
  readonly id: number;
}

const toArgs = ({ latitude, longitude, id }: Place): SqlValue[] => [latitude, longitude, id];

/** Goes over the devices from south to north, step by step. */
async function walkPlaces(
  steps: Steps,
  { tenant, where, cell, box: { south, north } }: PlaceFilter,
): Promise<{ cells: Map<number, Cell>; walked: number; isCut: boolean }> {
  const cells = new Map<number, Cell>();
  // No longitude is beyond ±180: the first lies before all places of the south, the last behind all of the north.
  let after: Place = { latitude: south, longitude: -181, id: 0 };
  const end: Place = { latitude: north, longitude: 181, id: 0 };
  for (let walked = 0; walked < placesWalkedMax; ) {
    const rows = steps.rows;
    const last = await steps.run(async (all) => {
      const [found] = await all<Place>(
        `select r.latitude, r.longitude, r.id from device r
         where r.tenant = ? and r.latitude is not null and r.longitude is not null
           and (r.latitude, r.longitude, r.id) > (?, ?, ?) and r.latitude <= ?
         order by r.latitude, r.longitude, r.id limit 1 offset ?`,
        [tenant, ...toArgs(after), north, rows - 1],
      );
      const sums = await all<Cell & { readonly cell: number }>(
        `select ${cell.sql} cell, count(*) count, sum(r.longitude) longitudes, sum(r.latitude) latitudes,
           min(r.id) id
         from device r
         where ${where.sql} and (r.latitude, r.longitude, r.id) > (?, ?, ?)
           and (r.latitude, r.longitude, r.id) <= (?, ?, ?)
         group by 1`,
        [...cell.args, ...where.args, ...toArgs(after), ...toArgs(found ?? end)],
      );
      for (const sum of sums) cells.set(sum.cell, together(cells.get(sum.cell), sum));
      return found;
    });
    if (last === undefined) return { cells, walked, isCut: false };
    walked += rows;
    after = last;
  }
  return { cells, walked: placesWalkedMax, isCut: true };
}

function together(one: Cell | undefined, other: Cell): Cell {
  if (one === undefined) return other;
  return {
    count: one.count + other.count,
    longitudes: one.longitudes + other.longitudes,
    latitudes: one.latitudes + other.latitudes,
    id: one.id,
  };
}

interface Worst {
  readonly cell: number;
  readonly severity: number;
}

async function severitiesOfFew(
  steps: Steps,
  { where, cell, box: { south, north } }: PlaceFilter,
): Promise<Map<number, number>> {
  const rows = await steps.run((all) =>
    all<Worst>(
      // A cross join is made in the order in which it is written.
      `select ${cell.sql} cell, min(a.alertSeverity) severity
       from device r cross join alert a on a.tenant = r.tenant and a.deviceIntID = r.id and a.endTime is null
       where ${where.sql} and r.latitude between ? and ? group by 1`,
      [...cell.args, ...where.args, south, north],
    ),
  );
  return new Map(rows.map((row) => [row.cell, row.severity]));
}

/** Goes over the tenant's current alerts, device by device. */
async function severitiesOfAll(
  steps: Steps,
  { tenant, where, cell, box: { south, north } }: PlaceFilter,
): Promise<{ worst: Map<number, number>; isCut: boolean }> {
  const worst = new Map<number, number>();
  let after = 0;
  for (let walked = 0; walked < alertsWalkedMax; ) {
    const rows = steps.rows;
    const last = await steps.run(async (all) => {
      const [found] = await all<{ id: number }>(
        `select a.deviceIntID id from alert a where a.tenant = ? and a.endTime is null and a.deviceIntID > ?
         order by a.deviceIntID limit 1 offset ?`,
        [tenant, after, rows - 1],
      );
      const sums = await all<Worst>(
        `select ${cell.sql} cell, min(a.alertSeverity) severity
         from alert a cross join device r on r.id = a.deviceIntID
         where a.tenant = ? and a.endTime is null and a.deviceIntID > ? and a.deviceIntID <= ?
           and ${where.sql} and r.latitude between ? and ? group by 1`,
        [
          ...[...cell.args, tenant, after, found?.id ?? Number.MAX_SAFE_INTEGER],
          ...[...where.args, south, north],
        ],
      );
      for (const { cell: at, severity } of sums) worst.set(at, Math.min(severity, worst.get(at) ?? severity));
      return found;
    });
    if (last === undefined) return { worst, isCut: false };
    walked += rows;
    after = last.id;
  }
  return { worst, isCut: true };
}

async function readDevices(
  db: Db,
  tenant: number,
  ids: readonly number[],
): Promise<Map<number, PlacedDevice>> {
  if (ids.length === 0) return new Map();
  const rows = await db.all<PlacedDevice>(
    `select id, deviceName, deviceStatus from device
     where tenant = ? and id in (select value from json_each(?))`,
    [tenant, ids],
  );
  return new Map(rows.map((row) => [row.id, row]));
}
