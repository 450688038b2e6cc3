import { createHistogram, type Latencies } from "./histogram.js";
import { type Budget, createRate, createRefill, createTurns, type Pacer } from "./pacing.js";
import type { Publisher } from "./publisher.js";

/** What one round shall do: for so long or so many messages, at full speed or at a rate. */
export interface RoundOptions {
  readonly seconds?: number;
  readonly messages?: number;
  readonly ratePerSecond?: number;
}

export interface RoundResult extends Latencies {
  /** Acknowledged messages a second; a round of seconds counts only those answered within them. */
  readonly rate: number;
  readonly sent: number;
  readonly acked: number;
  readonly errors: number;
  readonly seconds: number;
  /** Milliseconds since 1970. */
  readonly firstSentAt: number;
  readonly lastAckedAt: number;
}

interface Fleet {
  readonly publishers: readonly Publisher[];
  readonly inflight: number;
  /** Set: one message each in turn, so many in flight over all. */
  readonly windowMessages: number | null;
}

const drainMsMax = 60_000;

/** One round on connected publishers; the caller feeds it what the publishers report. */
export function createRound(fleet: Fleet, options: RoundOptions) {
  const histogram = createHistogram();
  const budget = createBudget(options.messages ?? Number.POSITIVE_INFINITY);
  const pacer = choosePacer(fleet, options, budget);
  let acked = 0;
  let errors = 0;
  let lastAckedAt = 0;
  let settle: (() => void) | null = null;

  function settled(): boolean {
    return budget.spent() && acked + errors >= budget.sent();
  }
  function onAcked(publisher: Publisher, count: number): void {
    acked += count;
    lastAckedAt = performance.now();
    pacer.acked(publisher, count);
    if (settled()) settle?.();
  }
  /** A lost connection ends the round: what is left would be another load. */
  function onLost(unanswered: number): void {
    errors += unanswered;
    pacer.stop();
    budget.close();
    if (settled()) settle?.();
  }
  async function run(): Promise<RoundResult> {
    const started = performance.now();
    const done = new Promise<void>((resolve) => {
      settle = resolve;
    });
    let inTime: { acked: number; seconds: number } | null = null;
    const endMs = options.seconds === undefined ? null : options.seconds * 1000;
    const ending = setTimeout(
      () => {
        inTime = { acked, seconds: (performance.now() - started) / 1000 };
        pacer.stop();
        budget.close();
        if (settled()) settle?.();
      },
      endMs ?? 2 ** 31 - 1,
    );
    pacer.start();
    await Promise.race([done, giveUp((endMs ?? 24 * 3600_000) + drainMsMax)]);
    clearTimeout(ending);
    pacer.stop();
    const whole = { acked, seconds: (lastAckedAt - started) / 1000 };
    return summary(inTime ?? whole, started);
  }
  function summary(timed: { acked: number; seconds: number }, started: number): RoundResult {
    return {
      rate: timed.acked / timed.seconds,
      ...histogram.latencies(),
      sent: budget.sent(),
      acked,
      errors: budget.sent() - acked,
      seconds: timed.seconds,
      firstSentAt: performance.timeOrigin + started,
      lastAckedAt: performance.timeOrigin + lastAckedAt,
    };
  }
  return { run, latency: histogram.record, acked: onAcked, lost: onLost };
}

function choosePacer(fleet: Fleet, options: RoundOptions, budget: Budget): Pacer {
  if (options.ratePerSecond !== undefined) return createRate(fleet.publishers, options.ratePerSecond, budget);
  if (fleet.windowMessages !== null) return createTurns(fleet.publishers, fleet.windowMessages, budget);
  return createRefill(fleet.publishers, fleet.inflight, budget);
}

function createBudget(messages: number) {
  let left = messages;
  let sent = 0;
  return {
    take(wanted: number): number {
      const allowed = Math.min(wanted, left);
      left -= allowed;
      sent += allowed;
      return allowed;
    },
    giveBack(count: number): void {
      left += count;
      sent -= count;
    },
    close(): void {
      left = 0;
    },
    spent: () => left === 0,
    sent: () => sent,
  };
}

function giveUp(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, Math.min(ms, 2 ** 31 - 1)).unref();
  });
}
