import { type BoundedListing, devicesMax, listBounded, listOfDevices } from "../db/bounded-list.js";
import type { Actor } from "../db/changes.js";
import type { Db, Statement } from "../db/db.js";
import { formatBytesSql } from "../db/page-bytes.js";
import { insertInto, integerColumn, type Page, type PageRequest, stamps, textColumn } from "../db/table.js";

/** 0 failed, 1 issued, 2 confirmed, 3 no receipt needed. */
export const publishStatuses = { failed: 0, issued: 1, confirmed: 2, noReceipt: 3 } as const;
type PublishStatus = (typeof publishStatuses)[keyof typeof publishStatuses];

/** One downlink message to one device. */
export interface ControlLog {
  readonly id: number;
  readonly deviceIntID: number;
  /** The present name, or the last one of a deleted device. */
  readonly deviceName: string | null;
  readonly topic: string;
  readonly payload: ArrayBuffer;
  readonly publishStatus: PublishStatus;
  readonly publishUser: string | null;
  readonly userIntID: number | null;
  readonly createAt: number;
  readonly updateAt: number | null;
}

/** One downlink message to a group. */
export interface GroupControlLog extends Omit<ControlLog, "deviceIntID" | "deviceName"> {
  readonly groupID: string;
  readonly groupName: string;
}

const logFilters = {
  topic: textColumn("topic"),
  payload: textColumn("payload"),
  publishStatus: integerColumn("publishStatus"),
  publishUser: textColumn("publishUser"),
  userIntID: integerColumn("userIntID"),
  ...stamps,
} as const;

/**
 * A member's log has no payload of its own, only that of its group's log; earlier versions stored one for each member.
 */
const payloadColumn = "iif(r.groupLogIntID is null or length(r.payload) > 0, r.payload, l.payload)";
/** The bytes of the payload, found without reading it. */
const payloadBytes = `iif(r.groupLogIntID is null or octet_length(r.payload) > 0, octet_length(r.payload),
  coalesce(octet_length(l.payload), 0))`;

/** Tests a payload against a filter; supplied by the caller, which knows how payloads are shown. */
type PayloadTest = (payload: Uint8Array, like: boolean, value: string) => boolean;

const payloadTests = (column: string, test: PayloadTest): BoundedListing["tests"] => ({
  payload: {
    column,
    test: (bytes, { like, value }) => test(bytes, like, String(value)),
  },
});

export const controlLogFilters = {
  deviceName: textColumn("deviceName"),
  deviceID: textColumn("deviceID"),
  deviceIntID: integerColumn("deviceIntID"),
  ...logFilters,
};

const groupNameColumn = "coalesce(g.groupName, r.groupName)";
export const groupControlLogFilters = {
  groupID: textColumn("groupID"),
  groupName: { column: groupNameColumn, type: "text" },
  ...logFilters,
} as const;

const deviceListing: Omit<BoundedListing, "tests"> = {
  table: "control_log",
  select: `r.id, r.deviceIntID, coalesce(d.deviceName, e.deviceName) deviceName, r.topic,
    ${payloadColumn} payload, r.publishStatus, r.publishUser, r.userIntID, r.createAt, r.updateAt`,
  from: `control_log r left join device d on d.id = r.deviceIntID
    left join departed_device e on e.id = r.deviceIntID
    left join group_control_log l on l.id = r.groupLogIntID`,
  filters: controlLogFilters,
  bytes: payloadBytes,
  ascending: "createAt",
};

const groupListing: Omit<BoundedListing, "tests"> = {
  table: "group_control_log",
  select: `r.id, r.groupID, ${groupNameColumn} groupName, r.topic, r.payload, r.publishStatus, r.publishUser,
    r.userIntID, r.createAt, r.updateAt`,
  from: "group_control_log r left join device_group g on g.id = r.groupIntID",
  filters: groupControlLogFilters,
  bytes: formatBytesSql("r.payload"),
  ascending: "createAt",
};

