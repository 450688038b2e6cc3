import { createCrashIsolation, type StartIsolation } from "../../ingest/followers/crash-isolation.js";
import {
  type DeadLetter,
  type DeadLetters,
  type Follower,
  followers,
} from "../../store/journal/dead-letters.js";
import type { JournalRecord } from "../../store/journal/record.js";
import { encodedRecord } from "../../store/journal/record-codecs.js";
import { idsPerShard, shardOfID } from "../../store/journal/shard-ids.js";
import { asError, StoreError } from "../../store/lib/errors.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { Config } from "../config/config.js";
import type { Logger } from "../observability/log.js";
import type { Troubles } from "../observability/status.js";
import type { DeadLetterStore, Replayed } from "../routes/deps.js";
import type { CrashMarks, ShardPlace } from "./crash-marks.js";
import { createStartOrder, type StartOrder } from "./start-order.js";
import { runTrial, type TrialLimits, type Verdict } from "./trial/trial.js";
import type { TrialStart } from "./trial/trial-messages.js";

/** The input of a trial besides the record: earlier records, and the saved state of the device's sessions. */
type TrialContext = (record: JournalRecord) => Promise<Pick<TrialStart, "saved"> & Earlier>;
interface Earlier {
  readonly before: readonly JournalRecord[];
}

/** Applies a dead letter now. @throws if that is no longer possible */
type Replay = (record: JournalRecord) => Promise<void>;

/**
 * Records that crash their followers: found at starts, tried in a thread, kept as dead letters, and replayed on
 * request.
 */
export interface DeadLetterManager extends DeadLetterStore {
  /** A shard is about to be opened. */
  open(shard: number): Promise<void>;
  /** For one follower's start, of one shard. */
  narrow(shard: FollowedShard, follower: Follower, context?: TrialContext): StartIsolation;
  isAside(follower: Follower, id: number): boolean;
  /** How many dead letters there are, by follower. */
  counts(): ReadonlyMap<Follower, number>;
  /** Called when a shard's series consumer waits for its store, so that the others need not wait for it. */
  letOthersOn(shard: number): void;
  /** Registers the replay of a shard's dead letters for a follower. */
  replaysBy(shard: number, follower: Follower, replay: Replay): void;
  /** The shard is closed: nothing that was registered for it is used any more. */
  forget(shard: number): void;
}

interface FollowedShard extends ShardPlace {
  /** Where the records end that an earlier start may have ended in; those that follow are of this one. */
  readonly earlier?: { readonly lastID: number };
}

interface DeadLettersDeps {
  readonly config: Pick<Config, "timezone" | "oldestTime">;
  readonly marks: CrashMarks;
  readonly db: Db;
  readonly log: Logger;
  readonly troubles: Troubles;
  /** The oldest time of a point that is kept, microseconds. */
  readonly oldest: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly bounds?: TrialLimits;
}

const troubleName = "set_aside";
/** Both process the points of a message: a record that crashes one may crash the other. */
const siblings: ReadonlySet<Follower> = new Set(["series", "alerts"]);

