/** WebSocket for devices that do not speak MQTT: an upgrade of a request, and a client for as long as it is open. */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { asError } from "../../../store/lib/errors.js";
import type { DeliveryOptions, DeviceClient } from "../../clients/client.js";
import {
  type ClientsContext,
  createClients,
  type Rejected,
  type SharedClientsContext,
} from "../../clients/clients.js";
import type { LocalTime } from "../../decode/time.js";
import type { ByShard } from "../../directory/by-shard.js";
import { sessionExpiryMax } from "../../sessions/bounds.js";
import type { SessionState } from "../../sessions/state.js";
import type { HttpPeer } from "../http/peer.js";
import { failureAnswer, turnedAway, type UplinkAnswer } from "../http/requests/answers.js";
import { parseLogin } from "../http/requests/credentials.js";
import type { Neighbours } from "../sockets/relay.js";
import { gatherFrames } from "../sockets/whole-frames.js";
import { FrameConnection } from "./frame-connection.js";
import { FrameLink, type FrameSocket } from "./frame-link.js";
import { createPassingOn, letIn } from "./passing-on.js";

export interface WebSocketTransport {
  /** Whether the path of a request that asks for an upgrade is for devices. */
  serves(url: string): boolean;
  /** Upgrades the request; the socket is the transport's from then on. `ip`: where it came from. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, peer: HttpPeer, ip: string): void;
  /** Notifies every client of the shutdown, also those that another node owns and those that are unknown. */
  endAll(): void;
  close(): void;
}

/** What devices of all shards share. */
export interface WebSocketContext extends SharedClientsContext {
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
  /** Null: the process is alone. */
  readonly neighbours: Neighbours | null;
  readonly local: LocalTime;
  readonly onFault: (error: Error) => void;
}

const path = "/ws";
/** Most bytes of a frame: a message of the largest size, with what JSON makes of its characters. */
const frameBytesMax = 640 * 1024;
const fragmentsMax = 1024;
const closeTimeoutMs = 1000;
const sweepMs = 1000;

/** What the address of the upgrade says of the client. */
interface Asked {
  readonly clientID: string;
  /** Seconds. */
  readonly sessionExpiry: number;
}

