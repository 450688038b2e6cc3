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
