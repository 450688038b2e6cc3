import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { type Credential, encodeConnect, encodePuback, encodeSubscribe } from "./packets.js";
import { createScanner } from "./scanner.js";

/** What MQTT goes over. */
export type Layer = "tcp" | "tls" | "ws";

interface SubscriberOptions {
  readonly port: number;
  readonly layer: Layer;
  readonly clientId: string;
  readonly credential: Credential | null;
  /** Null: it is content with what it gets unasked. */
  readonly filter: string | null;
}

interface SubscriberEvents {
  /** So many messages came with one read; those of QoS 1 are acknowledged. */
  received(count: number): void;
  lost(reason: string): void;
}

/** Reads take turns with one buffer: a read is over before the next begins. */
const receiveBuffer = Buffer.alloc(64 * 1024);
const subscribeID = 1;

/** Connects one reader and resolves once it is accepted, and subscribed where a filter is given. */
export function openSubscriber(options: SubscriberOptions, events: SubscriberEvents): Promise<void> {
  const { clientId, credential, filter, layer } = options;
  return new Promise((resolve, reject) => {
    let isOpen = false;
    let received = 0;
    let acks: Buffer[] = [];
    const scan = createScanner({
      connected(code) {
        if (code !== 0) return fail(`refused with code ${code}`);
        if (filter !== null) return void socket.write(encodeSubscribe(subscribeID, filter));
        isOpen = true;
        resolve();
      },
      subscribed() {
        isOpen = true;
        resolve();
      },
      message(packetId) {
        received += 1;
        if (packetId !== null) acks.push(encodePuback(packetId));
      },
      acked() {},
    });
    const take = layer === "ws" ? unwrapped(begin, scan) : scan;

    function read(chunk: Buffer): void {
      received = 0;
      take(chunk);
      if (acks.length > 0) socket.write(Buffer.concat(acks));
      acks = [];
      if (received > 0) events.received(received);
    }
    function begin(): void {
      const bytes = encodeConnect(clientId, credential);
      socket.write(layer === "ws" ? masked(bytes) : bytes);
    }
    function fail(reason: string): void {
      socket.destroy();
      if (isOpen) events.lost(reason);
      else reject(new Error(`cannot connect ${clientId}: ${reason}`));
    }

    const socket = open(options, read, layer === "ws" ? () => socket.write(upgrade) : begin);
    socket.on("error", (error) => fail(error.message));
    socket.on("close", () => fail("closed by the broker"));
  });
}

function open({ port, layer }: SubscriberOptions, read: (chunk: Buffer) => void, begin: () => void): Socket {
  const host = "127.0.0.1";
  if (layer === "tls") {
    const socket = connectTls({ host, port, rejectUnauthorized: false });
    return socket.once("secureConnect", begin).on("data", read);
  }
  const callback = (length: number): boolean => {
    read(receiveBuffer.subarray(0, length));
    return true;
  };
  const onread = { buffer: receiveBuffer, callback };
  return connectTcp({ host, port, noDelay: true, onread }).once("connect", begin);
}

const upgrade = [
  "GET /mqtt HTTP/1.1",
  "Host: 127.0.0.1",
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
  "Sec-WebSocket-Protocol: mqtt",
  "\r\n",
].join("\r\n");

/** One binary frame under a mask of zeros, which leaves its bytes as they are (RFC 6455 §5.2). */
function masked(bytes: Buffer): Buffer {
  if (bytes.length > 125) throw new Error("cannot frame a packet of more than 125 bytes");
  return Buffer.concat([Buffer.from([0x82, 0x80 | bytes.length, 0, 0, 0, 0]), bytes]);
}

/** Passes over the answer to the upgrade and the header of each frame; they are short, and come whole. */
function unwrapped(begin: () => void, scan: (bytes: Buffer) => void): (chunk: Buffer) => void {
  let isUpgraded = false;
  return (chunk) => {
    if (isUpgraded) {
      for (let at = 0; at < chunk.length; ) {
        const end = at + 2 + chunk.readUInt8(at + 1);
        scan(chunk.subarray(at + 2, end));
        at = end;
      }
    } else if (chunk.includes("\r\n\r\n")) {
      isUpgraded = true;
      begin();
    }
  };
}
