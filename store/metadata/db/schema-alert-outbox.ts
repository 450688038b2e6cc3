import { isRouted, outboxKinds } from "./schema-notifications.js";

/** Characters of an alert's content that a notification contains. */
const contentLengthMax = 300;

/** SQL for the facts of an alert that a notification contains: JSON of `AlertFacts`. @param alert alias of its row */
const formatFactsSql = (alert: string): string => `(
  select json_object('id', ${alert}.id, 'cause', ${alert}.cause, 'alertName', ${alert}.alertName,
    'alertContent', substr(${alert}.alertContent, 1, ${contentLengthMax}), 'alertSeverity', ${alert}.alertSeverity,
    'startTime', ${alert}.startTime, 'deviceIntID', d.id, 'deviceID', d.deviceID,
    'deviceName', coalesce(d.deviceName, d.deviceID), 'productIntID', p.id, 'productName', p.productName)
  from device d join product p on p.id = d.productIntID where d.id = ${alert}.deviceIntID)`;

/** A begun alert keeps its facts in the outbox: the device may be deleted before they are read. Null for an end. */
export const alertOutboxSchema: readonly string[] = [
  "alter table alert_outbox add column alert text",
  `update alert_outbox set alert = (select ${formatFactsSql("a")} from alert a where a.id = alertIntID)
    where kind = ${outboxKinds.began}`,
  "drop trigger alert_began",
  `create trigger alert_began after insert on alert
    when new.endTime is null and ${isRouted("new.tenant")}
    begin insert into alert_outbox (tenant, alertIntID, kind, at, alert)
      values (new.tenant, new.id, ${outboxKinds.began}, new.startTime, ${formatFactsSql("new")}); end`,
];
