/** Subscribes as a careful device does: what it has taken at QoS 2 it takes once, whatever is sent again. */
import type { Packet } from "mqtt-packet";
import { connectPacket, type RawClient, rawClient } from "../ingest/support.js";
import type { Rec } from "../world.js";

export interface Receiver {
  /** Payloads in the order in which they were taken; at QoS 1 one may be there twice. */
  readonly taken: readonly string[];
  /** What CONNACK said of the session, by connection that was accepted. */
  readonly present: readonly boolean[];
  /** Whether the session has its subscription. */
  readonly isSubscribed: boolean;
  /** Connects and takes messages until the connection breaks. */
  run(address: string): Promise<void>;
  cut(): Promise<void>;
}

export function createReceiver(device: Rec, topic: string, qos: 1 | 2): Receiver {
  const taken: string[] = [];
  const present: boolean[] = [];
  /** QoS 2 ids that are not released: the client's own session state. */
  const held = new Set<number>();
  let raw: RawClient | null = null;
  let subscribed = false;

  function answer(packet: Packet): Packet[] {
    const id = packet.messageId ?? 0;
    if (packet.cmd === "suback") subscribed = true;
    if (packet.cmd === "pubrel") {
      held.delete(id);
      return [{ cmd: "pubcomp", messageId: id } as Packet];
    }
    if (packet.cmd !== "publish" || packet.topic !== topic) return [];
    const text = String(packet.payload);
    if (packet.qos === 1) taken.push(text);
    if (packet.qos === 1) return [{ cmd: "puback", messageId: id } as Packet];
    if (!held.has(id)) taken.push(text);
    held.add(id);
    return [{ cmd: "pubrec", messageId: id } as Packet];
  }

  return {
    taken,
    present,
    get isSubscribed() {
      return subscribed;
    },
    run: async (address) => {
      const connection = await rawClient(address);
      raw = connection;
      connection.send(connectPacket(device, { clientId: "receiver", clean: false }));
      for (let read = 0; !connection.closed; ) {
        const replies: Packet[] = [];
        for (; read < connection.packets.length; read++) {
          const packet = connection.packets[read] as Packet;
          if (packet.cmd === "connack") {
            if (packet.returnCode !== 0) return connection.cut();
            present.push(packet.sessionPresent);
            // The session has it from then on.
            if (!subscribed) {
              const subscriptions = [{ topic, qos }];
              replies.push({ cmd: "subscribe", messageId: 1, subscriptions } as Packet);
            }
          } else {
            replies.push(...answer(packet));
          }
        }
        if (replies.length > 0) connection.send(...replies);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    },
    cut: async () => {
      await raw?.cut();
    },
  };
}
