import type { Publisher } from "./publisher.js";

/** Decides who sends next. `budget` says how many more messages the round may send; it is asked before each. */
export interface Pacer {
  start(): void;
  acked(publisher: Publisher, count: number): void;
  stop(): void;
}

export interface Budget {
  /** Reserves up to `wanted` messages and returns how many may be sent; 0 when the round is over. */
  take(wanted: number): number;
  /** Gives back what could not be sent. */
  giveBack(count: number): void;
}

function sendWithin(budget: Budget, publisher: Publisher, wanted: number): number {
  const allowed = budget.take(wanted);
  if (allowed === 0) return 0;
  const sent = publisher.send(allowed);
  budget.giveBack(allowed - sent);
  return sent;
}

/** Each publisher keeps its own messages in flight: an acknowledgement is followed by the next message. */
export function createRefill(publishers: readonly Publisher[], inflight: number, budget: Budget): Pacer {
  return {
    start() {
      for (const publisher of publishers) sendWithin(budget, publisher, inflight);
    },
    acked(publisher, count) {
      sendWithin(budget, publisher, count);
    },
    stop() {},
  };
}

/**
 * One message each, in turn, `windowMessages` in flight over all publishers. The ring waits for a publisher
 * that is still unanswered, so that no device is served twice before its turn.
 */
export function createTurns(publishers: readonly Publisher[], windowMessages: number, budget: Budget): Pacer {
  let outstanding = 0;
  let next = 0;

  function pump(): void {
    while (outstanding < windowMessages) {
      const publisher = publishers[next];
      if (publisher === undefined || sendWithin(budget, publisher, 1) === 0) return;
      outstanding += 1;
      next = (next + 1) % publishers.length;
    }
  }
  return {
    start: pump,
    acked(_publisher, count) {
      outstanding -= count;
      pump();
    },
    stop() {},
  };
}

const tickMs = 4;

/** A fixed rate over all publishers in turn; what a slow broker delays is sent as soon as slots are free. */
export function createRate(publishers: readonly Publisher[], perSecond: number, budget: Budget): Pacer {
  let startedAt = 0;
  let sent = 0;
  let next = 0;
  let timer: NodeJS.Timeout | undefined;

  // Also run at each acknowledgement: with few slots a tick alone could not reach the rate.
  function tick(): void {
    let due = Math.floor(((performance.now() - startedAt) / 1000) * perSecond) - sent;
    const share = Math.max(1, Math.ceil(due / publishers.length));
    for (let tried = 0; due > 0 && tried < publishers.length; tried++) {
      const publisher = publishers[next];
      if (publisher === undefined) return;
      const count = sendWithin(budget, publisher, Math.min(share, due));
      sent += count;
      due -= count;
      next = (next + 1) % publishers.length;
    }
  }
  return {
    start() {
      startedAt = performance.now();
      timer = setInterval(tick, tickMs);
    },
    acked: tick,
    stop() {
      clearInterval(timer);
    },
  };
}
