import { connect, type Socket } from "node:net";
import { type Credential, createSlab, disconnectPacket, encodeConnect } from "./packets.js";
import { createScanner } from "./scanner.js";

export interface Publisher {
  /** Sends up to `count` messages in as few writes as free slots allow; returns how many were sent. */
  send(count: number): number;
  close(): void;
}

interface PublisherOptions {
  readonly host: string;
  readonly port: number;
  readonly clientId: string;
  readonly credential: Credential | null;
  readonly topic: string;
  /** Messages in flight at most; at most 65,535, the number of packet ids. */
  readonly inflight: number;
  readonly clientTimes: boolean;
}

export interface PublisherEvents {
  /** One message was acknowledged, `latencyMs` after it was handed to the socket. */
  latency(latencyMs: number): void;
  /** All the acknowledgements of one read. */
  acked(publisher: Publisher, count: number): void;
  /** The connection ended with so many messages unanswered. */
  lost(reason: string, unanswered: number): void;
}

/** Publishers take turns with one receive buffer: a read is over before the next begins. */
const receiveBuffer = Buffer.alloc(64 * 1024);

/** Connects one publisher and resolves when the broker has accepted it. */
export function openPublisher(options: PublisherOptions, events: PublisherEvents): Promise<Publisher> {
  return new Promise((resolve, reject) => {
    let publisher: Publisher | null = null;
    let closing = false;
    let acks = 0;
    const slots = createSlots(options, () => socket);
    const scan = createScanner({
      connected(code) {
        if (code !== 0) return fail(`connection refused with code ${code}`);
        publisher = { send: slots.send, close };
        resolve(publisher);
      },
      acked(packetId) {
        const latencyMs = slots.release(packetId - 1);
        if (latencyMs === null) return;
        acks += 1;
        events.latency(latencyMs);
      },
    });

    function read(length: number): boolean {
      acks = 0;
      scan(receiveBuffer.subarray(0, length));
      if (acks > 0 && publisher !== null) events.acked(publisher, acks);
      return true;
    }
    function fail(reason: string): void {
      if (closing) return;
      closing = true;
      socket.destroy();
      if (publisher === null) reject(new Error(`cannot connect ${options.clientId}: ${reason}`));
      else events.lost(reason, slots.unanswered());
    }
    function close(): void {
      closing = true;
      socket.end(disconnectPacket);
    }

    const { host, port } = options;
    const socket = connect({ host, port, noDelay: true, onread: { buffer: receiveBuffer, callback: read } });
    socket.on("connect", () => socket.write(encodeConnect(options.clientId, options.credential)));
    socket.on("error", (error) => fail(error.message));
    socket.on("close", () => fail("closed by the broker"));
  });
}

/**
 * The packets of one publisher as a ring. A slot is written again only after its acknowledgement, hence after
 * the kernel took it: the slab is sent as it lies, without a copy.
 */
function createSlots(options: PublisherOptions, socket: () => Socket) {
  const { inflight } = options;
  const slab = createSlab(options.topic, inflight, options.clientTimes);
  const busy = new Uint8Array(inflight);
  const sentAt = new Float64Array(inflight);
  let head = 0;
  let turn = Math.floor(Math.random() * 1000);
  let timeUs = 0;

  function stampRun(countMax: number, now: number): number {
    let run = 0;
    while (run < countMax && head + run < inflight && busy[head + run] === 0) {
      const slot = head + run;
      timeUs = Math.max(timeUs + 1, Date.now() * 1000);
      slab.stamp(slot, turn++, timeUs);
      busy[slot] = 1;
      sentAt[slot] = now;
      run += 1;
    }
    return run;
  }

  function send(count: number): number {
    const now = performance.now();
    let sent = 0;
    while (sent < count) {
      const run = stampRun(count - sent, now);
      if (run === 0) break;
      socket().write(slab.bytes.subarray(head * slab.packetBytes, (head + run) * slab.packetBytes));
      head = (head + run) % inflight;
      sent += run;
    }
    return sent;
  }

  function release(slot: number): number | null {
    if (busy[slot] !== 1) return null;
    busy[slot] = 0;
    return performance.now() - (sentAt[slot] ?? 0);
  }
  const unanswered = () => busy.reduce((sum, slot) => sum + slot, 0);
  return { send, release, unanswered };
}
