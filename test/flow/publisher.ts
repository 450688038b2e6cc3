/** Publishes numbered messages as a careful device does: what is not acknowledged is sent again with DUP. */
import type { Packet } from "mqtt-packet";
import { connectPacket, publishPacket, pubrel, type RawClient, rawClient } from "../ingest/support.js";
import type { Rec } from "../world.js";

export interface Publisher {
  /** Numbers acknowledged so far: on disk, so the service says. */
  readonly acknowledged: ReadonlySet<number>;
  /** Numbers handed to a socket so far. */
  readonly sent: number;
  /** Publishes until the connection breaks or `stop` is called, at most `mostInFlight` at once. */
  run(address: string): Promise<void>;
  /** Sends nothing new; resolves when everything sent is acknowledged or the connection is gone. */
  stop(): Promise<void>;
  /** Breaks the connection, if there is one. */
  cut(): Promise<void>;
}

interface Unanswered {
  readonly n: number;
  readonly payload: string;
  received: boolean;
}

interface PublisherOptions {
  readonly device: Rec;
  readonly qos: 1 | 2;
  readonly clientID: string;
  /** The message's payload; without a time in it the service stamps. */
  readonly payload: (n: number) => string;
  /** Absent: `data`. */
  readonly topic?: string;
  readonly mostInFlight: number;
  /** Between two sends of a full window; 0: as fast as acknowledgements come. */
  readonly pauseMs?: number;
}

export function createPublisher(options: PublisherOptions): Publisher {
  const { device, qos, clientID, mostInFlight, topic = "data" } = options;
  const acknowledged = new Set<number>();
  const unanswered = new Map<number, Unanswered>();
  let sent = 0;
  let lastID = 0;
  let stopping = false;
  let raw: RawClient | null = null;
  let running: Promise<void> = Promise.resolve();

  function nextID(): number {
    do lastID = (lastID % 65_535) + 1;
    while (unanswered.has(lastID));
    return lastID;
  }

  /** What the connection before left open [MQTT-4.4.0-1]. */
  function again(): Packet[] {
    return [...unanswered].map(([messageId, { payload, received }]) =>
      received ? pubrel(messageId) : publishPacket(payload, { topic, qos, messageId, dup: true }),
    );
  }

  function fresh(): Packet[] {
    const packets: Packet[] = [];
    while (!stopping && unanswered.size < mostInFlight) {
      const n = sent++;
      const messageId = nextID();
      const payload = options.payload(n);
      unanswered.set(messageId, { n, payload, received: false });
      packets.push(publishPacket(payload, { topic, qos, messageId }));
    }
    return packets;
  }

  function answer(packet: Packet): Packet[] {
    const id = packet.messageId ?? 0;
    const message = unanswered.get(id);
    if (message === undefined) return [];
    if (packet.cmd === "puback" || packet.cmd === "pubcomp") {
      unanswered.delete(id);
      acknowledged.add(message.n);
    } else if (packet.cmd === "pubrec") {
      // From here on the service owns the message.
      acknowledged.add(message.n);
      message.received = true;
      return [pubrel(id)];
    }
    return [];
  }

  async function converse(connection: RawClient): Promise<void> {
    let read = 0;
    connection.send(connectPacket(device, { clientId: clientID, clean: false }));
    let open = false;
    while (!connection.closed && !(stopping && open && unanswered.size === 0)) {
      const replies: Packet[] = [];
      for (; read < connection.packets.length; read++) {
        const packet = connection.packets[read] as Packet;
        if (packet.cmd === "connack") {
          if (packet.returnCode !== 0) return void (await connection.cut());
          open = true;
          replies.push(...again());
        } else {
          replies.push(...answer(packet));
        }
      }
      if (open) replies.push(...fresh());
      if (replies.length > 0) connection.send(...replies);
      await new Promise((resolve) => setTimeout(resolve, options.pauseMs ?? 1));
    }
  }

  return {
    acknowledged,
    get sent() {
      return sent;
    },
    run: (address) => {
      stopping = false;
      running = (async () => {
        raw = await rawClient(address);
        await converse(raw);
        if (!raw.closed) await raw.cut();
      })();
      return running;
    },
    stop: async () => {
      stopping = true;
      await running;
    },
    cut: async () => raw?.cut(),
  };
}
