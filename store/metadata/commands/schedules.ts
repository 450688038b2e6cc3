import { type Actor, deleteStatements, insertStatements } from "../db/changes.js";
import type { Db, SqlValue } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import { formatBytesSql } from "../db/page-bytes.js";
import {
  integerColumn,
  type Listing,
  never,
  type Page,
  type PageRequest,
  stamps,
  textColumn,
  time,
} from "../db/table.js";

/** publishType: whether a schedule publishes to a device or a group. */
export const publishTypes = { device: 0, group: 1 } as const;
/** scheduleType: once, repeatedly, or ended. */
export const scheduleTypes = { once: 0, repeated: 1, ended: 2 } as const;

/** A command to be sent at a time, or repeatedly. Times are milliseconds since 1970. */
export interface Schedule {
  readonly id: number;
  readonly scheduleName: string;
  readonly scheduleType: number;
  readonly IntervalMinute: number | null;
  readonly crontabTime: number | null;
  readonly crontab: string | null;
  /** When it runs next; null: never again. */
  readonly nextAt: number | null;
  readonly payload: ArrayBuffer;
  readonly topic: string;
  readonly publishType: number;
  readonly deviceIntID: number | null;
  readonly deviceName: string | null;
  readonly groupIntID: number | null;
  readonly groupName: string | null;
  readonly createUser: string | null;
  readonly userIntID: number | null;
  readonly createAt: number;
  readonly updateAt: number | null;
}

const listing: Listing = {
  bytes: formatBytesSql("r.payload"),
  select: `r.id, r.scheduleName, r.scheduleType, r.IntervalMinute, r.crontabTime, r.crontab, r.nextAt, r.payload,
    r.topic,
    r.publishType, r.deviceIntID, d.deviceName, r.groupIntID, g.groupName, r.createUser, r.userIntID,
    r.createAt, r.updateAt`,
  from: `schedule r left join device d on d.id = r.deviceIntID
    left join device_group g on g.id = r.groupIntID`,
  filters: {
    scheduleName: textColumn("scheduleName"),
    scheduleType: integerColumn("scheduleType"),
    IntervalMinute: integerColumn("IntervalMinute"),
    topic: textColumn("topic"),
    publishType: integerColumn("publishType"),
    deviceIntID: integerColumn("deviceIntID"),
    deviceName: { column: "d.deviceName", type: "text" },
    groupIntID: integerColumn("groupIntID"),
    groupName: { column: "g.groupName", type: "text" },
    username: textColumn("createUser"),
    createUser: textColumn("createUser"),
    userIntID: integerColumn("userIntID"),
    IntervalHour: never("integer"),
    IntervalWeek: never("integer"),
    crontabTime: time("crontabTime"),
    crontab: textColumn("crontab"),
    nextAt: time("nextAt"),
    // The payload is bytes that are shown as text.
    payload: { column: "r.payload", type: "text", where: "r.payload = cast(? as blob)" },
    ...stamps,
  },
};

export const scheduleFilters = listing.filters;
export const deviceScheduleIDs = { name: "schedule", column: null, scope: "publishType = 0" } as const;
export const groupScheduleIDs = { name: "schedule", column: null, scope: "publishType = 1" } as const;

/** Schedules of the whole tenant, or of one device or group. */
export function listSchedules(
  db: Db,
  tenant: number,
  request: PageRequest,
  owner: { readonly deviceIntID: number } | { readonly groupIntID: number } | null,
): Promise<Page<Schedule>> {
  if (owner === null) return listRows<Schedule>(db, listing, tenant, request);
  const scope =
    "deviceIntID" in owner
      ? { sql: "r.deviceIntID = ?", args: [owner.deviceIntID] }
      : { sql: "r.groupIntID = ?", args: [owner.groupIntID] };
  return listRows<Schedule>(db, listing, tenant, request, scope);
}

export interface NewSchedule {
  readonly publishType: number;
  readonly deviceIntID: number | null;
  readonly groupIntID: number | null;
  readonly scheduleName: string;
  readonly scheduleType: number;
  readonly IntervalMinute: number | null;
  readonly crontabTime: number | null;
  readonly crontab: string | null;
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: number;
  readonly ttl: number;
  readonly needAck: number;
  /** When it is due next. */
  readonly nextAt: number;
  /** For a cron schedule: the rules of the zone that nextAt follows from; else null. */
  readonly zoneRules: string | null;
}

/** @throws StoreError REFERENCED if the device or group has just been deleted */
export async function createSchedule(db: Db, actor: Actor, now: number, input: NewSchedule): Promise<void> {
  const { payload, zoneRules, ...audit } = input;
  const columns: Record<string, SqlValue> = { ...audit, zoneRules, payload };
  await db.write(insertStatements("schedule", actor, now, columns, audit));
}

export async function removeSchedules(
  db: Db,
  actor: Actor,
  now: number,
  ids: readonly number[],
): Promise<void> {
  await db.write(deleteStatements("schedule", actor, now, ids));
}
