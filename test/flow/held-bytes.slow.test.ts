/**
 * What clients can make the service hold: bodies in the smallest pieces, bodies that never end, frames that wait, answers
 * that nobody reads. The service is a process of its own, whose memory is looked at; the bounds are generous, and what
 * they forbid held several times as much.
 */
import { readFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { basicOf } from "../ingest/transports/http/support.js";
import { assert, openTempDir, suite, until } from "../suite.js";
import type { Rec } from "../world.js";
import { provision, type RunningService, startService } from "./support.js";

const MB = 1e6;

suite("what clients can make the service hold", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let service: RunningService;
  let devices: Rec[];
  let apiKey: string;
  const sockets: Socket[] = [];
  test.before(async () => {
    dir = await openTempDir();
    service = await startService(dir.path);
    const first = await readFile(join(dir.path, "first-start.json"), "utf8");
    apiKey = (JSON.parse(first) as { apiKey: string }).apiKey;
    devices = await provision(service, 4);
  });
  test.after.each(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  test.after(async () => {
    await service.stop();
    await dir.close();
  });

  const http = () => String(service.addresses.http);
  const residentBytes = () => service.metric("process_resident_memory_bytes ");

  interface Client {
    readonly socket: Socket;
    text: string;
  }

  /** A connection that writes these bytes; it reads what comes unless `isRead` is false. */
  async function open(bytes: string | Buffer, isRead = true): Promise<Client> {
    const socket = connect(Number(new URL(http()).port), "127.0.0.1");
    sockets.push(socket);
    const client = { socket, text: "" };
    if (isRead) socket.on("data", (chunk) => (client.text += chunk.toString("latin1")));
    socket.on("error", () => undefined);
    await new Promise((resolve) => socket.once("connect", resolve));
    socket.write(bytes);
    return client;
  }

  const head = (method: string, path: string, ...headers: string[]): string =>
    [`${method} ${path} HTTP/1.1`, "Host: x", ...headers, "\r\n"].join("\r\n");

  const oneByteChunks = (text: string): string => [...text].map((one) => `1\r\n${one}\r\n`).join("");

  /** How much more memory the service has while the attack lasts, at most. */
  async function grownWhile(attack: () => Promise<unknown>): Promise<number> {
    const before = await residentBytes();
    let most = before;
    let isOver = false;
    const watched = (async () => {
      while (!isOver) most = Math.max(most, await residentBytes());
    })();
    await attack();
    isOver = true;
    await watched;
    return most - before;
  }

  const taken = ({ socket }: Client) => until(() => socket.writableLength === 0, { what: "all to be taken" });

  async function uplinkOf(device: Rec | undefined): Promise<number> {
    const headers = { Authorization: basicOf(device as Rec), "Content-Type": "application/json" };
    const answer = await fetch(`${http()}/api/v1/uplinks/data`, { method: "POST", headers, body: '{"n":1}' });
    return answer.status;
  }

  test("logins in chunks of one byte that do not end take a few kilobytes each", async () => {
    const start = head(
      "POST",
      "/api/v1/login",
      "Content-Type: application/json",
      "Transfer-Encoding: chunked",
    );
    const attack = async (count: number) => {
      const clients = await Promise.all(
        Array.from({ length: count }, () => open(start + oneByteChunks(" ".repeat(16_000)))),
      );
      await Promise.all(clients.map(taken));
      assert.is((await fetch(`${http()}/readyz`)).status, 200);
    };
    // The first requests of a process take 60 MB and more for what they load and compile, whatever they are.
    await grownWhile(() => attack(10));
    for (const socket of sockets.splice(0)) socket.destroy();
    await until(async () => (await service.metric("tidemark_http_connections ")) < 10, {
      what: "the connections to end",
    });
    const grown = await grownWhile(() => attack(60));
    assert.ok(grown < 30 * MB, `${Math.round(grown / MB)} MB`);
  });

  test("bodies in chunks of one byte take a few times their bytes, are kept, and hold up nobody", async () => {
    const [slow, neighbour] = devices;
    const text = JSON.stringify({ n: 1, text: "x".repeat(150_000) });
    const start = head(
      "POST",
      "/api/v1/uplinks/data",
      `Authorization: ${basicOf(slow as Rec)}`,
      "Content-Type: application/json",
      "Transfer-Encoding: chunked",
    );
    const body = oneByteChunks(text);
    const clients: Client[] = [];
    const grown = await grownWhile(async () => {
      for (let n = 0; n < 8; n++) clients.push(await open(start + body));
      assert.is(await uplinkOf(neighbour), 204);
      await Promise.all(clients.map(taken));
      assert.is(await uplinkOf(neighbour), 204);
    });
    assert.ok(grown < 100 * MB, `${Math.round(grown / MB)} MB`);
    for (const { socket } of clients) socket.write("0\r\n\r\n");
    for (const client of clients) {
      await until(() => client.text !== "", { what: "its answer", timeoutMs: 20_000 });
      assert.match(client.text, /^HTTP\/1\.1 204/);
    }
  });

  test("bodies of a caller that do not end hold what is promised; the rest is 503, and other tenants get in", async () => {
    const names = { tenantName: "flood", username: "mallory" };
    const { password } = await service.make("/api/v1/tenants", names);
    const { body } = await service.call("POST", "/api/v1/login", { username: names.username, password });
    const start = head(
      "POST",
      `/api/v1/devices/${devices[0]?.id}/explain`,
      `Authorization: Bearer ${body.token}`,
      "Content-Type: application/json",
      "Content-Length: 1048576",
    );
    const bytes = Buffer.concat([Buffer.from(start), Buffer.alloc(1_048_575, " ")]);
    const clients: Client[] = [];
    const refused = () => clients.filter(({ text }) => text.startsWith("HTTP/1.1 503")).length;
    const grown = await grownWhile(async () => {
      for (let n = 0; n < 100; n++) clients.push(await open(bytes));
      await until(() => refused() > 20, { what: "some to be refused", timeoutMs: 20_000 });
      const product = { productName: "beside a flood", cloudProtocol: 1 };
      const made = await service.call("POST", "/api/v1/products", product);
      assert.is(made.status, 201);
    });
    assert.match(clients.find(({ text }) => text !== "")?.text ?? "", /Retry-After: 1\r\n/i);
    assert.ok(grown < 110 * MB, `${Math.round(grown / MB)} MB`);
  });

  test("a short answer that is not read is counted until it is", async () => {
    const start = head("GET", "/api/v1/products?_limit=60", `Authorization: Bearer ${apiKey}`);
    for (let n = 0; n < 60; n++) {
      const description = "x".repeat(800);
      await service.make("/api/v1/products", { productName: `long ${n}`, cloudProtocol: 1, description });
    }
    const held = () => service.metric("tidemark_answer_bytes ");
    const clients = await Promise.all(Array.from({ length: 10 }, () => open(start.repeat(200), false)));
    await until(async () => (await held()) > 10 * 50_000, {
      what: "all ten to be counted",
      timeoutMs: 30_000,
    });
    for (const { socket } of clients) socket.destroy();
    await until(async () => (await held()) < 50_000, { what: "what was counted to be released" });
  });
});

suite("what a plain WebSocket can make the service hold", (test) => {
  test("frames that wait for a limit are counted by their bytes: the client is not read", async () => {
    const dir = await openTempDir();
    const service = await startService(dir.path, { DEVICE_MESSAGES_PER_SECOND: "1" });
    const [device] = await provision(service, 1);
    const socket = connect(Number(new URL(String(service.addresses.http)).port), "127.0.0.1");
    try {
      const upgrade = [
        "GET /ws HTTP/1.1",
        "Host: x",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        `Sec-WebSocket-Key: ${Buffer.alloc(16).toString("base64")}`,
        `Authorization: ${basicOf(device as Rec)}`,
        "\r\n",
      ];
      socket.write(upgrade.join("\r\n"));
      await new Promise((resolve) => socket.once("data", resolve));
      const before = await service.metric("process_resident_memory_bytes ");
      const payload = Buffer.from(JSON.stringify({ topic: "data", payload: {}, pad: " ".repeat(600_000) }));
      const frameHead = Buffer.alloc(14);
      frameHead.set([0x81, 0x80 | 127]);
      frameHead.writeBigUInt64BE(BigInt(payload.length), 2);
      const sent = 100;
      for (let n = 0; n < sent; n++) socket.write(Buffer.concat([frameHead, payload]));
      // The system keeps some megabytes of what is on its way.
      let left = socket.writableLength;
      await until(
        async () => {
          await new Promise((resolve) => setTimeout(resolve, 500));
          const isStill = left === socket.writableLength;
          left = socket.writableLength;
          return isStill;
        },
        { what: "the service to read no more" },
      );
      assert.ok(left > (sent / 2) * payload.length, `${left} bytes are left`);
      const grown = (await service.metric("process_resident_memory_bytes ")) - before;
      assert.ok(grown < 40 * MB, `${Math.round(grown / MB)} MB`);
    } finally {
      socket.destroy();
      await service.stop();
      await dir.close();
    }
  });
});
