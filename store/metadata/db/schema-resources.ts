/**
 * Tables added after the first schema: gateways, groups, policies, certificates, commands, alerts, templates, tasks.
 */
export const resourcesSchema: readonly string[] = [
  "alter table device add column gatewayProtocol integer",
  "alter table device add column upLinkNetwork integer",
  "alter table device add column upLinkProtocol integer",
  "alter table device add column mac text",
  "drop index device_name",
  "create unique index device_name on device (productIntID, deviceName) where kind = 'device'",
  // An expression, so that the error names the index and the field is gatewayName.
  "create unique index gateway_name on device (tenant, coalesce(deviceName, '')) where kind = 'gateway'",
  `create table device_group (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    productIntID integer not null references product (id),
    groupID text not null unique,
    groupName text not null,
    description text,
    userIntID integer,
    createUser text,
    createAt integer not null,
    updateAt integer,
    unique (tenant, groupName)
  ) strict`,
  "create index device_group_tenant on device_group (tenant, id)",
  "create index device_group_product on device_group (productIntID, id)",
  `create table group_member (
    groupIntID integer not null references device_group (id) on delete cascade,
    deviceIntID integer not null references device (id) on delete cascade,
    primary key (groupIntID, deviceIntID)
  ) strict, without rowid`,
  "create index group_member_device on group_member (deviceIntID)",
  `create table policy (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    name text not null,
    topic text not null,
    access integer not null,
    allow integer not null,
    description text,
    userIntID integer,
    createUser text,
    createAt integer not null,
    updateAt integer,
    unique (tenant, name)
  ) strict`,
  "create index policy_tenant on policy (tenant, id)",
  `create table policy_device (
    id integer primary key autoincrement,
    policyIntID integer not null references policy (id) on delete cascade,
    deviceIntID integer not null references device (id) on delete cascade,
    unique (policyIntID, deviceIntID)
  ) strict`,
  "create index policy_device_device on policy_device (deviceIntID)",
  // The newest bindings of a policy, for its mqtt_acl.
  "create index policy_device_newest on policy_device (policyIntID, id)",
  // The deployment's own authority: one row.
  `create table authority (
    id integer primary key autoincrement,
    cert text not null,
    key blob not null,
    createAt integer not null
  ) strict`,
  // Every authority that has signed for this deployment: its certificates must still be recognised.
  `create table authority_root (
    root text primary key,
    createAt integer not null
  ) strict`,
  `create table cert (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    name text not null,
    enable integer not null,
    CN text not null unique,
    cert text not null,
    key blob not null,
    root text not null,
    fingerprint text not null unique,
    expiresAt integer not null,
    userIntID integer,
    createUser text,
    createAt integer not null,
    updateAt integer,
    unique (tenant, name)
  ) strict`,
  "create index cert_tenant on cert (tenant, id)",
  `create table cert_device (
    id integer primary key autoincrement,
    certIntID integer not null references cert (id),
    deviceIntID integer not null references device (id) on delete cascade,
    unique (certIntID, deviceIntID)
  ) strict`,
  "create index cert_device_device on cert_device (deviceIntID)",
  // Subscriptions of one device, or of every device of a product or group: exactly one of the three owners is set.
  `create table subscription (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    deviceIntID integer references device (id) on delete cascade,
    productIntID integer references product (id) on delete cascade,
    groupIntID integer references device_group (id) on delete cascade,
    topic text not null,
    qos integer not null default 1,
    userIntID integer,
    createUser text,
    createAt integer not null,
    updateAt integer
  ) strict`,
  `create unique index subscription_topic on subscription
    (coalesce(deviceIntID, 0), coalesce(productIntID, 0), coalesce(groupIntID, 0), topic)`,
  "create index subscription_device on subscription (deviceIntID) where deviceIntID is not null",
  "create index subscription_product on subscription (productIntID) where productIntID is not null",
  "create index subscription_group on subscription (groupIntID) where groupIntID is not null",
  // Downlink messages. They outlive their device and group, with the names these had. The payload comes last, so that a
  // filter on other columns never reads its pages.
  `create table group_control_log (
    id integer primary key autoincrement,
    tenant integer not null,
    groupIntID integer not null,
    groupID text not null,
    groupName text not null,
    topic text not null,
    needAck integer not null,
    publishStatus integer not null,
    publishUser text,
    userIntID integer,
    task text not null unique,
    lastMember integer not null default 0,
    handedOver integer not null default 0,
    failed integer not null default 0,
    confirmed integer not null default 0,
    ended integer not null default 0,
    createAt integer not null,
    updateAt integer,
    payload blob not null
  ) strict`,
  "create index group_control_log_tenant on group_control_log (tenant, id)",
  "create index group_control_log_group on group_control_log (groupIntID, id)",
  `create table control_log (
    id integer primary key autoincrement,
    tenant integer not null,
    deviceIntID integer not null,
    groupLogIntID integer,
    topic text not null,
    qos integer not null,
    expiresAt integer,
    publishStatus integer not null,
    publishUser text,
    userIntID integer,
    createAt integer not null,
    updateAt integer,
    payload blob not null
  ) strict`,
  "create index control_log_tenant on control_log (tenant, id)",
  "create index control_log_device on control_log (deviceIntID, id)",
  "create index control_log_group on control_log (groupLogIntID, deviceIntID) where groupLogIntID is not null",
  `create table schedule (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    publishType integer not null,
    deviceIntID integer references device (id) on delete cascade,
    groupIntID integer references device_group (id) on delete cascade,
    scheduleName text not null,
    scheduleType integer not null,
    IntervalMinute integer,
    crontabTime integer,
    crontab text,
    topic text not null,
    payload blob not null,
    qos integer not null default 1,
    ttl integer not null default 3600,
    needAck integer not null default 1,
    nextAt integer,
    userIntID integer,
    createUser text,
    createAt integer not null,
    updateAt integer
  ) strict`,
  "create index schedule_tenant on schedule (tenant, id)",
  "create index schedule_device on schedule (deviceIntID, id) where deviceIntID is not null",
  "create index schedule_group on schedule (groupIntID, id) where groupIntID is not null",
  "create index schedule_next on schedule (nextAt) where nextAt is not null",
  // Current until endTime is set; it keeps its id when it becomes history.
  `create table alert (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    deviceIntID integer not null references device (id) on delete cascade,
    cause text not null,
    alertName text not null,
    alertContent text not null,
    alertSeverity integer not null,
    alertTimes integer not null default 1,
    alertDetail text not null default '{}',
    startTime integer not null,
    endTime integer,
    createAt integer not null,
    updateAt integer
  ) strict`,
  "create unique index alert_cause on alert (deviceIntID, cause) where endTime is null",
  "create index alert_current on alert (tenant, id) where endTime is null",
  "create index alert_history on alert (tenant, id) where endTime is not null",
  "create index alert_device on alert (deviceIntID)",
  `create table product_resource (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    productIntID integer not null references product (id),
    codeValue text not null,
    dataPointIntID integer not null references data_point (id),
    productItemIntID integer,
    userIntID integer,
    createUser text,
    createAt integer not null,
    updateAt integer
  ) strict`,
  "create index product_resource_tenant on product_resource (tenant, id)",
  "create index product_resource_product on product_resource (productIntID, id)",
  "create index product_resource_point on product_resource (dataPointIntID)",
  `create table app_template (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    productIntID integer not null references product (id),
    templateName text not null,
    templateType integer not null,
    dataPointIntID integer not null references data_point (id),
    dataStreamIntID integer references data_stream (id),
    topic text,
    places text,
    productItemIntID integer,
    instanceID integer,
    itemID integer,
    itemName text,
    itemOperations text,
    objectID integer,
    userIntID integer,
    createUser text,
    createAt integer not null,
    updateAt integer
  ) strict`,
  "create index app_template_tenant on app_template (tenant, id)",
  "create index app_template_product on app_template (productIntID, id)",
  "create index app_template_point on app_template (dataPointIntID)",
  "create index app_template_stream on app_template (dataStreamIntID) where dataStreamIntID is not null",
  // The defaultValues of a template, in their order; `value` is JSON.
  `create table template_default (
    templateIntID integer not null references app_template (id) on delete cascade,
    ordinal integer not null,
    dataPointIntID integer not null references data_point (id),
    value text not null,
    primary key (templateIntID, ordinal)
  ) strict`,
  "create index template_default_point on template_default (dataPointIntID)",
  // `node` is the process that works on the task; the task's files are in that process's folder.
  `create table task (
    id text primary key,
    tenant integer not null references tenant (id),
    kind text not null,
    state text not null,
    current integer not null default 0,
    msg text,
    input text not null,
    file text,
    node integer not null,
    userIntID integer,
    username text,
    createAt integer not null,
    updateAt integer
  ) strict, without rowid`,
  "create index task_age on task (createAt)",
  // The columns that lists of devices filter and count by, apart from the rows, which are ten times as wide.
  "drop index device_tenant",
  "create index device_tenant on device (tenant, id, kind, deviceName, deviceID, productIntID, deviceType)",
  "drop index device_product",
  "create index device_product on device (productIntID, id, kind, tenant)",
  // A tenant without an administrator could never be entered again.
  `create trigger user_demote before update of role on user
    when old.role = 'admin' and new.role <> 'admin'
      and not exists (select 1 from user where tenant = old.tenant and role = 'admin' and id <> old.id)
    begin select raise(abort, 'ADMIN constraint failed'); end`,
  `create trigger user_remove before delete on user
    when old.role = 'admin'
      and not exists (select 1 from user where tenant = old.tenant and role = 'admin' and id <> old.id)
    begin select raise(abort, 'ADMIN constraint failed'); end`,
];
