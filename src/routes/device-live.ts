import { z } from "@hono/zod-openapi";
import type { LiveEvent, LiveSubscription } from "../../ingest/live.js";
import { shown } from "../../query/newest.js";
import { type TimeFormat, timeWriters } from "../../query/time-text.js";
import { zone } from "../../query/zone.js";
import { type DataPoint, kindOf } from "../../store/data-points.js";
import { anyDeviceIDs } from "../../store/devices.js";
import { StoreError } from "../../store/errors.js";
import type { DeviceRef } from "../catalog.js";
import type { AppDeps } from "../deps.js";
import { ApiError } from "../http/errors.js";
import { resourceRoutes } from "../http/resource.js";
import { type Route, route } from "../http/route.js";
import { idParams } from "../http/schemas.js";
import { oneOf } from "./data-query.js";

/** New points of a device as Server-Sent Events, from the moment they are stored. */

/** As often the caller's right is looked at again; a line tells that nothing has come meanwhile. */
const heartbeatMs = 15_000;
/** Clients come back after so long. */
const retryMs = 2_000;
const eventsPerChunkMax = 500;
/** Points answered from the store to a client that was away for longer than events are kept. */
const replayPointsMax = 10_000;

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
      handle: async ({ caller, variant, params, query, request, address }) => {
        const format = readFormat(query.timeFormat);
        const place = zone(query.timezone || deps.zone.name);
        const id = await routes.find({ caller, variant }, anyDeviceIDs, params.id);
        const device = await deps.catalog.byIntID(caller.tenant, id);
        if (device === undefined) throw new ApiError("DATA_NOT_FOUND", "cannot find the device");
        const headers = { "Cache-Control": "no-store", "X-Accel-Buffering": "no" };
        const answer = { status: 200, type: "text/event-stream", headers } as const;
        if (request.method === "HEAD") return answer;
        const mayGoOn = () => isStillTheirs(deps, device, request.headers.get("authorization"), address);
        const write = (micros: number) => timeWriters[format](place, micros);
        const last = readEventID(request.headers.get("last-event-id"));
        const known = last?.run === deps.live.run && last.number > 0;
        const subscription = deps.live.subscribe(device, known ? last.number : null);
        if (subscription === null) {
          throw new ApiError("RESOURCE_LIMITED", "too many live feeds are open, close some");
        }
        return { ...answer, body: stream(deps, { device, subscription, last, write, mayGoOn }) };
      },
    }),
  ];
}

function readFormat(text: string | undefined): TimeFormat {
  const errors: Record<string, string> = {};
  const format = oneOf(["iso", "ms"] as const, text, "timeFormat", errors) ?? "text";
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

/** What is none of ours is as good as none. */
function readEventID(text: string | null): EventID | null {
  const [, run, number, time] = eventIDForm.exec(text ?? "") ?? [];
  return run === undefined ? null : { run, number: Number(number), time: Number(time) };
}

interface Feed {
  readonly device: DeviceRef;
  readonly subscription: LiveSubscription;
  readonly last: EventID | null;
  readonly write: (micros: number) => string | number;
  /** Whether the caller may still read this device. */
  readonly mayGoOn: () => Promise<boolean>;
}

/** Chunks are made as the client takes them; what it does not take waits in the subscription. */
function stream(deps: AppDeps, feed: Feed): ReadableStream<Uint8Array> {
  const { subscription } = feed;
  const encoder = new TextEncoder();
  const texts = textsOf(deps, feed);
  let gone = false;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { value, done } = await texts.next();
        if (gone) return;
        if (done === true) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      cancel: () => {
        gone = true;
        subscription.close();
      },
    },
    { highWaterMark: 0 },
  );
}