export function createDeadLetters(deps: DeadLettersDeps): DeadLetterManager {
  const { marks, log, troubles } = deps;
  const store = marks.asides;
  const trials = createTrials(deps);
  const replays = createDeadLetterReplays(store, trials, log);
  const orders = new Map<number, StartOrder>();
  const findStartOrder = (shard: number): StartOrder => {
    const order = orders.get(shard) ?? createStartOrder();
    orders.set(shard, order);
    return order;
  };

  function show(): void {
    const ids = [...new Set(store.all().map(({ id }) => id))];
    const shown = ids.slice(0, 10).join(", ");
    const what = `${ids.length} messages ended the service and are set aside, see set_aside: ${shown}`;
    troubles.note(troubleName, ids.length === 0 ? null : what);
  }

  async function addDeadLetter(follower: Follower, record: JournalRecord, reason: string): Promise<void> {
    const { topic, ...where } = await store.add(follower, record, reason, deps.now());
    const replay = `tidemark set-aside replay ${record.id}`;
    log.error("a message is set aside: starts of the service ended while it alone was in work", {
      ...where,
      topic,
      replay,
    });
  }

  /** False if the record became a dead letter. */
  async function tryAlone(follower: Follower, record: JournalRecord): Promise<boolean> {
    const verdict = await trials.try(follower, record);
    if (verdict.is !== "ended") return true;
    await addDeadLetter(follower, record, verdict.reason);
    for (const other of siblings.has(follower) ? siblings : []) {
      if (store.has(other, record.id)) continue;
      const too = await trials.try(other, record);
      if (too.is === "ended") await addDeadLetter(other, record, too.reason);
    }
    show();
    return false;
  }

  function findDeadLetters(id: number): DeadLetter[] {
    const found = store.all().filter((one) => one.id === id);
    if (found.length === 0) throw new StoreError("NOT_FOUND", `no message ${id} is set aside`);
    return found;
  }

  show();
  return {
    open: async (shard) => {
      await marks.open(shard);
      show();
    },
    narrow: (shard, follower, context) => (from, end) => {
      if (context !== undefined) trials.contextBy(shard.number, follower, context);
      return createCrashIsolation({
        // One that has seen nothing yet goes on from 0.
        from: Math.max(from, shard.number * idsPerShard),
        end: Math.min(end, shard.earlier?.lastID ?? end),
        mark: marks.workMark(shard, follower),
        pace: marks.pace,
        ...findStartOrder(shard.number).of(follower),
        isAside: (id) => store.has(follower, id),
        tryAlone: (record) => tryAlone(follower, record),
      });
    },
    isAside: store.has,
    all: store.all,
    everywhere: marks.everywhere,
    counts: () => {
      const countDeadLetters = (follower: Follower) =>
        store.all().filter((one) => one.follower === follower).length;
      return new Map(followers.map((one) => [one, countDeadLetters(one)] as const));
    },
    letOthersOn: (shard) => findStartOrder(shard).letOn(),
    replaysBy: replays.by,
    forget: (shard) => {
      orders.delete(shard);
      trials.forget(shard);
      replays.forget(shard);
      marks.forget(shard);
      show();
    },
    replay: async (id) => {
      const replayed: Follower[] = [];
      const refused: Replayed["refused"][number][] = [];
      for (const deadLetter of findDeadLetters(id)) {
        const { follower } = deadLetter;
        const reason = await replays.run(deadLetter);
        if (reason === null) replayed.push(follower);
        else refused.push({ follower, reason });
      }
      show();
      return { replayed, refused };
    },
    drop: async (id) => {
      for (const deadLetter of findDeadLetters(id)) {
        await store.remove(deadLetter);
        log.warn("a message that was set aside has been given up", { ...deadLetter });
      }
      show();
    },
  };
}

interface Trials {
  /** Registers the input of a follower's trials besides the record. */
  contextBy(shard: number, follower: Follower, context: TrialContext): void;
  forget(shard: number): void;
  try(follower: Follower, record: JournalRecord): Promise<Verdict>;
}

/** Tries a record alone, in a thread, with the data that the follower would have. */
function createTrials({ config, db, log, oldest, bounds }: DeadLettersDeps): Trials {
  const contexts = new Map<string, TrialContext>();
  return {
    contextBy: (shard, follower, context) => void contexts.set(followerName(shard, follower), context),
    forget: (shard) => forgetShard(contexts, shard),
    try: async (follower, record) => {
      const shard = shardOfID(record.id);
      const context = contexts.get(followerName(shard, follower));
      const { saved, before } = (await context?.(record)) ?? { saved: null, before: [] };
      const start = {
        follower,
        node: shard,
        timezone: config.timezone,
        earliest: config.oldestTime,
        oldest: oldest(),
        records: [...before, record].map(encodedRecord),
        saved,
      };
      const verdict = await runTrial(db, start, bounds).catch(
        (error: unknown): Verdict => ({ is: "not tried", reason: asError(error).message }),
      );
      log.warn("a record that starts have ended in has been tried", {
        follower,
        journalID: record.id,
        device: record.device,
        verdict: verdict.is,
        ...("reason" in verdict ? { reason: verdict.reason } : {}),
      });
      return verdict;
    },
  };
}

const followerName = (shard: number, follower: Follower): string => `${shard} ${follower}`;

function forgetShard(known: Map<string, unknown>, shard: number): void {
  for (const follower of followers) known.delete(followerName(shard, follower));
}

interface Replays {
  by(shard: number, follower: Follower, replay: Replay): void;
  forget(shard: number): void;
  /** Tries the record again and applies it; null on success, otherwise the reason. */
  run(deadLetter: DeadLetter): Promise<string | null>;
}

function createDeadLetterReplays(store: DeadLetters, trials: Trials, log: Logger): Replays {
  const replays = new Map<string, Replay>();
  return {
    by: (shard, follower, replay) => void replays.set(followerName(shard, follower), replay),
    forget: (shard) => forgetShard(replays, shard),
    run: async (deadLetter) => {
      const replay = replays.get(followerName(shardOfID(deadLetter.id), deadLetter.follower));
      if (replay === undefined) return "nothing follows the journal for it now";
      const record = await store.read(deadLetter);
      const verdict = await trials.try(deadLetter.follower, record);
      if (verdict.is !== "harmless") return verdict.reason;
      try {
        await replay(record);
      } catch (error) {
        return asError(error).message;
      }
      await store.remove(deadLetter);
      log.info("a message that was set aside has been replayed", { ...deadLetter });
      return null;
    },
  };
}
