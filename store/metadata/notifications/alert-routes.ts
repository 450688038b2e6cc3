import { StoreError } from "../../lib/errors.js";
import { changedIfAny } from "../db/changed-if-any.js";
import { type Actor, deleteStatements, differing, updateStatements } from "../db/changes.js";
import type { Db, SqlValue, Statement } from "../db/db.js";
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
} from "../db/table.js";
import type { AlertMatcher } from "./alert-matcher.js";

/** What alerts of a route may have in common to be sent in one message. */
export const groupings = ["alertName", "severity", "product", "device"] as const;
export type Grouping = (typeof groupings)[number];

/** A part of every week in which a route does not speak; wall-clock times of its zone. */
export interface MuteWindow {
  /** The days on which the window begins; 1 is Monday, 7 Sunday. */
  readonly days: readonly number[];
  /** `HH:MM`; an end before the beginning is on the next day. */
  readonly from: string;
  readonly to: string;
}

/** A route selects alerts, contact points and intervals. All routes that match an alert apply. Durations in seconds. */
export interface AlertRoute extends AlertMatcher {
  readonly id: number;
  readonly tenant: number;
  readonly name: string;
  readonly enable: number;
  readonly productName: string | null;
  readonly groupName: string | null;
  readonly deviceName: string | null;
  readonly contactPoints: readonly { readonly id: number; readonly name: string }[];
  readonly groupBy: readonly Grouping[];
  /** From the first alert of a group to its message. */
  readonly wait: number;
  /** The least between two messages of a group that say something new. */
  readonly groupInterval: number;
  /** After which alerts that are still current are sent again; 0: never. */
  readonly repeatInterval: number;
  readonly sendResolved: number;
  readonly muteWindows: readonly MuteWindow[];
  /** Null: the deployment's. */
  readonly timezone: string | null;
  readonly userIntID: number | null;
  readonly createUser: string | null;
  readonly createAt: number;
  readonly updateAt: number | null;
}

const jsonColumns = ["severities", "groupBy", "muteWindows", "contactPoints"] as const;
type JsonColumn = (typeof jsonColumns)[number];
type AlertRouteRow = Omit<AlertRoute, JsonColumn> & Readonly<Record<JsonColumn, string | null>>;

const contactPoints = `(select json_group_array(json_object('id', c.id, 'name', c.name))
  from route_contact x join contact_point c on c.id = x.contactPointIntID where x.routeIntID = r.id)`;

/** What a route or silence `r` is about: columns, joins and filters. */
export const matcherListing = {
  select: "p.productName, g.groupName, d.deviceName",
  joins: `left join product p on p.id = r.productIntID left join device_group g on g.id = r.groupIntID
    left join device d on d.id = r.deviceIntID`,
  filters: {
    alertName: textColumn("alertName"),
    productIntID: integerColumn("productIntID"),
    productName: { column: "p.productName", type: "text" },
    groupIntID: integerColumn("groupIntID"),
    groupName: { column: "g.groupName", type: "text" },
    deviceIntID: integerColumn("deviceIntID"),
    deviceName: { column: "d.deviceName", type: "text" },
  },
} as const satisfies {
  readonly select: string;
  readonly joins: string;
  readonly filters: Listing["filters"];
};

const listing: Listing = {
  bytes: formatBytesSql("r.muteWindows"),
  select: `r.*, ${matcherListing.select}, ${contactPoints} contactPoints`,
  from: `alert_route r ${matcherListing.joins}`,
  filters: {
    name: textColumn("name"),
    enable: integerColumn("enable"),
    ...matcherListing.filters,
    wait: integerColumn("wait"),
    groupInterval: integerColumn("groupInterval"),
    repeatInterval: integerColumn("repeatInterval"),
    sendResolved: integerColumn("sendResolved"),
    timezone: textColumn("timezone"),
    createUser: textColumn("createUser"),
    ...stamps,
  },
};

export const alertRouteFilters = listing.filters;
export const alertRouteIDs = { name: "alert_route", column: null } as const;

const routesMax = 1000;

function toRoute(row: AlertRouteRow): AlertRoute {
  const values = jsonColumns.map((column) => [column, JSON.parse(row[column] ?? "null")] as const);
  const read = Object.fromEntries(values) as Pick<AlertRoute, JsonColumn>;
  return { ...row, ...read, contactPoints: read.contactPoints.toSorted((a, b) => a.id - b.id) };
}

