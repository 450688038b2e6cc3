import { join } from "node:path";
import { createNarrowing, type Narrow } from "../../ingest/followers/narrowing.js";
import type { JournalRecord } from "../../store/journal/record.js";
import { encodedRecord } from "../../store/journal/record-codecs.js";
import {
  type Aside,
  type Follower,
  followers,
  openSetAside,
  type SetAside,
} from "../../store/journal/set-aside.js";
import { shardOfID } from "../../store/journal/shard-ids.js";
import { openWorkMark } from "../../store/journal/work-mark.js";
import { asError, StoreError } from "../../store/lib/errors.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { Config } from "../config/config.js";
import type { Logger } from "../observability/log.js";
import type { Troubles } from "../observability/status.js";
import type { Replayed, SetAsideMessages } from "../routes/deps.js";
import { runTrial, type TrialLimits, type Verdict } from "./trial/trial.js";
import type { TrialStart } from "./trial/trial-messages.js";

/** The input of a trial besides the record: earlier records, and the saved state of the device's sessions. */
type TrialContext = (record: JournalRecord) => Promise<Pick<TrialStart, "saved"> & Earlier>;
interface Earlier {
  readonly before: readonly JournalRecord[];
}

/** Lets a record that was set aside have its effect now. @throws if that is no longer possible */
type Replay = (record: JournalRecord) => Promise<void>;

/** Records that crash their followers: found at starts, tried in a thread, set aside, and replayed on request. */
export interface AsideKeeper extends SetAsideMessages {
  /** For one follower's start, of one shard. */
  narrow(shard: ShardPlace, follower: Follower, context?: TrialContext): Narrow;
  isAside(follower: Follower, id: number): boolean;
  /** How many records are set aside, by follower. */
  counts(): ReadonlyMap<Follower, number>;
  /** Called when a shard's series consumer waits for its store, so that the others need not wait for it. */
  letOthersOn(shard: number): void;
  /** Registers the replay of a shard's records that were set aside for a follower. */
  replaysBy(shard: number, follower: Follower, replay: Replay): void;
  /** The shard is closed: nothing that was registered for it is used any more. */
  forget(shard: number): void;
}

/** Where the marks of a shard's followers are. */
interface ShardPlace {
  readonly number: number;
  readonly dir: string;
}

