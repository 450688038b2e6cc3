import { addCount, type Meter } from "../../ingest/meter.js";
import { nextTurn } from "../../store/lib/scheduling.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { Vault } from "../../store/metadata/db/secrets.js";
import { tenantsOfOutbox } from "../../store/metadata/notifications/alert-outbox.js";
import type { OpenContactPoint } from "../../store/metadata/notifications/contact-points.js";
import type { MailLimits } from "../../store/metadata/notifications/mail-quota.js";
import { tenantsOfGroups } from "../../store/metadata/notifications/notification-groups.js";
import {
  allWaiting,
  holdLease,
  removeOldNotifications,
  saveTest,
  testMessageID,
} from "../../store/metadata/notifications/notifications.js";
import { removeOldSilences } from "../../store/metadata/notifications/silences.js";
import { listTenants } from "../../store/metadata/users/tenants.js";
import { every } from "../background/every.js";
import { logRemoved } from "../background/log-removed.js";
import type { SendOutcome } from "../contact-points/sending.js";
import type { Logger } from "../observability/log.js";
import { type AlertMessage, sampleMessage } from "./alert-message.js";
import { assignAlerts } from "./assign-alerts.js";
import { createMessageDeliveries } from "./deliver.js";
import { createMailQuota } from "./mail-quota.js";
import { notifyGroups } from "./notify-groups.js";
import { renderMessage, type Senders, sendMessage } from "./send-message.js";
import { createTemplateRenderer, previewMsMax } from "./templates.js";

/** Notifies people of alerts: beginnings and ends go to the groups of routes, and from them to contact points. */
export interface Notifier {
  /**
   * Sends a test in the built-in texts at once, and stores its outcome. Returns the notification's record id too, or
   * that the tenant has as many tests under way, or within an hour, as it may.
   */
  test(point: OpenContactPoint): Promise<(SendOutcome & { readonly id: number }) | LimitedTest>;
  /** What a message would say. @throws TemplateError */
  preview(
    point: Pick<OpenContactPoint, "tenant" | "type" | "language" | "subjectTemplate" | "bodyTemplate">,
  ): Promise<{ readonly subject: string; readonly body: string }>;
  close(): Promise<void>;
}

interface LimitedTest {
  readonly reason: string;
  /** From when on there may be another one, in milliseconds since 1970. */
  readonly retryAt: number;
}

export interface NotifierDeps {
  readonly db: Db;
  readonly vault: Vault;
  readonly meter: Meter;
  readonly senders: Senders;
  /** Recipients of mail within an hour. */
  readonly mailLimits: MailLimits;
  /** This process among those that share the metadata. */
  readonly node: number;
  /** The deployment's zone. */
  readonly timezone: string;
  /** Days that the log of notifications is kept. */
  readonly retentionDays: number;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
  /** By which retention removes, milliseconds since 1970. */
  readonly retentionTime: () => number;
}

const lookMs = 1000;
const retentionMs = 60_000;
const waitingMs = 10_000;
const dayMs = 86_400_000;
const rowsPerStep = 1000;
/** How long a process may be silent until another one notifies in its place. */
const leaseMs = 30_000;
const testsOfTenantMax = 8;
/** After which a test has ended. */
const testMs = 15_000;
/** How long running sends have when the service ends; messages that have not gone out go out after its next start. */
const closeMs = 5000;
/** Steps of one look, so that the outcome of a flood is not waited for. */
const stepsMax = 100;

export function startNotifier(deps: NotifierDeps): Notifier {
  const { db, meter, node, timezone, log, now } = deps;
  const renderer = createTemplateRenderer();
  const quota = createMailQuota(db, deps.mailLimits, now);
  const ending = new AbortController();
  const deliveries = createMessageDeliveries({
    ...deps,
    renderer,
    quota,
    ending: ending.signal,
    onAttempt: (type, outcome) => addCount(meter.notifications, `${type} ${outcome}`),
  });
  let leaseUntil = 0;

  /** Alone with its metadata a process needs no lease. */
  async function mayNotify(): Promise<boolean> {
    if (!db.shared) return true;
    const at = now();
    if (leaseUntil - at > leaseMs / 2) return true;
    const isHeld = await holdLease(db, node, at, at + leaseMs);
    leaseUntil = isHeld ? at + leaseMs : 0;
    return isHeld;
  }

  /** Runs a step of each tenant in turn until there is nothing to do. */
  async function inRoundRobin(
    tenants: readonly number[],
    step: (tenant: number) => Promise<boolean>,
  ): Promise<void> {
    let left = tenants;
    for (let steps = 0; left.length > 0 && steps < stepsMax; ) {
      const more: number[] = [];
      for (const tenant of left) {
        if (await step(tenant)) more.push(tenant);
        steps++;
        await nextTurn();
      }
      left = more;
    }
  }

  const jobs = [
    every(lookMs, "tell of alerts", log, async () => {
      if (!(await mayNotify())) return;
      await inRoundRobin(await tenantsOfOutbox(db), (tenant) => assignAlerts(db, tenant, now()));
      await inRoundRobin(await tenantsOfGroups(db), (tenant) => notifyGroups(db, tenant, timezone, now()));
      await deliveries.look();
      meter.contactPointsFailing = deliveries.failing;
    }),
    every(waitingMs, "count the notifications that wait", log, async () => {
      meter.notificationsWaiting = await allWaiting(db);
      await deliveries.forgetGone();
    }),
    every(retentionMs, "apply the notifications' retention", log, async () => {
      const before = deps.retentionTime() - deps.retentionDays * dayMs;
      logRemoved(log, "silences", await removeOldSilences(db, before), before);
      let rows = 0;
      for (const { id } of await listTenants(db)) {
        rows += await removeOldNotifications(db, id, { before, limit: rowsPerStep });
        await nextTurn();
      }
      logRemoved(log, "notifications", rows, before);
    }),
  ];

  /** Tests under way, by tenant. */
  const testing = new Map<number, number>();

  async function test(
    point: OpenContactPoint,
  ): Promise<(SendOutcome & { readonly id: number }) | LimitedTest> {
    const message: AlertMessage = sampleMessage("test", timezone, now());
    const outgoing = { message, id: await testMessageID(db) };
    const send = (to: OpenContactPoint): Promise<SendOutcome> =>
      sendMessage(renderer, deps.senders, to, outgoing, ending.signal);
    const outcome = await quota.send(point, true, send);
    const { retryAt, answer: reason } = outcome;
    if (retryAt !== undefined) return { reason, retryAt };
    return { ...outcome, id: await saveTest(db, now(), point, message, outcome) };
  }

  function stopSending(): void {
    ending.abort();
    void renderer.close();
  }

  return {
    test: async (point) => {
      const { tenant } = point;
      const own = testing.get(tenant) ?? 0;
      if (own >= testsOfTenantMax) {
        return { reason: "as many tests are under way as may be", retryAt: now() + testMs };
      }
      testing.set(tenant, own + 1);
      try {
        return await test(point);
      } finally {
        const left = (testing.get(tenant) ?? 1) - 1;
        if (left === 0) testing.delete(tenant);
        else testing.set(tenant, left);
      }
    },
    preview: (point) => renderMessage(renderer, point, sampleMessage("alert", timezone, now()), previewMsMax),
    close: async () => {
      await Promise.all(jobs.map((job) => job.stop()));
      const grace = setTimeout(stopSending, closeMs);
      await deliveries.close();
      clearTimeout(grace);
      stopSending();
      await renderer.close();
    },
  };
}
