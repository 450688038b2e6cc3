/** Links from this node to the others of its cluster. */
import { Agent } from "node:https";
import type { Socket } from "node:net";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import type { Neighbours } from "../../ingest/transports/sockets/relay.js";
import type { ClusterNode, ClusterSettings } from "../config/cluster.js";
import { ApiError } from "../http/errors.js";
import type { RouteAnswer } from "../http/route.js";
import type { Logger } from "../observability/log.js";
import { callNode } from "./call-node.js";
import { type ForwardTarget, forward } from "./forward.js";
import { type Call, forwardToNode } from "./forward-request.js";
import { createLinkWatch } from "./link-watch.js";
import { clientHeader, writeClient } from "./relayed-client.js";
import { aliveMs, linkKey, linkOptions, linkProtocols } from "./secret.js";
import { createSharedLinks, type SharedLinks } from "./shared-links.js";

export interface Links extends Omit<Neighbours, "keeperOf"> {
  /** @throws ApiError SERVICE_UNAVAILABLE if the node does not answer */
  ask(node: number | null, call: Call): Promise<RouteAnswer>;
  /** The answer, as JSON, to a call of this node's own. @throws Error if the node does not answer */
  call(node: number | null, body: object, timeoutMs: number): Promise<unknown>;
  /** Opens a link for what happens to the devices that the node keeps. @throws Error if it cannot be reached */
  openEvents(node: number): Promise<Socket>;
  /** A link that has come from the node: it is ended as those to the node are once that is silent. */
  watch(node: number, link: Socket): void;
}

/** How long a node may take to answer; clients wait meanwhile. */
const connectTimeoutMs = 3000;

/** Before the node itself closes a link that carries nothing. */
const idleMs = 50_000;

/** Links that carry one request after the other; one that is not there in time fails. `onOpen` receives each. */
function createAgent(options: ConnectionOptions, onOpen: (socket: TLSSocket) => void): Agent {
  const agent = new Agent({
    keepAlive: true,
    keepAliveMsecs: aliveMs,
    noDelay: true,
    timeout: idleMs,
    ...options,
  });
  const make = agent.createConnection.bind(agent);
  agent.createConnection = (...asked) => {
    const socket = make(...asked) as TLSSocket;
    const timer = setTimeout(() => socket.destroy(new Error("it does not answer")), connectTimeoutMs);
    for (const event of ["secureConnect", "close"]) socket.once(event, () => clearTimeout(timer));
    socket.once("secureConnect", () => onOpen(socket));
    return socket;
  };
  return agent;
}

/** Another node, and the links to it. */
interface Other {
  readonly node: ClusterNode;
  readonly key: Uint8Array;
  /** One request after the other. */
  readonly requests: ForwardTarget;
  readonly calls: ForwardTarget;
  readonly mqtt: SharedLinks;
}

export function createLinks(
  { nodes, self, masterKey }: ClusterSettings,
  log: Pick<Logger, "info" | "warn">,
): Links {
  const watch = createLinkWatch({ openEcho: (node) => openUnwatched(node, linkProtocols.echo), log });
  const others = new Map(nodes.filter((one) => one !== self).map((one) => [one.number, findOther(one)]));

  function findOther(node: ClusterNode): Other {
    const { number, host, port } = node;
    const key = linkKey(masterKey, number);
    const target = (protocol: string): ForwardTarget => ({
      agent: createAgent(linkOptions(key, self.number, protocol), (socket) => watch.add(number, socket)),
      host,
      port,
    });
    return {
      node,
      key,
      requests: target(linkProtocols.http),
      calls: target(linkProtocols.calls),
      mqtt: createSharedLinks(() => open(number, linkProtocols.mqtt)),
    };
  }

  /** @throws ApiError for a number that is none of the others', and for none */
  function other(number: number | null): Other {
    const found = number === null ? undefined : others.get(number);
    if (found !== undefined) return found;
    const why =
      number === null ? "no node keeps the device now" : `cannot reach node ${number}: it is unknown`;
    throw new ApiError("SERVICE_UNAVAILABLE", why);
  }

  async function openUnwatched(number: number | null, protocol: string): Promise<TLSSocket> {
    const { node, key } = other(number);
    const { host, port } = node;
    const socket = connect({ host, port, ...linkOptions(key, self.number, protocol) });
    socket.setNoDelay(true);
    socket.setKeepAlive(true, aliveMs);
    return connected(socket, node);
  }

  async function open(number: number | null, protocol: string): Promise<TLSSocket> {
    const socket = await openUnwatched(number, protocol);
    if (number !== null) watch.add(number, socket);
    return socket;
  }

  return {
    openRelay: async (number, client) => other(number).mqtt.open(client),
    openUpgrade: async (number, client) => ({
      link: await open(number, linkProtocols.http),
      headers: { [clientHeader]: writeClient(client) },
    }),
    forward: (number, forwarded) => {
      if (number === null) forwarded.unreachable();
      else forward(other(number).requests, forwarded);
    },
    ask: async (number, call) => forwardToNode(other(number).requests, call),
    call: async (number, body, timeoutMs) => callNode(other(number).calls, body, timeoutMs),
    openEvents: (number) => open(number, linkProtocols.live),
    watch: watch.add,
    close: () => {
      watch.close();
      for (const { requests, calls } of others.values()) {
        requests.agent.destroy();
        calls.agent.destroy();
      }
    },
  };
}

function connected(socket: TLSSocket, { number, host, port }: ClusterNode): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail(new Error("it does not answer")), connectTimeoutMs);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(new Error(`cannot reach node ${number} at ${host}:${port}: ${error.message}`, { cause: error }));
    };
    // Stays: an error after the handshake is reported by "close" as well.
    socket.on("error", fail);
    socket.once("secureConnect", () => {
      clearTimeout(timer);
      resolve(socket);
    });
  });
}
