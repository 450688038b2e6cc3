import type { Actor } from "../db/changes.js";
import type { Db, Statement } from "../db/db.js";
import { onlyIfChanged } from "../db/sql.js";
import { newTask, type Task } from "../tasks.js";
import type { CommandTarget } from "./command-targets.js";
import { insertLog, type NewControlLog } from "./control-logs.js";
import { publishTypes, scheduleTypes } from "./schedules.js";

/** A schedule whose time has come. */
interface Due {
  readonly scheduleIntID: number;
  readonly tenant: number;
  readonly scheduleType: number;
  readonly IntervalMinute: number | null;
  readonly crontab: string | null;
  readonly topic: string;
  readonly payload: ArrayBuffer;
  readonly qos: number;
  /** Seconds that its message may wait. */
  readonly ttl: number;
  /** When it was due, milliseconds since 1970. */
  readonly nextAt: number;
  readonly userIntID: number | null;
  readonly createUser: string | null;
}

export interface DueForDevice extends Due, CommandTarget {}

export interface DueForGroup extends Due {
  readonly needAck: number;
  readonly groupIntID: number;
  readonly groupID: string;
  readonly groupName: string;
}

const dueColumns = `s.id scheduleIntID, s.tenant, s.scheduleType, s.IntervalMinute, s.crontab, s.topic, s.payload,
  s.qos, s.ttl, s.nextAt, s.userIntID, s.createUser`;

/** Payload bytes of schedules that run together: they are read, logged and sent in one turn. */
const payloadBytesMax = 1024 * 1024;

/**
 * Schedules of devices that were due by `now`, the oldest first, up to 1 MiB of payloads. If a device is connected to
 * another process, its schedule is left to that process unless it was due before `elsewhereBefore`.
 */
export function dueForDevices(
  db: Db,
  { now, node, elsewhereBefore }: { now: number; node: number; elsewhereBefore: number },
  limit: number,
): Promise<DueForDevice[]> {
  return db.all<DueForDevice>(
    `with due as materialized (
       select s.id, s.nextAt, length(s.payload) bytes
       from schedule s indexed by schedule_next
         cross join device d on d.id = s.deviceIntID
         left join device c on c.id = coalesce(d.gateway, d.parentDevice)
       where s.nextAt <= ? and s.publishType = ${publishTypes.device}
         and (coalesce(d.node, c.node, ?) = ? or s.nextAt <= ?)
       order by s.nextAt, s.id limit ?),
     summed as (select id, sum(bytes) over (order by nextAt, id) - bytes before from due)
     select ${dueColumns}, d.id, d.deviceID, d.blocked, coalesce(d.gateway, d.parentDevice) carrier
     from summed cross join schedule s on s.id = summed.id cross join device d on d.id = s.deviceIntID
     where summed.before < ${payloadBytesMax}
     order by s.nextAt, s.id`,
    [now, node, node, elsewhereBefore, limit],
  );
}

export function dueForGroups(db: Db, now: number, limit: number): Promise<DueForGroup[]> {
  return db.all<DueForGroup>(
    `select ${dueColumns}, s.needAck, s.groupIntID, g.groupID, g.groupName
     from schedule s indexed by schedule_next cross join device_group g on g.id = s.groupIntID
     where s.nextAt <= ? and s.publishType = ${publishTypes.group} order by s.nextAt, s.id limit ?`,
    [now, limit],
  );
}

export type Repeated = Pick<Due, "scheduleIntID" | "scheduleType" | "IntervalMinute" | "crontab" | "nextAt">;

/** When a schedule runs next, milliseconds since 1970; null: never again. */
export interface NextRun {
  readonly nextAt: number | null;
  /** For a cron schedule: the wall-clock time of the run before, as if it were UTC; else null. */
  readonly ranWall: number | null;
  /** For a cron schedule: the rules of the zone that nextAt follows from; else null. */
  readonly zoneRules: string | null;
}

