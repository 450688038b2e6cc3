/** Calls that nodes make of each other: for commands, which the one that keeps a device sends to it; of changes. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { z } from "@hono/zod-openapi";
import type { Directory } from "../../ingest/directory/directory.js";
import type { TenantFeed } from "../../ingest/live/tenant-feed.js";
import { readWhole } from "../../ingest/transports/http/requests/body-reader.js";
import type { DeadLetter } from "../../store/journal/dead-letters.js";
import { createReservation } from "../../store/lib/reservation.js";
import { createSlice } from "../../store/lib/scheduling.js";
import type { CommandTarget } from "../../store/metadata/commands/command-targets.js";
import { brokerBegin, brokerTake, brokerTaken } from "../brokers/shard-calls.js";
import type { FollowerCalls } from "../brokers/take-for-follower.js";
import type { ListAnswer } from "../journal-lists/cluster-list.js";
import { type ListQuery, ownListQuery } from "../journal-lists/own-list.js";
import type { NodeFigures } from "../live/figures.js";
import type { Command, Commands } from "./commands.js";

/** Devices that one call is about. */
export const targetsPerCallMax = 1000;
const bodyBytesMax = 2 * 1024 * 1024;
const idleMs = 60_000;

const id = z.int().nonnegative();
const targets = z.array(id).max(targetsPerCallMax).readonly();
const qos = z.union([z.literal(0), z.literal(1)]);
const content = { topic: z.string(), payload: z.base64(), qos, ttl: z.int().nonnegative() };
const sent = z.strictObject({ device: id, logID: id, groupLogIntID: id.nullable() });

const nodeCall = z.discriminatedUnion("call", [
  z.strictObject({ call: z.literal("route"), topic: z.string(), qos, targets }),
  z.strictObject({
    call: z.literal("send"),
    ...content,
    logged: z.array(sent).max(targetsPerCallMax).readonly(),
  }),
  z.strictObject({ call: z.literal("isConnected"), topic: z.string(), targets }),
  z.strictObject({ call: z.literal("follow") }),
  z.strictObject({ call: z.literal("shards") }),
  z.strictObject({ call: z.literal("gives"), node: id, shard: id }),
  z.strictObject({ call: z.literal("copyAhead"), shard: id }),
  z.strictObject({ call: z.literal("list"), query: ownListQuery, shards: z.array(id).readonly() }),
  z.strictObject({ call: z.literal("asides") }),
  brokerBegin,
  brokerTake,
  brokerTaken,
  z.strictObject({ call: z.literal("figures"), tenant: id.nullable() }),
  z.strictObject({ call: z.literal("resumes"), tenant: id, run: z.string(), after: id }),
  z.strictObject({ call: z.literal("sendToMembers"), topic: z.string(), payload: z.base64(), targets }),
]);
export type NodeCall = z.infer<typeof nodeCall>;
/**
 * One for each device of the call, in their order; of `route` the QoS that is granted, or null; of `copyAhead` whether it
 * is done. None of `follow`, `shards` and `gives`.
 */
export const nodeAnswers = z.array(z.union([z.boolean(), qos, z.null()])).max(targetsPerCallMax);
export type NodeAnswers = z.infer<typeof nodeAnswers>;

export interface NodeCalls {
  /** Answers the calls that come by a link of the cluster. */
  take(link: Duplex): void;
}

/** What other nodes say of shards that move. */
export interface ShardNews {
  /** One has freed a shard, or opened one. */
  readonly look: () => Promise<void>;
  /** A node is about to give a shard to another. */
  readonly gives: (node: number, shard: number) => void;
  /** A node is to give the shard next: false if this one is to have it, and still copies it. */
  readonly copyAhead: (shard: number) => Promise<boolean>;
}

interface NodeCallsDeps {
  /** The commands of local devices. */
  readonly commands: Commands;
  readonly directory: Pick<Directory, "get">;
  /** The part of a list that is kept here, of these shards. */
  readonly list: (query: ListQuery, shards: readonly number[]) => Promise<ListAnswer>;
  /** The dead letters of this node. */
  readonly asides: () => readonly DeadLetter[];
  /** The figures of this node in the overview. */
  readonly figures: (tenant: number | null) => NodeFigures;
  /** Whether a live stream could go on here. */
  readonly resumes: TenantFeed["resumes"];
  /** Resolves once every change of the metadata up to now is seen here. */
  readonly followed: () => Promise<void>;
  /** Answers calls of the node that follows the external broker; null: BROKER_URL is not set. */
  readonly follower: FollowerCalls | null;
  readonly shardNews: ShardNews;
  readonly onFault: (error: Error) => void;
}

