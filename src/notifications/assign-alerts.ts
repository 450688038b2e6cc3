import type { Db } from "../../store/metadata/db/db.js";
import { type MatchedAlert, matches } from "../../store/metadata/notifications/alert-matcher.js";
import {
  type AlertEvent,
  type AlertFacts,
  groupsOfDevices,
  readOutbox,
} from "../../store/metadata/notifications/alert-outbox.js";
import {
  type AlertRoute,
  enabledRoutes,
  type Grouping,
} from "../../store/metadata/notifications/alert-routes.js";
import {
  assign,
  countMembers,
  dropOutbox,
  type GroupPlace,
  lastParts,
  type Placement,
} from "../../store/metadata/notifications/notification-groups.js";

/** Rows of the outbox that are taken together, and placements that they may come to: a row has one for each route. */
const rowsPerStep = 200;
const placementsPerStep = 2000;
/** Alerts that one group lists; the next ones are in another part, with a message of its own. */
const membersOfGroupMax = 1000;
/** Alerts that the groups of a tenant list together; further ones are counted only. */
const membersOfTenantMax = 100_000;

/** Alerts whose group keys are equal go into one message. */
function formatGroupKey({ groupBy }: AlertRoute, alert: AlertFacts): string {
  const values: Readonly<Record<Grouping, string | number>> = {
    alertName: alert.alertName,
    severity: alert.alertSeverity,
    product: alert.productIntID,
    device: alert.deviceIntID,
  };
  return JSON.stringify(groupBy.map((by) => values[by]));
}

/** Assigns the oldest rows of a tenant's outbox to the groups of its routes; false if there were none. */
export async function assignAlerts(db: Db, tenant: number, now: number): Promise<boolean> {
  const routes = await enabledRoutes(db, tenant);
  const perStep = Math.max(
    1,
    Math.min(rowsPerStep, Math.floor(placementsPerStep / Math.max(1, routes.length))),
  );
  const events = await readOutbox(db, tenant, perStep);
  const last = events.at(-1)?.outboxID;
  if (last === undefined) return false;
  if (routes.length === 0) {
    await dropOutbox(db, tenant, last);
    return true;
  }
  const wanted = await findGroupPlaces(db, routes, events);
  const capacity = wanted.length === 0 ? 0 : membersOfTenantMax - (await countMembers(db, tenant));
  const { placed, counted } = await fill(db, wanted, capacity);
  const ended = events.filter(({ hasEnded }) => hasEnded);
  await assign(db, tenant, now, { outboxID: last, placed, counted, ended });
  return true;
}

type Wanted = Omit<Placement, "part">;

/** For each alert that began, the group of each route that matches. */
async function findGroupPlaces(
  db: Db,
  routes: readonly AlertRoute[],
  events: readonly AlertEvent[],
): Promise<Wanted[]> {
  const alerts = events.flatMap(({ alert }) => (alert === null ? [] : [alert]));
  const named = routes.flatMap(({ groupIntID }) => groupIntID ?? []);
  const groups = await groupsOfDevices(db, [...new Set(alerts.map((one) => one.deviceIntID))], named);
  return alerts.flatMap((alert) => {
    const matched: MatchedAlert = { ...alert, groups: groups.get(alert.deviceIntID) ?? new Set() };
    return routes
      .filter((route) => matches(route, matched))
      .map((route) => ({ routeIntID: route.id, groupKey: formatGroupKey(route, alert), alert }));
  });
}

type Counted = GroupPlace & { readonly part: number; readonly count: number };

/** Chooses the part of each group that is not full; beyond `capacity` alerts are only counted. */
async function fill(
  db: Db,
  wanted: readonly Wanted[],
  capacity: number,
): Promise<{ placed: Placement[]; counted: Counted[] }> {
  const placeKey = ({ routeIntID, groupKey }: GroupPlace) => `${routeIntID} ${groupKey}`;
  const places = [...new Map(wanted.map((one) => [placeKey(one), one])).values()];
  const parts = new Map((await lastParts(db, places)).map((one) => [placeKey(one), { ...one }]));
  const placed: Placement[] = [];
  const counted = new Map<string, { -readonly [K in keyof Counted]: Counted[K] }>();
  for (const one of wanted) {
    const key = placeKey(one);
    const { routeIntID, groupKey } = one;
    const last = parts.get(key) ?? { routeIntID, groupKey, part: 1, members: 0 };
    parts.set(key, last);
    if (placed.length >= capacity) {
      const known = counted.get(key) ?? { routeIntID, groupKey, part: last.part, count: 0 };
      known.count++;
      counted.set(key, known);
      continue;
    }
    if (last.members >= membersOfGroupMax) {
      last.part++;
      last.members = 0;
    }
    last.members++;
    placed.push({ ...one, part: last.part });
  }
  return { placed, counted: [...counted.values()] };
}
