/** Links from this node to the others of its cluster. */
import { Agent } from "node:https";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import type { Neighbours } from "../../ingest/transports/sockets/relay.js";
import type { ClusterNode, ClusterSettings } from "../config/cluster.js";
import { forward } from "./forward.js";
import { writeClient } from "./relayed-client.js";
import { linkKey, linkProtocols, linkSuites } from "./secret.js";

export type Links = Omit<Neighbours, "keeperOf">;

/** How long a node may take to answer; clients wait meanwhile. */
const connectTimeoutMs = 3000;

export function createLinks({ nodes, self, masterKey }: ClusterSettings): Links {
  const others = new Map(nodes.filter((one) => one !== self).map((one) => [one.number, one]));
  const keys = new Map([...others.keys()].map((number) => [number, linkKey(masterKey, number)]));

  const optionsOf = (key: Uint8Array, protocol: string): ConnectionOptions => ({
    ...linkSuites,
    ALPNProtocols: [protocol],
    pskCallback: () => ({ psk: key, identity: String(self.number) }),
    // The key has proved who it is: there is no certificate.
    checkServerIdentity: () => undefined,
  });
  const agents = new Map(
    [...keys].map(([number, key]) => {
      const agent = new Agent({ keepAlive: true, noDelay: true, ...optionsOf(key, linkProtocols.http) });
      return [number, agent];
    }),
  );

  function open(number: number): Promise<TLSSocket> {
    const [node, key] = [others.get(number), keys.get(number)];
    if (node === undefined || key === undefined)
      throw new Error(`cannot reach node ${number}: it is unknown`);
    const { host, port } = node;
    const socket = connect({ host, port, ...optionsOf(key, linkProtocols.mqtt) });
    socket.setNoDelay(true);
    return connected(socket, node);
  }

  return {
    openRelay: async (number, client) => {
      const socket = await open(number);
      socket.write(`${writeClient(client)}\n`);
      return socket;
    },
    forward: (number, request, response, client, unreachable) => {
      const [node, agent] = [others.get(number), agents.get(number)];
      if (node === undefined || agent === undefined) return unreachable();
      forward({ agent, host: node.host, port: node.port }, request, response, client, unreachable);
    },
    close: () => {
      for (const agent of agents.values()) agent.destroy();
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