/** Logs of every device of the tenant (null), or of some devices, which must then be the tenant's. */
export function listControlLogs(
  db: Db,
  tenant: number,
  devices: readonly number[] | null,
  request: PageRequest,
  test: PayloadTest,
): Promise<Page<ControlLog>> {
  const listing = { ...deviceListing, tests: payloadTests(payloadColumn, test) };
  const ofTenant = { sql: "r.tenant = ?", args: [tenant] };
  const [only] = devices ?? [];
  if (devices === null) return listBounded(db, listing, ofTenant, request);
  if (devices.length > devicesMax) return listBounded(db, listing, ofTenant, request, new Set(devices));
  if (devices.length === 1 && only !== undefined) {
    return listBounded(db, listing, { sql: "r.deviceIntID = ?", args: [only] }, request);
  }
  return listOfDevices(db, listing, devices, request);
}

export function listGroupControlLogs(
  db: Db,
  group: number,
  request: PageRequest,
  test: PayloadTest,
): Promise<Page<GroupControlLog>> {
  const listing = { ...groupListing, tests: payloadTests("r.payload", test) };
  return listBounded(db, listing, { sql: "r.groupIntID = ?", args: [group] }, request);
}

/** A downlink message before it is sent. */
export interface NewControlLog {
  readonly deviceIntID: number;
  readonly groupLogIntID: number | null;
  /** The process that issues it. */
  readonly node: number;
  readonly topic: string;
  /** Stored once: a member's log uses that of the group's log. */
  readonly payload: Uint8Array;
  /** The QoS that the receiver is granted. */
  readonly qos: number;
  /** Seconds that the message may wait. */
  readonly ttl: number;
  readonly publishStatus: PublishStatus;
}

export function insertLog(actor: Actor, now: number, { ttl, ...log }: NewControlLog): Statement {
  const { tenant, username: publishUser, userIntID } = actor;
  const expiresAt = log.publishStatus === publishStatuses.issued ? now + ttl * 1000 : null;
  return insertInto("control_log", { tenant, ...log, expiresAt, publishUser, userIntID, createAt: now });
}

/**
 * Inserts the logs of several devices, all of one command, if the statement before it, in the same transaction, changed
 * one row. Those of a group's members leave the payload to the group's log. Its rows are their ids, in the same order.
 */
export function insertMemberLogs(actor: Actor, now: number, logs: readonly NewControlLog[]): Statement {
  const { tenant, username, userIntID } = actor;
  const [{ node, topic, ttl, groupLogIntID, payload }] = logs as [NewControlLog];
  const own = groupLogIntID === null ? payload : new Uint8Array(0);
  const rows = logs.map(({ deviceIntID, qos, publishStatus }) => [deviceIntID, qos, publishStatus]);
  return {
    sql: `insert into control_log (tenant, node, topic, groupLogIntID, publishUser, userIntID, createAt, payload,
        deviceIntID, qos, publishStatus, expiresAt)
      select ?, ?, ?, ?, ?, ?, ?, ?, value ->> 0, value ->> 1, value ->> 2,
        iif(value ->> 2 = ${publishStatuses.issued}, ?, null)
      from json_each(?) where changes() = 1 order by key returning id`,
    args: [tenant, node, topic, groupLogIntID, username, userIntID, now, own, now + ttl * 1000, rows],
    rows: logs.length,
  };
}

/** Returns the record id. */
export async function createControlLog(
  db: Db,
  actor: Actor,
  now: number,
  log: NewControlLog,
): Promise<number> {
  const [made] = await db.write([insertLog(actor, now, log)]);
  return Number(made?.lastInsertRowid);
}

/** A status that has become known for issued messages. */
export interface StatusChange {
  readonly id: number;
  readonly groupLogIntID: number | null;
  readonly publishStatus: PublishStatus;
}

/** Gives issued messages their new status, many in one write, and counts them in the logs of their groups. */
export async function moveControlLogs(db: Db, now: number, changes: readonly StatusChange[]): Promise<void> {
  const parts = new Map<string, StatusChange[]>();
  for (const change of changes) {
    const key = `${change.groupLogIntID} ${change.publishStatus}`;
    const part = parts.get(key);
    if (part === undefined) parts.set(key, [change]);
    else part.push(change);
  }
  const statements = [...parts.values()].flatMap((part) => {
    const [{ groupLogIntID, publishStatus }] = part as [StatusChange];
    return moved(
      now,
      groupLogIntID,
      publishStatus,
      part.map(({ id }) => id),
    );
  });
  await db.write(statements);
}

