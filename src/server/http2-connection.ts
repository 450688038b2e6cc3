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
  /** Since when bodies are waited for, and the bytes that had come then. */
  #bodies: { readonly since: number; readonly bytes: number };
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
    this.#bodies = { since: this.#since, bytes: socket.bytesRead };
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
    const exchange: Exchange = { stream, since: now, authorized: false, unsent: 0, unsentSince: now };
    this.#exchanges.set(stream, exchange);
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
    let bodyComes = false;
    for (const exchange of this.#exchanges.values()) {
      const { stream, authorized, since } = exchange;
      const waits = !stream.readableEnded && !stream.endAfterHeaders;
      if (this.#isUnread(exchange, times, now) || (waits && !authorized && now - since > times.publicBodyMs))
        stream.close(constants.NGHTTP2_CANCEL);
      // The slow part may be the reader.
      else if (waits && stream.readableLength === 0 && !stream.isPaused()) bodyComes = true;
    }
    if (this.isIdle) return now - this.#since > (this.#isFirst ? times.firstMs : times.idleMs);
    return this.#isSlow(bodyComes, times, now);
  }

  #isUnread(exchange: Exchange, { unreadMs }: HttpTimes, now: number): boolean {
    const unsent = exchange.stream.writableLength;
    if (unsent === 0 || unsent !== exchange.unsent) exchange.unsentSince = now;
    exchange.unsent = unsent;
    return now - exchange.unsentSince > unreadMs;
  }

  /** Whether bodies that are waited for have brought too little, all together. */
  #isSlow(bodyComes: boolean, { body }: HttpTimes, now: number): boolean {
    if (!bodyComes) {
      this.#bodies = { since: now, bytes: this.#socket.bytesRead };
      return false;
    }
    if (now - this.#bodies.since < body.everyMs) return false;
    const isSlow = this.#socket.bytesRead - this.#bodies.bytes < body.bytesMin;
    this.#bodies = { since: now, bytes: this.#socket.bytesRead };
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
