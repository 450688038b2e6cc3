/**
 * Notifications: who is notified of alerts, which alerts have still to be sent, and what was sent. Beginnings and ends
 * of alerts reach `alert_outbox` by triggers, in the transaction that changes the alert, whichever code that is.
 */

export const isRouted = (tenant: string) =>
  `exists (select 1 from alert_route where tenant = ${tenant} and enable = 1)`;

/** kind of an outbox row: the alert has begun; it has ended, or was removed while it was current. */
export const outboxKinds = { began: 1, ended: 2 } as const;

export const notificationsSchema: readonly string[] = [
  // `settings` and the sealed `secrets` are JSON objects by `type`.
  `create table contact_point (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    name text not null,
    type text not null,
    enable integer not null,
    language text not null,
    settings text not null,
    secrets blob,
    secretNames text not null,
    subjectTemplate text,
    bodyTemplate text,
    userIntID integer,
    createUser text,
    createAt integer not null,
    updateAt integer,
    unique (tenant, name)
  ) strict`,
  "create index contact_point_tenant on contact_point (tenant, id)",
  // A null matches every alert. A route to a record that is gone would match none, so it goes with it.
  `create table alert_route (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    name text not null,
    enable integer not null,
    severities text,
    alertName text,
    productIntID integer references product (id) on delete cascade,
    groupIntID integer references device_group (id) on delete cascade,
    deviceIntID integer references device (id) on delete cascade,
    groupBy text not null,
    wait integer not null,
    groupInterval integer not null,
    repeatInterval integer not null,
    sendResolved integer not null,
    muteWindows text not null,
    timezone text,
    userIntID integer,
    createUser text,
    createAt integer not null,
    updateAt integer,
    unique (tenant, name)
  ) strict`,
  "create index alert_route_tenant on alert_route (tenant, id)",
  "create index alert_route_product on alert_route (productIntID) where productIntID is not null",
  "create index alert_route_group on alert_route (groupIntID) where groupIntID is not null",
  "create index alert_route_device on alert_route (deviceIntID) where deviceIntID is not null",
  `create table route_contact (
    routeIntID integer not null references alert_route (id) on delete cascade,
    contactPointIntID integer not null references contact_point (id),
    primary key (routeIntID, contactPointIntID)
  ) strict, without rowid`,
  "create index route_contact_point on route_contact (contactPointIntID)",
  `create table silence (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    severities text,
    alertName text,
    productIntID integer references product (id) on delete cascade,
    groupIntID integer references device_group (id) on delete cascade,
    deviceIntID integer references device (id) on delete cascade,
    startTime integer not null,
    endTime integer not null,
    comment text,
    userIntID integer,
    createUser text,
    createAt integer not null,
    updateAt integer
  ) strict`,
  "create index silence_tenant on silence (tenant, id)",
  "create index silence_end on silence (tenant, endTime)",
  "create index silence_product on silence (productIntID) where productIntID is not null",
  "create index silence_group on silence (groupIntID) where groupIntID is not null",
  "create index silence_device on silence (deviceIntID) where deviceIntID is not null",
  `create table alert_outbox (
    id integer primary key autoincrement,
    tenant integer not null,
    alertIntID integer not null,
    kind integer not null,
    at integer not null
  ) strict`,
  "create index alert_outbox_tenant on alert_outbox (tenant, id)",
  `create trigger alert_began after insert on alert
    when new.endTime is null and ${isRouted("new.tenant")}
    begin insert into alert_outbox (tenant, alertIntID, kind, at)
      values (new.tenant, new.id, ${outboxKinds.began}, new.startTime); end`,
  `create trigger alert_ended after update of endTime on alert
    when old.endTime is null and new.endTime is not null and ${isRouted("new.tenant")}
    begin insert into alert_outbox (tenant, alertIntID, kind, at)
      values (new.tenant, new.id, ${outboxKinds.ended}, new.endTime); end`,
  `create trigger alert_gone after delete on alert
    when old.endTime is null and ${isRouted("old.tenant")}
    begin insert into alert_outbox (tenant, alertIntID, kind, at)
      values (old.tenant, old.id, ${outboxKinds.ended}, cast(unixepoch('subsec') * 1000 as integer)); end`,
  // Alerts of one route that go into one message; `part` counts on when a group has as many members as it may have.
  // Every writer checks `version`.
  `create table notification_group (
    id integer primary key autoincrement,
    tenant integer not null,
    routeIntID integer not null references alert_route (id) on delete cascade,
    groupKey text not null,
    part integer not null,
    members integer not null default 0,
    unlisted integer not null default 0,
    sentAt integer,
    nextAt integer,
    version integer not null default 0,
    unique (routeIntID, groupKey, part)
  ) strict`,
  "create index notification_group_due on notification_group (tenant, nextAt) where nextAt is not null",
  "create index notification_group_tenant on notification_group (tenant, members)",
  // The content to send about an alert is stored here, because its device may be deleted before. `told`: 0 nothing was
  // sent, 1 its beginning was sent, 2 a silence suppresses it.
  `create table notification_member (
    id integer primary key autoincrement,
    groupIntID integer not null references notification_group (id) on delete cascade,
    alertIntID integer not null,
    deviceIntID integer not null,
    productIntID integer not null,
    alertSeverity integer not null,
    alert text not null,
    endTime integer,
    told integer not null default 0,
    unique (groupIntID, alertIntID)
  ) strict`,
  "create index notification_member_alert on notification_member (alertIntID)",
  `create trigger notification_member_added after insert on notification_member
    begin update notification_group set members = members + 1 where id = new.groupIntID; end`,
  `create trigger notification_member_removed after delete on notification_member
    begin update notification_group set members = members - 1 where id = old.groupIntID; end`,
  // One message to one contact point; `message` is kept while it may still be sent, and shown afterwards.
  `create table notification (
    id integer primary key autoincrement,
    tenant integer not null,
    contactPointIntID integer references contact_point (id) on delete set null,
    contactPointName text not null,
    type text not null,
    routeIntID integer,
    routeName text,
    kind text not null,
    alertCount integer not null,
    status text not null,
    attempts integer not null default 0,
    answer text,
    nextAt integer,
    deliveredAt integer,
    createAt integer not null,
    updateAt integer,
    message text not null
  ) strict`,
  "create index notification_tenant on notification (tenant, id)",
  "create index notification_point on notification (contactPointIntID, id)",
  "create index notification_waiting on notification (contactPointIntID, nextAt, id) where nextAt is not null",
  "create index notification_queue on notification (tenant) where nextAt is not null",
  `create trigger contact_point_gone before delete on contact_point
    begin update notification set nextAt = null, status = 'failed', answer = 'the contact point was deleted'
      where contactPointIntID = old.id and nextAt is not null; end`,
  // Among processes that share a metadata store, the one that holds the lease sends.
  `create table notifier_lease (
    id integer primary key check (id = 1),
    node integer not null,
    until integer not null
  ) strict`,
];
