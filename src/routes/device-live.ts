import { z } from "@hono/zod-openapi";
import type { LiveSubscription } from "../../ingest/live/listeners.js";
import type { LiveEvent } from "../../ingest/live/log.js";
import { type TimeFormat, timeWriters } from "../../query/time-text.js";
import { zone } from "../../query/zone.js";
import { StoreError } from "../../store/lib/errors.js";
import { createPacer } from "../../store/lib/scheduling.js";
import { anyDeviceIDs } from "../../store/metadata/devices/devices.js";
import type { DeviceRef } from "../../store/metadata/devices/lookup.js";
import type { DataPoint } from "../../store/metadata/products/data-points.js";
import type { ProductModel } from "../devices/catalog.js";
import type { ApiCaller } from "../http/caller.js";
import { chunkBytesMax, inChunks } from "../http/chunks.js";
import { ApiError } from "../http/errors.js";
import { eventStream } from "../http/event-stream.js";
import { RemoteShard } from "../http/remote-shard.js";
import { type Route, route } from "../http/route.js";
import { idParams } from "../http/schemas.js";
import { valueJson } from "../live/value-json.js";
import { parseOneOf } from "./data-query.js";
import type { AppDeps } from "./deps.js";
import { newestSince } from "./live-replay.js";
import { resourceRoutes } from "./resource.js";

/** New points of a device as Server-Sent Events, from the moment they are stored. */

/**
 * How often the caller's permission is checked again; without events, a comment line then shows that the stream is
 * alive.
 */
const heartbeatMs = 15_000;
/** How soon clients reconnect. */
const retryMs = 2_000;
/** Events from the store that are encoded at once. */
const replayedAtOnce = 500;

const liveQuery = z.object({
  timeFormat: z
    .string()
    .optional()
    .openapi({ description: "iso or ms for exact times; absent: YYYY-MM-DD HH:MM:SS" }),
  timezone: z.string().optional().openapi({ description: "IANA time zone; absent: the deployment's" }),
});

export function deviceLiveRoutes(deps: AppDeps): Route[] {
  const routes = resourceRoutes(deps);
  return [
    route({
      method: "get",
      path: "/api/v1/devices/{id}/live",
      access: "read",
      tag: "Data",
      summary: "New points of a device or gateway as Server-Sent Events: {dataPointID, time, value}",
      shape: { params: idParams, query: liveQuery },
      answer: { status: 200, schema: z.string(), type: "text/event-stream" },
      errors: ["RESOURCE_LIMITED"],
      handle: async ({ caller, variant, params, query, request, callerAgain, hangUp }) => {
        const format = readFormat(query.timeFormat);
        const place = zone(query.timezone || deps.zone.name);
        const id = await routes.find({ caller, variant }, anyDeviceIDs, params.id);
        await deps.cluster?.atKeeper(id);
        const device = await deps.catalog.byIntID(caller.tenant, id);
        if (device === undefined) throw new ApiError("DATA_NOT_FOUND", "cannot find the device");
        const headers = { "Cache-Control": "no-store", "X-Accel-Buffering": "no" };
        const answer = { status: 200, type: "text/event-stream", headers } as const;
        if (request.method === "HEAD") return answer;
        const mayGoOn = () => isStillTheirs(deps, device, callerAgain);
        const write = (micros: number) => timeWriters[format](place, micros);
        const last = readEventID(request.headers.get("last-event-id"));
        const known = last?.run === deps.live.run && last.number > 0;
        const subscription = deps.live.subscribe(device, known ? last.number : null);
        if (subscription === null) {
          throw new ApiError("RESOURCE_LIMITED", "too many live feeds are open, close some");
        }
        const feed = { device, subscription, last, write, mayGoOn, signal: request.signal };
        const stalled = () => {
          subscription.giveUp();
          hangUp();
        };
        return {
          ...answer,
          body: eventStream({ chunks: streamChunks(deps, feed), left: subscription.close, stalled }),
        };
      },
    }),
  ];
}

function readFormat(text: string | undefined): TimeFormat {
  const errors: Record<string, string> = {};
  const format = parseOneOf(["iso", "ms"] as const, text, "timeFormat", errors) ?? "text";
  if (Object.keys(errors).length > 0) throw new ApiError("PARAMETER_INVALID", "cannot use the query", errors);
  return format;
}

/** The event that a client saw last: its number in a run of the service, and the point's time. */
interface EventID {
  readonly run: string;
  readonly number: number;
  readonly time: number;
}

const eventIDForm = /^([\w-]{1,32})\.(\d{1,15})\.(-?\d{1,16})$/;

