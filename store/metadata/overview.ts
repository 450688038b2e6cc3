/** What a tenant has, from counts that the store keeps and from small indexes. */
import type { Db } from "./db/db.js";
import { countedRowsMax } from "./db/list-rows.js";

interface TenantCounts {
  /** `total` is the sum of online, sleeping and offline; blocked ones are among these. */
  readonly devices: {
    readonly total: number;
    readonly online: number;
    readonly sleeping: number;
    readonly offline: number;
    readonly blocked: number;
  };
  readonly gateways: number;
  /** At most `countedRowsMax`. */
  readonly products: number;
  /** At most `countedRowsMax`. */
  readonly groups: number;
  /** By severity, ascending; without those of which there are none. */
  readonly currentAlerts: readonly { readonly alertSeverity: number; readonly count: number }[];
}

type FleetRow = Readonly<Record<keyof TenantCounts["devices"] | "gateways", number>>;

/** Counted row by row, all others are kept. */
export type TenantSizes = Pick<TenantCounts, "products" | "groups">;

const formatSumSql = (condition: string, name: string): string =>
  `coalesce(sum(n) filter (where ${condition}), 0) ${name}`;
/** One row, however many products there are. */
const ofFleet = `select ${[
  formatSumSql("kind = 'device'", "total"),
  formatSumSql("kind = 'device' and deviceStatus = 1", "online"),
  formatSumSql("kind = 'device' and deviceStatus = 2", "sleeping"),
  formatSumSql("kind = 'device' and deviceStatus = 0", "offline"),
  formatSumSql("kind = 'device' and blocked = 1", "blocked"),
  formatSumSql("kind = 'gateway'", "gateways"),
]} from fleet_count where tenant = ?`;
const ofAlerts = `select alertSeverity, n count from current_alert_count where tenant = ? and n > 0
  order by alertSeverity`;
const formatCountSql = (table: string): string =>
  `select count(*) n from (select 1 from ${table} where tenant = ? limit ?)`;

/** @param known sizes that need not be counted again */
export async function countResources(db: Db, tenant: number, known?: TenantSizes): Promise<TenantCounts> {
  const sizes = ["product", "device_group"].map((table) => ({
    sql: formatCountSql(table),
    args: [tenant, countedRowsMax],
  }));
  const [fleet = [], currentAlerts = [], products = [], groups = []] = (await db.snapshot([
    { sql: ofFleet, args: [tenant] },
    { sql: ofAlerts, args: [tenant] },
    ...(known === undefined ? sizes : []),
  ])) as [FleetRow[], { alertSeverity: number; count: number }[], { n: number }[], { n: number }[]];
  const [{ gateways, ...devices } = noFleet] = fleet;
  return {
    devices,
    gateways,
    products: known?.products ?? products[0]?.n ?? 0,
    groups: known?.groups ?? groups[0]?.n ?? 0,
    currentAlerts,
  };
}

const noFleet: FleetRow = { total: 0, online: 0, sleeping: 0, offline: 0, blocked: 0, gateways: 0 };
