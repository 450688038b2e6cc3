/** Decides what a due group has to report. The function is pure: times are passed in, in milliseconds. */
import type { AlertRoute } from "../../store/metadata/notifications/alert-routes.js";
import type {
  GroupMember,
  GroupOutcome,
  NotificationGroup,
} from "../../store/metadata/notifications/notification-groups.js";
import { type AlertInMessage, type AlertMessage, alertsListedMax } from "./alert-message.js";

interface GroupState {
  readonly group: NotificationGroup;
  readonly route: AlertRoute;
  readonly members: readonly GroupMember[];
  /** Members that a silence covers: no message reports them now. */
  readonly silenced: ReadonlySet<GroupMember>;
  /** Until when the route does not speak; null: it does. */
  readonly mutedUntil: number | null;
  /** The deployment's zone. */
  readonly timezone: string;
}

interface Decision {
  readonly outcome: GroupOutcome;
  /** Null: nothing is to be said now. */
  readonly message: AlertMessage | null;
}

/** How long a silenced or muted group waits until it is checked again: silences and mutes may change. */
const lookAgainMs = 60_000;

export function decide(state: GroupState, now: number): Decision {
  const { group, route, members, silenced, mutedUntil } = state;
  const audible = members.filter((member) => !silenced.has(member));
  const began = audible.filter((member) => !member.told && !(member.held && hasEnded(member)));
  const ended = route.sendResolved === 1 ? audible.filter((member) => member.told && hasEnded(member)) : [];
  const firing = audible.filter((member) => !hasEnded(member));
  const hasNews = began.length > 0 || ended.length > 0 || group.unlisted > 0;
  const isRepeat = !hasNews && firing.length > 0 && isPast(repeatAt(state), now);
  const wantsToSpeak = hasNews || isRepeat;
  const speaks = wantsToSpeak && mutedUntil === null;
  // The end of a silenced alert is not reported, even if its beginning was.
  const finished = members.filter(
    (member) =>
      hasEnded(member) &&
      (speaks || member.held || silenced.has(member) || (member.told && route.sendResolved === 0)),
  );
  const held = members.filter((member) => silenced.has(member) && !member.told && !hasEnded(member));
  const outcome = {
    began: speaks ? began.filter((member) => !hasEnded(member)).map(({ id }) => id) : [],
    held: held.map(({ id }) => id),
    finished: finished.map(({ id }) => id),
    sentAt: speaks ? now : null,
  };
  const after = { ...state, group: { ...group, sentAt: outcome.sentAt ?? group.sentAt } };
  const isEmpty = finished.length === members.length;
  const isOver = isEmpty && isPast(intervalEnd(after) ?? now, now);
  const looks = [
    wantsToSpeak && !speaks ? Math.min(mutedUntil ?? now, now + lookAgainMs) : null,
    held.length > 0 ? now + lookAgainMs : null,
    // Kept for its interval, so that an alert that comes and goes is not sent each time.
    isEmpty ? intervalEnd(after) : nextLook(repeatAt(after), now),
  ].filter((at) => at !== null);
  return {
    message: speaks ? createMessage(state, { began, ended, firing }, isRepeat) : null,
    outcome: { ...outcome, isOver, nextAt: isOver || looks.length === 0 ? null : Math.min(...looks) },
  };
}

const hasEnded = ({ endTime }: GroupMember): boolean => endTime !== null;

const isPast = (at: number | null, now: number): boolean => at !== null && at <= now;

/** A time that is past, for what keeps silent: soon again. */
const nextLook = (at: number | null, now: number): number | null =>
  at === null || at > now ? at : now + lookAgainMs;

function repeatAt({ group: { sentAt }, route: { repeatInterval } }: GroupState): number | null {
  return sentAt === null || repeatInterval === 0 ? null : sentAt + repeatInterval * 1000;
}

function intervalEnd({ group: { sentAt }, route: { groupInterval } }: GroupState): number | null {
  return sentAt === null ? null : sentAt + groupInterval * 1000;
}

interface Parts {
  readonly began: readonly GroupMember[];
  readonly ended: readonly GroupMember[];
  readonly firing: readonly GroupMember[];
}

function createMessage(
  { route, group, timezone }: GroupState,
  { began, ended, firing }: Parts,
  isRepeat: boolean,
): AlertMessage {
  const about = isRepeat ? firing : [...began, ...ended];
  return {
    kind: isRepeat ? "repeat" : "alert",
    route: { id: route.id, name: route.name },
    timezone: route.timezone ?? timezone,
    began: began.length + group.unlisted,
    ended: ended.length + began.filter(({ endTime }) => endTime !== null).length,
    firing: firing.length + group.unlisted,
    alerts: about.slice(0, alertsListedMax).map(toAlertInMessage),
    more: Math.max(0, about.length - alertsListedMax) + group.unlisted,
  };
}

function toAlertInMessage({ alert, endTime, told }: GroupMember): AlertInMessage {
  return { ...alert, status: endTime === null ? "firing" : "resolved", isNew: !told, endTime };
}
