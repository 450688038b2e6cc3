import type { Db } from "../../store/metadata/db/db.js";
import { isDiskFull } from "../../store/metadata/db/sql-errors.js";
import type { OpenContactPoint } from "../../store/metadata/notifications/contact-points.js";
import {
  acquireMail,
  type MailLimits,
  type MailReservation,
  releaseMail,
} from "../../store/metadata/notifications/mail-quota.js";
import { failed, formatSendError, refuseMessage, type SendOutcome } from "../contact-points/sending.js";

/** Keeps each tenant's mail within its recipients an hour; other contact points are sent to as they are. */
export interface MailQuota {
  /**
   * Sends if the recipients are within the quota; else the outcome says when they will be. A test of more addresses than
   * a tenant may test goes to the first of them.
   */
  send(
    point: OpenContactPoint,
    isTest: boolean,
    send: (point: OpenContactPoint) => Promise<SendOutcome>,
  ): Promise<SendOutcome>;
}

/** The settings that hold the limits, as an outcome names them. */
const settings = {
  all: "TENANT_MAIL_RECIPIENTS_PER_HOUR",
  tests: "TENANT_TEST_RECIPIENTS_PER_HOUR",
} as const;

/** @param now milliseconds since 1970 */
export function createMailQuota(db: Db, limits: MailLimits, now: () => number): MailQuota {
  const { recipientsMax, testsMax } = limits;
  const testedMax = Math.min(...[recipientsMax, testsMax].filter((max) => max > 0), Number.POSITIVE_INFINITY);

  return {
    send: async (point, isTest, send) => {
      if (point.type !== "email") return send(point);
      const to = (point.settings.to as readonly string[]).slice(0, isTest ? testedMax : undefined);
      const recipients = to.length;
      if (recipientsMax > 0 && recipients > recipientsMax) {
        return refuseMessage(`more addresses than ${settings.all} allows, which is ${recipientsMax}`);
      }
      const tests = isTest ? recipients : 0;
      const added = { tenant: point.tenant, recipients, tests };
      let acquired: MailReservation | number | null = null;
      try {
        acquired = await acquireMail(db, now(), added, limits);
      } catch (error) {
        if (isTest) throw error;
        // On a full disk alerts still go out: one to each contact point, until its outcome can be stored.
        if (!isDiskFull(error)) return failed(formatSendError(error));
      }
      if (typeof acquired === "number") {
        const used = isTest ? `${settings.all} or ${settings.tests}` : settings.all;
        const answer = `as many recipients of mail as ${used} allows were reached within an hour`;
        return { isDelivered: false, isTransient: true, answer, retryAt: acquired };
      }
      const outcome = await send({ ...point, settings: { ...point.settings, to } });
      // What the mail server refused for good counts: it has looked at the addresses.
      const isSent = outcome.isDelivered || !outcome.isTransient;
      if (!isSent && acquired !== null) await releaseMail(db, acquired).catch(() => undefined);
      return outcome;
    },
  };
}
