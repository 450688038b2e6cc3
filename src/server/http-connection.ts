import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { addressBlock, canonicalAddress } from "../../ingest/access/address-block.js";
import type { Admitted } from "../../ingest/access/admission.js";
import type { ClientCertificate } from "../../ingest/access/credentials.js";
import type { HttpPeer } from "../../ingest/transports/http/peer.js";
import type { Reservation } from "../../store/lib/reservation.js";
import { nextTurn } from "../../store/lib/scheduling.js";
import type { RequestBudget, RequestHolder } from "../http/request-budget.js";
import { removeBasePath } from "./base-path.js";
import { HeadCutter } from "./head-piece.js";
import { type RequestScheduler, requestLane } from "./request-scheduler.js";

/** How long a connection may take for each thing that it owes, in milliseconds. */
export interface HttpTimes {
  /** From the connection to the end of its first request's headers. */
  readonly firstMs: number;
  /** From a later request's first byte to the end of its headers. */
  readonly headersMs: number;
  /** For a whole body whose sender has shown no credential, or that nobody reads any more. */
  readonly publicBodyMs: number;
  /**
   * How often a body is checked, and how many bytes it must have brought by then; counts only the time that we waited
   * for it.
   */
  readonly body: { readonly everyMs: number; readonly bytesMin: number };
  /** Between an answer and the next request. */
  readonly idleMs: number;
  /** For an answer of which nothing is read. */
  readonly unreadMs: number;
}

/** How to treat a connection: answer 408 because it is late, close it silently, or (null) leave it. */
type Overdue = "tell" | "close" | null;

interface HttpConnectionDeps {
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  /** Where the bytes that wait here are counted. */
  readonly requests: RequestBudget;
  /** Called when the connection ends because that budget is used up. */
  readonly onUnheld: () => void;
  /** Called when a caller of this tenant has shown a right credential. */
  readonly onProven: (connection: HttpConnection, tenant: number) => void;
  /** Called when another connection takes its place. */
  readonly onGivenWay: () => void;
  /** Called with its first bytes: from then on it is read as HTTP. */
  readonly onBegun: (connection: HttpConnection) => void;
  readonly turns: RequestScheduler;
  /** The prefix of paths behind a proxy; empty: none. */
  readonly basePath: string;
}

/**
 * Bytes that are handed to the parser at once: of one head alone, of a body in chunks what holds a few hundred of them.
 * A body of a declared length is handed on as it arrives, and so is what an upgraded connection brings, up to a bound.
 */
const pieceBytes = { head: 1024, longHead: 4096, chunks: 4096, upgraded: 16 * 1024 } as const;
/** Bytes that a connection may hold without being counted: the headers of an ordinary request. */
const heldFree = 4096;
/** What a header takes beside its bytes, which are held twice once its request is read: as they came, and by name. */
const headerCost = 80;
/** What a request takes that has been parsed and waits for the one before it. */
const waitingRequestBytes = 4096;
/** What an upgraded connection may send before its client has shown a right credential: the frame with it. */
const unauthenticatedBytesMax = 16 * 1024;
/** How much of an answer is handed to the socket at once, so that progress is visible. */
const sentAtOnce = 256 * 1024;
/** How much is copied to be sent at once. */
const joinedBytesMax = 16 * 1024;

type Done = (error?: Error | null) => void;
type Chunks = readonly { readonly chunk: Buffer | string; readonly encoding: BufferEncoding }[];

/**
 * One connection between its socket and Node's HTTP server. It handles one request at a time, and reads no further
 * until the answer has been sent.
 */