/** `changes()` counts the rows that changed: for a second caller, none. */
function moved(
  now: number,
  group: number | null,
  status: PublishStatus,
  ids: readonly number[],
): Statement[] {
  const move = (from: PublishStatus): Statement => ({
    sql: `update control_log set publishStatus = ?, updateAt = ?
      where id in (select value from json_each(?)) and publishStatus = ?`,
    args: [status, now, ids, from],
  });
  const count = (sets: string): Statement[] =>
    group === null ? [] : [{ sql: `update group_control_log set ${sets} where id = ?`, args: [group] }];
  const { failed, issued } = publishStatuses;
  const settle = group === null ? [] : [updateGroupStatus(now, group)];
  if (status === failed) {
    const sets = "handedOver = handedOver - changes(), failed = failed + changes()";
    return [move(issued), ...count(sets), ...settle];
  }
  // The message may have been given up before its receipt came after all, or the word that it was sent.
  const after = `confirmed = confirmed + changes(), handedOver = handedOver + changes(),
    failed = failed - changes()`;
  return [
    ...[move(issued), ...count("confirmed = confirmed + changes()")],
    ...[move(failed), ...count(after)],
    ...settle,
  ];
}

/**
 * Once every member has had its turn: 2 if all have confirmed, 0 if none got the message. handedOver counts messages
 * that are with a client or confirmed; one that turns out to have failed is no longer counted.
 */
export function updateGroupStatus(now: number, group: number): Statement {
  const settled = `case when handedOver = 0 then ${publishStatuses.failed}
    when failed = 0 and confirmed >= handedOver then ${publishStatuses.confirmed}
    else ${publishStatuses.issued} end`;
  return {
    sql: `update group_control_log set publishStatus = ${settled}, updateAt = ?
      where id = ? and ended = 1 and publishStatus <> ${publishStatuses.noReceipt} and ${settled} <> publishStatus`,
    args: [now, group],
  };
}

/** A message that waits for its receipt. */
export interface IssuedLog {
  readonly id: number;
  readonly groupLogIntID: number | null;
}

/** Messages that a process has issued, above a record id, ascending. */
export function issuedLogs(db: Db, node: number, after: number, limit: number): Promise<IssuedLog[]> {
  return db.all<IssuedLog>(
    `select id, groupLogIntID from control_log indexed by control_log_issued
     where publishStatus = ${publishStatuses.issued} and node = ? and id > ? order by id limit ?`,
    [node, after, limit],
  );
}

/** Expired messages of every process, the oldest first. */
export function expiredLogs(db: Db, now: number, limit: number): Promise<IssuedLog[]> {
  return db.all<IssuedLog>(
    `select id, groupLogIntID from control_log indexed by control_log_issued
     where publishStatus = ${publishStatuses.issued} and expiresAt <= ? order by expiresAt limit ?`,
    [now, limit],
  );
}

/** The groups' logs that logs belong to, by the record ids of these logs. */
export async function findGroupLogs(db: Db, ids: readonly number[]): Promise<Map<number, number>> {
  const rows = await db.all<{ id: number; groupLogIntID: number }>(
    `select id, groupLogIntID from control_log
     where id in (select value from json_each(?)) and groupLogIntID is not null`,
    [ids],
  );
  return new Map(rows.map(({ id, groupLogIntID }) => [id, groupLogIntID]));
}

/**
 * Removes up to `limit` of the oldest rows of each log that were made before a time; groups' logs go after those of
 * their members, because they hold the payload. Returns an upper bound of the number removed.
 */
export async function removeOldControlLogs(db: Db, createdBefore: number, limit: number): Promise<number> {
  // Ids ascend with time, so the oldest rows come first and no index on the time is needed.
  const old = (table: string): Statement => ({
    sql: `delete from ${table} where id in (select id from ${table} order by id limit ?) and createAt < ?`,
    args: [limit, createdBefore],
  });
  const groups = old("group_control_log");
  const free = "not exists (select 1 from control_log c where c.groupLogIntID = group_control_log.id)";
  const results = await db.write([old("control_log"), { ...groups, sql: `${groups.sql} and ${free}` }]);
  return Math.max(...results.map(({ rowsAffected }) => rowsAffected));
}
