/** The devices of a tenant by kind, presence and block. A device is of one row's count at any time. */
const deviceIn = (row: string): string => `
  insert into device_state_count (tenant, kind, deviceStatus, blocked, n)
    values (${row}.tenant, ${row}.kind, ${row}.deviceStatus, ${row}.blocked, 1)
    on conflict (tenant, kind, deviceStatus, blocked) do update set n = n + 1;`;
const deviceOut = (row: string): string => `
  update device_state_count set n = n - 1 where tenant = ${row}.tenant and kind = ${row}.kind
    and deviceStatus = ${row}.deviceStatus and blocked = ${row}.blocked;`;

const alertIn = `
  insert into current_alert_count (tenant, alertSeverity, n) values (new.tenant, new.alertSeverity, 1)
    on conflict (tenant, alertSeverity) do update set n = n + 1;`;
const alertOut = `
  update current_alert_count set n = n - 1 where tenant = old.tenant and alertSeverity = old.alertSeverity;`;

/**
 * What the overview counts is kept as it changes, so that no look at it counts rows; and the order in which a tenant's
 * tasks are listed. Rows of a count stay when it falls to 0: there are as many as there are states.
 */
export const overviewSchema: readonly string[] = [
  `create table device_state_count (
    tenant integer not null, kind text not null, deviceStatus integer not null, blocked integer not null,
    n integer not null,
    primary key (tenant, kind, deviceStatus, blocked)
  ) strict, without rowid`,
  `insert into device_state_count (tenant, kind, deviceStatus, blocked, n)
    select tenant, kind, deviceStatus, blocked, count(*) from device group by 1, 2, 3, 4`,
  `create trigger device_state_added after insert on device begin ${deviceIn("new")} end`,
  `create trigger device_state_removed after delete on device begin ${deviceOut("old")} end`,
  `create trigger device_state_changed after update of tenant, kind, deviceStatus, blocked on device
    when new.deviceStatus <> old.deviceStatus or new.blocked <> old.blocked or new.tenant <> old.tenant
      or new.kind <> old.kind
    begin ${deviceOut("old")} ${deviceIn("new")} end`,
  `create table current_alert_count (
    tenant integer not null, alertSeverity integer not null, n integer not null,
    primary key (tenant, alertSeverity)
  ) strict, without rowid`,
  `insert into current_alert_count (tenant, alertSeverity, n)
    select tenant, alertSeverity, count(*) from alert where endTime is null group by 1, 2`,
  `create trigger alert_counted after insert on alert when new.endTime is null begin ${alertIn} end`,
  `create trigger alert_uncounted after delete on alert when old.endTime is null begin ${alertOut} end`,
  `create trigger alert_count_ended after update of endTime on alert
    when old.endTime is null and new.endTime is not null begin ${alertOut} end`,
  "create index task_tenant on task (tenant, createAt, id, kind, state)",
];
