import { randomUUID } from "node:crypto";
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { ApiError, toApiError, toFailure } from "../http/errors.js";
import type { Variant } from "../http/route.js";
import type { Logger } from "../observability/log.js";

/**
 * Answers requests that reach no route: those that cannot be read, come too slowly, or ask for features of HTTP/1.1
 * that we lack. Node would answer each itself, without the body and the headers of our errors.
 */
export interface Unread {
  /** For requests whose address or method cannot be used. */
  respond(error: unknown): Response;
  /** Notes that the request has been read: it is answered before anything unreadable that follows it. */
  heard(request: IncomingMessage, response: ServerResponse): void;
  /**
   * Answers the request here, and returns true, if it lacks a required Host or has an invalid one (RFC 9112 3.2), or its
   * body comes in a coding that we do not know.
   */
  refuse(request: IncomingMessage, response: ServerResponse): boolean;
  /** Answers an Expect other than 100-continue. */
  unexpected(response: ServerResponse): void;
  /** Ends a connection whose request does not come in time. */
  late(socket: Duplex): void;
  /** Takes over the server's own answers. */
  attach(server: Server): void;
}

/** How long a refused client has to read its answer, while what it still sends is discarded. */
const partingMs = 1000;

export function createUnread({ variant, log }: { readonly variant: Variant; readonly log: Logger }): Unread {
  const closing = new WeakSet<Duplex>();
  /** Responses still to be sent, in order. */
  const answering = new WeakMap<Duplex, Set<ServerResponse>>();

  function answer(error: ApiError) {
    const { status, headers, body } = toFailure(error);
    const requestID = randomUUID();
    log.debug("request refused unread", { requestID, status, message: error.message });
    return { status, body, headers: { ...headers, "X-Request-Id": requestID, "Api-Variant": variant } };
  }

  function send(response: ServerResponse, error: ApiError): void {
    const { status, headers, body } = answer(error);
    response.writeHead(status, { ...headers, "Content-Length": Buffer.byteLength(body) }).end(body);
  }

  /** Sends the last answer on a connection that is no longer read, after those still being sent. */
  function part(socket: Duplex, error: ApiError): void {
    if (closing.has(socket)) return;
    closing.add(socket);
    socket.on("error", () => socket.destroy());
    const earlier = [...(answering.get(socket) ?? [])].filter((one) => !one.writableFinished);
    const last = earlier.at(-1);
    if (last === undefined) close(socket, error);
    else if (last.req.complete) last.once("finish", () => close(socket, error));
    // Another answer must not begin in the middle of one.
    else if (earlier.length > 1 || last.headersSent) socket.destroy();
    else close(socket, error);
  }

  function close(socket: Duplex, error: ApiError): void {
    if (!socket.writable) return void socket.destroy();
    const { status, headers, body } = answer(error);
    const all = { ...headers, "Content-Length": Buffer.byteLength(body), Connection: "close" };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("\r\n")}\r\n\r\n${body}`);
    socket.resume();
    setTimeout(() => socket.destroy(), partingMs).unref();
  }

  return {
    respond: (error) => {
      const known =
        error instanceof Error && error.name === "RequestError"
          ? new ApiError("BAD_REQUEST", "the address of the request is not valid", { url: "is not valid" })
          : toApiError(error);
      const { status, headers, body } = answer(known);
      if (known.errorCode === "INTERNAL_ERROR") log.error("request failed", { error });
      return new Response(body, { status, headers });
    },
    heard: ({ socket }, response) => {
      const open = answering.get(socket) ?? new Set();
      answering.set(socket, open.add(response));
      response.once("close", () => open.delete(response));
    },
    unexpected: (response) => {
      send(response, new ApiError("EXPECTATION_FAILED", "Expect may be 100-continue only"));
    },
    late: (socket) => part(socket, tooLate()),
    refuse: (request, response) => {
      const wrong = wrongHost(request) ?? unknownCoding(request);
      if (wrong !== null) send(response, wrong);
      return wrong !== null;
    },
    attach: (server) => {
      server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
        if (error.code === "ECONNRESET") socket.destroy();
        else part(socket, meaning(error.code));
      });
      server.on("connect", (_, socket) => {
        const headers = { Allow: "GET, POST, PUT, DELETE" };
        part(socket, new ApiError("METHOD_NOT_ALLOWED", "the service is no proxy", {}, headers));
      });
    },
  };
}

/** The last valid Host, cached because a service is called by few names. */
let soundHost = "";

/** An invalid host would otherwise surface where the URL is first used, in the middle of a route. */
function wrongHost({ httpVersion, headers: { host } }: IncomingMessage): ApiError | null {
  if (host === undefined) {
    return httpVersion === "1.1"
      ? new ApiError("BAD_REQUEST", "the request has no Host", { Host: "is required" })
      : null;
  }
  // An empty Host says that the request's target has no authority (RFC 9112 3.2).
  if (host === "" || host === soundHost) return null;
  if (URL.canParse(`http://${host}`)) {
    soundHost = host;
    return null;
  }
  return new ApiError("BAD_REQUEST", "the Host of the request is not valid", { Host: "is not valid" });
}

/** The parser undoes `chunked` and passes on what is beneath: packed bytes would be taken for the body (RFC 9112 6.1). */
function unknownCoding({ headers }: IncomingMessage): ApiError | null {
  const coding = headers["transfer-encoding"];
  if (coding === undefined || coding.trim().toLowerCase() === "chunked") return null;
  return new ApiError("NOT_IMPLEMENTED", "Transfer-Encoding may be chunked only");
}

function tooLate(): ApiError {
  return new ApiError("REQUEST_TIMEOUT", "the request did not come in time");
}

function meaning(code: string | undefined): ApiError {
  if (code === "HPE_HEADER_OVERFLOW") {
    return new ApiError("HEADERS_TOO_LARGE", "the address and headers of the request are larger than 64 KiB");
  }
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") {
    return new ApiError("PAYLOAD_TOO_LARGE", "the chunk extensions of the body are too large");
  }
  return new ApiError("BAD_REQUEST", "the request is not HTTP/1.1");
}
