/** Watches whether this node reaches the brokers, and logs one line at each change. */

import type { BrokersReach } from "../../store/journal/kafka/brokers-reach.js";
import { sleep as systemSleep } from "../../store/lib/abortable.js";
import { asError } from "../../store/lib/errors.js";
import type { Logger } from "../observability/log.js";

export interface BrokersWatch {
  /** True until none of them has answered for some seconds. */
  readonly isAble: boolean;
  close(): Promise<void>;
}

interface WatchDeps {
  /** Closed together with the watch. */
  readonly brokers: BrokersReach;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
  readonly log: Logger;
  readonly sleep?: typeof systemSleep;
}

const askMs = 2000;
/** A leader that is gone, or a link that broke off, is no reason to give up shards. */
const silentMs = 6000;
/** One failure is not enough: if the process was paused, a request may seem unanswered for long. */
const failuresMin = 2;

/** Asks from now on. */
export function watchBrokers({ brokers, monotonic, log, sleep = systemSleep }: WatchDeps): BrokersWatch {
  const stopped = new AbortController();
  let failures = 0;
  let failingSince = 0;
  let isAble = true;

  async function readBrokers(): Promise<void> {
    const readAt = monotonic();
    try {
      await brokers.ask();
    } catch (error) {
      if (failures++ === 0) failingSince = readAt;
      const hasLasted = failures >= failuresMin && monotonic() - failingSince >= silentMs;
      if (isAble && hasLasted && !stopped.signal.aborted) {
        log.warn("no broker can be reached: shards go to nodes that reach one", { error: asError(error) });
        isAble = false;
      }
      return;
    }
    failures = 0;
    if (!isAble) log.info("brokers can be reached again");
    isAble = true;
  }

  async function pollBrokers(): Promise<void> {
    while (!stopped.signal.aborted) {
      await readBrokers();
      await sleep(askMs, stopped.signal);
    }
  }

  const polling = pollBrokers();
  return {
    get isAble() {
      return isAble;
    },
    close: async () => {
      stopped.abort();
      brokers.close();
      await polling;
    },
  };
}