interface AsideDeps {
  readonly config: Pick<Config, "dataDir" | "timezone" | "oldestTime">;
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

export async function openAsideKeeper(deps: AsideDeps): Promise<AsideKeeper> {
  const { config, log, troubles } = deps;
  const store = await openSetAside(join(config.dataDir, "set-aside"));
  const trials = createTrials(deps);
  const replays = createReplays(store, trials, log);
  const orders = new Map<number, StartOrder>();
  const orderOf = (shard: number): StartOrder => {
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

  async function setAside(follower: Follower, record: JournalRecord, reason: string): Promise<void> {
    const { topic, ...where } = await store.add(follower, record, reason, deps.now());
    const replay = `tidemark set-aside replay ${record.id}`;
    log.error("a message is set aside: starts of the service ended while it alone was in work", {
      ...where,
      topic,
      replay,
    });
  }

  /** False if the record is set aside. */
  async function tryAlone(follower: Follower, record: JournalRecord): Promise<boolean> {
    const verdict = await trials.try(follower, record);
    if (verdict.is !== "ended") return true;
    await setAside(follower, record, verdict.reason);
    for (const other of siblings.has(follower) ? siblings : []) {
      if (store.has(other, record.id)) continue;
      const too = await trials.try(other, record);
      if (too.is === "ended") await setAside(other, record, too.reason);
    }
    show();
    return false;
  }

  function asidesOf(id: number): Aside[] {
    const found = store.all().filter((one) => one.id === id);
    if (found.length === 0) throw new StoreError("NOT_FOUND", `no message ${id} is set aside`);
    return found;
  }

  show();
  return {
    narrow: (shard, follower, context) => (from, end) => {
      if (context !== undefined) trials.contextBy(shard.number, follower, context);
      return createNarrowing({
        from,
        end,
        mark: openWorkMark(join(shard.dir, "work", `${follower}.json`)),
        ...orderOf(shard.number).of(follower),
        isAside: (id) => store.has(follower, id),
        tryAlone: (record) => tryAlone(follower, record),
      });
    },
    isAside: store.has,
    all: store.all,
    counts: () => {
      const countOf = (follower: Follower) => store.all().filter((one) => one.follower === follower).length;
      return new Map(followers.map((one) => [one, countOf(one)] as const));
    },
    letOthersOn: (shard) => orderOf(shard).letOn(),
    replaysBy: replays.by,
    forget: (shard) => {
      orders.delete(shard);
      trials.forget(shard);
      replays.forget(shard);
    },
    replay: async (id) => {
      const replayed: Follower[] = [];
      const refused: Replayed["refused"][number][] = [];
      for (const aside of asidesOf(id)) {
        const { follower } = aside;
        const reason = await replays.run(aside);
        if (reason === null) replayed.push(follower);
        else refused.push({ follower, reason });
      }
      show();
      return { replayed, refused };
    },
    drop: async (id) => {
      for (const aside of asidesOf(id)) {
        await store.remove(aside);
        log.warn("a message that was set aside has been given up", { ...aside });
      }
      show();
    },
  };
}

type StartOrder = ReturnType<typeof createStartOrder>;

/** Alerts wait until the series consumer has started and is not narrow; sessions start before both. */
function createStartOrder() {
  let release: () => void = () => undefined;
  let isHeld = true;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const letOn = (): void => {
    isHeld = false;
    release();
  };
  return {
    letOn,
    of: (follower: Follower) => ({
      isHeld: () => follower === "alerts" && isHeld,
      turn: () => (follower === "alerts" ? released : Promise.resolve()),
      onWide: () => {
        if (follower === "series") letOn();
      },
    }),
  };
}

interface Trials {
  /** Registers the input of a follower's trials besides the record. */
  contextBy(shard: number, follower: Follower, context: TrialContext): void;
  forget(shard: number): void;
  try(follower: Follower, record: JournalRecord): Promise<Verdict>;
}

/** Tries a record alone, in a thread, with the data that the follower would have. */
function createTrials({ config, db, log, oldest, bounds }: AsideDeps): Trials {
  const contexts = new Map<string, TrialContext>();
  return {
    contextBy: (shard, follower, context) => void contexts.set(nameOf(shard, follower), context),
    forget: (shard) => forgetShard(contexts, shard),
    try: async (follower, record) => {
      const shard = shardOfID(record.id);
      const context = contexts.get(nameOf(shard, follower));
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

const nameOf = (shard: number, follower: Follower): string => `${shard} ${follower}`;

function forgetShard(known: Map<string, unknown>, shard: number): void {
  for (const follower of followers) known.delete(nameOf(shard, follower));
}

interface Replays {
  by(shard: number, follower: Follower, replay: Replay): void;
  forget(shard: number): void;
  /** Tries the record once more and lets it have its effect; null if it did, otherwise the reason why not. */
  run(aside: Aside): Promise<string | null>;
}

function createReplays(store: SetAside, trials: Trials, log: Logger): Replays {
  const replays = new Map<string, Replay>();
  return {
    by: (shard, follower, replay) => void replays.set(nameOf(shard, follower), replay),
    forget: (shard) => forgetShard(replays, shard),
    run: async (aside) => {
      const replay = replays.get(nameOf(shardOfID(aside.id), aside.follower));
      if (replay === undefined) return "nothing follows the journal for it now";
      const record = await store.read(aside);
      const verdict = await trials.try(aside.follower, record);
      if (verdict.is !== "harmless") return verdict.reason;
      try {
        await replay(record);
      } catch (error) {
        return asError(error).message;
      }
      await store.remove(aside);
      log.info("a message that was set aside has been replayed", { ...aside });
      return null;
    },
  };
}
