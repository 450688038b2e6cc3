import type { NotificationOutcome } from "../../ingest/meter.js";
import { createBackOffs, delayAfter } from "../../store/lib/back-off.js";
import { StoreError } from "../../store/lib/errors.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { Vault } from "../../store/metadata/db/secrets.js";
import type { ContactType } from "../../store/metadata/notifications/contact-points.js";
import {
  contactPointsLeft,
  type OpenContactPoint,
  openContactPoint,
} from "../../store/metadata/notifications/contact-points.js";
import {
  type DueNotification,
  dueNotification,
  pointsWaiting,
  saveAttempt,
} from "../../store/metadata/notifications/notifications.js";
import { failed, formatSendError, refuseMessage, type SendOutcome } from "../contact-points/sending.js";
import type { Logger } from "../observability/log.js";
import type { AlertMessage } from "./alert-message.js";
import type { MailQuota } from "./mail-quota.js";
import { type Senders, sendMessage } from "./send-message.js";
import type { TemplateRenderer } from "./templates.js";

/** Sends what waits: one message at a time to each contact point, to several at once. */
interface Deliveries {
  /** Starts due messages while there is capacity. */
  look(): Promise<void>;
  /** Contact points whose last attempt failed. */
  readonly failing: number;
  /** Forgets the troubles of contact points that are deleted or off. */
  forgetGone(): Promise<void>;
  /** Resolves once all sends that run have ended. */
  settled(): Promise<void>;
  /** Begins nothing more; resolves as `settled`. */
  close(): Promise<void>;
}

interface DeliveriesDeps {
  readonly db: Db;
  readonly vault: Vault;
  readonly renderer: TemplateRenderer;
  readonly senders: Senders;
  readonly quota: MailQuota;
  /** Counts an attempt. */
  readonly onAttempt: (type: ContactType, outcome: NotificationOutcome) => void;
  readonly log: Logger;
  /** Aborted when the service no longer waits for sends that run. */
  readonly ending: AbortSignal;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
}

/** Messages under way at once, of all tenants and of one. */
const sendingMax = 16;
const sendingOfTenantMax = 4;
/** How long a message is tried. */
const giveUpMs = 24 * 3_600_000;
/** After each failure of a contact point in a row. */
const retryDelayMs = { first: 5000, longest: 600_000 } as const;

type Point = Awaited<ReturnType<typeof pointsWaiting>>[number];

/** The facts of an attempt that are stored. */
interface Attempt {
  readonly at: number;
  readonly notification: number;
  readonly result: Parameters<typeof saveAttempt>[3];
}

