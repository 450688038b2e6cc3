import type { Db } from "../../store/metadata/db/db.js";
import type { Vault } from "../../store/metadata/db/secrets.js";
import {
  type OpenContactPoint,
  openContactPoint,
} from "../../store/metadata/notifications/contact-points.js";
import {
  dueNotification,
  type NotificationDetail,
  pointsWaiting,
  saveAttempt,
} from "../../store/metadata/notifications/notifications.js";
import { type Outcome, reasonOf, refused } from "../contact-points/sending.js";
import type { Logger } from "../observability/log.js";
import type { AlertMessage } from "./alert-message.js";
import { type Senders, sendMessage } from "./send-message.js";
import type { TemplateRenderer } from "./templates.js";

/** Sends what waits: one message at a time to each contact point, to several at once. */
interface Deliveries {
  /** Begins what is due and has room. */
  look(): Promise<void>;
  /** Contact points whose last attempt failed. */
  readonly failing: number;
  /** Resolves once what is under way has ended. */
  close(): Promise<void>;
}

interface DeliveriesDeps {
  readonly db: Db;
  readonly vault: Vault;
  readonly renderer: TemplateRenderer;
  readonly senders: Senders;
  /** Counts an attempt. */
  readonly onAttempt: (type: string, outcome: "delivered" | "retried" | "failed") => void;
  readonly log: Logger;
  /** Aborted when the service waits no longer for what is under way. */
  readonly ending: AbortSignal;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
}

/** Messages under way at once, of all tenants and of one. */
const sendingMax = 16;
const sendingOfTenantMax = 4;
/** Doubles with each failure of the contact point in a row. */
const backOffMs = { first: 5000, longest: 600_000 } as const;
/** How long a message is tried. */
const giveUpMs = 24 * 3_600_000;

interface Trouble {
  readonly failures: number;
  /** Until when its contact point is left alone, monotonic milliseconds. */
  readonly until: number;
}

export function createDeliveries(deps: DeliveriesDeps): Deliveries {
  const { db, now, monotonic, log, onAttempt } = deps;
  const busy = new Map<number, { readonly tenant: number; readonly done: Promise<void> }>();
  const troubles = new Map<number, Trouble>();
  let closing = false;
  let looks = 0;

  const sendingOf = (tenant: number): number =>
    [...busy.values()].filter((one) => one.tenant === tenant).length;

  async function begin(point: { readonly id: number; readonly tenant: number }): Promise<void> {
    const notification = await dueNotification(db, point.id, now());
    if (notification === undefined || closing) return;
    const done = deliver(point.id, notification)
      .catch((error: unknown) => log.warn("cannot store the outcome of a notification", { error }))
      .finally(() => busy.delete(point.id));
    busy.set(point.id, { tenant: point.tenant, done });
  }

  async function deliver(id: number, notification: NotificationDetail): Promise<void> {
    const point = await openContactPoint(deps, id);
    const outcome = await attempt(point, notification);
    note(id, notification, outcome);
    const at = now();
    const status = outcome.isDelivered ? "delivered" : "failed";
    const own = { failures: notification.attempts + 1 };
    const nextAt = outcome.isTransient ? at + Math.max(waitMs(troubles.get(id)), waitMs(own)) : null;
    const goesOn = nextAt !== null && nextAt < notification.createAt + giveUpMs;
    onAttempt(notification.type, goesOn ? "retried" : status);
    await saveAttempt(db, at, notification.id, {
      status: goesOn ? "waiting" : status,
      answer: outcome.answer,
      nextAt: goesOn ? nextAt : null,
    });
  }

  async function attempt(
    point: OpenContactPoint | undefined,
    { id, message }: NotificationDetail,
  ): Promise<Outcome> {
    if (point === undefined) return refused("the contact point was deleted");
    if (point.enable === 0) return refused("the contact point is off");
    const told = JSON.parse(message) as AlertMessage;
    const outgoing = { message: told, id: `tidemark-${id}` };
    return sendMessage(deps.renderer, deps.senders, point, outgoing, deps.ending).catch((error: unknown) =>
      refused(reasonOf(error)),
    );
  }

  /** One line when a contact point stops to take messages, and one when it does again. */
  function note(id: number, { contactPointName, tenant, type }: NotificationDetail, outcome: Outcome): void {
    const before = troubles.get(id);
    const about = { contactPoint: id, name: contactPointName, type, tenant };
    if (outcome.isDelivered) {
      troubles.delete(id);
      if (before !== undefined) log.info("contact point takes messages again", about);
      return;
    }
    if (before === undefined)
      log.warn("contact point takes no message", { ...about, answer: outcome.answer });
    const failures = (before?.failures ?? 0) + 1;
    // A message that is refused says nothing about the next one.
    const until = outcome.isTransient ? monotonic() + waitMs({ failures }) : 0;
    troubles.set(id, { failures, until });
  }

  return {
    get failing() {
      return troubles.size;
    },
    look: async () => {
      if (closing || busy.size >= sendingMax) return;
      const at = monotonic();
      const points = (await pointsWaiting(db)).filter(
        ({ id }) => !busy.has(id) && (troubles.get(id)?.until ?? 0) <= at,
      );
      // Tenants take turns: one contact point of each, then a second of each.
      const turns = groupByTenant(points);
      // The first of them changes, so that nobody is always the last.
      turns.push(...turns.splice(0, looks++ % Math.max(1, turns.length)));
      while (turns.length > 0 && busy.size < sendingMax && !closing) {
        const own = turns.shift() ?? [];
        const [next, ...others] = own;
        if (next === undefined || sendingOf(next.tenant) >= sendingOfTenantMax) continue;
        await begin(next);
        if (others.length > 0) turns.push(others);
      }
    },
    close: async () => {
      closing = true;
      await Promise.all([...busy.values()].map(({ done }) => done));
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

function waitMs(trouble: Pick<Trouble, "failures"> | undefined): number {
  const failures = trouble?.failures ?? 1;
  return Math.min(backOffMs.longest, backOffMs.first * 2 ** Math.min(20, failures - 1));
}
