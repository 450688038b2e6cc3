import { changedIfAny } from "./changed-if-any.js";
import type { Actor } from "./changes.js";
import type { Db, Statement } from "./db.js";
import { type BindableDevice, filtered } from "./policy-devices.js";
import { type Listing, listRows, notFound, type Page, type PageRequest } from "./table.js";

/** Which devices and gateways may prove themselves with which certificates. */

const listing: Listing = {
  select: "r.id, r.kind, r.deviceID, r.deviceName, r.deviceType, p.productName",
  from: "device r join product p on p.id = r.productIntID",
  // What `filtered` knows to ask for.
  filters: {},
};

const bound = "select deviceIntID from cert_device where certIntID = ?";

/** Takes `boundFilters`. */
export function devicesOfCert(
  db: Db,
  tenant: number,
  request: PageRequest,
  cert: number,
): Promise<Page<BindableDevice>> {
  const { sql, args } = filtered(tenant, request.filters);
  const scope = { sql: `r.id in (${bound})${sql}`, args: [cert, ...args] };
  return listRows<BindableDevice>(db, listing, tenant, request, scope);
}

/** Takes `bindableFilters`. */
export function devicesNotOfCert(
  db: Db,
  tenant: number,
  request: PageRequest,
  cert: number,
): Promise<Page<BindableDevice>> {
  const { sql, args } = filtered(tenant, request.filters);
  const scope = { sql: `r.id not in (${bound})${sql}`, args: [cert, ...args] };
  return listRows<BindableDevice>(db, listing, tenant, request, scope);
}

/** Names of the newest certificates that are not bound to the device, at most `limit`. */
export function certsNotOfDevice(
  db: Db,
  tenant: number,
  device: number,
  limit: number,
): Promise<{ readonly id: number; readonly name: string }[]> {
  return db.all(
    `select id, name from cert where tenant = ?
       and id not in (select certIntID from cert_device where deviceIntID = ?)
     order by id desc limit ?`,
    [tenant, device, limit],
  );
}

/** Binds the certificates that are not bound yet; one that is gone by now stays away. */
export async function bindCerts(
  db: Db,
  actor: Actor,
  now: number,
  deviceIntID: number,
  certs: readonly number[],
): Promise<void> {
  const statements = certs.flatMap((certIntID): Statement[] => [
    {
      sql: `insert into cert_device (certIntID, deviceIntID)
        select c.id, d.id from cert c join device d on d.tenant = c.tenant
        where c.tenant = ? and c.id = ? and d.id = ?
        on conflict do nothing`,
      args: [actor.tenant, certIntID, deviceIntID],
    },
    changedIfAny(actor, now, "create", "cert_device", null, { deviceIntID, certIntID }),
  ]);
  if (statements.length > 0) await db.write(statements);
}

/** All or none. @throws StoreError NOT_FOUND when one of them is not bound to the device */
export async function unbindCerts(
  db: Db,
  actor: Actor,
  now: number,
  deviceIntID: number,
  certs: readonly number[],
): Promise<void> {
  const bindings = await db.all<{ id: number; certIntID: number }>(
    "select id, certIntID from cert_device where deviceIntID = ? and certIntID in (select value from json_each(?))",
    [deviceIntID, certs],
  );
  const missing = certs.find((cert) => bindings.every(({ certIntID }) => certIntID !== cert));
  if (missing !== undefined) throw notFound(String(missing));
  const ids = bindings.map(({ id }) => id);
  const results = await db.write([
    {
      // Another caller may have unbound one of them since.
      sql: `delete from cert_device where id in (select value from json_each(?1))
        and (select count(*) from cert_device where id in (select value from json_each(?1))) = ?2`,
      args: [ids, ids.length],
    },
    ...bindings.map(({ id, certIntID }) =>
      changedIfAny(actor, now, "delete", "cert_device", id, { deviceIntID, certIntID }),
    ),
  ]);
  if (results[0]?.rowsAffected === 0) throw notFound(String(certs[0]));
}
