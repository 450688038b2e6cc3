import { z } from "@hono/zod-openapi";
import { type LiveTopic, liveTopics } from "../../ingest/live/tenant-events.js";
import { crc32c } from "../../store/lib/crc32c.js";
import { StoreError } from "../../store/lib/errors.js";
import type { Caller } from "../http/caller.js";
import { ApiError, invalid } from "../http/errors.js";
import { eventStream } from "../http/event-stream.js";
import { type Route, route } from "../http/route.js";
import { messagesPerSecondMax } from "../live/sample.js";
import { type AskedScope, openScope, streamDevicesMax, streamMembersMax } from "../live/scope.js";
import { streamChunks } from "../live/stream.js";
import type { AppDeps } from "./deps.js";

/** What happens to a tenant's devices, as one stream of Server-Sent Events. */

const query = z.object({
  topics: z
    .string()
    .optional()
    .openapi({
      description: `some of ${liveTopics.join(", ")}, separated by commas; absent: all but overview, points only with devices`,
      example: "points,alerts",
    }),
  deviceID: z
    .string()
    .optional()
    .openapi({
      description: `string ids of up to ${streamDevicesMax} devices or gateways, separated by commas; absent: all`,
    }),
  groupID: z
    .string()
    .optional()
    .openapi({
      description: `string id of a group: all its devices, at most ${streamMembersMax}`,
    }),
});

export function liveRoutes(deps: AppDeps): Route[] {
  return [
    route({
      method: "get",
      path: "/api/v1/live",
      access: "read",
      tag: "Data",
      summary: `Points, messages (${messagesPerSecondMax} a second), presence, alerts and commands of a tenant's devices, and its overview, as one stream of Server-Sent Events`,
      shape: { query },
      answer: { status: 200, schema: z.string(), type: "text/event-stream" },
      errors: ["DATA_NOT_FOUND", "RESOURCE_LIMITED"],
      handle: async ({ caller, query, request, callerAgain, hangUp }) => {
        const asked = readScope(query);
        const topics = readTopics(query.topics, asked);
        const headers = { "Cache-Control": "no-store", "X-Accel-Buffering": "no" };
        const answer = { status: 200, type: "text/event-stream", headers } as const;
        if (request.method === "HEAD") {
          await openScope(deps, caller.tenant, asked);
          return answer;
        }
        const stream = await openStream(deps, caller, asked, topics, request.headers.get("last-event-id"));
        const mayGoOn = () => isStillTheirs(deps, caller.tenant, callerAgain);
        const stalled = () => {
          stream.subscription.giveUp();
          hangUp();
        };
        return {
          ...answer,
          body: eventStream({
            chunks: streamChunks(deps, { ...stream, mayGoOn }),
            left: stream.subscription.close,
            stalled,
          }),
        };
      },
    }),
  ];
}

async function openStream(
  deps: AppDeps,
  { tenant }: Caller,
  asked: AskedScope,
  topics: readonly LiveTopic[],
  lastEventID: string | null,
) {
  const { tenantLive: feed } = deps;
  // Another question was told other events: where it was is no place in this one.
  const form = crc32c(Buffer.from(JSON.stringify([topics.toSorted(), asked]))).toString(36);
  const idOf = (number: number): string => `${feed.run}.${number}.${form}`;
  const last = /^([\w-]{1,32})\.(\d{1,15})\.([0-9a-z]{1,7})$/.exec(lastEventID ?? "");
  const after = last !== null && idOf(Number(last[2])) === lastEventID ? Number(last[2]) : null;
  const subscription = feed.subscribe(tenant, topics, after);
  if (subscription === null) {
    throw new ApiError("RESOURCE_LIMITED", "too many live streams are open, close some");
  }
  const since = feed.newest;
  try {
    const { generation } = subscription;
    const scope = await openScope(deps, tenant, asked);
    await deps.liveWatch.begin(tenant, topics);
    const isBack = lastEventID !== null && lastEventID !== "";
    return {
      tenant,
      topics: new Set(topics),
      subscription,
      asked,
      scope,
      generation,
      since,
      idOf,
      isBack,
    };
  } catch (error) {
    subscription.close();
    throw error;
  }
}

function readScope({ deviceID, groupID }: z.output<typeof query>): AskedScope {
  const deviceIDs = deviceID ? [...new Set(deviceID.split(","))].sort() : null;
  return { deviceIDs, groupID: groupID || null };
}

/** @throws ApiError PARAMETER_INVALID */
function readTopics(text: string | undefined, { deviceIDs, groupID }: AskedScope): LiveTopic[] {
  const hasDevices = deviceIDs !== null || groupID !== null;
  // The figures come every second, whatever happens: only whoever asks for them is told.
  if (!text) return liveTopics.filter((topic) => topic !== "overview" && (hasDevices || topic !== "points"));
  const asked = [...new Set(text.split(","))];
  const topics = liveTopics.filter((topic) => asked.includes(topic));
  if (topics.length < asked.length) throw invalid({ topics: `must be some of ${liveTopics.join(", ")}` });
  if (topics.includes("points") && !hasDevices) {
    throw invalid({ topics: "points need deviceID or groupID" });
  }
  return topics;
}

/** Checks again, because a key may be withdrawn while a stream is open. */
async function isStillTheirs(
  { log }: AppDeps,
  tenant: number,
  callerAgain: () => Promise<Caller>,
): Promise<boolean> {
  try {
    return (await callerAgain()).tenant === tenant;
  } catch (error) {
    // If this cannot be checked now, the stream ends too, and its client asks again.
    const isKnown = error instanceof ApiError || error instanceof StoreError;
    if (!isKnown) log.error("live stream ended", { tenant, error });
    return false;
  }
}
