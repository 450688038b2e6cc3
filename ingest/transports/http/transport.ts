/** HTTP for devices: requests become messages of the journal, and what waits for the device becomes answers. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { asError } from "../../../store/lib/errors.js";
import { readClientAddress } from "../../access/client-address.js";
import type { Proxies } from "../../access/proxies.js";
import type { DeliveryOptions, DeviceClient } from "../../clients/client.js";
import {
  type ClientsContext,
  createClients,
  type Rejected,
  type SharedClientsContext,
} from "../../clients/clients.js";
import { PolledInbox } from "../../clients/polled-inbox.js";
import type { LocalTime } from "../../decode/time.js";
import type { ByShard } from "../../directory/by-shard.js";
import type { Directory } from "../../directory/directory.js";
import { sessionExpiryMax } from "../../sessions/bounds.js";
import { httpClientID } from "../../sessions/inboxes.js";
import type { SessionState } from "../../sessions/state.js";
import type { Neighbours } from "../sockets/relay.js";
import { answerQueryOf1, inFormOf1, pong, takeWriteOf1 } from "./influx/v1.js";
import { inInfluxForm, takeLineProtocol } from "./influx/write.js";
import { takeBatch } from "./messages/batch.js";
import { confirmMessage, fetchMessage } from "./messages/inbox.js";
import { takeUplink } from "./messages/uplinks.js";
import type { HttpPeer } from "./peer.js";
import {
  failureAnswer,
  type HttpResponse,
  sendAnswer,
  turnedAway,
  type UplinkAnswer,
} from "./requests/answers.js";
import { readBody, uplinkBatchBytesMax } from "./requests/body.js";
import { createBodyBudgets } from "./requests/body-budget.js";
import { parseLogin, readAuthorization } from "./requests/credentials.js";
import type { DeviceRequest } from "./requests/device-request.js";

export interface HttpTransport {
  /** Answers a request of a device; false, with nothing done, for any other path. */
  handle(request: IncomingMessage, response: ServerResponse, peer: HttpPeer): boolean;
  close(): void;
}

/** What devices of all shards share. */
export interface HttpContext extends SharedClientsContext {
  readonly proxies: Proxies;
  /** Null: the process is alone. */
  readonly neighbours: Neighbours | null;
  /** Seconds of silence after which a device counts as gone. */
  readonly presenceSeconds: number;
  /** Reads a time without an offset: by the deployment's time zone. */
  readonly local: LocalTime;
  readonly directory: Pick<Directory, "below" | "get">;
  /** Reserves bytes for an answer of a tenant; returns what releases them; null: the budget is used up now. */
  takeAnswerRoom(tenant: number, bytes: number): (() => void) | null;
  readonly onFault: (error: Error) => void;
}

const sweepMs = 5000;
/** Messages of a device that wait for the disk together. */
const inFlightMessagesMax = 5000;

/** The last client on a connection: a request with the same header is not looked up again. */
interface Known {
  readonly authorization: string;
  readonly client: DeviceClient<PolledInbox>;
}

interface Endpoint {
  readonly methods: readonly string[];
  readonly action: (request: DeviceRequest) => Promise<UplinkAnswer | undefined>;
  /** The form of its answers, where it is not the usual one. */
  readonly form?: (answer: UplinkAnswer) => UplinkAnswer;
  /** Whether the query may have the credentials. */
  readonly isNamedInQuery?: boolean;
}

