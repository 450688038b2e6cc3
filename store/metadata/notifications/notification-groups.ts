import type { Condition, Db, Statement } from "../db/db.js";
import { type AlertEvent, type AlertFacts, tenantsSql } from "./alert-outbox.js";

/** Column `told` of `notification_member`: nothing sent yet, its beginning sent, or suppressed by a silence. */
const memberStates = { nothing: 0, told: 1, held: 2 } as const;

/** Alerts of one route that are sent together. */
export interface NotificationGroup {
  readonly id: number;
  readonly tenant: number;
  readonly routeIntID: number;
  readonly groupKey: string;
  readonly part: number;
  readonly members: number;
  /** Alerts that began while no more could be listed. */
  readonly unlisted: number;
  /** When its last message was made, milliseconds since 1970. */
  readonly sentAt: number | null;
  readonly version: number;
}

export interface GroupMember {
  readonly id: number;
  readonly alert: AlertFacts;
  readonly endTime: number | null;
  /** Whether a message about its beginning was sent. */
  readonly told: boolean;
  /** Whether a silence kept it back when it was last looked at. */
  readonly held: boolean;
}

/** One group, by what it is found with. */
export interface GroupPlace {
  readonly routeIntID: number;
  readonly groupKey: string;
}

/** Where an alert that began is put. */
export interface Placement extends GroupPlace {
  readonly part: number;
  readonly alert: AlertFacts;
}

/** The newest part of each of a tenant's groups that are asked for. */
export function lastParts(
  db: Db,
  places: readonly GroupPlace[],
): Promise<Pick<NotificationGroup, "routeIntID" | "groupKey" | "part" | "members">[]> {
  return db.all(
    `select g.routeIntID, g.groupKey, max(g.part) part, g.members from json_each(?) j
     join notification_group g on g.routeIntID = j.value ->> 0 and g.groupKey = j.value ->> 1
     group by g.routeIntID, g.groupKey`,
    [places.map(({ routeIntID, groupKey }) => [routeIntID, groupKey])],
  );
}

/** Alerts that the groups of a tenant list. */
export async function countMembers(db: Db, tenant: number): Promise<number> {
  const row = await db.first<{ n: number }>(
    "select total(members) n from notification_group where tenant = ?",
    [tenant],
  );
  return row?.n ?? 0;
}

/**
 * When a group with news is due: a new one after the wait, any other no sooner than its interval allows. One that is held
 * back is looked at for each alert that comes, so that it is known of each whether it began in silence.
 */
const nextDue = `iif(sentAt is null, nextAt, min(coalesce(nextAt, 9e15),
  max(?, sentAt + 1000 * (select groupInterval from alert_route r where r.id = routeIntID))))`;

interface Assignment {
  /** The last row of the outbox that it takes. */
  readonly outboxID: number;
  readonly placed: readonly Placement[];
  /** Groups of alerts that are counted only, each with how many. */
  readonly counted: readonly (GroupPlace & { readonly part: number; readonly count: number })[];
  readonly ended: readonly AlertEvent[];
}

/** Puts what the first rows of a tenant's outbox say into its groups, and drops these rows: all or nothing. */
export async function assign(
  db: Db,
  tenant: number,
  now: number,
  { outboxID, placed, counted, ended }: Assignment,
): Promise<void> {
  const touched = new Map([...placed, ...counted].map((one) => [formatPlaceKey(one), one]));
  const groups = [...touched.values()].map(({ routeIntID, groupKey, part }) => [routeIntID, groupKey, part]);
  const statements: Statement[] = [
    {
      sql: `insert into notification_group (tenant, routeIntID, groupKey, part, nextAt)
        select ?, r.id, j.value ->> 1, j.value ->> 2, ? + 1000 * r.wait
        from json_each(?) j join alert_route r on r.id = j.value ->> 0
        where true on conflict (routeIntID, groupKey, part) do update set
          version = version + 1,
          nextAt = iif(sentAt is null, min(coalesce(nextAt, 9e15), excluded.nextAt), ${nextDue})`,
      args: [tenant, now, groups, now],
      rows: groups.length,
    },
    {
      sql: `insert into notification_member
          (groupIntID, alertIntID, deviceIntID, productIntID, alertSeverity, alert)
        select g.id, j.value ->> '$[3].id', j.value ->> '$[3].deviceIntID', j.value ->> '$[3].productIntID',
          j.value ->> '$[3].alertSeverity', j.value -> '$[3]'
        from json_each(?) j join notification_group g
          on g.routeIntID = j.value ->> 0 and g.groupKey = j.value ->> 1 and g.part = j.value ->> 2
        where true on conflict (groupIntID, alertIntID) do nothing`,
      args: [placed.map((one) => [one.routeIntID, one.groupKey, one.part, one.alert])],
      rows: placed.length,
    },
    {
      sql: `update notification_group set unlisted = unlisted + j.count
        from (select value ->> 0 route, value ->> 1 groupKey, value ->> 2 part, value ->> 3 count from json_each(?)) j
        where routeIntID = j.route and notification_group.groupKey = j.groupKey and notification_group.part = j.part`,
      args: [counted.map((one) => [one.routeIntID, one.groupKey, one.part, one.count])],
    },
    {
      sql: `update notification_member set endTime = j.at
        from (select value ->> 0 alert, value ->> 1 at from json_each(?)) j
        where alertIntID = j.alert and endTime is null`,
      args: [ended.map(({ alertIntID, at }) => [alertIntID, at])],
      rows: ended.length,
    },
    {
      sql: `update notification_group set version = version + 1, nextAt = coalesce(${nextDue}, ?)
        where id in (select groupIntID from notification_member
          where alertIntID in (select value from json_each(?)))`,
      args: [now, now, ended.map(({ alertIntID }) => alertIntID)],
      rows: ended.length,
    },
    { sql: "delete from alert_outbox where tenant = ? and id <= ?", args: [tenant, outboxID] },
  ];
  await db.write(statements);
}

