/** Removals by tenant, for tenants take turns; and a deviceID that is still being freed is told from one in use. */
export const removalsSchema: readonly string[] = [
  "create index removal_tenant on removal (tenant, id)",
  "drop trigger device_id_free",
  `create trigger device_id_free before insert on device
    when exists (select 1 from removal where deviceID = new.deviceID)
    begin select raise(abort, 'REMOVAL constraint failed: device.deviceID'); end`,
];