export function createWebSocketTransport(
  context: WebSocketContext,
  shards: ByShard<ClientsContext>,
): WebSocketTransport {
  const { meter, local, monotonic, neighbours } = context;
  const clients = createClients<FrameLink>(context, shards, () => true);
  const open = new Set<FrameConnection>();
  const passingOn = createPassingOn(neighbours, closeTimeoutMs);
  let isEnding = false;
  const options = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
    maxPayload: frameBytesMax,
    maxFragments: fragmentsMax,
    closeTimeout: closeTimeoutMs,
    handleProtocols: () => false as const,
  };
  const server = new WebSocketServer(options);
  const sweep = setInterval(() => {
    for (const connection of open) {
      if (connection.isClosed) open.delete(connection);
      else connection.check();
    }
    void clients.sweep();
  }, sweepMs);

  /** `then` receives the client, once its session is open; its messages go down to `socket`. */
  function login(
    { clientID, sessionExpiry }: Asked,
    credentials: Parameters<typeof clients.open>[0],
    ip: string,
    socket: FrameSocket,
  ): Promise<DeviceClient<FrameLink> | Rejected> {
    const link = (state: SessionState, options: DeliveryOptions) =>
      new FrameLink(state, options, socket, meter);
    return clients.open(credentials, ip, {
      protocol: "websocket",
      clientID,
      sessionExpiry,
      keepAlive: 0,
      link,
    });
  }

  /** `onLost`: the client has left before, or has asked for no WebSocket. */
  function upgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    onUpgraded: (webSocket: WebSocket) => void,
    onLost: () => void,
  ): void {
    let isUpgraded = false;
    socket.once("close", () => {
      if (!isUpgraded) onLost();
    });
    if (socket.destroyed) return onLost();
    server.handleUpgrade(request, socket, head, (webSocket) => {
      isUpgraded = true;
      gatherFrames(socket, frameBytesMax);
      onUpgraded(webSocket);
    });
  }

  async function take(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    peer: HttpPeer,
    ip: string,
  ): Promise<void> {
    const asked = parseRequest(request.url ?? "");
    if (typeof asked === "string") return refuse(socket, failureAnswer(400, "PARAMETER_INVALID", asked));
    const { certificate } = peer;
    const { authorization } = request.headers;
    const shown = authorization === undefined ? null : parseLogin(authorization);
    const ask = { query: formatQuery(asked), authorization, peer, ip };
    const keeper = shown === null ? null : await passingOn.open(shown.username, ask);
    if (keeper !== null && "status" in keeper) return refuse(socket, keeper);
    if (keeper !== null)
      return upgrade(request, socket, head, (webSocket) => keeper.join(webSocket, []), keeper.giveUp);
    const proxy = createLateSocket();
    const client = shown === null ? null : await login(asked, { ...shown, certificate }, ip, proxy);
    if (client !== null && "reason" in client) return refuse(socket, turnedAway[client.reason]);
    if (client !== null) peer.prove(client.entry.device.tenant);
    const converse = (webSocket: WebSocket): void => {
      const connection = new FrameConnection(webSocket, {
        local,
        monotonic,
        onFault: (error) => {
          context.onFault(asError(error));
          webSocket.terminate();
        },
        elsewhere: async (username) => {
          const found = await passingOn.open(username, ask);
          return found !== null && "status" in found ? { reason: "unavailable" } : (found?.join ?? null);
        },
        login: async (username, token, own) => {
          const found = await login(asked, { username, token, certificate }, ip, own);
          if ("reason" in found) return found;
          peer.prove(found.entry.device.tenant);
          if (peer.isRelayed) letIn(webSocket);
          return found;
        },
      });
      open.add(connection);
      if (isEnding) connection.close("shutdown");
      if (client === null) return;
      connection.enter(client);
      proxy.become(connection);
    };
    upgrade(request, socket, head, converse, () => client?.end("lost"));
  }

  return {
    serves: (url) => url === path || url.startsWith(`${path}?`),
    upgrade: (request, socket, head, peer, ip) => {
      socket.on("error", () => socket.destroy());
      take(request, socket, head, peer, ip).catch((error: unknown) => {
        context.onFault(asError(error));
        socket.destroy();
      });
    },
    endAll: () => {
      isEnding = true;
      passingOn.endAll();
      for (const connection of open) connection.close("shutdown");
    },
    close: () => {
      clearInterval(sweep);
    },
  };
}

/** The socket of a client whose session is open before the upgrade is done: what comes meanwhile waits. */
function createLateSocket(): FrameSocket & { become(socket: FrameSocket): void } {
  let actual: FrameSocket | null = null;
  const waiting: ((socket: FrameSocket) => void)[] = [];
  const then = (action: (socket: FrameSocket) => void): void => {
    if (actual === null) waiting.push(action);
    else action(actual);
  };
  return {
    get waitingBytes() {
      return actual?.waitingBytes ?? 0;
    },
    send: (id, message) => then((socket) => socket.send(id, message)),
    close: (reason) => then((socket) => socket.close(reason)),
    become: (socket) => {
      actual = socket;
      for (const action of waiting.splice(0)) action(socket);
    },
  };
}

const clientIDForm = /^[\x20-\x7e]{1,128}$/;

/** A text says what is wrong. */
function parseRequest(url: string): Asked | string {
  const query = new URLSearchParams(url.slice(path.length));
  const clientID = query.get("clientID") ?? "ws";
  if (!clientIDForm.test(clientID)) return "clientID must have 1 to 128 characters of printable ASCII";
  const expiry = query.get("sessionExpiry") ?? "0";
  if (!/^\d{1,8}$/.test(expiry)) return "sessionExpiry must be whole seconds";
  return { clientID, sessionExpiry: Math.min(Number(expiry), sessionExpiryMax) };
}

function formatQuery({ clientID, sessionExpiry }: Asked): string {
  return `?${new URLSearchParams({ clientID, sessionExpiry: String(sessionExpiry) })}`;
}

function refuse(socket: Duplex, { status, headers = {}, body = "" }: UplinkAnswer): void {
  const lines = Object.entries({
    ...headers,
    Connection: "close",
    "Content-Length": Buffer.byteLength(body),
  });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...lines.map(([name, value]) => `${name}: ${value}`),
  ];
  // The client's own end may never come.
  setTimeout(() => socket.destroy(), closeTimeoutMs).unref();
  socket.end(`${head.join("\r\n")}\r\n\r\n${Buffer.from(body).toString("utf8")}`);
}
