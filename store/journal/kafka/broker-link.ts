import { TLSSocket } from "node:tls";
import { type API, Connection, ResponseError } from "@platformatic/kafka";
import { StoreError } from "../../lib/errors.js";
import { connectFailure, describeReason } from "./connect-failure.js";
import { type LinkSecurity, tlsOptions } from "./link-security.js";
import { calls, type SendRequest, saslCalls } from "./protocol.js";
import { authenticateLink } from "./sasl.js";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** One connection to one broker; it is given up at the first answer that is late, too long or cannot be read. */
export interface BrokerLink {
  readonly isOpen: boolean;
  /**
   * Nothing was sent if the link is not open; after any other rejection whatever the request does may have been done,
   * and the link is closed.
   * @throws StoreError UNAVAILABLE
   */
  readonly call: SendRequest;
  /** Ends calls under way with errors. */
  close(): void;
}

interface LinkOptions {
  readonly clientID: string;
  /** For opening it. */
  readonly timeMs: number;
  /** The longest answer that is taken, bytes. */
  readonly answerBytesMax: number;
  /** Undefined: in the clear, as nobody. */
  readonly security?: LinkSecurity | undefined;
}

/** Timers above it fire at once; our own end every call much earlier. */
const longestTimerMs = 2 ** 31 - 1;

const inTheClear: LinkSecurity = { tls: null, sasl: null };
const userRequiredHint = "; does it ask for a user at this port?";
/** A link is used for this part of the time that its user stays authenticated, not until the very end. */
const sessionShare = 0.8;

/**
 * Connects, makes sure that the broker understands our calls, and authenticates the user.
 * @throws StoreError UNAVAILABLE; DENIED if the user is not taken; MISMATCH if the broker, its certificate or what it
 *   asks for is not as expected
 */
export async function openBrokerLink(address: Address, options: LinkOptions): Promise<BrokerLink> {
  const { timeMs, answerBytesMax, security = inTheClear } = options;
  const name = `${address.host}:${address.port}`;
  const deadline = performance.now() + timeMs;
  const left = (): number => deadline - performance.now();
  const connection = await connect(address, name, options);
  const link = overConnection(connection, name, answerBytesMax);
  try {
    const { sasl } = security;
    await checkVersions(link, name, sasl === null ? calls : { ...calls, ...saslCalls }, left());
    if (sasl === null) return link;
    const sessionMs = await authenticateLink(link.call, name, sasl, left);
    return sessionMs > 0 ? openFor(link, sessionMs * sessionShare) : link;
  } catch (error) {
    link.close();
    throw error;
  }
}

async function connect({ host, port }: Address, name: string, options: LinkOptions): Promise<Connection> {
  const { clientID, timeMs, security = inTheClear } = options;
  const connection = new Connection(clientID, {
    connectTimeout: Math.max(1, Math.ceil(timeMs)),
    requestTimeout: longestTimerMs,
    ...tlsOptions(host, security),
  });
  // Calls that wait for the connection or an answer are rejected by themselves.
  connection.on("error", () => {});
  try {
    await connection.connect(host, port);
    return connection;
  } catch (error) {
    const { socket } = connection;
    socket?.destroy();
    const fault = socket instanceof TLSSocket ? socket.authorizationError : null;
    throw connectFailure(name, error, fault);
  }
}

async function checkVersions(
  link: BrokerLink,
  name: string,
  needed: Readonly<Record<string, { readonly key: number; readonly version: number }>>,
  timeMs: number,
): Promise<void> {
  const { apiKeys } = await link.call(calls.apiVersions, ["tidemark", "1"], timeMs);
  const missing = Object.entries(needed).find(([, { key, version }]) => {
    const known = apiKeys.find(({ apiKey }) => apiKey === key);
    return known === undefined || known.minVersion > version || known.maxVersion < version;
  });
  if (missing === undefined) return;
  const [call, { version }] = missing;
  const lack = `it does not understand version ${version} of ${call}; Kafka 4.1 or later does`;
  throw new StoreError("MISMATCH", `cannot use broker ${name}: ${lack}`);
}

/** The link, which counts as closed after that time: the broker would end it in the midst of a call. */
function openFor(link: BrokerLink, timeMs: number): BrokerLink {
  const until = performance.now() + timeMs;
  return {
    get isOpen() {
      return link.isOpen && performance.now() < until;
    },
    call: link.call,
    close: link.close,
  };
}

function overConnection(connection: Connection, name: string, answerBytesMax: number): BrokerLink {
  const { socket } = connection;
  let bytesBefore = 0;
  let answers = 0;
  let isTLSAlert = false;
  const open = (): boolean => connection.isConnected() && !socket.destroyed;
  socket.on("data", (chunk: Buffer) => {
    // An answer of ours would begin with its length, far beyond all that is taken.
    isTLSAlert ||= chunk[0] === 0x15 && chunk[1] === 0x03 && socket.bytesRead === chunk.length;
    if (socket.bytesRead - bytesBefore > answerBytesMax) socket.destroy(new Error("its answer is too long"));
  });

  async function send<Args extends unknown[], Answer>(api: API<Args, Answer>, args: Args, timeMs: number) {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const fail = (): void => reject(new Error(`no answer within ${Math.ceil(timeMs)} ms`));
      timer = setTimeout(fail, Math.max(0, timeMs));
    });
    bytesBefore = socket.bytesRead;
    try {
      return await Promise.race([late, api.async(connection, ...args)]);
    } catch (error) {
      // The library throws answers that carry an error code in any of their parts.
      if (error instanceof ResponseError && "response" in error) return error.response as Answer;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    get isOpen() {
      return open();
    },
    call: async (api, args, timeMs) => {
      if (!open()) throw new StoreError("UNAVAILABLE", `broker ${name}: the connection has ended`);
      try {
        const answer = await send(api, args, timeMs);
        answers++;
        return answer;
      } catch (error) {
        // A broker that requires a user answers every client with its versions, and closes the link at the next call.
        const hint =
          socket.destroyed && answers === 1 && api.key === calls.metadata.key ? userRequiredHint : "";
        // After a late answer the library reads the next ones from the wrong byte on.
        socket.destroy();
        if (isTLSAlert)
          throw new StoreError("MISMATCH", `cannot use broker ${name}: it wants TLS at this port`);
        throw new StoreError("UNAVAILABLE", `broker ${name}: ${describeReason(error)}${hint}`);
      }
    },
    close: () => socket.destroy(),
  };
}
