import { createServer, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Proxies, ProxyHeaders } from "../../../access/proxies.js";
import { addCount, type HandshakeFailure, type Meter } from "../../../meter.js";
import type { IncomingSocket } from "../../sockets/incoming-socket.js";
import { handshakeTimeoutMs } from "../../sockets/tls.js";
import { gatherFrames } from "../../sockets/whole-frames.js";
import { type ByteStream, StreamError } from "../connection/byte-stream.js";

/** MQTT over WebSocket (MQTT 5.0 §6) on sockets, TLS or not. Any path will do: the port is for MQTT alone. */
interface WebSocketLayer {
  accept(socket: Socket, incoming: IncomingSocket): void;
  /** Cuts off handshakes that take too long. */
  sweep(): void;
}

/** By preference; the second is what clients of MQTT 3.1 may still offer. */
const subprotocols = ["mqtt", "mqttv3.1"] as const;
const headerBytesMax = 8 * 1024;
const fragmentsMax = 1024;
const closeTimeoutMs = 1000;
/** Unsent bytes beyond which pings are not answered. */
const pongBytesMax = 64 * 1024;

interface Handshake {
  readonly since: number;
  readonly incoming: IncomingSocket;
}

interface WebSocketLayerDeps {
  /** The proxies whose Forwarded and X-Forwarded-For headers are trusted. */
  readonly proxies: Proxies;
  readonly meter: Meter;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
  /** A frame is collected before it is read; it may hold more than one packet, but need not hold more than this. */
  readonly frameBytesMax: number;
}

export function createWebSocketLayer(
  { proxies, meter, monotonic, frameBytesMax }: WebSocketLayerDeps,
  next: (stream: ByteStream, incoming: IncomingSocket) => void,
): WebSocketLayer {
  const handshakes = new Map<Duplex, Handshake>();
  const options = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
    maxPayload: frameBytesMax,
    maxFragments: fragmentsMax,
    closeTimeout: closeTimeoutMs,
    handleProtocols: (offered: Set<string>) => subprotocols.find((one) => offered.has(one)) ?? false,
  };
  const webSockets = new WebSocketServer(options);
  const server = createServer({ maxHeaderSize: headerBytesMax }, (request, response) => {
    response.writeHead(426, { Connection: "close", Upgrade: "websocket" }).end();
    fail(request.socket, "http");
  });

  function fail(socket: Duplex, failure: HandshakeFailure): void {
    const handshake = handshakes.get(socket);
    if (handshake !== undefined) handshake.incoming.failure = failure;
  }

  function ended(this: Duplex): void {
    const handshake = handshakes.get(this);
    if (handshake === undefined) return;
    leave(this);
    addCount(meter.handshakesFailed, handshake.incoming.failure);
  }

  function leave(socket: Duplex): void {
    handshakes.delete(socket);
    socket.off("close", ended);
    meter.handshakesPending--;
  }

  server.on("clientError", (_error, socket) => {
    fail(socket, "http");
    socket.destroy();
  });
  server.on("upgrade", (request, socket, head) => {
    fail(socket, "http");
    if (!offersMqtt(request)) {
      fail(socket, "subprotocol");
      return void socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    }
    webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      const { incoming } = handshakes.get(socket) ?? {};
      if (incoming === undefined) return webSocket.terminate();
      gatherFrames(socket, frameBytesMax);
      leave(socket);
      incoming.setAddress(proxies.clientOf(incoming.address, toldBy(request)));
      next(new WebSocketStream(webSocket), incoming);
    });
  });

  return {
    accept: (socket, incoming) => {
      handshakes.set(socket, { since: monotonic(), incoming });
      meter.handshakesPending++;
      socket.once("close", ended);
      // The HTTP server takes its own listener away at an upgrade, before anybody else has one.
      socket.on("error", ignore);
      server.emit("connection", socket);
    },
    sweep: () => {
      const latest = monotonic() - handshakeTimeoutMs;
      for (const [socket, handshake] of handshakes) {
        if (handshake.since > latest) continue;
        handshake.incoming.failure = "timeout";
        socket.destroy();
      }
    },
  };
}

/** 'close' follows, and is what counts. */
function ignore(): void {}

function toldBy({ headers }: IncomingMessage): ProxyHeaders {
  const list = headers["x-forwarded-for"];
  return { forwarded: headers.forwarded, "x-forwarded-for": Array.isArray(list) ? list.join(",") : list };
}

/** [MQTT-6.0.0-3] */
function offersMqtt({ headers }: IncomingMessage): boolean {
  const offered = headers["sec-websocket-protocol"]?.split(",").map((one) => one.trim()) ?? [];
  return subprotocols.some((one) => offered.includes(one));
}

/** The binary frames of a WebSocket as bytes; packets need not end where frames do [MQTT-6.0.0-2]. */
class WebSocketStream extends Duplex {
  readonly #webSocket: WebSocket;

  constructor(webSocket: WebSocket) {
    super({ allowHalfOpen: false });
    this.#webSocket = webSocket;
    webSocket.on("message", (data: Buffer, isBinary: boolean) => this.#take(data, isBinary));
    webSocket.on("ping", (data) => {
      if (webSocket.bufferedAmount < pongBytesMax) webSocket.pong(data);
    });
    webSocket.on("error", (error: NodeJS.ErrnoException) => {
      const oversize = error.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH";
      this.destroy(new StreamError(oversize ? "oversize" : "protocol", error.message));
    });
    webSocket.on("close", () => this.push(null));
  }

  #take(data: Buffer, isBinary: boolean): void {
    if (this.destroyed) return;
    if (!isBinary) {
      // [MQTT-6.0.0-1]
      this.#webSocket.close(1003);
      this.destroy(new StreamError("protocol", "a text frame"));
    } else if (!this.push(data)) {
      this.#webSocket.pause();
    }
  }

  override _read(): void {
    if (this.#webSocket.isPaused) this.#webSocket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.#webSocket.send(chunk, { binary: true }, done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error) => void): void {
    const bytes = Buffer.concat(chunks.map(({ chunk }) => chunk));
    this.#webSocket.send(bytes, { binary: true }, done);
  }

  override _final(done: () => void): void {
    this.#webSocket.close(1000);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const webSocket = this.#webSocket;
    // A socket that is closing has its own timeout, and its last frame is on the way.
    if (webSocket.readyState === webSocket.OPEN) webSocket.terminate();
    else if (webSocket.isPaused) webSocket.resume();
    done(error);
  }
}
