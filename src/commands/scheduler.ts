import { nextTurn } from "../../store/lib/scheduling.js";
import { repeatedFlight } from "../../store/lib/single-flight.js";
import { nextDueAt } from "../../store/metadata/commands/due-schedules.js";
import type { Logger } from "../observability/log.js";
import { createDueRuns, type DueRunsDeps } from "./due-runs.js";

/** Runs schedules when they are due: one timer for the earliest of them. */
export interface Scheduler {
  /**
   * Looks for due schedules, because one was added or removed or the clock was set; resolves when they have
   * run.
   */
  look(): Promise<void>;
  close(): Promise<void>;
}

interface SchedulerDeps extends DueRunsDeps {
  readonly log: Logger;
}

/** A clock that is set forward is noticed after this long at the latest. */
const sleepMsMax = 60_000;
/** How soon a schedule that is due, but cannot run here yet, is looked at again. */
const againMs = 250;

/** Starts the schedules. Repeats missed while the service was down are skipped; the rest run at once. */
export function startScheduler(deps: SchedulerDeps): Scheduler {
  const { db, log, now } = deps;
  const closing = new AbortController();
  const { signal } = closing;
  const runs = createDueRuns(deps, signal);
  let timer: NodeJS.Timeout | undefined;
  let hasCaughtUp = false;
  let failing = false;

  async function runDue(): Promise<void> {
    if (!hasCaughtUp) await catchUp();
    hasCaughtUp = true;
    while (!signal.aborted && (await runs.toDevices())) await nextTurn();
    while (!signal.aborted && (await runs.toGroups())) await nextTurn();
  }

  /** Catches up with changes while no service ran: the rules of the zone, and the time. */
  async function catchUp(): Promise<void> {
    const { planned, missed } = await runs.planAnew();
    if (planned > 0) {
      log.info("cron schedules are planned anew, by other rules of the time zone", { schedules: planned });
    }
    const skipped = missed + (await runs.skipMissed());
    if (skipped > 0) {
      log.warn("repeated schedules were due while no service ran, and wait for their next time", {
        schedules: skipped,
      });
    }
  }

  const looks = repeatedFlight(async () => {
    if (signal.aborted) return;
    clearTimeout(timer);
    try {
      await runDue();
      const at = await nextDueAt(db);
      failing = false;
      if (at !== null) plan(at);
    } catch (error) {
      if (!failing) log.warn("cannot run schedules", { error });
      failing = true;
      plan(0);
    }
  });

  function plan(at: number): void {
    if (signal.aborted) return;
    const waitMs = at <= now() ? againMs : Math.min(at - now(), sleepMsMax);
    timer = setTimeout(() => void look(), waitMs);
  }

  function look(): Promise<void> {
    return signal.aborted ? Promise.resolve() : looks.run();
  }

  void look();
  return {
    look,
    close: async () => {
      closing.abort();
      clearTimeout(timer);
      await looks.running;
      clearTimeout(timer);
    },
  };
}
