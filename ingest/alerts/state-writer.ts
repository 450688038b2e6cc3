/** Writes the states of devices to the metadata soon after they have changed, many in a transaction. */

import { asError, isUnavailable } from "../../store/lib/errors.js";
import { retry } from "../../store/lib/retry.js";
import { nextTurn } from "../../store/lib/turns.js";
import { saveCheckpoint } from "../../store/metadata/checkpoints.js";
import type { Db, Statement } from "../../store/metadata/db/db.js";
import type { DeviceState } from "./rule-state.js";
import { createStateBacklog } from "./state-backlog.js";
import { endOfWrite, takeStatements } from "./state-statements.js";

export const alertsConsumer = "alerts";

export interface StateWriterOptions {
  readonly db: Db;
  readonly node: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The checkpoint at the start. */
  readonly from: number;
  /** The id up to which everything has been applied and what follows from it is kept. */
  readonly position: () => number;
  /** Everything up to there has had its effect. */
  readonly onSettled: (id: number) => void;
  readonly onTrouble: (error: Error | null) => void;
  /** Nothing more can be written. */
  readonly onFailure: (error: Error) => void;
}

interface StateWriter {
  /** It has changed. */
  touch(state: DeviceState): void;
  isFull(state: DeviceState): boolean;
  /** Writes what waits with alerts. */
  drain(): Promise<void>;
  /** Writes those that `choose` names once nothing else is being written. */
  writeSome(choose: () => readonly DeviceState[]): Promise<void>;
  /** Writes all that has changed. */
  rest(): Promise<void>;
  /** Whether a write has failed for good: nothing is written any more. */
  readonly hasFailed: boolean;
  readonly settledID: number;
  readonly savedID: number;
  /** Writes what is left, if the metadata takes it. */
  close(): Promise<void>;
}

const alertsDelayMs = 20;
/** Counters and locations wait for company, the longer the more devices there are to write. */
const restDelayMs = { least: 200, perDevice: 2, most: 10_000 } as const;
const retryDelayMs = { first: 200, longest: 10_000 } as const;
/** Without effects the checkpoint moves only now and then. */
const checkpointEvery = 10_000;

/** @param onRested is called after all that had changed has been written */
export function createStateWriter(
  options: StateWriterOptions,
  onRested: () => void,
  signal: AbortSignal,
): StateWriter {
  const { db, node } = options;
  const dirty = new Set<DeviceState>();
  /** Those with alerts that have begun or ended. */
  const urgent = new Set<DeviceState>();
  const backlog = createStateBacklog();
  let settledID = options.from;
  let savedID = options.from;
  let restAt = 0;
  let running: Promise<void> | null = null;
  let hasFailed = false;
  let timer: NodeJS.Timeout | undefined;

  /** Then everything up to the present position has had its effect, whatever the checkpoint says. */
  const isClean = (): boolean => dirty.size === 0 && running === null && !hasFailed;

  function schedule(delayMs: number): void {
    if (!signal.aborted) timer ??= setTimeout(runDue, delayMs);
  }

  function runDue(): void {
    timer = undefined;
    if (running === null) void start(flush(performance.now() >= restAt));
  }

  /** One work at a time takes effects out of the states. */
  function start(work: Promise<void>): Promise<void> {
    running = work
      .catch((error: unknown) => {
        // What was taken out to be written is not in the states any more: nothing may be written after it.
        hasFailed = true;
        if (!signal.aborted) options.onFailure(asError(error));
      })
      .finally(() => {
        running = null;
        if (hasFailed) return;
        if (urgent.size > 0) schedule(alertsDelayMs);
        else if (dirty.size > 0 || settledID < options.position()) schedule(restDelayMs.least);
      });
    return running;
  }

  async function alone(work: () => Promise<void>): Promise<void> {
    while (running !== null) await running;
    if (!hasFailed) await start(work());
  }

  /** `target`: everything up to it is written with the last of them. */
  async function writeStates(chosen: readonly DeviceState[], target: number | null = null): Promise<void> {
    for (let at = 0; at < chosen.length; ) {
      const some = chosen.slice(at, endOfWrite(chosen, at));
      at += some.length;
      const isLast = at === chosen.length;
      const checkpoint = isLast && target !== null ? [saveCheckpoint(node, alertsConsumer, target)] : [];
      await write([...(await takeStatements(some, options, forget)), ...checkpoint]);
      if (checkpoint.length > 0) savedID = Math.max(savedID, target ?? 0);
      await nextTurn();
    }
  }

  function forget(state: DeviceState): void {
    dirty.delete(state);
    urgent.delete(state);
    backlog.forget(state);
  }

  /** Writes every dirty device, or those with alerts only. */
  async function flush(all: boolean): Promise<void> {
    const target = options.position();
    const chosen = [...(all ? dirty : urgent)];
    await writeStates(chosen, all ? target : null);
    if (!all) return;
    if (chosen.length === 0 && target - savedID >= checkpointEvery) {
      await write([saveCheckpoint(node, alertsConsumer, target)]);
      savedID = target;
    }
    settledID = Math.max(settledID, target);
    options.onSettled(settledID);
    const delayMs = restDelayMs.least + chosen.length * restDelayMs.perDevice;
    restAt = performance.now() + Math.min(restDelayMs.most, delayMs);
    onRested();
  }

  /** Tries the same statements until they are in: a device whose write has succeeded unheard is left alone. */
  async function write(statements: readonly Statement[]): Promise<void> {
    const { onTrouble } = options;
    await retry(() => db.write(statements), {
      signal,
      delayMs: retryDelayMs,
      isTransient: isUnavailable,
      onTrouble,
    });
    onTrouble(null);
  }

  return {
    touch: (state) => {
      if (!state.isDirty) dirty.add(state);
      state.isDirty = true;
      backlog.note(state);
      if (!state.isUrgent) {
        schedule(restDelayMs.least);
        return;
      }
      if (urgent.has(state)) return;
      urgent.add(state);
      clearTimeout(timer);
      timer = undefined;
      schedule(alertsDelayMs);
    },
    isFull: backlog.isFull,
    drain: () => alone(() => writeStates(backlog.states())),
    writeSome: (choose) => alone(() => writeStates(choose())),
    rest: () => alone(() => flush(true)),
    get hasFailed() {
      return hasFailed;
    },
    get settledID() {
      return isClean() ? options.position() : settledID;
    },
    get savedID() {
      return isClean() ? options.position() : savedID;
    },
    close: async () => {
      clearTimeout(timer);
      await running;
      if (!hasFailed) await flush(true).catch((error: unknown) => options.onTrouble(asError(error)));
    },
  };
}
