import { type API, Connection, ResponseError } from "@platformatic/kafka";
import { asError, StoreError } from "../../lib/errors.js";
import { calls } from "./protocol.js";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** One connection to one broker; it is given up at the first answer that is late, too long or cannot be read. */
export interface BrokerLink {
  readonly isOpen: boolean;
  /**
   * Sends a request; resolves with the answer, whose error codes the caller judges. Nothing was sent if the link is
   * not open; after any other rejection whatever the request does may have been done, and the link is closed.
   * @throws StoreError UNAVAILABLE
   */
  call<Args extends unknown[], Answer>(api: API<Args, Answer>, args: Args, timeMs: number): Promise<Answer>;
  /** Ends calls under way with errors. */
  close(): void;
}

interface LinkOptions {
  readonly clientID: string;
  /** For opening it. */
  readonly timeMs: number;
  /** The longest answer that is taken, bytes. */
  readonly answerBytesMax: number;
}

/** Timers above it fire at once; our own end every call much earlier. */
const longestTimerMs = 2 ** 31 - 1;

/** Connects and makes sure that the broker understands our calls. @throws StoreError UNAVAILABLE, MISMATCH */
export async function openLink(address: Address, options: LinkOptions): Promise<BrokerLink> {
  const { clientID, timeMs, answerBytesMax } = options;
  const name = `${address.host}:${address.port}`;
  const deadline = performance.now() + timeMs;
  const connection = new Connection(clientID, {
    connectTimeout: Math.max(1, Math.ceil(timeMs)),
    requestTimeout: longestTimerMs,
  });
  // What waits for the connection or an answer hears of it by itself.
  connection.on("error", () => {});
  try {
    await connection.connect(address.host, address.port);
  } catch (error) {
    connection.socket?.destroy();
    throw new StoreError("UNAVAILABLE", `cannot connect to broker ${name}: ${reasonOf(error)}`);
  }
  const link = overConnection(connection, name, answerBytesMax);
  try {
    const { apiKeys } = await link.call(calls.apiVersions, ["tidemark", "1"], deadline - performance.now());
    const missing = Object.entries(calls).find(([, { key, version }]) => {
      const known = apiKeys.find(({ apiKey }) => apiKey === key);
      return known === undefined || known.minVersion > version || known.maxVersion < version;
    });
    if (missing === undefined) return link;
    const [call, { version }] = missing;
    const lack = `it does not understand version ${version} of ${call}; Kafka 4.1 or later does`;
    throw new StoreError("MISMATCH", `cannot use broker ${name}: ${lack}`);
  } catch (error) {
    link.close();
    throw error;
  }
}

function overConnection(connection: Connection, name: string, answerBytesMax: number): BrokerLink {
  const { socket } = connection;
  let bytesBefore = 0;
  const open = (): boolean => connection.isConnected() && !socket.destroyed;
  socket.on("data", () => {
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
        return await send(api, args, timeMs);
      } catch (error) {
        // After a late answer the library reads the next ones from the wrong byte on.
        socket.destroy();
        throw new StoreError("UNAVAILABLE", `broker ${name}: ${reasonOf(error)}`);
      }
    },
    close: () => socket.destroy(),
  };
}

function reasonOf(thrown: unknown): string {
  const { message, cause } = asError(thrown);
  return cause instanceof Error ? `${message.replace(/\.$/, "")} (${cause.message})` : message;
}
