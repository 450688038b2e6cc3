/** Sends another node the live events of local devices. */

import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { Interest } from "../../ingest/live/interests.js";
import type { LiveSubscription } from "../../ingest/live/listeners.js";
import type { TenantEvent } from "../../ingest/live/tenant-events.js";
import type { TenantFeed } from "../../ingest/live/tenant-feed.js";
import { createPacer, createYielder } from "../../store/lib/scheduling.js";
import { chunkBytesMax } from "../http/chunks.js";
import { type LivePlace, type NodeEvent, openingLine, readLines, requestLine, writeLine } from "./lines.js";

/** The feed of local devices only: events of other nodes are not passed on from here. */
type LocalFeed = Pick<TenantFeed, "run" | "newest" | "subscribe" | "want">;

/** How often a link on which nothing happens shows that this node is there. */
const aliveMs = 5_000;
/** Events go together: a line for each would cost more than the events. */
const togetherMs = 25;

/** Links of all nodes take turns. */
const paced = createPacer();

/** Answers until the link ends, then ends it: the node that asks comes again. */
export async function answerNode(feed: LocalFeed, link: Duplex): Promise<void> {
  const wants = new Map<number, Interest>();
  let subscription: LiveSubscription<TenantEvent> | null = null;
  const yieldIfDue = createYielder();
  try {
    const lines = readLines(link);
    const { tenant } = openingLine.parse((await lines.next()).value);
    for await (const said of lines) {
      const request = requestLine.parse(said);
      if (request.line === "want") {
        const interest = wants.get(request.want) ?? feed.want(tenant, request.topics);
        wants.set(request.want, interest);
        interest.watch(new Set(request.devices));
      } else if (request.line === "leave") {
        wants.get(request.want)?.close();
        wants.delete(request.want);
      } else if (request.line === "sync") await writeLine(link, { line: "synced", sync: request.sync });
      else {
        subscription?.close();
        subscription = begin(feed, tenant, request.after, link);
        if (subscription === null) return;
      }
      await yieldIfDue();
    }
  } catch {
    // The link is gone, or what was said is no line of ours: the node that asks notices.
  } finally {
    subscription?.close();
    for (const interest of wants.values()) interest.close();
    link.destroy();
  }
}

/** Null: this node is about to end. */
function begin(
  feed: LocalFeed,
  tenant: number,
  after: LivePlace | null,
  link: Duplex,
): LiveSubscription<TenantEvent> | null {
  const number = after?.run === feed.run ? after.number : null;
  const subscription = feed.subscribe(tenant, [], number);
  if (subscription === null) return null;
  const { resumed } = subscription;
  const at = { run: feed.run, number: resumed && number !== null ? number : feed.newest };
  void writeLine(link, { line: "begun", at, resumed })
    .then(() => sendEvents(subscription, link))
    .finally(() => link.destroy());
  return subscription;
}

/**
 * Sends at the pace of the other node. Events that it does not read in time are lost to it; it learns this when it
 * reconnects.
 */
async function sendEvents(subscription: LiveSubscription<TenantEvent>, link: Duplex): Promise<void> {
  for (;;) {
    const events = subscription.take(chunkBytesMax);
    const last = events.at(-1);
    if (last !== undefined) {
      const line = await paced(
        () => ({ line: "events", number: last.number, events: toNodeEvents(events) }) as const,
      );
      await writeLine(link, line);
      await delay(togetherMs);
    } else if (!subscription.open) return;
    else if (!(await subscription.wait(aliveMs))) await writeLine(link, { line: "alive" });
  }
}

const decoder = new TextDecoder();

function toNodeEvents(events: readonly TenantEvent[]): NodeEvent[] {
  return events.flatMap((event): NodeEvent[] => {
    const { number: _, bytes: __, ...told } = event;
    if (told.topic === "messages" || told.topic === "presence") return [told as NodeEvent];
    if (told.topic === "gap") return [{ topic: "gap" }];
    if (told.topic !== "points") return [];
    const { value } = told;
    return [{ ...told, value: typeof value === "object" ? JSON.parse(decoder.decode(value)) : value }];
  });
}
