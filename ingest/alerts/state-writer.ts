/** Writes the states of devices to the metadata soon after they have changed, many in a transaction. */

import { asError, isUnavailable } from "../../store/lib/errors.js";
import { retryUntil } from "../../store/lib/retry.js";
import { nextTurn } from "../../store/lib/scheduling.js";
import { saveCheckpoint } from "../../store/metadata/checkpoints.js";
import type { Db, Statement } from "../../store/metadata/db/db.js";
import type { DeviceState } from "./rule-state.js";
import { createStateBacklog } from "./state-backlog.js";
import { endOfWrite, takeStatements } from "./state-statements.js";
import { createWriteLoop } from "./write-loop.js";

export const alertsConsumer = "alerts";

export interface StateWriterOptions {
  readonly db: Db;
  readonly node: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The checkpoint at the start. */
  readonly from: number;
  /** The id up to which everything has been applied, with all entries that follow from it on disk. */
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
  /** Writes the states that wait with effects of alerts. */
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
/** Counters and locations wait to be written together, the longer the more devices there are to write. */
const restDelayMs = { least: 200, perDevice: 2, most: 10_000 } as const;
const retryDelayMs = { first: 200, longest: 10_000 } as const;
/** If nothing changes, the checkpoint moves only once in so many records. */
const checkpointEvery = 10_000;

/** @param onRested is called after all that had changed has been written */
export function createStateWriter(
  options: StateWriterOptions,
  onRested: () => void,
  signal: AbortSignal,
): StateWriter {
  const { node, position } = options;
  const backlog = createStateBacklog();
  let settledID = options.from;
  let savedID = options.from;
  let restAt = 0;

  function nextDelayMs(): number | null {
    if (backlog.urgent.size > 0) return alertsDelayMs;
    return backlog.all.size > 0 || settledID < position() ? restDelayMs.least : null;
  }

  const loop = createWriteLoop(
    { writeDue: () => flush(performance.now() >= restAt), nextDelayMs, onFailure: options.onFailure },
    signal,
  );

  /** Whether everything up to the present position has had its effect, whatever the checkpoint says. */
  const isClean = (): boolean => backlog.all.size === 0 && !loop.isRunning && !loop.hasFailed;

  /** `target`: everything up to it is written with the last of them. */
  async function writeStates(chosen: readonly DeviceState[], target: number | null = null): Promise<void> {
    for (let at = 0; at < chosen.length; ) {
      const some = chosen.slice(at, endOfWrite(chosen, at));
      at += some.length;
      const isLast = at === chosen.length;
      const checkpoint = isLast && target !== null ? [saveCheckpoint(node, alertsConsumer, target)] : [];
      const statements = await takeStatements(some, options, backlog.forget);
      await writeUntilTaken(options, [...statements, ...checkpoint], signal);
      if (checkpoint.length > 0) savedID = Math.max(savedID, target ?? 0);
      await nextTurn();
    }
  }

  /** Writes all that has changed, or the urgent ones only. */
  async function flush(all: boolean): Promise<void> {
    const target = position();
    const chosen = [...(all ? backlog.all : backlog.urgent)];
    await writeStates(chosen, all ? target : null);
    if (!all) return;
    if (chosen.length === 0 && target - savedID >= checkpointEvery) {
      await writeUntilTaken(options, [saveCheckpoint(node, alertsConsumer, target)], signal);
      savedID = target;
    }
    settledID = Math.max(settledID, target);
    options.onSettled(settledID);
    const delayMs = restDelayMs.least + chosen.length * restDelayMs.perDevice;
    restAt = performance.now() + Math.min(restDelayMs.most, delayMs);
    onRested();
  }

  return {
    touch: (state) => {
      const isNewlyUrgent = backlog.note(state);
      if (isNewlyUrgent) loop.reschedule(alertsDelayMs);
      else if (!state.isUrgent) loop.schedule(restDelayMs.least);
    },
    isFull: backlog.isFull,
    drain: () => loop.alone(() => writeStates(backlog.withEffects())),
    writeSome: (choose) => loop.alone(() => writeStates(choose())),
    rest: () => loop.alone(() => flush(true)),
    get hasFailed() {
      return loop.hasFailed;
    },
    get settledID() {
      return isClean() ? position() : settledID;
    },
    get savedID() {
      return isClean() ? position() : savedID;
    },
    close: async () => {
      await loop.end();
      if (!loop.hasFailed) await flush(true).catch((error: unknown) => options.onTrouble(asError(error)));
    },
  };
}

/**
 * Tries the same statements until they are in: they leave devices alone for which a write had succeeded without an
 * answer.
 */
async function writeUntilTaken(
  { db, onTrouble }: Pick<StateWriterOptions, "db" | "onTrouble">,
  statements: readonly Statement[],
  signal: AbortSignal,
): Promise<void> {
  await retryUntil(() => db.write(statements), {
    signal,
    delayMs: retryDelayMs,
    isTransient: isUnavailable,
    onTrouble,
  });
  onTrouble(null);
}
