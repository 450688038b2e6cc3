/** The WebSocket of a client at the node that keeps its device, as the node opens it to which the client has come. */
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { WebSocket } from "ws";
import { turnedAway, type UplinkAnswer } from "../http/requests/answers.js";
import type { UpgradeLink } from "../sockets/relay.js";

interface KeeperRequest {
  readonly query: string;
  /** The header of the client's request; undefined: the first frame has the credentials. */
  readonly authorization: string | undefined;
  readonly closeTimeoutMs: number;
}

/** A node that has taken the link answers at once. */
const answerTimeoutMs = 10_000;

/**
 * Opens it, paused: what the node says waits until somebody listens. An answer: the node has refused it, or cannot be
 * reached.
 */
export async function openAtKeeper(
  opening: Promise<UpgradeLink>,
  { query, authorization, closeTimeoutMs }: KeeperRequest,
): Promise<WebSocket | UplinkAnswer> {
  const opened = await opening.catch(() => null);
  if (opened === null) return turnedAway.unavailable;
  const { link, headers } = opened;
  const options = {
    createConnection: () => link,
    headers: { ...headers, ...(authorization === undefined ? {} : { authorization }) },
    handshakeTimeout: answerTimeoutMs,
    closeTimeout: closeTimeoutMs,
    perMessageDeflate: false,
    // The client's answers to the node's pings are passed on.
    autoPong: false,
    // The node is one of ours, and has looked at what it sends.
    maxPayload: 0,
    skipUTF8Validation: true,
  };
  return new Promise((resolve) => {
    const webSocket = new WebSocket(`ws://keeper/ws${query}`, options);
    webSocket.once("open", () => {
      webSocket.pause();
      resolve(webSocket);
    });
    webSocket.on("error", () => resolve(turnedAway.unavailable));
    webSocket.once("unexpected-response", (_, response) => {
      void readAnswer(response)
        .catch(() => turnedAway.unavailable)
        .then((answer) => {
          link.destroy();
          resolve(answer);
        });
    });
  });
}

/** Headers about the link between the nodes, which are not passed to the client. */
const ofConnection = new Set(["connection", "content-length", "date", "keep-alive", "transfer-encoding"]);

async function readAnswer(response: IncomingMessage): Promise<UplinkAnswer> {
  const headers = Object.entries(response.headers).filter(([name]) => !ofConnection.has(name));
  return {
    status: response.statusCode ?? 502,
    headers: Object.fromEntries(headers.map(([name, value]) => [name, String(value)])),
    body: await text(response),
  };
}
