/** One pass over the schedules: missed ones are skipped, and due ones run, a portion at a time. */
import type { Zone } from "../../query/zone.js";
import { orAborted } from "../../store/lib/abortable.js";
import { mapInSlices, nextTurn } from "../../store/lib/scheduling.js";
import {
  claimDeviceRuns,
  claimGroupRun,
  claimRun,
  type DueForDevice,
  type DueForGroup,
  dueForDevices,
  dueForGroups,
  missedRepeats,
  type OtherwisePlanned,
  otherwisePlanned,
} from "../../store/metadata/commands/due-schedules.js";
import type { Db } from "../../store/metadata/db/db.js";
import { newTaskID, type Tasks } from "../tasks/runner.js";
import type { Command, Commands } from "./commands.js";
import { type GroupPublishInput, groupPublish } from "./group-publish.js";
import { createNextRuns } from "./next-run.js";

export interface DueRunsDeps {
  readonly db: Db;
  readonly node: number;
  readonly zone: Zone;
  readonly commands: Commands;
  readonly tasks: Pick<Tasks, "adopt" | "room">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface DueRuns {
  /** Plans the runs of cron schedules anew that follow from other rules of the zone than this process has. */
  planAnew(): Promise<{ readonly planned: number; readonly missed: number }>;
  /** Moves repeats that are overdue to their next time without running them; returns how many. */
  skipMissed(): Promise<number>;
  /** Sends some of the due commands to devices; false when none was due. */
  toDevices(): Promise<boolean>;
  /** Starts the tasks of some due commands to groups; false when no more may be due, or no more may start now. */
  toGroups(): Promise<boolean>;
}

const runsPerStep = 100;
const missedPerStep = 500;
/** How long a run is left to the process that its device is connected to. */
const connectedFirstMs = 2000;
/** If other processes share the metadata, a run this late at our start may be one that they are about to take. */
const sharedLateMs = 5000;

/**
 * @param closing when aborted, nothing more is started, and a journal that takes nothing is not waited for
 */
export function createDueRuns(deps: DueRunsDeps, closing: AbortSignal): DueRuns {
  const { db, node, commands, tasks, now } = deps;
  const nextRuns = createNextRuns(deps.zone);
  const findNextRun = nextRuns.after;
  const missedBefore = (): number => now() - (db.shared ? sharedLateMs : 0);

  return {
    planAnew: async () => {
      const { zoneRules } = nextRuns;
      let [planned, missed, last] = [0, 0, 0];
      while (!closing.aborted) {
        const at = now();
        const rules = { zoneRules, dueBefore: missedBefore(), now: at };
        const found = await otherwisePlanned(db, rules, last, missedPerStep);
        if (found.length === 0) break;
        last = found.at(-1)?.scheduleIntID ?? last;
        const plans = await mapInSlices(found, (one) => nextRuns.anew(one, at));
        await db.write(plans.map(({ next }, i) => claimRun(found[i] as OtherwisePlanned, next)));
        planned += plans.length;
        missed += plans.filter(({ hasMissed }) => hasMissed).length;
        await nextTurn();
      }
      return { planned, missed };
    },
    skipMissed: async () => {
      const before = missedBefore();
      let skipped = 0;
      while (!closing.aborted) {
        const missed = await missedRepeats(db, before, missedPerStep);
        if (missed.length === 0) break;
        const at = now();
        await db.write(missed.map((due) => claimRun(due, findNextRun(due, at))));
        skipped += missed.length;
        await nextTurn();
      }
      return skipped;
    },
    toDevices: async () => {
      const at = now();
      const elsewhereBefore = at - connectedFirstMs;
      const due = await dueForDevices(db, { now: at, node, elsewhereBefore }, runsPerStep);
      if (due.length === 0) return false;
      const sent = due.map(toCommand);
      const routes = await Promise.all(due.map((one, i) => commands.routeTo(one, sent[i] as Command)));
      const runs = due.map((one, i) => ({
        due: one,
        next: findNextRun(one, at),
        log: commands.logOf(one, routes[i] ?? null, null, sent[i] as Command),
      }));
      const logs = await claimDeviceRuns(db, at, runs);
      const sending = logs.map(async (logID, i) => {
        const route = routes[i] ?? null;
        if (logID === null || route === null) return;
        await commands.send(route, { logID, groupLogIntID: null }, sent[i] as Command);
      });
      await orAborted(commands.untilKept(sending), closing);
      return true;
    },
    toGroups: async () => {
      const capacity = Math.min(tasks.room, runsPerStep);
      const due = capacity === 0 ? [] : await dueForGroups(db, now(), capacity);
      for (const one of due) {
        const at = now();
        const task = { id: newTaskID(), kind: groupPublish, input: toGroupInput(one), node };
        const claimed = await claimGroupRun(db, at, one, findNextRun(one, at), task);
        if (claimed !== null) tasks.adopt(claimed);
      }
      return due.length === capacity && capacity > 0;
    },
  };
}

function toCommand({ topic, payload, qos, ttl }: DueForDevice): Command {
  return { topic, payload: new Uint8Array(payload), qos: qos === 0 ? 0 : 1, ttl };
}

function toGroupInput({ payload, qos, ...due }: DueForGroup): GroupPublishInput {
  const { groupIntID, groupID, groupName, needAck, topic, ttl } = due;
  return {
    groupIntID,
    groupID,
    groupName,
    needAck,
    topic,
    ttl,
    payload: Buffer.from(payload).toString("utf8"),
    qos: qos === 0 ? 0 : 1,
  };
}
