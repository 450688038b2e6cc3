/** Attacks on what is held of bodies, frames and answers: small pieces, unfinished ones, many that wait. */
import type { Socket } from "node:net";
import { deviceAt, makeFleet } from "./as-device.js";
import { type Attack, createSockets, pause, type Target } from "./attack.js";

const sockets = createSockets();
const release = (): void => sockets.closeAll();
const withFleet = (count: number) => async (target: Target) => void (await makeFleet(target, count));

function basic(n = 0): string {
  const { deviceUsername, token } = deviceAt(n);
  return `Basic ${Buffer.from(`${deviceUsername}:${token}`).toString("base64")}`;
}

const request = (method: string, path: string, headers: readonly string[] = []): string =>
  [`${method} ${path} HTTP/1.1`, "Host: tidemark", ...headers, "\r\n"].join("\r\n");

/** So many bytes, each in a chunk of its own (RFC 9112 §7.1), without the last chunk. */
const oneByteChunks = (bytes: number): Buffer => Buffer.from("1\r\n \r\n".repeat(bytes));

/** Opens so many connections, each of which writes all of it and stays open. */
async function writeEach(
  count: number,
  port: number,
  bytes: (n: number) => string | Buffer,
): Promise<Socket[]> {
  const opened = await Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const socket = await sockets.connect(port);
      socket?.write(bytes(n));
      return socket;
    }),
  );
  return opened.filter((one) => one !== null);
}

/** A frame of a client (RFC 6455 §5.2), masked with zeros. */
function frame(payload: Buffer): Buffer {
  const head = Buffer.alloc(14);
  head[0] = 0x81;
  head[1] = 0x80 | 127;
  head.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([head, payload]);
}

const upgrade = (headers: readonly string[]): string =>
  request("GET", "/ws", [
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    `Sec-WebSocket-Key: ${Buffer.alloc(16).toString("base64")}`,
    ...headers,
  ]);

export const heldBytes: readonly Attack[] = [
  {
    name: "one-byte uplinks",
    what: "8 uplinks of 180,000 bytes in chunks of one byte that do not end",
    prepare: withFleet(1),
    run: async (target) => {
      const head = request("POST", "/api/v1/uplinks/data", [
        `Authorization: ${basic()}`,
        "Transfer-Encoding: chunked",
      ]);
      const body = Buffer.concat([Buffer.from(head), oneByteChunks(180_000)]);
      await writeEach(8, target.httpPort, () => body);
      await pause(8_000);
    },
    release,
  },
  {
    name: "one-byte logins",
    what: "60 logins of 16,000 bytes in chunks of one byte that do not end",
    run: async (target) => {
      const head = request("POST", "/api/v1/login", [
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
      ]);
      const body = Buffer.concat([Buffer.from(head), oneByteChunks(16_000)]);
      await writeEach(60, target.httpPort, () => body);
      await pause(8_000);
    },
    release,
  },
  {
    name: "unfinished logins",
    what: "1,000 logins whose body of 15,000 bytes lacks its end",
    run: async (target) => {
      const head = request("POST", "/api/v1/login", [
        "Content-Type: application/json",
        "Content-Length: 15001",
      ]);
      const body = head + " ".repeat(15_000);
      await writeEach(1_000, target.httpPort, () => body);
      await pause(8_000);
    },
    release,
  },
  {
    name: "unfinished questions",
    what: "250 calls of a preview whose body of a mebibyte lacks its end",
    prepare: withFleet(1),
    run: async (target) => {
      const head = request("POST", `/api/v1/devices/${deviceAt(0).id}/explain`, [
        `Authorization: ${target.authorization}`,
        "Content-Type: application/json",
        "Content-Length: 1048576",
      ]);
      const body = Buffer.concat([Buffer.from(head), Buffer.alloc(1_048_575, " ")]);
      await writeEach(250, target.httpPort, () => body);
      await pause(8_000);
    },
    release,
  },
  {
    name: "large questions",
    what: "600 calls whose body is 49,000 empty lists",
    prepare: withFleet(1),
    run: async (target) => {
      const json = Buffer.from(`[${"[],".repeat(49_000)}[]]`);
      const head = request("POST", `/api/v1/devices/${deviceAt(0).id}/explain`, [
        `Authorization: ${target.authorization}`,
        "Content-Type: application/json",
        `Content-Length: ${json.length}`,
      ]);
      const body = Buffer.concat([Buffer.from(head), json]);
      await writeEach(600, target.httpPort, () => body);
      await pause(8_000);
    },
    release,
  },
  {
    name: "waiting frames",
    what: "a plain WebSocket of a limited device that sends 400 frames of 600 KB",
    environment: { DEVICE_MESSAGES_PER_SECOND: "1" },
    prepare: withFleet(1),
    run: async (target) => {
      const [socket] = await writeEach(1, target.httpPort, () => upgrade([`Authorization: ${basic()}`]));
      await pause(500);
      const message = JSON.stringify({
        topic: "data",
        base64: "A".repeat(340_000),
        pad: " ".repeat(260_000),
      });
      const one = frame(Buffer.from(message));
      for (let n = 0; n < 400; n++) socket?.write(one);
      await pause(8_000);
    },
    release,
  },
  {
    name: "bytes of a frame",
    what: "20 plain WebSockets that send 100,000 bytes of a frame, each byte alone",
    prepare: withFleet(20),
    run: async (target) => {
      const opened = await writeEach(20, target.httpPort, (n) => upgrade([`Authorization: ${basic(n)}`]));
      await pause(500);
      for (const socket of opened) socket.write(frame(Buffer.alloc(600_000)).subarray(0, 14));
      for (let n = 0; n < 100_000 && performance.now() < target.until; n++) {
        for (const socket of opened) socket.write(" ");
        await new Promise((resolve) => setImmediate(resolve));
      }
      await pause(2_000);
    },
    release,
  },
  {
    name: "unread small answers",
    what: "2,000 connections that ask 100 times for a page of 60 KB in one write and read nothing",
    prepare: async (target) => {
      for (let n = 0; n < 60; n++) {
        await target.api.call("POST", "/api/v1/products", {
          productName: `unread ${n}`,
          cloudProtocol: 1,
          description: "x".repeat(900),
        });
      }
    },
    run: async (target) => {
      const head = request("GET", "/api/v1/products?_limit=60", [`Authorization: ${target.authorization}`]);
      const all = head.repeat(100);
      for (let n = 0; n < 20; n++) await writeEach(100, target.httpPort, () => all);
      await pause(10_000);
    },
    release,
  },
  {
    name: "many polls",
    what: "2,000 connections of one device that each ask 40 times for a message that does not come",
    prepare: withFleet(1),
    run: async (target) => {
      const poll = request("GET", "/api/v1/inbox?wait=50", [`Authorization: ${basic()}`]);
      const all = poll + request("GET", "/api/v1/inbox").repeat(40);
      for (let n = 0; n < 20; n++) await writeEach(100, target.httpPort, () => all);
      await pause(8_000);
    },
    release,
  },
];