const formatPlaceKey = ({ routeIntID, part, groupKey }: GroupPlace & { readonly part: number }): string =>
  `${routeIntID} ${part} ${groupKey}`;

/** Drops the first rows of a tenant's outbox, which no route speaks of. */
export async function dropOutbox(db: Db, tenant: number, outboxID: number): Promise<void> {
  await db.write([
    { sql: "delete from alert_outbox where tenant = ? and id <= ?", args: [tenant, outboxID] },
  ]);
}

export async function tenantsOfGroups(db: Db): Promise<number[]> {
  const [rows = []] = await db.lookUp([{ sql: tenantsSql("notification_group", "nextAt is not null") }]);
  return (rows as { tenant: number }[]).map((row) => row.tenant);
}

/** A tenant's groups that are due, the longest due first. */
export function dueGroups(db: Db, tenant: number, now: number, limit: number): Promise<NotificationGroup[]> {
  return db.all<NotificationGroup>(
    `select id, tenant, routeIntID, groupKey, part, members, unlisted, sentAt, version from notification_group
     where tenant = ? and nextAt <= ? order by nextAt limit ?`,
    [tenant, now, limit],
  );
}

/** The members of a group in the order in which they came; an alert that is no longer current has an end. */
export async function listGroupMembers(db: Db, group: number, now: number): Promise<GroupMember[]> {
  const rows = await db.all<{ id: number; alert: string; endTime: number | null; told: number }>(
    `select m.id, m.alert, coalesce(m.endTime, iif(a.id is null, ?, a.endTime)) endTime, m.told
     from notification_member m left join alert a on a.id = m.alertIntID
     where m.groupIntID = ? order by m.id`,
    [now, group],
  );
  return rows.map(({ id, alert, endTime, told }) => ({
    id,
    endTime,
    alert: JSON.parse(alert) as AlertFacts,
    told: told === memberStates.told,
    held: told === memberStates.held,
  }));
}

/** What a look at a group that was due has come to. */
export interface GroupOutcome {
  /** Members whose beginning is sent. */
  readonly began: readonly number[];
  /** Members that a silence keeps back. */
  readonly held: readonly number[];
  /** Members about which nothing more will be sent. */
  readonly finished: readonly number[];
  /** When a message was made, milliseconds since 1970; null: none was. */
  readonly sentAt: number | null;
  /** When it is looked at again; null: only if something changes. */
  readonly nextAt: number | null;
  /** A group without members of which nothing more is due. */
  readonly isOver: boolean;
}

/**
 * Stores the outcome with what goes out, if nobody has changed the group since it was read. `out` uses `group` for the
 * condition that this is so.
 */
export async function settleGroup(
  db: Db,
  { id, version, unlisted }: NotificationGroup,
  { began, held, finished, sentAt, nextAt, isOver }: GroupOutcome,
  out: (condition: Statement) => readonly Statement[],
): Promise<boolean> {
  const next = version + 1;
  const same = {
    sql: "exists (select 1 from notification_group where id = ? and version = ?)",
    args: [id, next],
  };
  const told = sentAt === null ? 0 : unlisted;
  const results = await db.write([
    {
      sql: `update notification_group set version = ?, nextAt = ?, sentAt = coalesce(?, sentAt),
        unlisted = unlisted - ? where id = ? and version = ?`,
      args: [next, nextAt, sentAt, told, id, version],
    },
    ...out(same),
    setMemberState(began, memberStates.told, same),
    setMemberState(held, memberStates.held, same),
    {
      sql: `delete from notification_member where id in (select value from json_each(?)) and ${same.sql}`,
      args: [finished, ...same.args],
      rows: finished.length,
    },
    ...(isOver
      ? [{ sql: "delete from notification_group where id = ? and version = ?", args: [id, next] }]
      : []),
  ]);
  return results[0]?.rowsAffected === 1;
}

const setMemberState = (members: readonly number[], told: number, same: Condition): Statement => ({
  sql: `update notification_member set told = ? where id in (select value from json_each(?)) and ${same.sql}`,
  args: [told, members, ...same.args],
  rows: members.length,
});

/** Drops a group whose route is off. */
export async function dropGroup(db: Db, id: number): Promise<void> {
  await db.write([{ sql: "delete from notification_group where id = ?", args: [id] }]);
}
