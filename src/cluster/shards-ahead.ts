/** Copies of shards that other nodes are about to give to this one, or that it has if they die: little is left to copy then. */
import { setTimeout as delay } from "node:timers/promises";
import { asError } from "../../store/lib/errors.js";
import type { Logger } from "../observability/log.js";

interface ShardsAhead {
  /** Copies the shard, or goes on with it. False if that takes longer than a call may: it goes on, to be asked again. */
  copy(shard: number): Promise<boolean>;
  /** The same for a shard that may come unasked. Resolves once it is copied, or cannot be. */
  keepUp(shard: number): Promise<void>;
  /** Ends the copying of the shard, whose folder is used otherwise from now on. */
  end(shard: number): Promise<void>;
  /** Ends all of it, for good. */
  close(): Promise<void>;
}

interface ShardsAheadDeps {
  /** What has been copied when the signal is aborted is kept. */
  readonly copy: (shard: number, signal: AbortSignal) => Promise<void>;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
  readonly log: Logger;
}

interface Copying {
  readonly stop: AbortController;
  /** A caller waits for it: its end is logged as info. */
  isAsked: boolean;
  done: Promise<void>;
}

/** More are refused until one of them is done. */
const atOnce = 2;
/** Milliseconds for which a caller waits. */
export const aheadWaitMs = 3000;

export function createShardsAhead({ copy, monotonic, log }: ShardsAheadDeps): ShardsAhead {
  const running = new Map<number, Copying>();
  /** Those that could not be copied the last time: that is logged once. */
  const failing = new Set<number>();
  let isClosed = false;

  async function run(shard: number, copying: Copying): Promise<void> {
    const { signal } = copying.stop;
    const startedAt = monotonic();
    try {
      await copy(shard, signal);
      failing.delete(shard);
      const writeLog = copying.isAsked ? log.info : log.debug;
      writeLog("a shard is copied ahead", { shard, ms: Math.round(monotonic() - startedAt) });
    } catch (error) {
      // The process that opens the shard copies it then, and reports a failure.
      if (!signal.aborted && !failing.has(shard)) {
        failing.add(shard);
        log.warn("cannot copy a shard ahead", { shard, error: asError(error) });
      }
    } finally {
      running.delete(shard);
    }
  }

  function begin(shard: number): Copying {
    const copying: Copying = { stop: new AbortController(), isAsked: false, done: Promise.resolve() };
    running.set(shard, copying);
    copying.done = run(shard, copying);
    return copying;
  }

  async function end(shard: number): Promise<void> {
    const copying = running.get(shard);
    copying?.stop.abort();
    await copying?.done;
  }

  return {
    copy: async (shard) => {
      if (isClosed) return true;
      if (running.size >= atOnce && !running.has(shard)) return false;
      const copying = running.get(shard) ?? begin(shard);
      copying.isAsked = true;
      const { done } = copying;
      return Promise.race([done.then(() => true), delay(aheadWaitMs).then(() => false)]);
    },
    keepUp: async (shard) => {
      // One place stays free for those that are asked for.
      if (!isClosed && running.size < atOnce - 1) await begin(shard).done;
    },
    end,
    close: async () => {
      isClosed = true;
      await Promise.all([...running.keys()].map(end));
    },
  };
}