export function createHttpTransport(context: HttpContext, shards: ByShard<ClientsContext>): HttpTransport {
  const { proxies, neighbours } = context;
  const clients = createClients<PolledInbox>(context, shards, ({ underWay }) => underWay > 0);
  const budgets = createBodyBudgets();
  const known = new WeakMap<object, Known>();
  const terms = {
    protocol: "http",
    clientID: httpClientID,
    keepAlive: context.presenceSeconds,
    sessionExpiry: sessionExpiryMax,
    inFlight: { messages: inFlightMessagesMax, bytes: uplinkBatchBytesMax },
    link: (state: SessionState, options: DeliveryOptions) => new PolledInbox(state, options),
  } as const;
  const sweep = setInterval(() => void clients.sweep(), sweepMs);

  async function authenticateRequest(
    authorization: string,
    peer: HttpPeer,
    ip: string,
  ): Promise<DeviceClient<PolledInbox> | Rejected> {
    const last = known.get(peer.connection);
    if (last?.authorization === authorization && !last.client.isEnded) return last.client;
    const found = await clients.enter(
      { ...parseLogin(authorization), certificate: peer.certificate },
      ip,
      terms,
    );
    if ("reason" in found) return found;
    peer.prove(found.entry.device.tenant);
    known.set(peer.connection, { authorization, client: found });
    return found;
  }

  /** `tenant`: that of an authenticated device, whose answer is counted; other answers are short and are not. */
  function respond(response: HttpResponse, made: UplinkAnswer | undefined, tenant = 0): void {
    if (made !== undefined) sendAnswer(response, made, (bytes) => context.takeAnswerRoom(tenant, bytes));
  }

  /** Lets the node that keeps the device answer; false: it is this one. */
  async function passedOn(
    request: IncomingMessage,
    response: ServerResponse,
    peer: HttpPeer,
    authorization: string,
    address: string,
    form: (answer: UplinkAnswer) => UplinkAnswer,
  ): Promise<boolean> {
    if (neighbours === null || peer.isRelayed) return false;
    const { username } = parseLogin(authorization);
    const owner = await neighbours.keeperOf(username, peer.certificate);
    if (owner === null) return false;
    if (response.destroyed) return true;
    const { certificate, isSecure } = peer;
    neighbours.forward(owner.node, {
      request,
      response,
      client: { address, certificate, isSecure },
      reservation: budgets(uplinkBatchBytesMax).open(owner.tenant, 0),
      proved: () => peer.prove(owner.tenant),
      unreachable: () => respond(response, form(turnedAway.unavailable)),
    });
    return true;
  }

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    peer: HttpPeer,
    { methods, action, form = asItIs, isNamedInQuery = false }: Endpoint,
    query: URLSearchParams,
  ): Promise<void> {
    if (!methods.includes(request.method ?? "")) {
      const Allow = methods.join(", ");
      return respond(
        response,
        form(failureAnswer(405, "METHOD_NOT_ALLOWED", `the path takes ${Allow}`, { Allow })),
      );
    }
    const { headers } = request;
    const inQuery = isNamedInQuery ? readAuthorization(query) : undefined;
    const authorization = inQuery ?? headers.authorization ?? "";
    const ip = readClientAddress(proxies, peer.address, headers);
    if (await passedOn(request, response, peer, authorization, ip, form)) return;
    const client = await authenticateRequest(authorization, peer, ip);
    if ("reason" in client) return respond(response, form(turnedAway[client.reason]));
    if (response.destroyed) return;
    const { tenant } = client.entry.device;
    const { accept, waiting } = client;
    const asked: DeviceRequest = {
      client,
      ip,
      headers,
      query,
      response,
      body: (bytesMax) => readBody(request, bytesMax, { tenant, device: client.entry.id, budgets }),
      local: context.local,
      takeAnswerRoom: (bytes) => context.takeAnswerRoom(tenant, bytes),
      directory: context.directory,
      isFull: () => accept.full,
      room: waiting.room,
      kept: () => waiting.untilKept((done) => void accept.allKept().then(done)),
    };
    client.underWay++;
    try {
      const made = await action(asked);
      respond(response, made && form(made), tenant);
    } finally {
      client.underWay--;
    }
  }

  return {
    handle: (request, response, peer) => {
      const { url = "" } = request;
      const end = url.indexOf("?");
      const query = end < 0 ? noQuery : new URLSearchParams(url.slice(end + 1));
      const found = findEndpoint(end < 0 ? url : url.slice(0, end), query);
      if (found === null) return false;
      if ("status" in found) respond(response, found);
      else {
        answer(request, response, peer, found, query).catch((error: unknown) => {
          context.onFault(asError(error));
          respond(response, failureAnswer(500, "INTERNAL_ERROR", "the service failed; the log has it"));
        });
      }
      return true;
    },
    close: () => clearInterval(sweep),
  };
}

const asItIs = (answer: UplinkAnswer): UplinkAnswer => answer;
const noQuery = new URLSearchParams();
const uplinks = "/api/v1/uplinks";
const inbox = "/api/v1/inbox";

/** Null for a path that is not for devices; an answer for one that cannot be read. */
function findEndpoint(path: string, query: URLSearchParams): Endpoint | UplinkAnswer | null {
  if (path.startsWith(`${uplinks}/`)) {
    const topic = decoded(path.slice(uplinks.length + 1));
    if (topic === null) return failureAnswer(400, "BAD_REQUEST", "the topic in the path is not valid");
    return { methods: ["POST"], action: (request) => takeUplink(request, topic) };
  }
  if (path === uplinks) return { methods: ["POST"], action: takeBatch };
  if (path === "/api/v2/write") return { methods: ["POST"], action: takeLineProtocol, form: inInfluxForm };
  if (path === "/write")
    return { methods: ["POST"], action: takeWriteOf1, form: inFormOf1, isNamedInQuery: true };
  if (path === "/query")
    return { methods: ["GET", "POST"], action: answerQueryOf1, form: inFormOf1, isNamedInQuery: true };
  if (path === "/ping") return pong(query);
  if (path === "/health") return healthy;
  if (path === inbox) return { methods: ["GET"], action: fetchMessage };
  if (path.startsWith(`${inbox}/`)) {
    const id = path.slice(inbox.length + 1);
    return { methods: ["DELETE"], action: (request) => confirmMessage(request, id) };
  }
  return null;
}

/** As InfluxDB 2 answers; whether messages are taken says /readyz. */
const healthy: UplinkAnswer = {
  status: 200,
  headers: { "Content-Type": "application/json; charset=utf-8" },
  body: JSON.stringify({ name: "tidemark", message: "ready for writes", status: "pass", checks: [] }),
};

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