export class HttpConnection extends Duplex implements Admitted, HttpPeer {
  address: string;
  /** The client's certificate, where TLS requested one. */
  readonly certificate: ClientCertificate | null;
  readonly isRelayed = false;
  readonly isSecure: boolean;
  readonly #socket: Socket;
  readonly #deps: HttpConnectionDeps;
  /** Bytes read from the socket, not parsed yet. */
  #rest: Buffer | null = null;
  /** Somebody reads it as HTTP. */
  #isBegun = false;
  /** The parser wants more. */
  #wanted = false;
  /** The bytes that were read wait for their turn. */
  #isInLine = false;
  readonly #heads = new HeadCutter();
  /** Requests that came while another was being answered. */
  readonly #waiting: (() => void)[] = [];
  #answering: ServerResponse | null = null;
  /** Its bytes are no requests any more. */
  #isUpgraded = false;
  /** Bytes that have come since then from a client that has shown no right credential. */
  #unauthenticatedBytes = 0;
  /** The request parsed last, until it is answered and its body has come. */
  #last: IncomingMessage | null = null;
  /** Bytes that its head takes in memory. */
  #lastHeadCost = 0;
  /** No request has been parsed yet. */
  #isFirst = true;
  /** Whether the caller of the request under way is known. */
  #authorized = false;
  /** Bytes parsed since the last request's headers and body were complete. */
  #headBytes = 0;
  /** The holder that waiting bytes count for: the tenant of the last right credential, else the address. */
  #holder: RequestHolder;
  #reservation: Reservation;
  /** When the present wait began: for a connection, a head, a body, or a pause between two requests. */
  #since: number;
  /** Bytes that a body of a declared length has yet to bring. */
  #bodyBytesLeft = 0;
  /** The body in progress: how long it was waited for, and how many bytes came. */
  #body = { waitedMs: 0, bytes: 0 };
  #lookedAt: number;
  #isReported = false;
  /** When a byte of the answer last left, or the answer began to wait; null while none waits. */
  #unsentSince: number | null = null;

