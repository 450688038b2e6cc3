import { z } from "@hono/zod-openapi";
import { type LiveTopic, liveTopics } from "../../ingest/live/tenant-events.js";
import { crc32c } from "../../store/lib/crc32c.js";
import { StoreError } from "../../store/lib/errors.js";
import type { ApiCaller } from "../http/caller.js";
import { ApiError, invalid } from "../http/errors.js";
import { eventStream } from "../http/event-stream.js";
import { RemoteShard } from "../http/remote-shard.js";
import { type Route, route } from "../http/route.js";
import { messagesPerSecondMax } from "../live/sample.js";
import { openScope, type RequestedScope, streamDevicesMax, streamMembersMax } from "../live/scope.js";
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
        const requested = readScope(query);
        const topics = readTopics(query.topics, requested);
        const headers = { "Cache-Control": "no-store", "X-Accel-Buffering": "no" };
        const answer = { status: 200, type: "text/event-stream", headers } as const;
        if (request.method === "HEAD") {
          await openScope(deps, caller.tenant, requested);
          return answer;
        }
        const ids = eventIDs(deps, topics, requested);
        const lastID = request.headers.get("last-event-id") ?? "";
        await toItsNode(deps, caller.tenant, ids.read(lastID));
        const stream = await openStream(deps, caller, requested, topics, ids, lastID);
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

/** An event that a client saw last: its number in a run of one node's service. */
interface EventID {
  readonly node: number;
  readonly run: string;
  readonly number: number;
}

interface EventIDs {
  /** Formats the id of this node's event with that number. */
  write(number: number): string;
  /** Null if the text is no id, or an id of another query, which received other events. */
  read(text: string): EventID | null;
}

const eventIDForm = /^(\d{1,3})\.([\w-]{1,32})\.(\d{1,15})\.([0-9a-z]{1,7})$/;

function eventIDs(
  { config, tenantLive }: AppDeps,
  topics: readonly LiveTopic[],
  requested: RequestedScope,
): EventIDs {
  const form = crc32c(Buffer.from(JSON.stringify([topics.toSorted(), requested]))).toString(36);
  return {
    write: (number) => `${config.nodeNumber}.${tenantLive.run}.${number}.${form}`,
    read: (text) => {
      const [, node, run, number, ofForm] = eventIDForm.exec(text) ?? [];
      if (run === undefined || ofForm !== form) return null;
      return { node: Number(node), run, number: Number(number) };
    },
  };
}

/** How long a node may take to say that it knows an event. */
const askMs = 1_000;

/**
 * Each node numbers its events itself: a client that reconnects at another node continues at the one that sent its last
 * event, as long as that still holds the events since. @throws RemoteShard
 */
async function toItsNode({ cluster }: AppDeps, tenant: number, last: EventID | null): Promise<void> {
  if (last === null || cluster?.others.includes(last.node) !== true) return;
  const { node, run, number: after } = last;
  const resumes = await cluster.call(node, { call: "resumes", tenant, run, after }, askMs).catch(() => false);
  if (resumes === true) throw new RemoteShard(node);
}

async function openStream(
  deps: AppDeps,
  { tenant }: ApiCaller,
  requested: RequestedScope,
  topics: readonly LiveTopic[],
  ids: EventIDs,
  lastID: string,
) {
  const { tenantLive: feed } = deps;
  const after = ids.read(lastID);
  const isKnown = after?.node === deps.config.nodeNumber && after.run === feed.run;
  const subscription = feed.subscribe(tenant, topics, isKnown ? after.number : null);
  if (subscription === null) {
    throw new ApiError("RESOURCE_LIMITED", "too many live streams are open, close some");
  }
  const since = feed.newest;
  try {
    const { generation } = subscription;
    const scope = await openScope(deps, tenant, requested);
    await deps.liveWatch.begin(tenant, topics);
    return {
      tenant,
      topics: new Set(topics),
      subscription,
      asked: requested,
      scope,
      generation,
      since,
      idOf: ids.write,
      isBack: lastID !== "",
    };
  } catch (error) {
    subscription.close();
    throw error;
  }
}

function readScope({ deviceID, groupID }: z.output<typeof query>): RequestedScope {
  const deviceIDs = deviceID ? [...new Set(deviceID.split(","))].sort() : null;
  return { deviceIDs, groupID: groupID || null };
}

/** @throws ApiError PARAMETER_INVALID */
function readTopics(text: string | undefined, { deviceIDs, groupID }: RequestedScope): LiveTopic[] {
  const hasDevices = deviceIDs !== null || groupID !== null;
  // The figures come every second: only clients that ask for them receive them.
  if (!text) return liveTopics.filter((topic) => topic !== "overview" && (hasDevices || topic !== "points"));
  const requested = [...new Set(text.split(","))];
  const topics = liveTopics.filter((topic) => requested.includes(topic));
  if (topics.length < requested.length) throw invalid({ topics: `must be some of ${liveTopics.join(", ")}` });
  if (topics.includes("points") && !hasDevices) {
    throw invalid({ topics: "points need deviceID or groupID" });
  }
  return topics;
}

/** Checks again, because a key may be withdrawn while a stream is open. */
async function isStillTheirs(
  { log }: AppDeps,
  tenant: number,
  callerAgain: () => Promise<ApiCaller>,
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
