import { retryDelays } from "../../../store/lib/retry.js";
import { addCount, type BrokerEnd, type Meter } from "../../meter.js";
import { createInbound, type InboundDeps } from "./inbound.js";
import { type BrokerLink, openBrokerLink } from "./link.js";
import { createOutbound, type Outbound } from "./outbound.js";
import type { BrokerSettings } from "./settings.js";

/** The way in and out through a broker that is already there. */
export interface Broker {
  readonly outbound: Pick<Outbound, "isUp" | "send">;
  /** To be called after each commit: hands out acknowledgements and reads on. */
  afterCommit(): void;
  /** Takes nothing more; what has been taken is acknowledged as it is kept. */
  stopReading(): void;
  close(): void;
}

export interface BrokerDeps extends Omit<InboundDeps, "onAnswer" | "onRoom" | "signal"> {
  readonly settings: BrokerSettings;
  readonly meter: Meter;
  /** The fault of the connection to the broker; null: none. */
  readonly note: (trouble: string | null) => void;
  /** Whether to connect again after a connection that has ended so. */
  readonly mayConnect: (after: BrokerEnd) => Promise<boolean>;
  readonly log: {
    info(msg: string, fields?: Readonly<Record<string, unknown>>): void;
    warn(msg: string, fields?: Readonly<Record<string, unknown>>): void;
  };
}

const sweepMs = 1000;
/** A connection that was of use for so long was a good one: what went wrong before it is over. */
const usefulMsMin = 10_000;

/** Connects, and again whenever the connection ends; waits longer from time to time. */
export function openBroker(deps: BrokerDeps): Broker {
  const { settings, meter } = deps;
  const report = createLinkReport(deps);
  const backOff = createReconnectBackOff(Math.random);
  const stop = new AbortController();
  const inbound = createInbound({ ...deps, onAnswer: flushSoon, onRoom: resume, signal: stop.signal });
  const outbound = createOutbound({ now: deps.now, onSent: flushSoon, onFault });
  let link: BrokerLink | null = null;
  let reconnect: NodeJS.Timeout | undefined;
  let isReading = true;
  let flushPlanned = false;

  function onFault(error: Error): void {
    addCount(meter.dropped, "encoding");
    deps.onFault(error);
  }

  function flushSoon(): void {
    if (flushPlanned) return;
    flushPlanned = true;
    setImmediate(flush);
  }

  function flush(): void {
    flushPlanned = false;
    link?.flush();
  }

  function pauseIfFull(): void {
    if (!isReading || inbound.isFull) link?.pause();
  }

  function resume(): void {
    if (isReading && !inbound.isFull) link?.resume();
  }

  function open(): void {
    let readyAt: number | null = null;
    link = openBrokerLink(settings, {
      accepted: (opened, accepted) => {
        inbound.begin(opened, accepted.sessionPresent);
        outbound.begin(opened, accepted);
        if (!isReading) opened.pause();
      },
      subscribed: () => {
        readyAt = performance.now();
        report.connected();
      },
      delivered: (delivery) => {
        meter.brokerMessages++;
        inbound.take(delivery);
      },
      acknowledged: outbound.acknowledged,
      idle: pauseIfFull,
      ended: (reason, text) => ended(reason, text, readyAt === null ? 0 : performance.now() - readyAt),
    });
  }

  function ended(reason: BrokerEnd, text: string, usefulMs: number): void {
    link = null;
    outbound.end();
    report.ended(reason, text, usefulMs);
    if (reason !== "closed") openAfter(backOff.next(usefulMs), reason);
  }

  function openAfter(ms: number, reason: BrokerEnd): void {
    reconnect = setTimeout(async () => {
      const may = await deps.mayConnect(reason);
      if (stop.signal.aborted) return;
      if (may) open();
      else openAfter(backOff.next(0), reason);
    }, ms);
  }

  // What stops the reading may end without a commit of ours: a full disk, a backlog.
  const sweep = setInterval(resume, sweepMs);
  open();

  return {
    outbound,
    afterCommit: () => {
      if (flushPlanned) flush();
      resume();
    },
    stopReading: () => {
      isReading = false;
      link?.pause();
    },
    close: () => {
      stop.abort();
      inbound.end();
      clearInterval(sweep);
      clearTimeout(reconnect);
      link?.close();
    },
  };
}

/** Says how the connection to the broker stands: to the metrics, the status and the log. */
interface LinkReport {
  connected(): void;
  /** The connection had been of use for `usefulMs`. */
  ended(reason: BrokerEnd, text: string, usefulMs: number): void;
}

const hints: Partial<Record<BrokerEnd, string>> = {
  taken_over: "is another process running with this NODE_NUMBER?",
};

function createLinkReport({
  settings,
  meter,
  note,
  log,
}: Pick<BrokerDeps, "settings" | "meter" | "note" | "log">): LinkReport {
  const address = `${settings.host}:${settings.port}`;
  /** The last reason that went to the log: not repeated until it is over or another comes. */
  let told: BrokerEnd | null = null;
  let isConnected = false;
  return {
    connected: () => {
      isConnected = true;
      meter.brokerConnections++;
      note(null);
      log.info("broker: connected", { address });
    },
    ended: (reason, text, usefulMs) => {
      if (isConnected) meter.brokerConnections--;
      isConnected = false;
      addCount(meter.brokerEnded, reason);
      if (reason === "closed") return;
      const hint = hints[reason];
      const trouble = `cannot use the broker at ${address}: ${text}${hint === undefined ? "" : `; ${hint}`}`;
      note(trouble);
      if (usefulMs >= usefulMsMin) told = null;
      if (told !== reason) log.warn(trouble, { reason });
      told = reason;
    },
  };
}

/** How long to wait before each attempt to connect. */
interface ReconnectBackOff {
  /** Milliseconds before the next attempt; the connection before it had been of use for `usefulMs`. */
  next(usefulMs: number): number;
}

const firstMs = 250;
const longestMs = 30_000;

/**
 * Doubled with each failure, the later half of it at random, so that processes do not come back together. A broker that
 * disconnects in a loop is not asked all the time.
 */
function createReconnectBackOff(random: () => number): ReconnectBackOff {
  let delays = retryDelays(firstMs, longestMs);
  return {
    next: (usefulMs) => {
      if (usefulMs >= usefulMsMin) delays = retryDelays(firstMs, longestMs);
      return Math.round(delays.next().value * (0.5 + random() / 2));
    },
  };
}
