import { z } from "@hono/zod-openapi";
import { type DeadLetter, followers } from "../../store/journal/dead-letters.js";
import { shardOfID } from "../../store/journal/shard-ids.js";
import { requireDeployment } from "../http/caller.js";
import { ApiError } from "../http/errors.js";
import { RemoteShard } from "../http/remote-shard.js";
import { type Route, route } from "../http/route.js";
import { idParams, intSchema, stampText } from "../http/schemas.js";
import { listClusterDeadLetters } from "../journal-lists/cluster-dead-letters.js";
import type { AppDeps } from "./deps.js";

const tag = "Service";
const follower = z.enum(followers);
const deadLetterSchema = z
  .object({
    id: intSchema.openapi({ description: "journal id of the message, as events have it" }),
    follower,
    deviceIntID: intSchema,
    topic: z.string(),
    receivedAt: stampText,
    asideAt: stampText,
    reason: z.string().openapi({ example: "it needs more than 192 MiB of memory" }),
  })
  .openapi("SetAside");
const example = {
  id: 51_204,
  follower: "alerts",
  deviceIntID: 7,
  topic: "telemetry",
  receivedAt: "2026-11-21 16:03:37",
  asideAt: "2026-11-21 16:05:02",
  reason: "it needs more than 192 MiB of memory",
} as const;
const replayed = z
  .object({
    replayed: z.array(follower),
    refused: z.array(z.object({ follower, reason: z.string() })),
  })
  .openapi("Replayed", { example: { replayed: ["series", "alerts"], refused: [] } });

/** Messages that ended starts of the service while only they were being processed, and then ended a trial. */
export function deadLetterRoutes({ aside, cluster }: AppDeps): Route[] {
  /** `truncated`: a node that may have more does not answer. */
  async function everywhere(): Promise<{
    readonly items: readonly DeadLetter[];
    readonly truncated: boolean;
  }> {
    const shared = await aside.everywhere();
    if (shared !== null || cluster === null) return { items: shared ?? aside.all(), truncated: false };
    return listClusterDeadLetters(aside.all(), cluster);
  }

  /** @throws RemoteShard if another node has it; ApiError SERVICE_UNAVAILABLE if one that may have it is away */
  async function atItsNode(id: number): Promise<void> {
    if (cluster === null || aside.all().some((one) => one.id === id)) return;
    const shared = await aside.everywhere();
    if (shared !== null) {
      // If no node has it, this node can refuse it as well as any other.
      if (!shared.some((one) => one.id === id)) return;
      const shard = shardOfID(id);
      const [node = null] =
        [...cluster.places().elsewhere].find(([, shards]) => shards.includes(shard)) ?? [];
      throw new RemoteShard(node, shard);
    }
    const { nodes, truncated } = await listClusterDeadLetters([], cluster);
    const node = nodes.get(id);
    if (node !== undefined) throw new RemoteShard(node);
    if (truncated)
      throw new ApiError("SERVICE_UNAVAILABLE", "a node that may have the message does not answer");
  }

  return [
    route({
      method: "get",
      path: "/api/v1/set_aside",
      access: "admin",
      tag,
      summary: "Messages that ended starts of the service and are set aside, by who follows the journal",
      answer: { status: 200, schema: z.array(deadLetterSchema).openapi({ example: [example] }) },
      handle: async ({ caller, writing: { stamp } }) => {
        requireDeployment(caller);
        const { items, truncated } = await everywhere();
        const body = items.map(({ device, receivedAt, asideAt, ...one }) => ({
          ...one,
          deviceIntID: device,
          receivedAt: stamp(Math.floor(receivedAt / 1000)),
          asideAt: stamp(asideAt),
        }));
        return { status: 200, body, ...(truncated ? { headers: { Truncated: "true" } } : {}) };
      },
    }),
    route({
      method: "post",
      path: "/api/v1/set_aside/{id}/replay",
      access: "admin",
      tag,
      summary: "Try a message that is set aside once more, and let it have its effect if that ends well",
      shape: { params: idParams },
      answer: { status: 200, schema: replayed },
      errors: ["DATA_NOT_FOUND", "SERVICE_UNAVAILABLE"],
      handle: async ({ caller, params }) => {
        requireDeployment(caller);
        const id = parseID(params.id);
        await atItsNode(id);
        return { status: 200, body: await aside.replay(id) };
      },
    }),
    route({
      method: "post",
      path: "/api/v1/set_aside/{id}/drop",
      access: "admin",
      tag,
      summary: "Give up a message that is set aside; its event stays",
      shape: { params: idParams },
      answer: { status: 200, schema: z.object({ id: intSchema }).openapi({ example: { id: example.id } }) },
      errors: ["DATA_NOT_FOUND", "SERVICE_UNAVAILABLE"],
      handle: async ({ caller, params }) => {
        requireDeployment(caller);
        const id = parseID(params.id);
        await atItsNode(id);
        await aside.drop(id);
        return { status: 200, body: { id } };
      },
    }),
  ];
}

/** @throws ApiError DATA_NOT_FOUND if the text is not a journal id */
function parseID(text: string): number {
  const id = Number(text);
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(id)) {
    throw new ApiError("DATA_NOT_FOUND", `no message ${text.slice(0, 32)} is set aside`);
  }
  return id;
}
