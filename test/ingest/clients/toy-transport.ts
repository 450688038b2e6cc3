/** A transport as small as one can be: lines over TCP. It names no limit, so each that it has is inherited. */
import type { Socket } from "node:net";
import type { ClientLink, DeviceClient } from "../../../ingest/clients/client.js";
import {
  type ClientsContext,
  createClients,
  type SharedClientsContext,
} from "../../../ingest/clients/clients.js";
import type { ByShard } from "../../../ingest/directory/by-shard.js";

/**
 * `LOGIN clientID username token`, then `PUB topic payload`; the answers are `IN`, `OUT reason`, `OK` and `NO reason`,
 * and messages come down as `MSG topic payload`.
 */
export function createToyTransport(context: SharedClientsContext, shards: ByShard<ClientsContext>) {
  const clients = createClients<ClientLink>(context, shards, () => true);

  function login(socket: Socket, [clientID = "", username, token]: readonly string[]) {
    const answer = (line: string): void => void (socket.writable && socket.write(`${line}\n`));
    const link = (): ClientLink => ({
      waitingBytes: 0,
      deliver: ({ topic, payload }) => {
        answer(`MSG ${topic} ${Buffer.from(payload).toString()}`);
        return true;
      },
      send: () => undefined,
      handOver: () => undefined,
      resume: () => undefined,
      close: (reason) => {
        answer(`OUT ${reason}`);
        socket.end();
      },
    });
    const terms = { protocol: "websocket", clientID, keepAlive: 0, sessionExpiry: 0, link } as const;
    return clients.open({ username, token, certificate: null }, socket.remoteAddress ?? "", terms);
  }

  async function take(
    client: DeviceClient,
    socket: Socket,
    [topic = "", ...payload]: readonly string[],
  ): Promise<void> {
    const message = {
      ...{ topic, payload: Buffer.from(payload.join(" ")) },
      ...{ key: null, sentAt: null, batch: null },
    };
    const taken = await client.take(message);
    const answer = (outcome: string): void =>
      void socket.write(outcome === "kept" ? "OK\n" : `NO ${outcome}\n`);
    if (typeof taken === "string") answer(taken);
    else void taken.outcome.then(answer);
  }

  return async (socket: Socket): Promise<void> => {
    let client: DeviceClient | null = null;
    let text = "";
    socket.on("error", () => undefined);
    socket.on("close", () => client?.end("lost"));
    for await (const chunk of socket) {
      const lines = (text + String(chunk)).split("\n");
      text = lines.pop() ?? "";
      for (const [verb, ...words] of lines.map((line) => line.split(" "))) {
        if (client !== null) await take(client, socket, words);
        else if (verb === "LOGIN") {
          const found = await login(socket, words);
          if ("reason" in found) return void socket.end(`OUT ${found.reason}\n`);
          client = found;
          socket.write("IN\n");
        }
      }
    }
  };
}