export function createMessageDeliveries(deps: DeliveriesDeps): Deliveries {
  const { db, now, monotonic, log, onAttempt } = deps;
  const busy = new Map<number, { readonly tenant: number; readonly done: Promise<void> }>();
  /** Contact points that do not take their messages. */
  const troubles = createBackOffs<number>(retryDelayMs, monotonic);
  /** Contact points of which the metadata cannot be read or written. */
  const faults = createBackOffs<number>(retryDelayMs, monotonic);
  /** Attempts that could not be stored, by contact point: each is stored before anything else is sent there. */
  const unsaved = new Map<number, Attempt>();
  let closing = false;
  let looks = 0;

  const countSending = (tenant: number): number =>
    [...busy.values()].filter((one) => one.tenant === tenant).length;

  const settled = async (): Promise<void> => {
    await Promise.all([...busy.values()].map(({ done }) => done));
  };

  async function begin({ id, tenant }: Point): Promise<void> {
    const notification = unsaved.has(id) ? undefined : await dueNotification(db, id, now());
    if (closing || (notification === undefined && !unsaved.has(id))) return;
    const work = notification === undefined ? save(id) : deliver(id, notification);
    const done = work.then(
      () => recovered(id),
      (error: unknown) => faulted(id, error),
    );
    busy.set(id, { tenant, done: done.finally(() => busy.delete(id)) });
  }

  async function deliver(id: number, notification: DueNotification): Promise<void> {
    const outcome = await attempt(id, notification);
    const at = now();
    const failures = Math.max(troubles.failures(id), notification.attempts + 1);
    const { retryAt } = outcome;
    const nextAt = outcome.isTransient
      ? Math.max(at + delayAfter(retryDelayMs, failures), retryAt ?? 0)
      : null;
    const goesOn = nextAt !== null && nextAt < notification.createAt + giveUpMs;
    const status = outcome.isDelivered ? "delivered" : "failed";
    onAttempt(notification.type, goesOn ? (retryAt === undefined ? "retried" : "limited") : status);
    const { answer } = outcome;
    const result: Attempt["result"] = goesOn
      ? { status: "waiting", answer, nextAt }
      : { status, answer, nextAt: null };
    unsaved.set(id, { at, notification: notification.id, result });
    await save(id);
  }

  async function save(id: number): Promise<void> {
    const attempt = unsaved.get(id);
    if (attempt === undefined) return;
    await saveAttempt(db, attempt.at, attempt.notification, attempt.result);
    unsaved.delete(id);
  }

  /** One line when the metadata fail, and one when all can be read and stored again. */
  function faulted(id: number, error: unknown): void {
    if (faults.size === 0) log.warn("cannot read or store notifications", { error });
    faults.failed(id);
  }

  function recovered(id: number): void {
    const before = faults.size;
    faults.worked(id);
    if (before > 0 && faults.size === 0) log.info("notifications are read and stored again");
  }

  async function attempt(id: number, notification: DueNotification): Promise<SendOutcome> {
    const point = await open(id);
    if (point === undefined) return refuseMessage("the contact point was deleted");
    if ("isDelivered" in point) return note(notification, id, point);
    if (point.enable === 0) return refuseMessage("the contact point is off");
    const message = JSON.parse(notification.message) as AlertMessage;
    const outgoing = { message, id: notification.messageID };
    const { renderer, senders, quota, ending } = deps;
    const send = (to: OpenContactPoint): Promise<SendOutcome> =>
      sendMessage(renderer, senders, to, outgoing, ending).catch((error: unknown) =>
        refuseMessage(formatSendError(error)),
      );
    const outcome = await quota.send(point, false, send);
    return note(notification, id, outcome);
  }

  /** Secrets that another master key sealed are the contact point's trouble; a store that is away is not. */
  async function open(id: number): Promise<OpenContactPoint | SendOutcome | undefined> {
    try {
      return await openContactPoint(deps, id);
    } catch (error) {
      if (error instanceof StoreError && error.code === "CORRUPT") return failed(formatSendError(error));
      throw error;
    }
  }

  /** One line when a contact point stops to take messages, and one when it does again. */
  function note(
    { contactPointName, tenant, type }: DueNotification,
    id: number,
    outcome: SendOutcome,
  ): SendOutcome {
    const before = troubles.failures(id);
    const about = { contactPoint: id, name: contactPointName, type, tenant };
    const { isDelivered, isTransient, answer } = outcome;
    if (isDelivered) {
      troubles.worked(id);
      if (before > 0) log.info("contact point takes messages again", about);
    } else {
      if (before === 0) log.warn("contact point takes no message", { ...about, answer });
      // A message that is refused says nothing about the next one.
      troubles.failed(id, isTransient);
    }
    return outcome;
  }

  return {
    get failing() {
      return troubles.size;
    },
    look: async () => {
      if (closing || busy.size >= sendingMax) return;
      const points = (await pointsWaiting(db)).filter(
        ({ id }) => !busy.has(id) && !troubles.isWaiting(id) && !faults.isWaiting(id),
      );
      // Tenants take turns: one contact point of each, then a second of each.
      const pointsByTenant = groupByTenant(points);
      // The first of them changes, so that nobody is always the last.
      pointsByTenant.push(...pointsByTenant.splice(0, looks++ % Math.max(1, pointsByTenant.length)));
      while (pointsByTenant.length > 0 && busy.size < sendingMax && !closing) {
        const own = pointsByTenant.shift() ?? [];
        const [next, ...others] = own;
        if (next === undefined || countSending(next.tenant) >= sendingOfTenantMax) continue;
        await begin(next);
        if (others.length > 0) pointsByTenant.push(others);
      }
    },
    forgetGone: async () => {
      const ids = [...new Set([...troubles.subjects(), ...faults.subjects(), ...unsaved.keys()])];
      if (ids.length === 0) return;
      const left = await contactPointsLeft(db, ids);
      for (const id of ids) {
        if (left.get(id) !== true) troubles.worked(id);
        if (left.has(id)) continue;
        recovered(id);
        unsaved.delete(id);
      }
    },
    settled,
    close: async () => {
      closing = true;
      await settled();
      await Promise.allSettled([...unsaved.keys()].map(save));
    },
  };
}

function groupByTenant<Point extends { readonly tenant: number }>(points: readonly Point[]): Point[][] {
  const found = new Map<number, Point[]>();
  for (const point of points) {
    const own = found.get(point.tenant);
    if (own === undefined) found.set(point.tenant, [point]);
    else own.push(point);
  }
  return [...found.values()];
}