async function* textsOf(deps: AppDeps, feed: Feed): AsyncGenerator<string, void> {
  const { subscription } = feed;
  try {
    yield `retry: ${retryMs}\n\n`;
    const eventText = createEventText(deps, feed);
    yield* missed(deps, feed, eventText);
    for (let checkedAt = performance.now(); ; ) {
      const events = subscription.take(eventsPerChunkMax);
      if (events.length > 0) yield await eventText(events);
      else if (!subscription.open) return;
      const restMs = Math.max(0, checkedAt + heartbeatMs - performance.now());
      if (restMs > 0 && (await subscription.wait(restMs))) continue;
      if (!(await feed.mayGoOn())) return;
      checkedAt = performance.now();
      if (events.length === 0) yield ": still here\n\n";
    }
  } finally {
    subscription.close();
  }
}

type EventText = (events: readonly LiveEvent[]) => Promise<string>;

/** Events as the protocol has them. A data point may come or go while the feed is open. */
function createEventText({ catalog, live }: AppDeps, { device, write }: Feed): EventText {
  let points = new Map<string, DataPoint>();
  const load = async () => {
    const model = await catalog.model(device.productIntID);
    points = new Map(model.points.map((point) => [point.field, point]));
  };
  return async (events) => {
    if (events.some(({ field }) => !points.has(field))) await load();
    return events
      .map(({ number, field, time, value }) => {
        const point = points.get(field);
        if (point === undefined) return "";
        const plain = typeof value === "boolean" ? Number(value) : value;
        const data = {
          dataPointID: point.dataPointID,
          time: write(time),
          value: shown(point.pointDataType, plain),
        };
        return `id: ${live.run}.${number}.${time}\ndata: ${JSON.stringify(data)}\n\n`;
      })
      .join("");
  };
}

/** What a client missed that was connected before: from what is kept, else from the store by its time. */
async function* missed(deps: AppDeps, feed: Feed, eventText: EventText): AsyncGenerator<string> {
  const { subscription, last } = feed;
  if (last === null) return;
  const untold: string[] = [];
  const events = subscription.missed ?? (await fromStore(deps, feed.device, last.time, untold));
  for (const why of untold) yield `: ${why.replaceAll(/[\r\n]/g, " ")}\n\n`;
  for (let from = 0; from < events.length; from += eventsPerChunkMax) {
    yield await eventText(events.slice(from, from + eventsPerChunkMax));
  }
}

/**
 * The newest points behind a time; one that is being stored meanwhile may come twice. A data point of which the store
 * cannot tell them goes to `untold`, and the feed on without them.
 */
async function fromStore(
  { catalog, series, refs }: AppDeps,
  device: DeviceRef,
  time: number,
  untold: string[],
): Promise<LiveEvent[]> {
  const { points } = await catalog.model(device.productIntID);
  const reported = points.filter((point) => point.dataTransType !== issueOnly);
  const newest = Math.max(1, Math.floor(replayPointsMax / Math.max(1, reported.length)));
  const events: LiveEvent[] = [];
  const asked = reported.map(({ field, pointDataType }) =>
    refs.of(device, { field, kind: kindOf(pointDataType) }),
  );
  for (const [n, found] of (await series.readNewest(asked, { start: time + 1 }, newest)).entries()) {
    if (found instanceof StoreError) {
      untold.push(found.message);
      continue;
    }
    const field = reported[n]?.field ?? "";
    // Numbered 0: who breaks off here asks the store again.
    for (const [i, at] of found.times.entries())
      events.push({ number: 0, field, time: at, value: found.values[i] ?? 0 });
  }
  return events.sort((a, b) => a.time - b.time);
}

const issueOnly = 2;

/** A key may be withdrawn and a device may go while a feed is open. */
async function isStillTheirs(
  { authenticator, catalog }: AppDeps,
  device: DeviceRef,
  authorization: string | null,
  address: string,
): Promise<boolean> {
  try {
    const caller = await authenticator.caller(authorization ?? undefined, address);
    const now = await catalog.byIntID(caller.tenant, device.id);
    return now?.deviceID === device.deviceID;
  } catch {
    return false;
  }
}