export async function listAlertRoutes(
  db: Db,
  tenant: number,
  request: PageRequest,
): Promise<Page<AlertRoute>> {
  const page = await listRows<AlertRouteRow>(db, listing, tenant, request);
  return { ...page, items: page.items.map(toRoute) };
}

/** @throws StoreError NOT_FOUND */
export async function getAlertRoute(db: Db, tenant: number, id: number): Promise<AlertRoute> {
  return toRoute(await getRow<AlertRouteRow>(db, listing, tenant, id));
}

/** The routes of a tenant that are enabled, ascending. */
export async function enabledRoutes(db: Db, tenant: number): Promise<AlertRoute[]> {
  const rows = await db.all<AlertRouteRow>(
    `select ${listing.select} from ${listing.from} where r.tenant = ? and r.enable = 1 order by r.id`,
    [tenant],
  );
  return rows.map(toRoute);
}

export interface AlertRouteInput
  extends Pick<
    AlertRoute,
    | keyof AlertMatcher
    | "name"
    | "enable"
    | "groupBy"
    | "wait"
    | "groupInterval"
    | "repeatInterval"
    | "sendResolved"
    | "muteWindows"
    | "timezone"
  > {
  /** Record ids. */
  readonly contactPoints: readonly number[];
}

/**
 * @throws StoreError CONFLICT when the name is taken, LIMIT at the most allowed, REFERENCED if a contact point was just
 * deleted
 */
export async function createAlertRoute(
  db: Db,
  actor: Actor,
  now: number,
  input: AlertRouteInput,
): Promise<AlertRoute> {
  const { tenant, userIntID, username: createUser } = actor;
  const { contactPoints: contacts, ...columns } = input;
  const record = { tenant, ...columns, userIntID, createUser, createAt: now } as Record<string, SqlValue>;
  const names = Object.keys(record);
  const results = await db.write([
    {
      // A taken name is left to the index, which names the fault.
      sql: `insert into alert_route (${names.join(", ")}) select ${names.map(() => "?").join(", ")}
        where (select count(*) from alert_route where tenant = ?) < ${routesMax}
          or exists (select 1 from alert_route where tenant = ? and name = ?)`,
      args: [...Object.values(record), tenant, tenant, input.name],
    },
    {
      sql: `insert into route_contact (routeIntID, contactPointIntID)
        select last_insert_rowid(), value from json_each(?) where changes() = 1`,
      args: [contacts],
    },
    // The table of pairs has no rowid: the last one is still the route's.
    changedIfAny(actor, now, "create", "alert_route", null, input),
  ]);
  if (results[0]?.rowsAffected === 0) {
    throw new StoreError("LIMIT", `a tenant may have ${routesMax} alert routes`);
  }
  return getAlertRoute(db, tenant, Number(results[0]?.lastInsertRowid));
}

/** @throws StoreError as `createAlertRoute` */
export async function updateAlertRoute(
  db: Db,
  actor: Actor,
  now: number,
  route: AlertRoute,
  input: Partial<AlertRouteInput>,
): Promise<AlertRoute> {
  const { contactPoints: contacts, ...columns } = input;
  const edit = differing(route, columns);
  const audit = contacts === undefined ? edit : { ...edit, contactPoints: contacts };
  await db.write([
    ...updateStatements("alert_route", actor, now, route.id, edit as Record<string, SqlValue>, audit),
    ...(contacts === undefined ? [] : replaceContacts(route.id, contacts)),
    // While it is off nobody follows which of its alerts end.
    ...(edit.enable === 0
      ? [{ sql: "delete from notification_group where routeIntID = ?", args: [route.id] }]
      : []),
  ]);
  return getAlertRoute(db, actor.tenant, route.id);
}

const replaceContacts = (route: number, contacts: readonly number[]): Statement[] => [
  { sql: "delete from route_contact where routeIntID = ?", args: [route] },
  {
    sql: "insert into route_contact (routeIntID, contactPointIntID) select ?, value from json_each(?)",
    args: [route, contacts],
  },
];

/** Alerts that these routes have not sent yet are not sent any more. */
export async function removeAlertRoutes(
  db: Db,
  actor: Actor,
  now: number,
  ids: readonly number[],
): Promise<void> {
  await db.write(deleteStatements("alert_route", actor, now, ids));
}
