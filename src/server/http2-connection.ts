import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { addressBlock } from "../../ingest/access/address-block.js";
import type { ClientCertificate } from "../../ingest/access/credentials.js";
import type { HttpTimes } from "./http-connection.js";

interface Http2ConnectionDeps {
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  /** Called when a caller of this tenant has shown a right credential. */
  readonly onProven: (tenant: number) => void;
}

/** One request and its answer. */
interface Exchange {
  readonly stream: ServerHttp2Stream;
  readonly since: number;
  authorized: boolean;
  /** Bytes of the answer that were left then, and since when. */
  unsent: number;
  unsentSince: number;
  /** Bytes of the body that have been read, those of them that had been then, and since when more is waited for. */
  bytes: number;
  bytesThen: number;
  waitedSince: number;
}

/** One connection of HTTP/2: several requests at once, each held to the same times as on HTTP/1.1. */
export class Http2Connection {
  /** Of the client, canonical. */
  readonly address: string;
  readonly certificate: ClientCertificate | null;
  readonly #session: ServerHttp2Session;
  readonly #socket: Socket;
  readonly #deps: Http2ConnectionDeps;
  readonly #exchanges = new Map<ServerHttp2Stream, Exchange>();
  #tenant: number | null = null;
  #isFirst = true;
  #since: number;

  constructor(
    session: ServerHttp2Session,
    socket: Socket,
    address: string,
    certificate: ClientCertificate | null,
    deps: Http2ConnectionDeps,
  ) {
    this.#session = session;
    this.#socket = socket;
    this.address = address;
    this.certificate = certificate;
    this.#deps = deps;
    this.#since = deps.monotonic();
  }

  get isIdle(): boolean {
    return this.#exchanges.size === 0;
  }

  /** The client: the tenant whose credential was shown last, or the address. */
  get client(): string {
    return this.#tenant === null ? addressBlock(this.address) : `tenant ${this.#tenant}`;
  }

  /** A request has come. */
  begin(stream: ServerHttp2Stream): void {
    const now = this.#deps.monotonic();
    this.#isFirst = false;
    const exchange: Exchange = {
      stream,
      since: now,
      authorized: false,
      unsent: 0,
      unsentSince: now,
      bytes: 0,
      bytesThen: 0,
      waitedSince: now,
    };
    this.#exchanges.set(stream, exchange);
    // Listening begins to read: only whoever answers decides when.
    const whenRead = (event: string | symbol): void => {
      if (event !== "data") return;
      stream.off("newListener", whenRead);
      stream.on("data", (chunk: Buffer) => {
        exchange.bytes += chunk.length;
      });
    };
    stream.on("newListener", whenRead);
    stream.once("close", () => {
      this.#exchanges.delete(stream);
      this.#since = this.#deps.monotonic();
    });
  }

  /** The caller of a request is known. */
  prove(tenant: number, stream: ServerHttp2Stream): void {
    const exchange = this.#exchanges.get(stream);
    if (exchange !== undefined) exchange.authorized = true;
    this.#tenant = tenant;
    this.#deps.onProven(tenant);
  }

  /** Ends what is late; true if the connection itself is. To be called periodically. */
  checkTimes(times: HttpTimes): boolean {
    const now = this.#deps.monotonic();
    for (const exchange of this.#exchanges.values()) {
      if (this.#isUnread(exchange, times, now) || this.#isSlow(exchange, times, now))
        exchange.stream.close(constants.NGHTTP2_CANCEL);
    }
    return this.isIdle && now - this.#since > (this.#isFirst ? times.firstMs : times.idleMs);
  }

  #isUnread(exchange: Exchange, { unreadMs }: HttpTimes, now: number): boolean {
    const unsent = exchange.stream.writableLength;
    if (unsent === 0 || unsent !== exchange.unsent) exchange.unsentSince = now;
    exchange.unsent = unsent;
    return now - exchange.unsentSince > unreadMs;
  }

  /** Whether its body is waited for and has brought too little, whatever other requests bring. */
  #isSlow(exchange: Exchange, { body, publicBodyMs }: HttpTimes, now: number): boolean {
    const { stream, authorized, since } = exchange;
    const waits = !stream.readableEnded && !stream.endAfterHeaders;
    if (waits && !authorized && now - since > publicBodyMs) return true;
    // The slow part may be the reader.
    const isWaitedFor = waits && stream.readableLength === 0 && !stream.isPaused();
    if (isWaitedFor && now - exchange.waitedSince < body.everyMs) return false;
    const isSlow = isWaitedFor && exchange.bytes - exchange.bytesThen < body.bytesMin;
    exchange.waitedSince = now;
    exchange.bytesThen = exchange.bytes;
    return isSlow;
  }

  /** Takes no more requests, and ends once those under way are answered. */
  close(): void {
    if (!this.#session.closed) this.#session.close();
  }

  destroy(): void {
    this.#session.destroy();
    this.#socket.destroy();
  }
}
