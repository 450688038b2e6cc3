/** Links from this node to the others of its cluster. */
import { Agent } from "node:https";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import type { Neighbours } from "../../ingest/transports/sockets/relay.js";
import type { ClusterNode, ClusterSettings } from "../config/cluster.js";
import { ApiError } from "../http/errors.js";
import type { Answer } from "../http/route.js";
import { askNode, type Call } from "./ask-node.js";
import { callNode } from "./call-node.js";
import { forward, type Target } from "./forward.js";
import { writeClient } from "./relayed-client.js";
import { aliveMs, linkKey, linkOptions, linkProtocols } from "./secret.js";
import { upgradeHead } from "./upgrade-head.js";

export interface Links extends Omit<Neighbours, "keeperOf"> {
  /** @throws ApiError SERVICE_UNAVAILABLE if the node does not answer */
  ask(node: number, call: Call): Promise<Answer>;
  /** The answer, as JSON, to a call of this node's own. @throws Error if the node does not answer */
  call(node: number, body: object, timeoutMs: number): Promise<unknown>;
}

/** How long a node may take to answer; clients wait meanwhile. */
const connectTimeoutMs = 3000;

/** Before the node itself closes a link that carries nothing. */
const idleMs = 50_000;

/** Links that carry one request after the other; one that is not there in time fails. */
function agentOf(options: ConnectionOptions): Agent {
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
    return socket;
  };
  return agent;
}

export function createLinks({ nodes, self, masterKey }: ClusterSettings): Links {
  const others = new Map(nodes.filter((one) => one !== self).map((one) => [one.number, one]));
  const keys = new Map([...others.keys()].map((number) => [number, linkKey(masterKey, number)]));

  const agentsOf = (protocol: string): ReadonlyMap<number, Agent> =>
    new Map([...keys].map(([number, key]) => [number, agentOf(linkOptions(key, self.number, protocol))]));
  const [ofRequests, ofCalls] = [agentsOf(linkProtocols.http), agentsOf(linkProtocols.calls)];

  function targetOf(number: number, agents = ofRequests): Target | null {
    const [node, agent] = [others.get(number), agents.get(number)];
    return node === undefined || agent === undefined ? null : { agent, host: node.host, port: node.port };
  }

  function open(number: number, protocol: string): Promise<TLSSocket> {
    const [node, key] = [others.get(number), keys.get(number)];
    if (node === undefined || key === undefined)
      throw new Error(`cannot reach node ${number}: it is unknown`);
    const { host, port } = node;
    const socket = connect({ host, port, ...linkOptions(key, self.number, protocol) });
    socket.setNoDelay(true);
    socket.setKeepAlive(true, aliveMs);
    return connected(socket, node);
  }

  return {
    openRelay: async (number, client) => {
      const socket = await open(number, linkProtocols.mqtt);
      socket.write(`${writeClient(client)}\n`);
      return socket;
    },
    openUpgrade: async (number, request, client) => {
      const socket = await open(number, linkProtocols.http);
      socket.write(upgradeHead(request, client), "latin1");
      return socket;
    },
    forward: (number, forwarded) => {
      const target = targetOf(number);
      if (target === null) forwarded.unreachable();
      else forward(target, forwarded);
    },
    ask: async (number, call) => {
      const target = targetOf(number);
      if (target === null) throw new ApiError("SERVICE_UNAVAILABLE", `node ${number} is unknown`);
      return askNode(target, call);
    },
    call: async (number, body, timeoutMs) => {
      const target = targetOf(number, ofCalls);
      if (target === null) throw new Error(`node ${number} is unknown`);
      return callNode(target, body, timeoutMs);
    },
    close: () => {
      for (const agent of [...ofRequests.values(), ...ofCalls.values()]) agent.destroy();
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
    // Stays: an error after the handshake is told by "close" as well.
    socket.on("error", fail);
    socket.once("secureConnect", () => {
      clearTimeout(timer);
      resolve(socket);
    });
  });
}
