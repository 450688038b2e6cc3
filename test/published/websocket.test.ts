/** Faults published of ws and of other readers of WebSocket frames, each replayed in kind over raw sockets. */
import { connect, type Socket } from "node:net";
import { assert, until } from "../suite.js";
import { publishedSuite } from "./support.js";

interface Raw {
  readonly socket: Socket;
  /** All that has come since the handshake was sent. */
  received(): Buffer;
  readonly closed: boolean;
}

const handshake = [
  ...["GET / HTTP/1.1", "Host: x", "Upgrade: websocket", "Connection: Upgrade"],
  ...["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="],
];
const mqtt = "Sec-WebSocket-Protocol: mqtt";

const opcodes = { binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** A masked frame; `length` is written as given, whatever the payload has. */
function frame(first: number, payload: Uint8Array, length: bigint = BigInt(payload.length)): Buffer {
  const head = Buffer.alloc(14);
  head[0] = first;
  head[1] = 0x80 | 127;
  head.writeBigUInt64BE(BigInt.asUintN(64, length), 2);
  return Buffer.concat([head, payload]);
}

/** The same of at most 125 bytes, as short as it can be said. */
function short(opcode: number, payload: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(0x80 | opcode, 0x80 | payload.length, 0, 0, 0, 0), payload]);
}

publishedSuite(
  "WebSocket",
  (test, world) => {
    async function opened(lines: readonly string[]): Promise<Raw> {
      const { hostname, port } = new URL(world.service.ws ?? "");
      const socket = connect(Number(port), hostname);
      const chunks: Buffer[] = [];
      let closed = false;
      socket.on("data", (chunk) => chunks.push(chunk));
      socket.on("error", () => undefined);
      socket.on("close", () => {
        closed = true;
      });
      socket.write(`${lines.join("\r\n")}\r\n\r\n`);
      return {
        socket,
        received: () => Buffer.concat(chunks),
        get closed() {
          return closed;
        },
      };
    }
    const answered = (raw: Raw) =>
      until(() => /^HTTP\/1\.1 (\d+)[\s\S]*?\r\n\r\n/.exec(raw.received().toString("latin1")), {
        what: "an answer",
      });
    async function upgraded(): Promise<Raw> {
      const raw = await opened([...handshake, mqtt]);
      assert.is((await answered(raw))[1], "101");
      return raw;
    }
    const ends = (raw: Raw) => until(() => raw.closed, { what: "the end of the connection" });

    test("CVE-2016-10518 (ws): a pong holds what the ping held, and no more", async () => {
      for (const payload of ["1000", "\u0001\u0000\u0000\u0000", "", "9".repeat(125)]) {
        const raw = await upgraded();
        const before = raw.received().length;
        raw.socket.write(short(opcodes.ping, Buffer.from(payload)));
        const pong = () => raw.received().subarray(before);
        await until(() => pong().length >= payload.length + 2, { what: "the pong" });
        const expected = Buffer.concat([
          Buffer.of(0x80 | opcodes.pong, payload.length),
          Buffer.from(payload),
        ]);
        assert.equal(pong().toString("hex"), expected.toString("hex"));
        raw.socket.destroy();
      }
    });

    test("CVE-2016-10542 (ws): a frame declared beyond the bound ends the connection before it has come", async () => {
      const raw = await upgraded();
      raw.socket.write(frame(0x80 | opcodes.binary, Buffer.alloc(100), 256n << 20n));
      await ends(raw);
    });

    test("CVE-2018-1000518 (websockets): compression is not agreed to, and a compressed frame is refused", async () => {
      const offer = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits";
      const raw = await opened([...handshake, mqtt, offer]);
      const [head, status] = await answered(raw);
      assert.is(status, "101");
      assert.not.match(head, /extensions/i);
      raw.socket.write(frame(0xc0 | opcodes.binary, Buffer.alloc(100)));
      await ends(raw);
    });

    test("CVE-2020-27813 (gorilla): frames whose lengths overflow a number end the connection", async () => {
      for (const length of [2n ** 63n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 32n]) {
        const raw = await upgraded();
        raw.socket.write(frame(0x80 | opcodes.binary, Buffer.alloc(100), length));
        await ends(raw);
      }
    });

    test("CVE-2020-13935 (Tomcat): a length whose highest bit is set ends the connection", async () => {
      for (const length of [-1n, -(2n ** 63n), -(2n ** 32n)]) {
        const raw = await upgraded();
        raw.socket.write(frame(0x80 | opcodes.binary, Buffer.alloc(100), length));
        await ends(raw);
      }
    });

    test("CVE-2021-32640 (ws): a protocol header of blanks is read in a time that grows with its length", async () => {
      const began = process.cpuUsage();
      for (const list of [`mqtt${" ".repeat(15_000)}x`, `${"a ,".repeat(4000)}mqtt`, ",".repeat(60_000)]) {
        const raw = await opened([...handshake, `Sec-WebSocket-Protocol: ${list}`]);
        await until(() => raw.closed || raw.received().length > 0, { what: "an answer or an end" });
        raw.socket.destroy();
      }
      const { user } = process.cpuUsage(began);
      assert.ok(user < 2e6, `${user} µs`);
    });

    test("CVE-2024-37890 (ws): an upgrade after more headers than are read is answered or ended", async () => {
      for (const count of [999, 1001, 1999, 2001, 5000]) {
        const many = Array.from({ length: count }, (_, i) => `X-${i}: 1`);
        const raw = await opened(["GET / HTTP/1.1", "Host: x", ...many, ...handshake.slice(2), mqtt]);
        await until(() => raw.closed || raw.received().length > 0, { what: "an answer or an end" });
        raw.socket.destroy();
      }
      (await upgraded()).socket.destroy();
    });

    test("GHSA-5v72-xg48-5rpm (ws): extensions and parameters named like properties of objects break nothing", async () => {
      for (const value of [
        "constructor",
        "__proto__",
        "permessage-deflate; constructor=1",
        "x; __proto__=1, toString",
      ]) {
        const raw = await opened([...handshake, mqtt, `Sec-WebSocket-Extensions: ${value}`]);
        const [, status = ""] = await answered(raw);
        assert.ok(["101", "400"].includes(status), `${value}: ${status}`);
        raw.socket.destroy();
      }
    });
  },
  { WS_PORT: "0" },
);
