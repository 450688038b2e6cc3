import type { Db } from "../db/db.js";

/** A row of the fleet. */
export interface FleetRow {
  readonly id: number;
  readonly tenant: number;
  readonly deviceID: string;
  readonly deviceName: string;
  readonly productIntID: number;
  readonly productID: string;
  readonly productName: string;
  readonly kind: "device" | "gateway";
  readonly deviceStatus: number;
  readonly blocked: number;
  /** Milliseconds; 0: never. */
  readonly lastSeen: number;
  readonly currentAlerts: number;
  /** The lowest code of its current alerts: 1 is the worst. */
  readonly worstSeverity: number | null;
}

/** Rows by record id, in the order of the ids; one that is gone is left out. */
export async function fleetRows(db: Db, tenant: number, ids: readonly number[]): Promise<FleetRow[]> {
  if (ids.length === 0) return [];
  const [devices = [], alerts = []] = (await db.snapshot([
    {
      sql: `select r.id, r.tenant, r.deviceID, r.deviceName, r.productIntID, p.productID, p.productName, r.kind,
          r.deviceStatus, r.blocked, s.lastSeen
        from json_each(?) c cross join device r on r.id = c.value
        join product p on p.id = r.productIntID join device_seen s on s.id = r.id
        where r.tenant = ? order by c.key`,
      args: [ids, tenant],
    },
    {
      sql: `select deviceIntID id, count(*) n, min(alertSeverity) worst from alert
        where tenant = ? and endTime is null and deviceIntID in (select value from json_each(?))
        group by deviceIntID`,
      args: [tenant, ids],
    },
  ])) as [Omit<FleetRow, "currentAlerts" | "worstSeverity">[]?, { id: number; n: number; worst: number }[]?];
  const alertsByID = new Map(alerts.map((one) => [one.id, one]));
  return devices.map((device) => {
    const of = alertsByID.get(device.id);
    return { ...device, currentAlerts: of?.n ?? 0, worstSeverity: of?.worst ?? null };
  });
}
