/** The events of a tenant's devices that another node keeps: from that node, for as long as anybody wants them. */
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { asError } from "../../store/lib/errors.js";
import { retryDelays } from "../../store/lib/retry.js";
import { createYielder } from "../../store/lib/scheduling.js";
import {
  eventLine,
  type LivePlace,
  type NodeEvent,
  type RequestLine,
  readLines,
  writeLine,
} from "./lines.js";

export interface NodeLink {
  /** Says a change of what is wanted. */
  say(line: RequestLine): void;
  /** Resolves once the node sends everything that is now subscribed; with false if it is away or slow to answer. */
  ready(): Promise<boolean>;
  close(): void;
}

interface NodeLinkDeps {
  readonly tenant: number;
  /** Opens a link to the node. @throws Error if it cannot be reached */
  readonly open: () => Promise<Socket>;
  /** All that is wanted now: each link begins with that. */
  readonly wanted: () => Iterable<RequestLine>;
  readonly onEvents: (events: readonly NodeEvent[]) => void;
  /** Events were missed, or are being missed. */
  readonly onMissed: () => void;
  /** The node is away; once, until it is back. */
  readonly onAway: (error: Error) => void;
}

/** Whether the node is there: not known yet, or again; it is; it is not. */
type State = "opening" | "on" | "away";

const delayMs = { first: 250, longest: 5_000 } as const;
/** How long a stream waits for the node before it begins without it. */
const readyMs = 3_000;
/** The node shows a sign of life every 5 s. */
const silenceMsMax = 15_000;
/** The most bytes that may wait unsent before the link is ended. */
const unsentBytesMax = 4 * 1024 * 1024;

export function openNodeLink(deps: NodeLinkDeps): NodeLink {
  const { tenant, open, wanted, onEvents, onMissed, onAway } = deps;
  const end = new AbortController();
  let state: State = "opening";
  let link: Socket | null = null;
  /** The last event received. */
  let place: LivePlace | null = null;
  let syncs = 0;
  /** Those who wait until the node is there, or has taken what was said, by the number of their `sync`. */
  const waiting = new Map<number, (isThere: boolean) => void>();
  const settle = (isThere: boolean): void => {
    for (const tell of waiting.values()) tell(isThere);
  };

  function receiveLine(said: unknown): void {
    const told = eventLine.parse(said);
    if (told.line === "events" && place !== null) {
      place = { ...place, number: told.number };
      onEvents(told.events);
    } else if (told.line === "synced") waiting.get(told.sync)?.(true);
    else if (told.line === "begun") {
      if (!told.resumed && (place !== null || state === "away")) onMissed();
      place = told.at;
      state = "on";
      settle(true);
    }
  }

  /** Runs until the link breaks off. @throws Error why the node sends nothing */
  async function once(): Promise<void> {
    const opened = await open();
    if (end.signal.aborted) return void opened.destroy();
    link = opened;
    const yieldIfDue = createYielder();
    try {
      opened.setTimeout(silenceMsMax, () => opened.destroy(new Error("it is silent")));
      await writeLine(opened, { line: "open", tenant });
      for (const line of wanted()) await writeLine(opened, line);
      await writeLine(opened, { line: "begin", after: place });
      for await (const line of readLines(opened)) {
        receiveLine(line);
        await yieldIfDue();
      }
      throw new Error("it has ended the link");
    } finally {
      link = null;
      opened.destroy();
    }
  }

  function lose(error: Error): void {
    // The node may be back at once, and then sends all events since.
    if (state === "on") state = "opening";
    else if (state === "opening") {
      state = "away";
      // Streams that began without this node received a gap when they began.
      if (place !== null) onMissed();
      onAway(error);
    }
    settle(false);
  }

  async function run(): Promise<void> {
    const begin = () => retryDelays(delayMs.first, delayMs.longest);
    for (let delays = begin(); ; ) {
      await once().catch((error: unknown) => {
        if (state === "on") delays = begin();
        if (!end.signal.aborted) lose(asError(error));
      });
      // The nodes that ask a node that was away do not come back to it at the same moment.
      const restMs = delays.next().value * (0.5 + Math.random() / 2);
      await delay(restMs, undefined, { signal: end.signal, ref: false });
    }
  }

  // Ends by the signal alone.
  run().catch(() => undefined);
  return {
    say: (line) => {
      if (link === null) return;
      // A node that does not read gets everything again on another link.
      if (link.writableLength > unsentBytesMax) link.destroy(new Error("it does not read"));
      else void writeLine(link, line);
    },
    ready: () => {
      if (state === "away" || end.signal.aborted) return Promise.resolve(false);
      const sync = ++syncs;
      return new Promise((resolve) => {
        const tell = (isThere: boolean): void => {
          clearTimeout(timer);
          waiting.delete(sync);
          resolve(isThere);
        };
        const timer = setTimeout(tell, readyMs, false);
        waiting.set(sync, tell);
        if (state === "on" && link !== null) void writeLine(link, { line: "sync", sync });
      });
    },
    close: () => {
      end.abort();
      link?.destroy();
      settle(false);
    },
  };
}
