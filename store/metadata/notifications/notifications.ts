import { StoreError } from "../../lib/errors.js";
import type { Db, Statement } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import { formatBytesSql } from "../db/page-bytes.js";
import {
  getRow,
  integerColumn,
  type Listing,
  type Page,
  type PageRequest,
  stamps,
  textColumn,
  time,
} from "../db/table.js";
import type { ContactType } from "./contact-points.js";

/** What a message is about: alerts that began or ended, those that are still current, or nothing: a test. */
export type NotificationKind = "alert" | "repeat" | "test";
type NotificationStatus = "waiting" | "delivered" | "failed";

/** One message to one contact point, with what came of it. */
export interface Notification {
  readonly id: number;
  readonly tenant: number;
  /** Null if it was deleted. */
  readonly contactPointIntID: number | null;
  readonly contactPointName: string;
  readonly type: ContactType;
  readonly routeIntID: number | null;
  readonly routeName: string | null;
  readonly kind: NotificationKind;
  readonly alertCount: number;
  readonly status: NotificationStatus;
  readonly attempts: number;
  /** What the other side said last, or why it was not reached. */
  readonly answer: string | null;
  /** When it is tried next, while it waits. */
  readonly nextAt: number | null;
  readonly deliveredAt: number | null;
  readonly createAt: number;
  readonly updateAt: number | null;
}

/** With its message, JSON. */
export interface NotificationDetail extends Notification {
  readonly message: string;
}

/** One that is due. */
export interface DueNotification extends NotificationDetail {
  /** The id that receivers see: the same at each attempt, and no other notification's, of any deployment. */
  readonly messageID: string;
}

const columns = `r.id, r.tenant, r.contactPointIntID, r.contactPointName, r.type, r.routeIntID, r.routeName, r.kind,
  r.alertCount, r.status, r.attempts, r.answer, r.nextAt, r.deliveredAt, r.createAt, r.updateAt`;

const listing: Listing = {
  bytes: formatBytesSql("r.answer"),
  select: columns,
  from: "notification r",
  filters: {
    contactPointIntID: integerColumn("contactPointIntID"),
    contactPointName: textColumn("contactPointName"),
    type: textColumn("type"),
    routeIntID: integerColumn("routeIntID"),
    routeName: textColumn("routeName"),
    kind: textColumn("kind"),
    status: textColumn("status"),
    alertCount: integerColumn("alertCount"),
    attempts: integerColumn("attempts"),
    answer: textColumn("answer"),
    deliveredAt: time("deliveredAt"),
    nextAt: time("nextAt"),
    ...stamps,
  },
};

/** Messages of one tenant that the log keeps. */
const logRowsMax = 5000;
/** Messages that are deleted for one test message: more than it adds. */
const removedByTestMax = 2;

export const notificationFilters = listing.filters;
export const notificationIDs = { name: "notification", column: null } as const;

export function listNotifications(db: Db, tenant: number, request: PageRequest): Promise<Page<Notification>> {
  return listRows<Notification>(db, listing, tenant, request);
}

/** @throws StoreError NOT_FOUND */
export function getNotification(db: Db, tenant: number, id: number): Promise<NotificationDetail> {
  return getRow<NotificationDetail>(db, { ...listing, select: `${columns}, r.message` }, tenant, id);
}

/** SQL of 64 random bits. */
const randomKey = "lower(hex(randomblob(8)))";
const ofDeployment = (rest: string) =>
  `(select 'tidemark-' || deployment.id || '-' || ${rest} from deployment)`;

/** The id of a test, as receivers see it. */
export async function testMessageID(db: Db): Promise<string> {
  const row = await db.first<{ id: string }>(`select ${ofDeployment(`'test-' || ${randomKey}`)} id`);
  if (row === undefined) throw new StoreError("CORRUPT", "the metadata store names no deployment");
  return row.id;
}

interface NewNotifications {
  readonly tenant: number;
  readonly routeIntID: number;
  readonly routeName: string;
  readonly kind: NotificationKind;
  readonly alertCount: number;
  readonly message: object;
}

/** One for each contact point of the route that is on. */
export function notifyRoute(
  now: number,
  { tenant, routeIntID, routeName, kind, alertCount, message }: NewNotifications,
  condition: Statement,
): Statement {
  return {
    sql: `insert into notification (tenant, contactPointIntID, contactPointName, type, routeIntID, routeName, kind,
        alertCount, status, nextAt, createAt, message, messageKey)
      select ?, c.id, c.name, c.type, ?, ?, ?, ?, 'waiting', ?, ?, ?, ${randomKey}
      from route_contact x join contact_point c on c.id = x.contactPointIntID
      where x.routeIntID = ? and c.enable = 1 and ${condition.sql}`,
    args: [
      ...[tenant, routeIntID, routeName, kind, alertCount, now, now, message, routeIntID],
      ...(condition.args ?? []),
    ],
  };
}

