/**
 * The first schema. Columns have the names of the interface's fields, so that a field has the same name in every layer.
 * Times are milliseconds since 1970 (UTC). `tenant` is the record id of the owning tenant.
 */
export const schema: readonly string[] = [
  `create table tenant (
    id integer primary key autoincrement,
    tenantID text not null unique,
    tenantName text not null unique,
    createAt integer not null
  ) strict`,
  `create table user (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    username text not null unique,
    passwordHash text not null,
    role text not null,
    createAt integer not null,
    updateAt integer
  ) strict`,
  `create table api_key (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    userIntID integer not null references user (id) on delete cascade,
    name text,
    appID text not null unique,
    secretHash text not null,
    role text not null,
    expiresAt integer,
    createAt integer not null
  ) strict`,
  `create table session (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    userIntID integer not null references user (id) on delete cascade,
    tokenHash text not null unique,
    expiresAt integer not null,
    createAt integer not null
  ) strict`,
  `create table change (
    id integer primary key autoincrement,
    tenant integer not null,
    userIntID integer,
    username text,
    at integer not null,
    action text not null,
    entity text not null,
    recordID integer not null,
    detail text
  ) strict`,
  `create index change_tenant on change (tenant, id)`,
  `create table product (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    productID text not null unique,
    productName text not null,
    description text,
    cloudProtocol integer not null,
    userIntID integer,
    createUser text,
    createAt integer not null,
    updateAt integer,
    unique (tenant, productName)
  ) strict`,
  `create table device (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    kind text not null default 'device',
    deviceID text not null unique,
    deviceName text not null,
    deviceUsername text not null unique,
    token blob not null,
    authType integer not null default 1,
    blocked integer not null default 0,
    deviceStatus integer not null default 0,
    deviceType integer,
    upLinkSystem integer,
    gateway integer references device (id),
    parentDevice integer references device (id),
    productIntID integer not null references product (id),
    modBusIndex integer,
    carrier integer,
    physicalNetwork integer,
    IMEI text,
    IMSI text,
    autoSub integer,
    manufacturer text,
    serialNumber text,
    softVersion text,
    hardwareVersion text,
    description text,
    deviceConsoleIP text,
    deviceConsolePort integer,
    deviceConsoleUsername text,
    latitude real,
    longitude real,
    location text,
    lora text,
    metaData text,
    scopes text not null default '[]',
    clientIP text,
    connectedAt integer,
    keepAlive integer,
    node integer,
    userIntID integer,
    createUser text,
    createAt integer not null,
    updateAt integer
  ) strict`,
  `create unique index device_name on device (productIntID, deviceName)`,
  `create unique index device_modbus on device
    (coalesce(gateway, 0), coalesce(parentDevice, 0),
     case when gateway is null and parentDevice is null then productIntID else 0 end, modBusIndex)
    where modBusIndex is not null`,
  `create index device_tenant on device (tenant, id)`,
  `create index device_product on device (productIntID, id)`,
  `create index device_gateway on device (gateway) where gateway is not null`,
  `create index device_parent on device (parentDevice) where parentDevice is not null`,
  `create index device_online on device (node) where deviceStatus <> 0`,
  // Devices whose points are still being removed; their deviceID is not free yet.
  `create table removal (
    id integer primary key autoincrement,
    tenant integer not null,
    productID text not null,
    deviceID text unique,
    field text,
    createAt integer not null
  ) strict`,
  `create trigger device_id_free before insert on device
    when exists (select 1 from removal where deviceID = new.deviceID)
    begin select raise(abort, 'UNIQUE constraint failed: device.deviceID'); end`,
  // Data points and streams share one id sequence.
  `create table point_sequence (id integer primary key autoincrement) strict`,
  // A data point that is created again under an old name begins a new series.
  `create table field_generation (
    productIntID integer not null references product (id) on delete cascade,
    dataPointID text not null,
    generation integer not null,
    primary key (productIntID, dataPointID)
  ) strict`,
  `create table data_point (
    id integer primary key,
    tenant integer not null references tenant (id),
    productIntID integer not null references product (id),
    dataPointID text not null,
    dataPointName text not null,
    field text not null,
    pointDataType integer not null,
    dataTransType integer not null,
    unitName text,
    unitSymbol text,
    upperLimit real,
    lowerLimit real,
    dataStep real,
    binarySize integer,
    faultValue text,
    isDiscard integer,
    "enum" text,
    isLocationType integer not null default 0,
    locationType integer,
    registerAddr text,
    detail text,
    createUser text,
    createAt integer not null,
    updateAt integer,
    unique (productIntID, dataPointID)
  ) strict`,
  `create index data_point_tenant on data_point (tenant, id)`,
  `create table data_stream (
    id integer primary key,
    tenant integer not null references tenant (id),
    productIntID integer not null references product (id),
    streamName text not null,
    streamType integer not null,
    streamDataType integer not null,
    topic text not null,
    detail text,
    userIntID integer,
    createUser text,
    createAt integer not null,
    updateAt integer
  ) strict`,
  `create unique index data_stream_name on data_stream (productIntID, streamName)`,
  // Types 1 and 3 go up, 2 and 4 go down.
  `create unique index data_stream_topic on data_stream (productIntID, streamType % 2, topic)`,
  `create index data_stream_tenant on data_stream (tenant, id)`,
  `create table stream_point (
    dataStreamIntID integer not null references data_stream (id) on delete cascade,
    ordinal integer not null,
    dataPointIntID integer not null references data_point (id),
    primary key (dataStreamIntID, ordinal)
  ) strict`,
  `create index stream_point_point on stream_point (dataPointIntID)`,
  `create table metric (
    id integer primary key autoincrement,
    tenant integer not null references tenant (id),
    productIntID integer not null references product (id),
    metricName text not null,
    metricType integer not null,
    dataPointIntID integer not null references data_point (id),
    aggregateType integer,
    aggregateData integer,
    chartType integer not null default 1,
    expressions text,
    isShow integer not null default 1,
    productItemIntID integer,
    remark text,
    userIntID integer,
    createUser text,
    createAt integer not null,
    updateAt integer
  ) strict`,
  `create unique index metric_name on metric (productIntID, metricName)`,
  `create index metric_point on metric (dataPointIntID)`,
  `create index metric_tenant on metric (tenant, id)`,
  `create table checkpoint (
    node integer not null,
    consumer text not null,
    journalID integer not null,
    primary key (node, consumer)
  ) strict`,
  // QoS 2 messages received and not released, as of checkpoint "sessions".
  `create table unreleased (
    node integer not null,
    device integer not null,
    session integer not null,
    messageID integer not null,
    primary key (node, device, session, messageID)
  ) strict, without rowid`,
  // Logs outlive the device that they concern, with the names it had.
  `create table departed_device (
    id integer primary key,
    tenant integer not null,
    deviceID text not null,
    deviceName text not null
  ) strict`,
  // Points that the series store will never take, kept for a person to look at.
  `create table quarantine (
    id integer primary key autoincrement,
    tenant integer not null,
    productID text not null,
    deviceID text not null,
    field text not null,
    time integer not null,
    value text not null,
    reason text not null,
    createAt integer not null
  ) strict`,
];
