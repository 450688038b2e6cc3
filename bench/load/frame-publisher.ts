/** Devices that send plain frames over WebSocket (RFC 6455): frames laid out once, of which only digits change. */
import { connect } from "node:net";
import type { Credential } from "./packets.js";
import type { Publisher, PublisherEvents } from "./publisher.js";

interface FramePublisherOptions {
  readonly host: string;
  readonly port: number;
  readonly clientId: string;
  readonly credential: Credential | null;
  /** Frames in flight at most, below 1,000. */
  readonly inflight: number;
}

const receiveBuffer = Buffer.alloc(64 * 1024);
const endOfHead = Buffer.from("\r\n\r\n");
const mask = Buffer.from([0, 0, 0, 0]);

/** Connects one device, and resolves when it is upgraded. */
export function openFramePublisher(
  options: FramePublisherOptions,
  events: PublisherEvents,
): Promise<Publisher> {
  const { host, port, clientId, credential, inflight } = options;
  return new Promise((resolve, reject) => {
    let publisher: Publisher | null = null;
    let closing = false;
    let waiting = 0;
    let next = 0;
    let turn = Math.floor(Math.random() * 1000);
    const sentAt = new Float64Array(inflight);
    let rest = Buffer.alloc(0);

    function frame(slot: number): Buffer {
      turn++;
      const three = (value: number) => String(value % 1000).padStart(3, "0");
      const [temp, hum, volt] = [three(turn), three(turn * 7), three(turn * 13)];
      const payload = `{"temp":2${temp[0]}.${temp.slice(1)},"hum":4${hum[0]}.${hum.slice(1)},"volt":3.${volt}}`;
      const text = Buffer.from(`{"id":${slot},"topic":"telemetry","payload":${payload}}`);
      const short = text.length < 126;
      const head = short
        ? Buffer.from([0x81, 0x80 | text.length])
        : Buffer.from([0x81, 0xfe, text.length >> 8, text.length & 0xff]);
      return Buffer.concat([head, mask, text]);
    }

    function send(count: number): number {
      const frames: Buffer[] = [];
      const now = performance.now();
      while (frames.length < count && waiting < inflight) {
        sentAt[next] = now;
        frames.push(frame(next));
        next = (next + 1) % inflight;
        waiting++;
      }
      if (frames.length > 0) socket.write(Buffer.concat(frames));
      return frames.length;
    }

    function read(length: number): boolean {
      rest = Buffer.concat([rest, receiveBuffer.subarray(0, length)]);
      if (publisher === null) {
        const at = rest.indexOf(endOfHead);
        if (at < 0) return true;
        if (!rest.toString("latin1", 0, 12).endsWith("101")) {
          fail(rest.toString("latin1", 0, 30));
          return true;
        }
        rest = rest.subarray(at + endOfHead.length);
        publisher = { send, close };
        resolve(publisher);
      }
      let acked = 0;
      while (rest.length >= 2 && rest.length >= 2 + ((rest[1] as number) & 127)) {
        const size = (rest[1] as number) & 127;
        const text = rest.toString("latin1", 2, 2 + size);
        rest = rest.subarray(2 + size);
        const [, slot] = /^\{"ack":(\d+)\}$/.exec(text) ?? [];
        if (slot === undefined) continue;
        waiting--;
        acked++;
        events.latency(performance.now() - (sentAt[Number(slot)] as number));
      }
      if (acked > 0) events.acked(publisher, acked);
      return true;
    }

    function fail(reason: string): void {
      if (closing) return;
      closing = true;
      socket.destroy();
      if (publisher === null) reject(new Error(`cannot connect ${clientId}: ${reason}`));
      else events.lost(reason, waiting);
    }
    function close(): void {
      closing = true;
      socket.end();
    }

    const login =
      credential === null
        ? ""
        : Buffer.from(`${credential.username}:${credential.password}`).toString("base64");
    const request = [
      "GET /ws HTTP/1.1",
      "Host: bench",
      "Upgrade: websocket",
      "Connection: Upgrade",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      `Authorization: Basic ${login}`,
    ];
    const socket = connect({ host, port, noDelay: true, onread: { buffer: receiveBuffer, callback: read } });
    socket.on("connect", () => socket.write(`${request.join("\r\n")}\r\n\r\n`));
    socket.on("error", (error) => fail(error.message));
    socket.on("close", () => fail("closed by the service"));
  });
}