/** Stores a test and its outcome; the log keeps its bound, however fast tests end. */
export async function saveTest(
  db: Db,
  now: number,
  point: { readonly id: number; readonly tenant: number; readonly name: string; readonly type: ContactType },
  message: object,
  outcome: { readonly isDelivered: boolean; readonly answer: string },
): Promise<number> {
  const status: NotificationStatus = outcome.isDelivered ? "delivered" : "failed";
  const results = await db.write([
    {
      sql: `insert into notification (tenant, contactPointIntID, contactPointName, type, kind, alertCount, status,
          attempts, answer, deliveredAt, createAt, updateAt, message)
        values (?, ?, ?, ?, 'test', 1, ?, 1, ?, ?, ?, ?, ?)`,
      args: [
        ...[point.tenant, point.id, point.name, point.type, status, outcome.answer],
        ...[outcome.isDelivered ? now : null, now, now, message],
      ],
    },
    removingOld(point.tenant, 0, removedByTestMax),
  ]);
  return Number(results[0]?.lastInsertRowid);
}

/** Messages of a tenant that wait. */
export async function waitingCount(db: Db, tenant: number): Promise<number> {
  const row = await db.first<{ n: number }>(
    "select count(*) n from notification where tenant = ? and nextAt is not null",
    [tenant],
  );
  return row?.n ?? 0;
}

/** Messages that wait, of all tenants. */
export async function allWaiting(db: Db): Promise<number> {
  const row = await db.first<{ n: number }>("select count(*) n from notification where nextAt is not null");
  return row?.n ?? 0;
}

/** Contact points with messages that wait, found without reading the messages. */
export async function pointsWaiting(db: Db): Promise<{ id: number; tenant: number }[]> {
  const waiting = "nextAt is not null";
  const [rows = []] = await db.lookUp([
    {
      sql: `with recursive p (id) as (
          select min(contactPointIntID) from notification where ${waiting}
          union all
          select (select min(contactPointIntID) from notification where contactPointIntID > p.id and ${waiting})
            from p where p.id is not null)
        select c.id, c.tenant from p join contact_point c on c.id = p.id`,
    },
  ]);
  return rows as { id: number; tenant: number }[];
}

/** The message of a contact point that is due the longest. */
export function dueNotification(
  db: Db,
  contactPoint: number,
  now: number,
): Promise<DueNotification | undefined> {
  return db.first<DueNotification>(
    `select ${columns}, r.message, ${ofDeployment("r.id || '-' || r.messageKey")} messageID from notification r
     where r.contactPointIntID = ? and r.nextAt <= ? order by r.nextAt, r.id limit 1`,
    [contactPoint, now],
  );
}

/** @param nextAt when it is tried again; null: this was the last attempt */
export async function saveAttempt(
  db: Db,
  now: number,
  id: number,
  { status, answer, nextAt }: Pick<Notification, "status" | "answer" | "nextAt">,
): Promise<void> {
  await db.write([
    {
      sql: `update notification set status = ?1, answer = ?2, nextAt = ?3, attempts = attempts + 1, updateAt = ?4,
        deliveredAt = iif(?1 = 'delivered', ?4, null) where id = ?5 and nextAt is not null`,
      args: [status, answer, nextAt, now, id],
    },
  ]);
}

/** Removes up to `limit` of a tenant's messages that wait no more: those before a time, and the oldest beyond the bound. */
export async function removeOldNotifications(
  db: Db,
  tenant: number,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<number> {
  const [result] = await db.write([removingOld(tenant, before, limit)]);
  return result?.rowsAffected ?? 0;
}

const removingOld = (tenant: number, before: number, limit: number): Statement => ({
  sql: `delete from notification where id in (
    select id from notification where tenant = ? and nextAt is null and (createAt < ? or id <= coalesce(
      (select id from notification where tenant = ? order by id desc limit 1 offset ${logRowsMax}), 0))
    order by id limit ?)`,
  args: [tenant, before, tenant, limit],
});

/**
 * Acquires or renews the lease to send notifications; false while another process has it. A process that starts again
 * has it at once.
 */
export async function holdLease(db: Db, node: number, now: number, untilAt: number): Promise<boolean> {
  const [result] = await db.write([
    {
      sql: `insert into notifier_lease (id, node, until) values (1, ?, ?)
        on conflict (id) do update set node = excluded.node, until = excluded.until
        where notifier_lease.node = excluded.node or notifier_lease.until < ?`,
      args: [node, untilAt, now],
    },
  ]);
  return result?.rowsAffected === 1;
}
