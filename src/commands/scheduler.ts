import type { Zone } from "../../query/zone.js";
import { nextTurn } from "../../store/lib/turns.js";
import {
  claimDeviceRuns,
  claimGroupRun,
  claimRun,
  type DueForDevice,
  type DueForGroup,
  dueForDevices,
  dueForGroups,
  missedRepeats,
  nextDueAt,
} from "../../store/metadata/commands/due-schedules.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { Logger } from "../observability/log.js";
import { newTaskID, type Tasks } from "../tasks/runner.js";
import type { Command, Commands } from "./commands.js";
import { type GroupPublishInput, groupPublish } from "./group-publish.js";
import { createNextRuns } from "./next-run.js";

/** Runs schedules when they are due: one timer for the earliest of them. */
export interface Scheduler {
  /** A schedule has come or gone, or the clock was moved: looks, and resolves when what is due has run. */
  look(): Promise<void>;
  close(): Promise<void>;
}

interface SchedulerDeps {
  readonly db: Db;
  readonly node: number;
  readonly zone: Zone;
  readonly commands: Commands;
  readonly tasks: Pick<Tasks, "adopt" | "room">;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const runsPerStep = 100;
const missedPerStep = 500;
/** A clock that is set forward is noticed after so long at the latest. */
const sleepMsMax = 60_000;
/** What is due and cannot run here yet is looked at again after this. */
const againMs = 250;
/** A run is left so long to the process that its device is connected to. */
const elsewhereMs = 2000;
/** With other processes about, a run that is so late at our start may be one that they are about to take. */
const sharedLateMs = 5000;

/** Opens the schedules: repeats that were missed while the service was down are skipped, the rest runs at once. */
export function startScheduler(deps: SchedulerDeps): Scheduler {
  const { db, node, zone, commands, tasks, log, now } = deps;
  const nextRunOf = createNextRuns(zone);
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | null = null;
  let again = false;
  let closed = false;
  let close: () => void = () => undefined;
  const closing = new Promise<void>((resolve) => {
    close = resolve;
  });
  let skipped = false;
  let failing = false;

  async function skipMissed(): Promise<void> {
    const before = now() - (db.shared ? sharedLateMs : 0);
    while (!closed) {
      const missed = await missedRepeats(db, before, missedPerStep);
      if (missed.length === 0) break;
      const at = now();
      await db.write(missed.map((due) => claimRun(due, nextRunOf(due, at))));
      await nextTurn();
    }
    skipped = true;
  }

  async function runForDevices(): Promise<boolean> {
    const at = now();
    const due = await dueForDevices(db, { now: at, node, elsewhereBefore: at - elsewhereMs }, runsPerStep);
    if (due.length === 0) return false;
    const sent = due.map(commandOf);
    const ways = await Promise.all(due.map((one, i) => commands.wayTo(one, sent[i] as Command)));
    const runs = due.map((one, i) => ({
      due: one,
      next: nextRunOf(one, at),
      log: commands.logOf(one, ways[i] ?? null, null, sent[i] as Command),
    }));
    const logs = await claimDeviceRuns(db, at, runs);
    const sending = logs.map(async (logID, i) => {
      const way = ways[i] ?? null;
      if (logID === null || way === null) return;
      await commands.send(way, { logID, groupLogIntID: null }, sent[i] as Command);
    });
    await Promise.race([commands.kept(sending), closing]);
    return true;
  }

  async function runForGroups(): Promise<boolean> {
    const room = Math.min(tasks.room, runsPerStep);
    const due = room === 0 ? [] : await dueForGroups(db, now(), room);
    for (const one of due) {
      const at = now();
      const task = { id: newTaskID(), kind: groupPublish, input: inputOf(one), node };
      const claimed = await claimGroupRun(db, at, one, nextRunOf(one, at), task);
      if (claimed !== null) tasks.adopt(claimed);
    }
    return due.length === room && room > 0;
  }

  async function run(): Promise<void> {
    clearTimeout(timer);
    try {
      if (!skipped) await skipMissed();
      do {
        again = false;
        while (!closed && (await runForDevices())) await nextTurn();
        while (!closed && (await runForGroups())) await nextTurn();
      } while (again && !closed);
      const at = await nextDueAt(db);
      failing = false;
      if (at !== null) plan(at);
    } catch (error) {
      if (!failing) log.warn("cannot run schedules", { error });
      failing = true;
      plan(0);
    } finally {
      // In the turn of the last look: whoever asks a moment later must not wait for what has ended.
      running = null;
    }
  }

  function plan(at: number): void {
    if (closed) return;
    const waitMs = at <= now() ? againMs : Math.min(at - now(), sleepMsMax);
    timer = setTimeout(() => void look(), waitMs);
  }

  function look(): Promise<void> {
    if (closed) return Promise.resolve();
    again = true;
    running ??= run();
    return running;
  }

  void look();
  return {
    look,
    close: async () => {
      closed = true;
      close();
      clearTimeout(timer);
      await running;
      clearTimeout(timer);
    },
  };
}

function commandOf({ topic, payload, qos, ttl }: DueForDevice): Command {
  return { topic, payload: new Uint8Array(payload), qos: qos === 0 ? 0 : 1, ttl };
}

function inputOf({ payload, qos, ...due }: DueForGroup): GroupPublishInput {
  const { groupIntID, groupID, groupName, needAck, topic, ttl } = due;
  return {
    ...{ groupIntID, groupID, groupName, needAck, topic, ttl },
    payload: Buffer.from(payload).toString("utf8"),
    qos: qos === 0 ? 0 : 1,
  };
}
