/** A device with a session that outlives its connections, which takes commands and answers them after a while. */
import { setTimeout as pause } from "node:timers/promises";
import type { Packet } from "mqtt-packet";
import { connectPacket, type RawClient, rawClient } from "../ingest/support.js";
import type { Rec } from "../world.js";

export interface CommandListener {
  /** Payloads as they came anew. */
  readonly fresh: readonly string[];
  /** Payloads whose receipt was handed to a socket. */
  readonly acknowledged: ReadonlySet<string>;
  /** Resolves once the service has let it in; it takes commands from then on. */
  connect(address: string): Promise<void>;
  /** Connects and takes commands until the connection breaks. */
  run(address: string): Promise<void>;
  cut(): Promise<void>;
}

export function createListener(device: Rec, answerMsMax = 0): CommandListener {
  const fresh: string[] = [];
  const acknowledged = new Set<string>();
  let raw: RawClient | null = null;

  async function open(address: string): Promise<RawClient> {
    const connection = await rawClient(address);
    raw = connection;
    connection.send(connectPacket(device, { clientId: "listener", clean: false }));
    return connection;
  }

  async function follow(connection: RawClient): Promise<void> {
    for (let read = 0; !connection.closed; await pause(1)) {
      for (; read < connection.packets.length; read++) {
        const packet = connection.packets[read] as Packet;
        if (packet.cmd !== "publish") continue;
        const text = String(packet.payload);
        if (!packet.dup) fresh.push(text);
        if (answerMsMax > 0) await pause(Math.random() * answerMsMax);
        if (packet.qos === 0) continue;
        connection.send({ cmd: "puback", messageId: packet.messageId ?? 0 } as Packet);
        acknowledged.add(text);
      }
    }
  }

  return {
    fresh,
    acknowledged,
    connect: async (address) => {
      const connection = await open(address);
      await connection.next("connack");
      void follow(connection);
    },
    run: async (address) => follow(await open(address)),
    cut: async () => raw?.cut(),
  };
}
