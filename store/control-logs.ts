import { type BoundedListing, devicesMax, listBounded, listOfDevices } from "./bounded-list.js";
import type { Actor } from "./changes.js";
import type { Db, Statement } from "./db.js";
import { insertInto, integer, type Page, type PageRequest, text } from "./table.js";

/** 0 failed, 1 issued, 2 confirmed, 3 no receipt needed. */
export const publishStatuses = { failed: 0, issued: 1, confirmed: 2, unconfirmed: 3 } as const;
export type PublishStatus = (typeof publishStatuses)[keyof typeof publishStatuses];

/** One downlink message to one device. */
export interface ControlLog {
  readonly id: number;
  readonly deviceIntID: number;
  /** The present name, after deletion the last. */
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
  topic: text("topic"),
  payload: text("payload"),
  publishStatus: integer("publishStatus"),
  publishUser: text("publishUser"),
  userIntID: integer("userIntID"),
} as const;

/** How a filter looks at a payload; given by whoever knows how payloads are shown. */
export type PayloadTest = (payload: Uint8Array, like: boolean, value: string) => boolean;

const payloadTests = (test: PayloadTest): BoundedListing["tests"] => ({
  payload: {
    column: "r.payload",
    test: (bytes, { like, value }) => test(bytes, like, String(value)),
  },
});

export const controlLogFilters = {
  deviceName: text("deviceName"),
  deviceID: text("deviceID"),
  deviceIntID: integer("deviceIntID"),
  ...logFilters,
};

const groupNameColumn = "coalesce(g.groupName, r.groupName)";
export const groupControlLogFilters = {
  groupID: text("groupID"),
  groupName: { column: groupNameColumn, type: "text" },
  ...logFilters,
} as const;

const deviceListing: Omit<BoundedListing, "tests"> = {
  table: "control_log",
  select: `r.id, r.deviceIntID, coalesce(d.deviceName, e.deviceName) deviceName, r.topic, r.payload,
    r.publishStatus, r.publishUser, r.userIntID, r.createAt, r.updateAt`,
  from: `control_log r left join device d on d.id = r.deviceIntID
    left join departed_device e on e.id = r.deviceIntID`,
  filters: controlLogFilters,
};

const groupListing: Omit<BoundedListing, "tests"> = {
  table: "group_control_log",
  select: `r.id, r.groupID, ${groupNameColumn} groupName, r.topic, r.payload, r.publishStatus, r.publishUser,
    r.userIntID, r.createAt, r.updateAt`,
  from: "group_control_log r left join device_group g on g.id = r.groupIntID",
  filters: groupControlLogFilters,
};

/** Of every device of the tenant (null), or of some, which then are of the tenant. */
export function listControlLogs(
  db: Db,
  tenant: number,
  devices: readonly number[] | null,
  request: PageRequest,
  test: PayloadTest,
): Promise<Page<ControlLog>> {
  const listing = { ...deviceListing, tests: payloadTests(test) };
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
  const listing = { ...groupListing, tests: payloadTests(test) };
  return listBounded(db, listing, { sql: "r.groupIntID = ?", args: [group] }, request);
}

/** A downlink message before it is sent. */
export interface NewControlLog {
  readonly deviceIntID: number;
  readonly groupLogIntID: number | null;
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: number;
  /** Seconds that it may wait. */
  readonly ttl: number;
  readonly publishStatus: PublishStatus;
}

export function insertLog(actor: Actor, now: number, { ttl, ...log }: NewControlLog): Statement {
  const { tenant, username: publishUser, userIntID } = actor;
  const expiresAt = log.publishStatus === publishStatuses.issued ? now + ttl * 1000 : null;
  return insertInto("control_log", { tenant, ...log, expiresAt, publishUser, userIntID, createAt: now });
}

/** Answers the record id. */
export async function createControlLog(
  db: Db,
  actor: Actor,
  now: number,
  log: NewControlLog,
): Promise<number> {
  const [made] = await db.write([insertLog(actor, now, log)]);
  return Number(made?.lastInsertRowid);
}

/** A status that is known of issued messages now. */
export interface StatusChange {
  readonly id: number;
  readonly groupLogIntID: number | null;
  readonly publishStatus: PublishStatus;
}

/** Moves issued messages on, many in one write, and counts them on the logs of their groups. */
export async function moveControlLogs(db: Db, now: number, changes: readonly StatusChange[]): Promise<void> {
  const statements: Statement[] = [];
  for (const status of new Set(changes.map(({ publishStatus }) => publishStatus))) {
    const ids = changes.filter(({ publishStatus }) => publishStatus === status).map(({ id }) => id);
    statements.push({
      sql: `update control_log set publishStatus = ?, updateAt = ?
        where id in (select value from json_each(?)) and publishStatus = ${publishStatuses.issued}`,
      args: [status, now, ids],
    });
  }
  for (const [group, counts] of countsOfGroups(changes)) {
    statements.push(...moveGroupLog(now, group, counts));
  }
  await db.write(statements);
}

interface GroupCounts {
  confirmed: number;
  failed: number;
}

function countsOfGroups(changes: readonly StatusChange[]): Map<number, GroupCounts> {
  const groups = new Map<number, GroupCounts>();
  for (const { groupLogIntID, publishStatus } of changes) {
    if (groupLogIntID === null) continue;
    const counts = groups.get(groupLogIntID) ?? { confirmed: 0, failed: 0 };
    if (publishStatus === publishStatuses.failed) counts.failed++;
    else counts.confirmed++;
    groups.set(groupLogIntID, counts);
  }
  return groups;
}

/** handedOver counts what is with a client or confirmed; what turns out to have failed leaves it. */
function moveGroupLog(now: number, group: number, { confirmed, failed }: GroupCounts): Statement[] {
  return [
    {
      sql: `update group_control_log set confirmed = confirmed + ?, handedOver = handedOver - ?,
        failed = failed + ? where id = ?`,
      args: [confirmed, failed, failed, group],
    },
    settleGroupLog(now, group),
  ];
}

/** Once every member has its turn: 2 when all have confirmed, 0 when none got it. */
export function settleGroupLog(now: number, group: number): Statement {
  const settled = `case when handedOver = 0 then ${publishStatuses.failed}
    when failed = 0 and confirmed >= handedOver then ${publishStatuses.confirmed}
    else ${publishStatuses.issued} end`;
  return {
    sql: `update group_control_log set publishStatus = ${settled}, updateAt = ?
      where id = ? and ended = 1 and publishStatus = ${publishStatuses.issued} and ${settled} <> publishStatus`,
    args: [now, group],
  };
}

/** Removes up to `limit` of the oldest rows of each log that were made before a time; answers how many at most. */
export async function removeOldControlLogs(db: Db, createdBefore: number, limit: number): Promise<number> {
  const results = await db.write(
    ["control_log", "group_control_log"].map((table) => ({
      // Ids ascend with time, so the oldest stand first and no index on the time is needed.
      sql: `delete from ${table} where id in (select id from ${table} order by id limit ?) and createAt < ?`,
      args: [limit, createdBefore],
    })),
  );
  return Math.max(...results.map(({ rowsAffected }) => rowsAffected));
}