/** An id that is not ours counts as none. */
function readEventID(text: string | null): EventID | null {
  const [, run, number, time] = eventIDForm.exec(text ?? "") ?? [];
  return run === undefined ? null : { run, number: Number(number), time: Number(time) };
}

interface Feed {
  readonly device: DeviceRef;
  readonly subscription: LiveSubscription<LiveEvent>;
  readonly last: EventID | null;
  readonly write: (micros: number) => string | number;
  /** Whether the caller may still read this device. */
  readonly mayGoOn: () => Promise<boolean>;
  /** Aborted once the client has gone. */
  readonly signal: AbortSignal;
}

const encoder = new TextEncoder();
/** Chunks of all feeds are made in turn. */
const paced = createPacer();

async function* streamChunks(deps: AppDeps, feed: Feed): AsyncGenerator<Uint8Array, void> {
  const { subscription } = feed;
  const framed = createFrames(deps, feed);
  yield encoder.encode(`retry: ${retryMs}\n\n`);
  yield* missed(deps, feed, framed);
  for (let checkedAt = performance.now(); ; ) {
    const events = subscription.take(chunkBytesMax);
    if (events.length > 0) yield* inChunks(await framed(events));
    else if (!subscription.open) return;
    const restMs = Math.max(0, checkedAt + heartbeatMs - performance.now());
    if (restMs > 0 && (await subscription.wait(restMs))) continue;
    if (!(await feed.mayGoOn())) return subscription.close();
    checkedAt = performance.now();
    if (events.length === 0) yield encoder.encode(": still here\n\n");
  }
}

type Frames = (events: readonly LiveEvent[]) => Promise<Uint8Array[]>;

/** Events in the form of the protocol. A data point may come or go while the feed is open. */
function createFrames({ catalog, live }: AppDeps, { device, write }: Feed): Frames {
  let points = new Map<string, DataPoint>();
  let loaded: ProductModel | undefined;
  const load = async () => {
    const model = await catalog.model(device.productIntID);
    // The catalog caches the model: a field that is no data point asks for it again and again.
    if (model === loaded) return;
    loaded = model;
    points = new Map(model.points.map((point) => [point.field, point]));
  };
  const frame = ({ number, field, time, value }: LiveEvent): Uint8Array[] => {
    const point = points.get(field);
    if (point === undefined) return [];
    const names = JSON.stringify({ dataPointID: point.dataPointID, time: write(time) }).slice(0, -1);
    const head = `id: ${live.run}.${number}.${time}\ndata: ${names},"value":`;
    const told = valueJson(point, value);
    if (typeof told === "string") return [encoder.encode(`${head}${told}}\n\n`)];
    return [encoder.encode(head), told, frameEnd];
  };
  return async (events) => {
    if (events.some(({ field }) => !points.has(field))) await load();
    return paced(() => events.flatMap(frame));
  };
}

const frameEnd = encoder.encode("}\n\n");

/** Events that a returning client missed and the feed no longer holds: read from the store, by their time. */
async function* missed(deps: AppDeps, feed: Feed, framed: Frames): AsyncGenerator<Uint8Array, void> {
  const { subscription, last, device, signal } = feed;
  if (last === null || subscription.resumed) return;
  const found = await newestSince(deps, device, last.time, signal).catch((error: unknown) => {
    subscription.close();
    if (signal.aborted) return null;
    throw error;
  });
  if (found === null) return;
  const { events, untold } = found;
  if (!subscription.hold(events)) return;
  for (const why of untold) yield encoder.encode(`: ${why.replaceAll(/[\r\n]/g, " ")}\n\n`);
  for (let from = 0; from < events.length; from += replayedAtOnce) {
    yield* inChunks(await framed(events.slice(from, from + replayedAtOnce)));
  }
}

/** Checks again, because a key may be withdrawn and a device deleted while a feed is open. */
async function isStillTheirs(
  { catalog, cluster, log }: AppDeps,
  device: DeviceRef,
  callerAgain: () => Promise<ApiCaller>,
): Promise<boolean> {
  try {
    const caller = await callerAgain();
    const now = await catalog.byIntID(caller.tenant, device.id);
    // The owner publishes its new points: the client is sent there.
    await cluster?.atKeeper(device.id);
    return now?.deviceID === device.deviceID;
  } catch (error) {
    // If this cannot be checked now, the feed ends too, and its client asks again.
    const isKnown = error instanceof ApiError || error instanceof StoreError || error instanceof RemoteShard;
    if (!isKnown) log.error("live feed ended", { device: device.id, error });
    return false;
  }
}