/** A cron schedule whose next run follows from other rules. */
export interface OtherwisePlanned extends Repeated {
  readonly crontab: string;
  readonly ranWall: number | null;
  /** Null: not noted. */
  readonly zoneRules: string | null;
  readonly createAt: number;
}

/**
 * Cron schedules whose next run follows from other rules than `zoneRules`, ascending from behind an id. Those that are
 * due between `dueBefore` and `now` are left to a process that may be about to run them.
 */
export function otherwisePlanned(
  db: Db,
  { zoneRules, dueBefore, now }: { zoneRules: string; dueBefore: number; now: number },
  after: number,
  limit: number,
): Promise<OtherwisePlanned[]> {
  return db.all<OtherwisePlanned>(
    `select id scheduleIntID, scheduleType, IntervalMinute, crontab, nextAt, ranWall, zoneRules, createAt
     from schedule where id > ? and crontab is not null and scheduleType = ${scheduleTypes.repeated}
       and zoneRules is not ? and (nextAt > ? or nextAt < ?) order by id limit ?`,
    [after, zoneRules, now, dueBefore, limit],
  );
}

/** Repeated schedules that were due before a time. */
export function missedRepeats(db: Db, before: number, limit: number): Promise<Repeated[]> {
  return db.all<Repeated>(
    `select id scheduleIntID, scheduleType, IntervalMinute, crontab, nextAt from schedule indexed by schedule_next
     where nextAt < ? and scheduleType = ${scheduleTypes.repeated} order by nextAt, id limit ?`,
    [before, limit],
  );
}

/** When the next schedule is due, milliseconds since 1970; null if none ever will be. */
export async function nextDueAt(db: Db): Promise<number | null> {
  const row = await db.first<{ at: number | null }>(
    "select min(nextAt) at from schedule where nextAt is not null",
  );
  return row?.at ?? null;
}

/** Claims or plans one run and stores when the next is due. Of several processes only one changes the row. */
export function claimRun(
  { scheduleIntID, nextAt }: Pick<Due, "scheduleIntID" | "nextAt">,
  next: NextRun,
): Statement {
  return {
    sql: `update schedule set nextAt = ?1, scheduleType = iif(?1 is null, ${scheduleTypes.ended}, scheduleType),
        ranWall = ?4, zoneRules = ?5
      where id = ?2 and nextAt = ?3`,
    args: [next.nextAt, scheduleIntID, nextAt, next.ranWall, next.zoneRules],
  };
}

/** A run for a device; its log is written in the same transaction. */
interface DeviceRun {
  readonly due: DueForDevice;
  readonly next: NextRun;
  readonly log: NewControlLog;
}

/**
 * Claims runs; returns the log's record id of each, or null if another process has claimed it or it has just been
 * deleted.
 */
export async function claimDeviceRuns(
  db: Db,
  now: number,
  runs: readonly DeviceRun[],
): Promise<(number | null)[]> {
  const results = await db.write(
    runs.flatMap(({ due, next, log }) => [
      claimRun(due, next),
      onlyIfChanged(insertLog(toActor(due), now, log)),
    ]),
  );
  return runs.map((_, i) => {
    const made = results[i * 2 + 1];
    return made?.rowsAffected === 1 ? Number(made.lastInsertRowid) : null;
  });
}

/** Claims a run for a group and stores its task in the same transaction; null if another process has claimed it. */
export async function claimGroupRun(
  db: Db,
  now: number,
  due: DueForGroup,
  next: NextRun,
  task: Pick<Task, "id" | "kind" | "input" | "node">,
): Promise<Task | null> {
  const made = newTask(toActor(due), now, task);
  const [, stored] = await db.write([claimRun(due, next), onlyIfChanged(made.statement)]);
  return stored?.rowsAffected === 1 ? made.task : null;
}

function toActor({ tenant, userIntID, createUser }: Due): Actor {
  return { tenant, userIntID, username: createUser };
}
