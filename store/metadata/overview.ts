/** What a tenant has, from counts that the store keeps and from narrow indexes. */
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

interface StateRow {
  readonly kind: string;
  readonly deviceStatus: number;
  readonly blocked: number;
  readonly n: number;
}

/** A row for each state of each product's devices. */
const ofDevices = "select kind, deviceStatus, blocked, n from fleet_count where tenant = ?";
const ofAlerts = `select alertSeverity, n count from current_alert_count where tenant = ? and n > 0
  order by alertSeverity`;
const rowsOf = (table: string): string =>
  `select count(*) n from (select 1 from ${table} where tenant = ? limit ?)`;

export async function countsOf(db: Db, tenant: number): Promise<TenantCounts> {
  const [states = [], currentAlerts = [], products = [], groups = []] = (await db.snapshot([
    { sql: ofDevices, args: [tenant] },
    { sql: ofAlerts, args: [tenant] },
    { sql: rowsOf("product"), args: [tenant, countedRowsMax] },
    { sql: rowsOf("device_group"), args: [tenant, countedRowsMax] },
  ])) as [StateRow[], { alertSeverity: number; count: number }[], { n: number }[], { n: number }[]];
  const sum = (keep: (row: StateRow) => boolean): number =>
    states.reduce((total, row) => (keep(row) ? total + row.n : total), 0);
  const devicesIn = (keep: (row: StateRow) => boolean) => sum((row) => row.kind === "device" && keep(row));
  return {
    devices: {
      total: devicesIn(() => true),
      online: devicesIn((row) => row.deviceStatus === 1),
      sleeping: devicesIn((row) => row.deviceStatus === 2),
      offline: devicesIn((row) => row.deviceStatus === 0),
      blocked: devicesIn((row) => row.blocked === 1),
    },
    gateways: sum((row) => row.kind === "gateway"),
    products: products[0]?.n ?? 0,
    groups: groups[0]?.n ?? 0,
    currentAlerts,
  };
}
