/** One multiplexed stream of a tenant, as chunks of Server-Sent Events. */
import { setTimeout as delay } from "node:timers/promises";
import type { LiveTopic } from "../../ingest/live/tenant-events.js";
import type { TenantSubscription } from "../../ingest/live/tenant-feed.js";
import { createPacer } from "../../store/lib/scheduling.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { ProductCatalog } from "../devices/catalog.js";
import { chunkBytesMax, inChunks } from "../http/chunks.js";
import { createEventWriter, frame } from "./event-writer.js";
import { type LiveScope, type RequestedScope, renewScope } from "./scope.js";

interface StreamDeps {
  readonly catalog: ProductCatalog;
  readonly db: Db;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface Stream {
  readonly tenant: number;
  readonly topics: ReadonlySet<LiveTopic>;
  readonly subscription: TenantSubscription;
  readonly asked: RequestedScope;
  /** Read when the subscription was of that generation. */
  readonly scope: LiveScope | null;
  readonly generation: number;
  /** The number of the newest event when it began. */
  readonly since: number;
  /** The id of an event of that number. */
  readonly idOf: (number: number) => string;
  /** Whether the client has sent a last event id: if that is no longer known, it receives a gap. */
  readonly isBack: boolean;
  /** Whether the caller may still listen. */
  readonly mayGoOn: () => Promise<boolean>;
}

/**
 * How often the caller's permission is checked again; without events, a comment line then shows that the stream is
 * alive.
 */
const heartbeatMs = 15_000;
/** How soon clients reconnect. */
const retryMs = 2_000;
/** Events are sent in batches, at most four a second. */
const togetherMs = 250;
/** How soon a change of the tenant's devices or groups shows. */
const renewMs = 1_000;

const encoder = new TextEncoder();
/** Chunks of all streams are made in turn. */
const paced = createPacer();

export async function* streamChunks(deps: StreamDeps, stream: Stream): AsyncGenerator<Uint8Array, void> {
  try {
    yield* chunks(deps, stream);
  } finally {
    stream.subscription.close();
  }
}

async function* chunks(deps: StreamDeps, stream: Stream): AsyncGenerator<Uint8Array, void> {
  const { subscription, idOf } = stream;
  const writer = createEventWriter(deps, stream.topics);
  const scope = createScope(deps, stream, writer.forgetNames);
  let seen = stream.since;
  yield* greeting(deps, stream, await subscription.ready());
  let checkedAt = performance.now();
  let sentAt = checkedAt - togetherMs;
  for (;;) {
    const events = subscription.take(chunkBytesMax);
    const last = events.at(-1);
    if (last === undefined && !subscription.open) return;
    const devices = await scope.current();
    if (last !== undefined) {
      seen = last.number;
      const pieces = await paced(await writer.prepare(events, devices));
      if (pieces.length > 0) {
        // The id comes last: a client that is cut off before it receives all of them again.
        yield* inChunks([...pieces, encoder.encode(`id: ${idOf(seen)}\n\n`)]);
        sentAt = performance.now();
      }
    }
    const skipped = writer.skipped();
    if (skipped > 0) yield frame("skipped", { skipped });
    if (performance.now() - checkedAt >= heartbeatMs) {
      if (!(await stream.mayGoOn())) return;
      checkedAt = performance.now();
      yield encoder.encode(`: still here\nid: ${idOf(seen)}\n\n`);
    }
    // More may wait than one chunk holds.
    if (events.reduce((sum, { bytes }) => sum + bytes, 0) >= chunkBytesMax / 2) continue;
    await delay(Math.max(0, sentAt + togetherMs - performance.now()));
    await subscription.wait(renewMs);
  }
}

function* greeting(
  { now }: StreamDeps,
  { subscription, since, idOf, isBack }: Stream,
  isWhole: boolean,
): Generator<Uint8Array, void> {
  // A client that is back keeps its id until it has received what it missed.
  const id = isBack && subscription.resumed ? "" : `id: ${idOf(since)}\n`;
  const hello = JSON.stringify({ id: idOf(since), time: now() });
  yield encoder.encode(`retry: ${retryMs}\n\n${id}event: hello\ndata: ${hello}\n\n`);
  if (!isWhole || (isBack && !subscription.resumed)) yield frame("gap", { time: now() });
}

/** The devices of the stream, read again once they may have changed. */
function createScope(deps: StreamDeps, stream: Stream, onChange: () => void) {
  const { tenant, asked, subscription, topics } = stream;
  let scope = stream.scope;
  let { generation } = stream;
  let readAt = performance.now();
  const watch = (): void => {
    if (scope !== null && topics.has("points")) subscription.watch(new Set(scope.byText.keys()));
  };
  watch();
  return {
    current: async (): Promise<LiveScope | null> => {
      const now = subscription.generation;
      if (now === generation || performance.now() - readAt < renewMs) return scope;
      scope = await renewScope(deps, tenant, asked);
      generation = now;
      readAt = performance.now();
      onChange();
      watch();
      return scope;
    },
  };
}
