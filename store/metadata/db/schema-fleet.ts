const added = `
  insert into fleet_count (tenant, productIntID, kind, deviceStatus, blocked, n)
    values (new.tenant, new.productIntID, new.kind, new.deviceStatus, new.blocked, 1)
    on conflict (tenant, productIntID, kind, deviceStatus, blocked) do update set n = n + 1;`;

const ofOld = `tenant = old.tenant and productIntID = old.productIntID and kind = old.kind
    and deviceStatus = old.deviceStatus and blocked = old.blocked`;
const removed = `
  update fleet_count set n = n - 1 where ${ofOld};
  delete from fleet_count where ${ofOld} and n = 0;`;

const seen = (device: string, at: string): string =>
  `update device_seen set lastSeen = ${at} where id = ${device} and lastSeen < ${at};`;

/**
 * The fleet as a table that is sorted, filtered and counted by indexes: when each device was last heard of (0: never),
 * how many there are of each product, kind, status and blocking, and the order of names.
 */
export const fleetTables: readonly string[] = [
  `create table device_seen (
    id integer primary key, tenant integer not null, lastSeen integer not null
  ) strict`,
  // A table with few columns, because it is written with each save of a device's counters: a row of `device` is long.
  `insert into device_seen (id, tenant, lastSeen)
    select d.id, d.tenant, max(coalesce(d.connectedAt, 0), coalesce(max(i.lastAt), 0), coalesce(max(i.offlineSince), 0))
    from device d left join device_ingest i on i.deviceIntID = d.id group by d.id`,
  "create index device_seen_order on device_seen (tenant, lastSeen)",
  `create trigger device_seen_added after insert on device
    begin insert into device_seen (id, tenant, lastSeen)
      values (new.id, new.tenant, coalesce(new.connectedAt, 0)); end`,
  `create trigger device_seen_gone after delete on device
    begin delete from device_seen where id = old.id; end`,
  `create trigger device_heard after insert on device_ingest when new.lastAt is not null
    begin ${seen("new.deviceIntID", "new.lastAt")} end`,
  `create trigger device_heard_again after update of lastAt on device_ingest
    when new.lastAt is not null and new.lastAt is not old.lastAt
    begin ${seen("new.deviceIntID", "new.lastAt")} end`,
  `create table fleet_count (
    tenant integer not null, productIntID integer not null, kind text not null, deviceStatus integer not null,
    blocked integer not null, n integer not null,
    primary key (tenant, productIntID, kind, deviceStatus, blocked)
  ) strict, without rowid`,
  `insert into fleet_count (tenant, productIntID, kind, deviceStatus, blocked, n)
    select tenant, productIntID, kind, deviceStatus, blocked, count(*) from device group by 1, 2, 3, 4, 5`,
  `create trigger fleet_counted after insert on device begin ${added} end`,
  `create trigger fleet_uncounted after delete on device begin ${removed} end`,
  `create trigger fleet_recounted after update of tenant, kind, productIntID, deviceStatus, blocked on device
    when new.deviceStatus <> old.deviceStatus or new.blocked <> old.blocked
      or new.productIntID <> old.productIntID or new.kind <> old.kind or new.tenant <> old.tenant
    begin ${removed} ${added} end`,
  "create index device_by_name on device (tenant, deviceName collate nocase)",
  "create index device_by_code on device (tenant, deviceID collate nocase)",
  "create index device_by_creation on device (tenant, createAt)",
  "create index device_by_status on device (tenant, deviceStatus)",
  "create index device_blocked on device (tenant) where blocked = 1",
  "create index device_gateways on device (tenant) where kind = 'gateway'",
  // endTime, which is null in all of its rows, so that queries need not look at the alerts themselves.
  `create index alert_of_device on alert (tenant, deviceIntID, alertSeverity, endTime) where endTime is null`,
];
