import type { Db } from "../db/db.js";

/** Recipients that mail of a tenant may have within an hour, also after a restart and over all processes; 0: no bound. */
export interface MailLimits {
  /** In all. */
  readonly recipientsMax: number;
  /** The limit for test messages. */
  readonly testsMax: number;
}

/** The amount that one message adds. */
interface MailCount {
  readonly tenant: number;
  readonly recipients: number;
  /** Those of them that get a test. */
  readonly tests: number;
}

/** Recipients that are counted at a minute since 1970. */
export interface MailReservation extends MailCount {
  readonly minute: number;
}

const minuteMs = 60_000;
/** Sixty whole minutes and the one that has begun: no hour has more, whenever it begins. */
const minutesMax = 61;

/**
 * Counts a message's recipients if they are within the limits, else returns when they will be.
 * @param now milliseconds since 1970, as what it returns
 */
export async function acquireMail(
  db: Db,
  now: number,
  { tenant, recipients, tests }: MailCount,
  { recipientsMax, testsMax }: MailLimits,
): Promise<MailReservation | number> {
  const minute = Math.floor(now / minuteMs);
  const from = minute - minutesMax;
  const results = await db.write([
    { sql: "delete from mail_minute where tenant = ? and minute <= ?", args: [tenant, from] },
    {
      // A clock that was wrong may have left minutes that are still to come: they do not count.
      sql: `insert into mail_minute (tenant, minute, recipients, tests)
        select ?1, ?2, ?3, ?4 from (
          select coalesce(sum(recipients), 0) r, coalesce(sum(tests), 0) t
          from mail_minute where tenant = ?1 and minute between ?5 and ?2)
        where (?6 = 0 or r + ?3 <= ?6) and (?7 = 0 or ?4 = 0 or t + ?4 <= ?7)
        on conflict (tenant, minute) do update
          set recipients = recipients + excluded.recipients, tests = tests + excluded.tests`,
      args: [tenant, minute, recipients, tests, from + 1, recipientsMax, testsMax],
    },
  ]);
  if (results[1]?.rowsAffected === 1) return { tenant, recipients, tests, minute };
  const rows = await db.all<{ minute: number; recipients: number; tests: number }>(
    `select minute, recipients, tests from mail_minute
     where tenant = ? and minute between ? and ? order by minute desc`,
    [tenant, from + 1, minute],
  );
  return firstFree(rows, { recipients, tests }, { recipientsMax, testsMax }) ?? (minute + 1) * minuteMs;
}

/** When the newest minute that must no longer count leaves the hour. @param rows the newest first */
function firstFree(
  rows: readonly { readonly minute: number; readonly recipients: number; readonly tests: number }[],
  added: { readonly recipients: number; readonly tests: number },
  { recipientsMax, testsMax }: MailLimits,
): number | undefined {
  let { recipients, tests } = added;
  const blocking = rows.find((row) => {
    recipients += row.recipients;
    tests += row.tests;
    const isOver = recipientsMax > 0 && recipients > recipientsMax;
    return isOver || (testsMax > 0 && added.tests > 0 && tests > testsMax);
  });
  return blocking && (blocking.minute + minutesMax) * minuteMs;
}

/** Counts a message's recipients no longer: it was not sent. */
export async function releaseMail(db: Db, reservation: MailReservation): Promise<void> {
  const { tenant, minute, recipients, tests } = reservation;
  await db.write([
    {
      sql: `update mail_minute set recipients = recipients - ?, tests = tests - ?
        where tenant = ? and minute = ?`,
      args: [recipients, tests, tenant, minute],
    },
  ]);
}