export function createNodeCalls(deps: NodeCallsDeps): NodeCalls {
  const { commands, directory, list, asides, figures, resumes, followed, shardNews, onFault } = deps;

  async function findTarget(device: number): Promise<(CommandTarget & { readonly tenant: number }) | null> {
    const entry = await directory.get(device);
    if (entry === undefined) return null;
    const { deviceID, blocked, parent, protocol, tenant } = entry.device;
    return { id: device, deviceID, blocked, carrier: parent, protocol, tenant };
  }

  async function send(
    command: Command,
    logged: Extract<NodeCall, { call: "send" }>["logged"],
  ): Promise<NodeAnswers> {
    const slice = createSlice();
    const kept: boolean[] = logged.map(() => false);
    const sending: Promise<unknown>[] = [];
    for (const [i, { device, ...ids }] of logged.entries()) {
      const target = await findTarget(device);
      if (i === 0 && target !== null) await commands.untilTaken(target.tenant);
      const route = target === null ? null : await commands.routeTo(target, command);
      if (route === null) commands.giveUp(ids);
      else {
        const one = commands.send(route, ids, command).then((isKept) => {
          kept[i] = isKept;
        });
        sending.push(one);
      }
      if (slice.isOver()) await slice.next();
    }
    await commands.untilKept(sending);
    return kept;
  }

  async function answer(
    call: NodeCall,
  ): Promise<NodeAnswers | ListAnswer | readonly DeadLetter[] | NodeFigures | boolean | string | string[]> {
    if (call.call === "brokerBegin" || call.call === "brokerTake" || call.call === "brokerTaken") {
      if (deps.follower === null) throw new Error("BROKER_URL is not set at this node");
      return deps.follower.answer(call);
    }
    if (call.call === "list") return list(call.query, call.shards);
    if (call.call === "asides") return asides();
    if (call.call === "figures") return figures(call.tenant);
    if (call.call === "resumes") return resumes(call.tenant, call.run, call.after);
    if (call.call === "send") {
      const { topic, payload, qos: asked, ttl, logged } = call;
      return send({ topic, payload: Buffer.from(payload, "base64"), qos: asked, ttl }, logged);
    }
    if (call.call === "follow" || call.call === "shards") {
      await (call.call === "follow" ? followed() : shardNews.look());
      return [];
    }
    if (call.call === "gives") {
      shardNews.gives(call.node, call.shard);
      return [];
    }
    if (call.call === "copyAhead") return [await shardNews.copyAhead(call.shard)];
    const slice = createSlice();
    const answers: NodeAnswers = [];
    for (const device of call.targets) {
      const target = await findTarget(device);
      if (call.call === "route") {
        const route = target === null ? null : await commands.routeTo(target, call);
        answers.push(route?.qos ?? null);
      } else if (call.call === "isConnected") {
        answers.push(target !== null && (await commands.isConnected(target, call.topic)));
      } else {
        const payload = Buffer.from(call.payload, "base64");
        answers.push(target !== null && commands.sendToMember(target, call.topic, payload));
      }
      if (slice.isOver()) await slice.next();
    }
    return answers;
  }

  /** Answers 400 if the body is not a call. */
  function handle(request: IncomingMessage, response: ServerResponse): void {
    const respond = (status: number, body: object | boolean | string): void => {
      response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
    };
    read(request)
      .then((text) => nodeCall.safeParse(JSON.parse(text)))
      .then(
        async (call) => (call.success ? respond(200, await answer(call.data)) : respond(400, {})),
        () => respond(400, {}),
      )
      .catch((error: Error) => {
        onFault(error);
        if (!response.headersSent) respond(500, {});
      });
  }

  const server = createServer({ keepAliveTimeout: idleMs, headersTimeout: 0, requestTimeout: 0 }, handle);
  return { take: (link) => server.emit("connection", link) };
}

/** Calls of nodes that have the key are not counted. */
const openUncounted = () =>
  createReservation(
    () => true,
    () => undefined,
  );

async function read(request: IncomingMessage): Promise<string> {
  const bytes = await readWhole(request, bodyBytesMax, openUncounted());
  if (!Buffer.isBuffer(bytes)) throw new Error(`the call cannot be read: ${bytes}`);
  return bytes.toString("utf8");
}
