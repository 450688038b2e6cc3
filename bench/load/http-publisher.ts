/** Devices that post over a kept-alive connection: bytes written by hand, as a generator should not measure its client. */
import { connect } from "node:net";
import type { Credential } from "./packets.js";
import type { Publisher, PublisherEvents } from "./publisher.js";

/** uplink: a message a request; batch, lines: as many as are to be sent, as NDJSON or as line protocol. */
export type RequestKind = "uplink" | "batch" | "lines";

interface HttpPublisherOptions {
  readonly host: string;
  readonly port: number;
  readonly clientId: string;
  readonly credential: Credential | null;
  /** The path in the request's head; a bare server may have another. */
  readonly path: string;
  readonly kind: RequestKind;
  /** Messages of one request at most. */
  readonly inflight: number;
}

const receiveBuffer = Buffer.alloc(64 * 1024);
const endOfHead = Buffer.from("\r\n\r\n");

/** Connects one device; resolves when its first, empty request is answered. */
export function openHttpPublisher(
  options: HttpPublisherOptions,
  events: PublisherEvents,
): Promise<Publisher> {
  const { host, port, clientId, credential, path, kind, inflight } = options;
  return new Promise((resolve, reject) => {
    let publisher: Publisher | null = null;
    let closing = false;
    let inRequest = 0;
    let sentAt = 0;
    let turn = Math.floor(Math.random() * 1000);
    let rest = Buffer.alloc(0);
    const login =
      credential === null
        ? ""
        : Buffer.from(`${credential.username}:${credential.password}`).toString("base64");
    const types = { uplink: "application/json", batch: "application/x-ndjson", lines: "text/plain" } as const;
    const head = `POST ${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Basic ${login}\r\nContent-Type: ${types[kind]}\r\n`;

    const three = (value: number): string => String(value % 1000).padStart(3, "0");
    const digit = (text: string): string => `${text[0]}0.${text.slice(1)}`;
    /** Three values, as the MQTT publisher has them. */
    function message(): string {
      turn++;
      const [temp, hum, volt] = [three(turn), three(turn * 7), three(turn * 13)];
      if (kind === "lines")
        return `telemetry temp=2${digit(temp).slice(1)},hum=4${digit(hum).slice(1)},volt=3.${volt}\n`;
      const json = `{"temp":2${temp[0]}.${temp.slice(1)},"hum":4${hum[0]}.${hum.slice(1)},"volt":3.${volt}}`;
      return kind === "uplink" ? json : `{"topic":"telemetry","payload":${json}}\n`;
    }

    function send(count: number): number {
      if (inRequest > 0) return 0;
      const messages = Math.min(count, inflight);
      let body = "";
      for (let n = 0; n < messages; n++) body += message();
      inRequest = messages;
      sentAt = performance.now();
      socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
      return messages;
    }

    /** One answer is under way at a time. */
    function read(length: number): boolean {
      rest = Buffer.concat([rest, receiveBuffer.subarray(0, length)]);
      const at = rest.indexOf(endOfHead);
      if (at < 0) return true;
      const text = rest.toString("latin1", 0, at);
      const [, bytes = "0"] = /content-length: (\d+)/i.exec(text) ?? [];
      if (rest.length < at + endOfHead.length + Number(bytes)) return true;
      rest = Buffer.alloc(0);
      const status = Number(text.slice(9, 12));
      if (status >= 300) fail(`answered ${text.split("\r\n")[0]}`);
      else answered();
      return true;
    }

    function answered(): void {
      const messages = inRequest;
      inRequest = 0;
      if (publisher === null) {
        publisher = { send, close };
        return resolve(publisher);
      }
      events.latency(performance.now() - sentAt);
      events.acked(publisher, messages);
    }

    function fail(reason: string): void {
      if (closing) return;
      closing = true;
      socket.destroy();
      if (publisher === null) reject(new Error(`cannot connect ${clientId}: ${reason}`));
      else events.lost(reason, inRequest);
    }
    function close(): void {
      closing = true;
      socket.end();
    }

    const socket = connect({ host, port, noDelay: true, onread: { buffer: receiveBuffer, callback: read } });
    socket.on("connect", () => send(1));
    socket.on("error", (error) => fail(error.message));
    socket.on("close", () => fail("closed by the service"));
  });
}
