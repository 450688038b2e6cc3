import { storedZone } from "../../query/zone.js";
import { createYielder } from "../../store/lib/scheduling.js";
import type { Db } from "../../store/metadata/db/db.js";
import { type AlertMatcher, matches } from "../../store/metadata/notifications/alert-matcher.js";
import { groupsOfDevices } from "../../store/metadata/notifications/alert-outbox.js";
import { type AlertRoute, enabledRoutes } from "../../store/metadata/notifications/alert-routes.js";
import {
  dropGroup,
  dueGroups,
  type GroupMember,
  listGroupMembers,
  type NotificationGroup,
  settleGroup,
} from "../../store/metadata/notifications/notification-groups.js";
import { notifyRoute, waitingCount } from "../../store/metadata/notifications/notifications.js";
import { silencesAt } from "../../store/metadata/notifications/silences.js";
import { decide } from "./group-outcome.js";
import { mutedUntil } from "./mute-windows.js";

const groupsPerStep = 10;
/** Messages of a tenant that may wait: beyond them its groups wait, and say later what there is by then. */
const waitingOfTenantMax = 1000;

/**
 * Makes the messages of a tenant's groups that are due, a few of them; false if there is nothing more to do now.
 * @param timezone the deployment's
 */
export async function notifyGroups(db: Db, tenant: number, timezone: string, now: number): Promise<boolean> {
  let waiting = await waitingCount(db, tenant);
  if (waiting >= waitingOfTenantMax) return false;
  const due = await dueGroups(db, tenant, now, groupsPerStep);
  if (due.length === 0) return false;
  const routes = new Map((await enabledRoutes(db, tenant)).map((route) => [route.id, route]));
  const silences = await silencesAt(db, tenant, now);
  for (const group of due) {
    if (waiting >= waitingOfTenantMax) return false;
    const route = routes.get(group.routeIntID);
    if (route === undefined) {
      await dropGroup(db, group.id);
    } else if (await notifyGroup(db, group, route, { silences, timezone, now })) {
      waiting += route.contactPoints.length;
    }
  }
  return true;
}

interface Surroundings {
  readonly silences: readonly AlertMatcher[];
  readonly timezone: string;
  readonly now: number;
}

/** Whether it had something to say. */
async function notifyGroup(
  db: Db,
  group: NotificationGroup,
  route: AlertRoute,
  { silences, timezone, now }: Surroundings,
): Promise<boolean> {
  const members = await listGroupMembers(db, group.id, now);
  const silenced = await listSilenced(db, members, silences);
  const muted = mutedUntil(route.muteWindows, storedZone(route.timezone ?? timezone), now);
  const state = { group, route, members, silenced, mutedUntil: muted, timezone };
  const { outcome, message } = decide(state, now);
  await settleGroup(db, group, outcome, (condition) => {
    if (message === null) return [];
    const { kind, alerts, more } = message;
    const alertCount = alerts.length + more;
    const about = { tenant: group.tenant, routeIntID: route.id, routeName: route.name };
    return [notifyRoute(now, { ...about, kind, alertCount, message }, condition)];
  });
  return message !== null;
}

async function listSilenced(
  db: Db,
  members: readonly GroupMember[],
  silences: readonly AlertMatcher[],
): Promise<Set<GroupMember>> {
  const found = new Set<GroupMember>();
  if (silences.length === 0) return found;
  const devices = [...new Set(members.map(({ alert }) => alert.deviceIntID))];
  const named = silences.flatMap(({ groupIntID }) => groupIntID ?? []);
  const groups = await groupsOfDevices(db, devices, [...new Set(named)]);
  const yieldIfDue = createYielder();
  for (const member of members) {
    const { alert } = member;
    const matched = { ...alert, groups: groups.get(alert.deviceIntID) ?? new Set<number>() };
    if (silences.some((silence) => matches(silence, matched))) found.add(member);
    await yieldIfDue();
  }
  return found;
}
