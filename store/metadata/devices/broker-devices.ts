import { createYielder } from "../../lib/scheduling.js";
import type { Db } from "../db/db.js";
import { accessOfDevices, type PolicyRule } from "./access.js";
import { tokenPlace } from "./columns.js";
import type { DeviceStore } from "./devices.js";

/** A device as a broker needs to know it; over all tenants, because a broker serves a deployment. */
export interface BrokerDevice {
  readonly id: number;
  readonly deviceID: string;
  readonly deviceUsername: string;
  /** Null for a device that authenticates by certificate. */
  readonly token: string | null;
  readonly blocked: boolean;
  readonly rules: readonly PolicyRule[];
  /** Common names of the certificates that the device may authenticate with. */
  readonly commonNames: readonly string[];
}

interface Row {
  readonly id: number;
  readonly tenant: number;
  readonly deviceID: string;
  readonly deviceUsername: string;
  readonly token: ArrayBuffer;
  readonly authType: number;
  readonly blocked: number;
}

const devicesPerRead = 500;

/** Every device and gateway, in the order of their records, some at a time. `now`: milliseconds since 1970. */
export async function* brokerDevices(
  { db, vault }: DeviceStore,
  now: number,
): AsyncGenerator<BrokerDevice[]> {
  const yieldIfDue = createYielder();
  for (let after = 0; ; ) {
    await yieldIfDue();
    const rows = await db.all<Row>(
      `select id, tenant, deviceID, deviceUsername, token, authType, blocked from device
       where id > ? order by id limit ?`,
      [after, devicesPerRead],
    );
    const ids = rows.map(({ id }) => id);
    const access = await accessOfDevices(db, ids);
    const names = await listCommonNames(db, ids, now);
    yield rows.map((row) => {
      const { id, deviceID, deviceUsername, token, authType, blocked } = row;
      return {
        id,
        deviceID,
        deviceUsername,
        token: authType === 2 ? null : vault.open(new Uint8Array(token), tokenPlace(row)),
        blocked: blocked === 1,
        rules: access.get(id)?.rules ?? [],
        commonNames: authType === 2 ? (names.get(id) ?? []) : [],
      };
    });
    if (rows.length < devicesPerRead) return;
    after = ids.at(-1) ?? after;
  }
}

async function listCommonNames(db: Db, ids: readonly number[], now: number): Promise<Map<number, string[]>> {
  const rows = await db.all<{ device: number; CN: string }>(
    `select b.deviceIntID device, c.CN from json_each(?) d
     join cert_device b on b.deviceIntID = d.value join cert c on c.id = b.certIntID
     where c.enable = 1 and c.expiresAt > ?`,
    [ids, now],
  );
  const found = new Map<number, string[]>();
  for (const { device, CN } of rows) {
    const known = found.get(device);
    if (known === undefined) found.set(device, [CN]);
    else known.push(CN);
  }
  return found;
}
