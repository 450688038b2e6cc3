import type { Db } from "../db/db.js";
import type { Places } from "./places.js";

interface Row {
  readonly id: number;
  readonly deviceName: string;
  readonly deviceStatus: number;
  readonly longitude: number;
  readonly latitude: number;
  readonly worstSeverity: number | null;
}

/** Where those of some devices and gateways stand that have a place, each by itself. */
export async function placesOfNamed(db: Db, tenant: number, deviceIDs: readonly string[]): Promise<Places> {
  // Binds one parameter for each text: json_each must never decode text from outside.
  const rows = await db.all<Row>(
    `select r.id, r.deviceName, r.deviceStatus, r.longitude, r.latitude,
       (select min(a.alertSeverity) from alert a
        where a.tenant = r.tenant and a.deviceIntID = r.id and a.endTime is null) worstSeverity
     from device r
     where r.tenant = ? and r.latitude is not null and r.longitude is not null
       and r.deviceID in (${deviceIDs.map(() => "?").join(", ")})`,
    [tenant, ...deviceIDs],
  );
  const clusters = rows.map(({ longitude, latitude, worstSeverity, ...device }) => ({
    ...{ longitude, latitude, count: 1, device, worstSeverity },
  }));
  return { clusters, total: clusters.length, isTruncated: false };
}