  /** @param client address and certificate from the handshake of a TLS connection */
  constructor(socket: Socket, deps: HttpConnectionDeps, client?: Pick<HttpPeer, "address" | "certificate">) {
    // Only one piece at a time is with the parser.
    super({ readableHighWaterMark: 1, decodeStrings: false });
    this.#socket = socket;
    this.#deps = deps;
    this.certificate = client?.certificate ?? null;
    this.isSecure = client !== undefined;
    this.address = client?.address ?? canonicalAddress(socket.remoteAddress ?? "") ?? "";
    this.#holder = { address: this.address };
    this.#reservation = deps.requests.open(this.#holder);
    this.#since = deps.monotonic();
    this.#lookedAt = this.#since;
    socket.on("data", (bytes: Buffer) => {
      // After our last answer nothing is read any more: bytes that still come are not part of a request.
      if (this.writableEnded) return;
      this.#body.bytes += bytes.length;
      this.#rest = this.#rest === null ? bytes : Buffer.concat([this.#rest, bytes]);
      this.#feed();
      // Holding no bytes, it keeps reading, and so notices a client that leaves.
      if (this.#rest !== null) socket.pause();
    });
    socket.on("end", () => {
      if (!this.#isBegun) this.destroy();
      else if (this.#rest === null) this.push(null);
    });
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", () => this.destroy());
    // Nobody reads it before its first byte, nor between an upgrade and its taker: an error without a listener ends the process.
    this.on("error", () => undefined);
  }

  get connection(): this {
    return this;
  }

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  get remotePort(): number | undefined {
    return this.#socket.remotePort;
  }

  get remoteFamily(): string | undefined {
    return this.#socket.remoteFamily;
  }

  /** The client: the tenant whose credential was shown last, or the address. */
  get client(): string {
    return "tenant" in this.#holder ? `tenant ${this.#holder.tenant}` : addressBlock(this.address);
  }

  get isIdle(): boolean {
    return this.#answering === null && !this.#bodyComes && !this.#isUpgraded;
  }

  /**
   * Whether it can become something else: nothing before this request is unanswered. From then on bytes pass both ways
   * as they come, and the code that has upgraded it applies its own time limits.
   */
  upgrade(): boolean {
    if (this.#answering !== null || this.#waiting.length > 0) return false;
    this.#isUpgraded = true;
    this.#authorized = false;
    this.#headBytes = 0;
    this.#last = null;
    this.#count();
    return true;
  }

  /** Handles the request once everything before it on this connection is answered. */
  handle(request: IncomingMessage, response: ServerResponse, work: () => void): void {
    this.#last = request;
    this.#isFirst = false;
    this.#bodyBytesLeft = Number(request.headers["content-length"] ?? 0);
    // A body is not handed on before somebody reads it. Node reports so many headers only: whether there is one shows later.
    request.on("resume", () => this.#feed());
    const begin = (): void => {
      this.#answering = response;
      this.#authorized = false;
      this.#lastHeadCost = 2 * this.#headBytes + headerCost * (request.rawHeaders.length / 2);
      this.#headBytes = 0;
      this.#since = this.#deps.monotonic();
      this.#body = { waitedMs: 0, bytes: 0 };
      response.once("close", () => void this.#next());
      work();
    };
    if (this.#answering === null) begin();
    else this.#waiting.push(begin);
  }

  /** The caller of the request under way is known. */
  prove(tenant: number): void {
    this.#authorized = true;
    this.#deps.onProven(this, tenant);
    if ("tenant" in this.#holder && this.#holder.tenant === tenant) return;
    const holder = { tenant };
    const reservation = this.#deps.requests.open(holder);
    // If the tenant's share is used up, the bytes stay counted where they are.
    if (!reservation.resize(this.#reservation.amount)) return;
    this.#reservation.release();
    this.#holder = holder;
    this.#reservation = reservation;
  }

  giveWay(): void {
    this.#deps.onGivenWay();
    this.destroy();
  }

  /** Must be called periodically. Returns how to treat the connection; `tell` is returned only once. */
  overdue(times: HttpTimes): Overdue {
    const due = this.#owed(times);
    if (due !== "tell") return due;
    if (this.#isReported) return null;
    this.#isReported = true;
    return due;
  }

  #owed(times: HttpTimes): Overdue {
    const now = this.#deps.monotonic();
    const passed = now - this.#lookedAt;
    this.#lookedAt = now;
    if (this.#unsentSince !== null && now - this.#unsentSince > times.unreadMs) return "close";
    if (this.#waiting.length > 0 || this.#isUpgraded) return null;
    const age = now - this.#since;
    if (this.#bodyComes) {
      if (this.#answering === null) return age > times.publicBodyMs ? "close" : null;
      const late = this.#authorized ? this.#isSlow(times.body, passed) : age > times.publicBodyMs;
      return late ? "tell" : null;
    }
    if (this.#answering !== null) return null;
    if (this.#headBytes > 0) return age > (this.#isFirst ? times.firstMs : times.headersMs) ? "tell" : null;
    return age > (this.#isFirst ? times.firstMs : times.idleMs) ? "close" : null;
  }

  #isSlow({ everyMs, bytesMin }: HttpTimes["body"], passed: number): boolean {
    // The slow part may be the reader: a full disk, an unavailable store.
    if (!this.isPaused() && this.#rest === null) this.#body.waitedMs += passed;
    if (this.#body.waitedMs < everyMs) return false;
    const slow = this.#body.bytes < bytesMin;
    this.#body = { waitedMs: 0, bytes: 0 };
    return slow;
  }

  get #bodyComes(): boolean {
    return this.#last !== null && !this.#last.complete && !this.#last.destroyed;
  }

  async #next(): Promise<void> {
    // The requests that one write brought are handled in a turn each.
    if (this.#waiting.length > 0 || this.#rest !== null) await nextTurn();
    this.#answering = null;
    this.#since = this.#deps.monotonic();
    this.#waiting.shift()?.();
    this.#feed();
  }

  /** Hands on bytes that were read as far as somebody takes them, the parser's in the client's turn. */
  #feed(): void {
    while (this.#mayGoOn && this.#feedSome());
    this.#count();
    if (this.destroyed || this.#rest !== null) return;
    if (this.#socket.readableEnded) this.push(null);
    else if (this.#socket.isPaused()) this.#socket.resume();
  }

  /** A request that has arrived whole is answered before the next is parsed; its body waits until it is read. */
  get #mayGoOn(): boolean {
    if (this.#rest === null || this.destroyed) return false;
    if (!this.#isBegun) return true;
    if (!this.#wanted || this.#waiting.length > 0) return false;
    if (this.#isUpgraded) return true;
    return this.#bodyComes ? this.#last?.readableFlowing === true : this.#answering === null;
  }

  /** Whether some was handed on; if not, it will be in the client's turn. */
  #feedSome(): boolean {
    // Neither makes objects of what it is handed.
    if (this.#isUpgraded || (this.#isBegun && this.#bodyComes && this.#bodyBytesLeft > 0)) this.#handOn();
    else if (!this.#isInLine) {
      this.#isInLine = true;
      let isLater = false;
      this.#deps.turns.begin(requestLane(this.client, readTarget(this.#rest, this.#deps.basePath)), () => {
        this.#isInLine = false;
        if (this.#mayGoOn) this.#handOn();
        if (isLater) this.#feed();
      });
      isLater = true;
    }
    return !this.#isInLine;
  }

  #handOn(): void {
    if (!this.#isBegun) {
      this.#isBegun = true;
      return this.#deps.onBegun(this);
    }
    const rest = this.#rest as Buffer;
    const size = this.#sizeOfNext(rest);
    const piece = rest.length <= size ? rest : rest.subarray(0, size);
    this.#rest = piece === rest ? null : rest.subarray(size);
    if (this.#isUpgraded && !this.#authorized) {
      this.#unauthenticatedBytes += piece.length;
      if (this.#unauthenticatedBytes > unauthenticatedBytesMax) {
        this.#deps.onUnheld();
        return void this.destroy();
      }
    }
    this.#wanted = this.push(piece);
  }

  #sizeOfNext(rest: Buffer): number {
    if (this.#isUpgraded) return pieceBytes.upgraded;
    if (this.#bodyComes) {
      if (this.#bodyBytesLeft === 0) return pieceBytes.chunks;
      const size = Math.min(this.#bodyBytesLeft, rest.length);
      this.#bodyBytesLeft -= size;
      return size;
    }
    if (this.#headBytes === 0 && !this.#isFirst) this.#since = this.#deps.monotonic();
    const size = this.#heads.next(
      rest,
      this.#headBytes < pieceBytes.head ? pieceBytes.head : pieceBytes.longHead,
    );
    this.#headBytes += size;
    return size;
  }

  #count(): void {
    if (this.destroyed) return;
    // Between two requests nothing of the one before is held.
    if (this.#answering === null && !this.#bodyComes) {
      this.#last = null;
      this.#lastHeadCost = 0;
    }
    // What an upgraded one has read is less than its socket's buffer, and is not read on before it is taken.
    const bytes = this.#isUpgraded ? 0 : this.#lastHeadCost + this.#headBytes + (this.#rest?.length ?? 0);
    const held = Math.max(0, bytes + this.#waiting.length * waitingRequestBytes - heldFree);
    if (held === this.#reservation.amount || this.#reservation.resize(held)) return;
    this.#deps.onUnheld();
    this.destroy();
  }

  override _read(): void {
    this.#wanted = true;
    // Not from within the parser's own call.
    if (this.#rest !== null) queueMicrotask(() => this.#feed());
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: Done): void {
    this.#send(chunk, encoding, done);
  }

  override _writev(chunks: Chunks, done: Done): void {
    const bytes = chunks.reduce((sum, { chunk }) => sum + chunk.length, 0);
    if (bytes > sentAtOnce) return this.#sendEach(chunks, 0, done);
    if (bytes > joinedBytesMax) return this.#sendTogether(chunks, done);
    // Joined, so that headers and a short body are one packet.
    const pieces = chunks.map(({ chunk, encoding }) =>
      typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk,
    );
    this.#send(Buffer.concat(pieces), "latin1", done);
  }

  /** Without a copy: a file that many are sent is in memory once. */
  #sendTogether(chunks: Chunks, done: Done): void {
    const last = chunks[chunks.length - 1] as Chunks[number];
    this.#socket.cork();
    for (const { chunk, encoding } of chunks.slice(0, -1)) this.#socket.write(chunk, encoding);
    this.#send(last.chunk, last.encoding, done);
    this.#socket.uncork();
  }

  #sendEach(chunks: Chunks, at: number, done: Done): void {
    const one = chunks[at];
    if (one === undefined) return done();
    this.#send(one.chunk, one.encoding, (error) => {
      if (error) done(error);
      else this.#sendEach(chunks, at + 1, done);
    });
  }

  #send(chunk: Buffer | string, encoding: BufferEncoding, done: Done): void {
    const small = chunk.length <= sentAtOnce;
    const bytes = small || typeof chunk !== "string" ? chunk : Buffer.from(chunk, encoding);
    const piece = small ? bytes : (bytes as Buffer).subarray(0, sentAtOnce);
    this.#unsentSince = this.#deps.monotonic();
    this.#socket.write(piece, encoding, (error) => {
      this.#unsentSince = null;
      if (error || small) done(error ?? null);
      else this.#send((bytes as Buffer).subarray(sentAtOnce), encoding, done);
    });
  }

  override _final(done: Done): void {
    this.#rest = null;
    this.#headBytes = 0;
    this.#count();
    this.#socket.resume();
    this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#reservation.release();
    this.#rest = null;
    this.#waiting.length = 0;
    this.#socket.destroy();
    done(error);
  }

  /** Like a socket's: sends first all that was written. */
  destroySoon(): void {
    if (!this.writableEnded) this.end();
    if (this.writableFinished) this.destroy();
    else this.once("finish", () => this.destroy());
  }
}

/** As much of a request's first bytes as names the target of a health check. */
const probeBytes = "GET /healthz ".length;

/** The target of a request whose first bytes these are, as far as health checks go; empty otherwise. */
function readTarget(bytes: Buffer | null, basePath: string): string {
  const text = bytes?.toString("latin1", 0, probeBytes + basePath.length) ?? "";
  const [method, target = ""] = text.split(" ", 2);
  return method === "GET" ? removeBasePath(target, basePath) : "";
}
