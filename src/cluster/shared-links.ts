/**
 * Links that many clients of MQTT share: each client is a stream of HTTP/2 (RFC 9113). What is written to them in one turn
 * leaves together, in few records of TLS, and a client that does not read stops its own stream alone.
 */
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type Http2Stream,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { alone, type RelayedClient } from "../../ingest/transports/sockets/relay.js";
import { clientHeader, readClient, writeClient } from "./relayed-client.js";

/**
 * Clients of one link. They end together if it ends, which takes a turn for all of them, and a packet that is lost on the
 * way holds all of them up.
 */
export const clientsMax = 128;
/**
 * Clients after which a link takes no more. The library ends a link whose streams are reset a thousand times in quick
 * succession (CVE-2023-44487), and clients that reset their connections must not end the others.
 */
export const clientsEverMax = 500;
/**
 * The windows of a stream and of the link keep their 64 KiB. The library gives the link's window back as bytes come, so a
 * stream that is not read stops itself alone. And it does not read a link while it writes to it: were more on its way in
 * both directions than the kernels hold, neither end would read again.
 */
const settings = {
  enablePush: false,
  // Where a stream is not read its end is not seen: such ones count here for longer than at the node that opens them.
  maxConcurrentStreams: clientsEverMax,
  maxHeaderListSize: 4096,
};
/** MB: what is held for clients has bounds of its own, and a link that has more would take no further client. */
const maxSessionMemory = 1024;
/** A link on which nothing comes back is ended, should its ends ever wait for each other. */
const pingMs = 5000;
const unansweredMax = 2;
/** How long a client has to read the rest of what its node, which is done with it, has said. */
const unreadMs = 2000;

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

export function createSharedLinks(openLink: () => Promise<Socket>, pingEveryMs = pingMs): SharedLinks {
  /** Those that may take another client. */
  const links = new Set<SharedLink>();

  function begin(): SharedLink {
    const link = {
      clients: 0,
      clientsEver: 0,
      session: openLink().then((socket) => sessionOver(socket, pingEveryMs)),
    };
    links.add(link);
    const gone = (): void => void links.delete(link);
    link.session.then((session) => {
      for (const event of ["goaway", "close"]) session.once(event, gone);
    }, gone);
    return link;
  }

  function findFreeLink(): SharedLink {
    for (const link of links) if (link.clients < clientsMax) return link;
    return begin();
  }

  async function openAt(link: SharedLink, client: RelayedClient, mayBeDead: boolean): Promise<Duplex> {
    link.clients++;
    link.clientsEver++;
    if (link.clientsEver === clientsEverMax) links.delete(link);
    let session: ClientHttp2Session | null = null;
    try {
      session = await link.session;
      const stream = session.request({ ":method": "POST", [clientHeader]: writeClient(client) });
      stream.on("error", () => stream.destroy());
      // Its node has given it up: what nobody reads here must not keep it.
      stream.once("aborted", () => stream.destroy());
      stream.once("close", () => leave(link));
      holdNoMoreThan(stream, () => {
        const cutOff = setTimeout(() => stream.destroy(), unreadMs).unref();
        stream.once("close", () => clearTimeout(cutOff));
      });
      return stream;
    } catch (error) {
      leave(link);
      // One that has ended since it was chosen.
      if (session !== null && mayBeDead) return openAt(begin(), client, false);
      throw error;
    }
  }

  /** The last client takes the link with it. */
  function leave(link: SharedLink): void {
    link.clients--;
    if (link.clients > 0) return;
    links.delete(link);
    link.session.then(
      (session) => session.close(),
      () => undefined,
    );
  }

  return { open: (client) => openAt(findFreeLink(), client, true) };
}

function sessionOver(socket: Socket, pingEveryMs: number): ClientHttp2Session {
  const session = connect("http://node", { createConnection: () => socket, settings, maxSessionMemory });
  session.on("error", () => session.destroy());
  let unanswered = 0;
  // This process may itself have been frozen: pings are counted, and not the time.
  const ping = setInterval(() => {
    // The session itself would wait for what it is writing.
    if (session.destroyed || unanswered++ === unansweredMax) return void socket.destroy();
    session.ping((error) => {
      if (error === null) unanswered = 0;
    });
  }, pingEveryMs).unref();
  socket.once("close", () => clearInterval(ping));
  return session;
}

/**
 * One read puts the data of several clients into one piece of memory. A small part that waits here for one client is
 * copied, or it would hold the data of others too. `onOver` is called once nothing more comes, if nothing more can go
 * out either.
 */
function holdNoMoreThan(stream: Http2Stream, onOver?: () => void): void {
  const push = stream.push.bind(stream);
  stream.push = (piece: Buffer | null) => {
    if (piece === null && stream.closed) onOver?.();
    return push(piece !== null && stream.isPaused() ? alone(piece) : piece);
  };
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
    const cutOff = setTimeout(() => session.destroy(), helloTimeoutMs).unref();
    for (const event of ["stream", "close"]) session.once(event, () => clearTimeout(cutOff));
  });
  server.on("sessionError", (_, session) => session.destroy());
  server.on("stream", (stream, headers) => {
    stream.on("error", () => stream.destroy());
    const client = parseClient(headers[clientHeader]);
    if (client === null) return stream.close(constants.NGHTTP2_PROTOCOL_ERROR);
    stream.respond({ ":status": 200 });
    endWithPeer(stream);
    holdNoMoreThan(stream);
    // Data that waits to go out will never be sent; the library reports that by no other event.
    stream.once("aborted", () => {
      if (stream.writableLength > 0) stream.destroy();
    });
    onClient(stream, client);
  });
  return (link) => void server.emit("connection", link);
}

/** As a socket does, which what goes on with the client takes it for. */
function endWithPeer(stream: ServerHttp2Stream): void {
  stream.once("end", () => stream.end());
}

function parseClient(header: unknown): RelayedClient | null {
  try {
    return readClient(String(header));
  } catch {
    return null;
  }
}
