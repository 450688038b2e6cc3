/** Data in depth: alert rules, and the messages and condition of each device. */
export const dataSchema: readonly string[] = [
  `create table alert_rule (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    productIntID integer not null references product (id),
    alertName text not null,
    alertContent text not null,
    alertSeverity integer not null,
    dataPointIntID integer not null references data_point (id),
    condition text not null,
    duration integer not null default 0,
    userIntID integer,
    createUser text,
    createAt integer not null,
    updateAt integer
  ) strict`,
  "create unique index alert_rule_name on alert_rule (productIntID, alertName)",
  "create index alert_rule_tenant on alert_rule (tenant, id)",
  "create index alert_rule_point on alert_rule (dataPointIntID)",
  // State of a device in a node's alerts consumer, as of journalID; `saves` counts its writes. No foreign key: a device
  // may be deleted while its last messages are on their way here.
  `create table device_ingest (
    deviceIntID integer not null,
    node integer not null,
    journalID integer not null,
    saves integer not null,
    messages integer not null,
    points integer not null,
    refused text not null,
    lastAt integer,
    offlineSince integer,
    state text not null,
    primary key (deviceIntID, node)
  ) strict, without rowid`,
  "create index device_ingest_offline on device_ingest (node) where offlineSince is not null",
  `create trigger device_ingest_gone after delete on device
    begin delete from device_ingest where deviceIntID = old.id; end`,
];
