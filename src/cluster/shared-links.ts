/**
 * Links that many clients of MQTT share: each client is a stream of HTTP/2 (RFC 9113). What is written to them in one turn
 * leaves together, in few records of TLS, and a client that does not read stops its own stream alone.
 */
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { RelayedClient } from "../../ingest/transports/sockets/relay.js";
import { clientHeader, readClient, writeClient } from "./relayed-client.js";

/**
 * Clients of one link. They end together if it ends, which takes a turn for all of them, and a packet that is lost on the
 * way holds all of them up.
 */
export const clientsMax = 128;
/**
 * After as many a link takes no more. The library ends a link whose streams are reset a thousand times in quick succession
 * (CVE-2023-44487), and whoever leaves rudely must not end the others.
 */
export const clientsEverMax = 500;
/** Bytes that may come for a client before its node has read them. */
const streamWindowBytes = 64 * 1024;
const settings = {
  enablePush: false,
  maxConcurrentStreams: clientsMax,
  initialWindowSize: streamWindowBytes,
  maxHeaderListSize: 4096,
};
/** MB: what is held for clients has bounds of its own, and a link that has more would take no further client. */
const maxSessionMemory = 1024;

/** A link's own window must never run out before those of its streams: one that is not read would stop all. */
const openWide = (session: ClientHttp2Session | ServerHttp2Session): void =>
  session.setLocalWindowSize(clientsMax * streamWindowBytes);

interface SharedLink {
  /** Those for whom the link is being opened count. */
  clients: number;
  clientsEver: number;
  readonly session: Promise<ClientHttp2Session>;
}

/** The links to one node. */
export interface SharedLinks {
  /** A way for the bytes of this client. @throws Error as `openLink` */
  open(client: RelayedClient): Promise<Duplex>;
}

export function createSharedLinks(openLink: () => Promise<Socket>): SharedLinks {
  /** Those that may take another client. */
  const links = new Set<SharedLink>();

  function begin(): SharedLink {
    const link = { clients: 0, clientsEver: 0, session: openLink().then(sessionOver) };
    links.add(link);
    const gone = (): void => void links.delete(link);
    link.session.then((session) => {
      for (const event of ["goaway", "close"]) session.once(event, gone);
    }, gone);
    return link;
  }

  function withRoom(): SharedLink {
    for (const link of links) if (link.clients < clientsMax) return link;
    return begin();
  }

  return {
    open: async (client) => {
      const link = withRoom();
      link.clients++;
      link.clientsEver++;
      if (link.clientsEver === clientsEverMax) links.delete(link);
      try {
        const session = await link.session;
        const stream = session.request({ ":method": "POST", [clientHeader]: writeClient(client) });
        stream.on("error", () => stream.destroy());
        stream.once("close", () => {
          link.clients--;
          if (link.clients > 0) return;
          links.delete(link);
          session.close();
        });
        return stream;
      } catch (error) {
        link.clients--;
        throw error;
      }
    },
  };
}

function sessionOver(socket: Socket): ClientHttp2Session {
  const session = connect("http://node", { createConnection: () => socket, settings, maxSessionMemory });
  session.on("error", () => session.destroy());
  session.once("connect", () => openWide(session));
  return session;
}

interface TakingDeps {
  onClient(stream: Duplex, client: RelayedClient): void;
  /** A link brings its first client within this time. */
  readonly helloTimeoutMs: number;
}

/** Takes links that another node has opened so. */
export function takeSharedLinks({ onClient, helloTimeoutMs }: TakingDeps): (link: Socket) => void {
  const server = createServer({ settings, maxSessionMemory });
  server.on("session", (session) => {
    openWide(session);
    const cutOff = setTimeout(() => session.destroy(), helloTimeoutMs).unref();
    for (const event of ["stream", "close"]) session.once(event, () => clearTimeout(cutOff));
  });
  server.on("sessionError", (_, session) => session.destroy());
  server.on("stream", (stream, headers) => {
    stream.on("error", () => stream.destroy());
    const client = clientOf(headers[clientHeader]);
    if (client === null) return void stream.session?.destroy();
    stream.respond({ ":status": 200 });
    endWithPeer(stream);
    onClient(stream, client);
  });
  return (link) => void server.emit("connection", link);
}

/** As a socket does, which what goes on with the client takes it for. */
function endWithPeer(stream: ServerHttp2Stream): void {
  stream.once("end", () => stream.end());
}

function clientOf(header: unknown): RelayedClient | null {
  try {
    return readClient(String(header));
  } catch {
    return null;
  }
}
