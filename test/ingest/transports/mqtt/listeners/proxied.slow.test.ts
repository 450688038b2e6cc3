/** Clients behind proxies, over real sockets: each is itself to what counts by address. */
import { connect as connectSocket, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import mqttPacket, { type Packet } from "mqtt-packet";
import { WebSocket } from "ws";
import { makeDevice, makeProduct } from "../../../../factories.js";
import { assert, until } from "../../../../suite.js";
import { type Rec, type World, worldSuite } from "../../../../world.js";
import { connectPacket, counter } from "../../../support.js";

const listeners = { MQTTS_PORT: "0", WS_PORT: "0", WSS_PORT: "0" };
const line = (address: string): Buffer => Buffer.from(`PROXY TCP4 ${address} 192.0.2.1 4711 1883\r\n`);
/** Version 2, with something that the proxy adds of itself. */
const binary = (address: string): Buffer =>
  Buffer.from([
    ...Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1"),
    ...[0x21, 0x11, 0, 16],
    ...address.split(".").map(Number),
    ...[192, 0, 2, 1, 0, 80, 0, 81, 4, 0, 1, 0],
  ]);
const portOf = (address: string | null | undefined) => Number(new URL(address ?? "").port);

/** The code of CONNACK; -1 where the connection ends without one. */
function answered(
  stream: Pick<Socket, "on" | "write"> & { destroy(): void },
  packet: Packet,
): Promise<number> {
  return new Promise((resolve) => {
    const parser = mqttPacket.parser();
    parser.on("packet", (one: Packet) => {
      resolve(one.cmd === "connack" ? (one.returnCode ?? -1) : -1);
      stream.destroy();
    });
    stream.on("data", (chunk: Buffer) => parser.parse(chunk));
    stream.on("error", () => resolve(-1));
    stream.on("close", () => resolve(-1));
    stream.write(mqttPacket.generate(packet));
  });
}

function throughTcp(world: World, begin: readonly Buffer[], packet: Packet): Promise<number> {
  const socket = connectSocket(portOf(world.mqtt), "127.0.0.1");
  socket.setNoDelay(true);
  for (const bytes of begin) socket.write(bytes);
  return answered(socket, packet);
}

async function throughTls(world: World, begin: Buffer, packet: Packet): Promise<number> {
  const socket = connectSocket(portOf(world.service.mqtts), "127.0.0.1");
  socket.write(begin);
  const secure = connectTls({ socket, rejectUnauthorized: false });
  return answered(secure, packet);
}

function throughWebSocket(
  world: World,
  headers: Readonly<Record<string, string>>,
  packet: Packet,
): Promise<number> {
  const webSocket = new WebSocket(world.service.ws ?? "", "mqtt", { headers });
  return new Promise((resolve) => {
    webSocket.on("open", () => webSocket.send(mqttPacket.generate(packet)));
    webSocket.on("message", (bytes: Buffer) => {
      resolve(bytes[3] ?? -1);
      webSocket.terminate();
    });
    webSocket.on("error", () => resolve(-1));
    webSocket.on("close", () => resolve(-1));
  });
}

const ipOf = async (world: World, device: Rec): Promise<unknown> => {
  const logs = await world.call("GET", `/api/v1/devices/${device.id}/connect_logs?_limit=1`);
  return logs.page.items[0]?.IP;
};

/** Statuses of concurrent wrong logins; the proxy gives each such an address. */
function loginsOf(world: World, addressOf: (i: number) => string): Promise<number[]> {
  const login = async (_: unknown, i: number): Promise<number> => {
    const headers = { "X-Forwarded-For": addressOf(i) };
    const body = { username: "admin", password: "wrong" };
    return (await world.call("POST", "/api/v1/login", body, { key: null, headers })).status;
  };
  return Promise.all(Array.from({ length: 7 }, login));
}

const clients = ["198.51.100.7", "198.51.100.8", "198.51.100.9", "198.51.100.10"] as const;

worldSuite(
  "behind a trusted proxy",
  (test, world) => {
    let device: Rec;
    test.before.each(async () => {
      device = await makeDevice(world, await makeProduct(world));
    });
    const shown = async (address: string) => {
      await until(async () => (await ipOf(world, device)) === address, {
        what: `the log to show ${address}`,
      });
    };

    test("PROXY in both versions gives the address at MQTT and at MQTT over TLS, in pieces too", async () => {
      const packet = connectPacket(device);
      assert.is(await throughTcp(world, [line(clients[0])], packet), 0);
      await shown(clients[0]);
      const pieces = [...binary(clients[1])].map((byte) => Buffer.from([byte]));
      assert.is(await throughTcp(world, pieces, packet), 0);
      await shown(clients[1]);
      assert.is(await throughTls(world, line(clients[2]), packet), 0);
      await shown(clients[2]);
      assert.is(await throughTls(world, binary(clients[3]), packet), 0);
      await shown(clients[3]);
    });

    test("without a header it is the proxy's own; one that cannot be read ends the connection, counted", async () => {
      assert.is(await throughTcp(world, [], connectPacket(device)), 0);
      await shown("127.0.0.1");
      const failed = counter(world, "tidemark_handshakes_failed_total", "proxy");
      const before = await failed();
      assert.is(await throughTcp(world, [Buffer.from("PROXY TCP4 x\r\n")], connectPacket(device)), -1);
      await until(async () => (await failed()) === before + 1, { what: "it to be counted" });
      const { text } = await world.call("GET", "/metrics");
      assert.match(text, /^tidemark_handshakes_pending 0$/m);
    });

    test("an upgrade to WebSocket gives it by its headers, after a PROXY header too", async () => {
      const packet = connectPacket(device);
      assert.is(await throughWebSocket(world, { "X-Forwarded-For": `1.1.1.1, ${clients[0]}` }, packet), 0);
      await shown(clients[0]);
      assert.is(await throughWebSocket(world, { Forwarded: `for="${clients[1]}:4711"` }, packet), 0);
      await shown(clients[1]);
      const socket = connectSocket(portOf(world.service.ws), "127.0.0.1");
      socket.write(line(clients[2]));
      const webSocket = new WebSocket(world.service.ws ?? "", "mqtt", { createConnection: () => socket });
      await new Promise((resolve) => webSocket.once("open", resolve));
      webSocket.send(mqttPacket.generate(packet));
      await shown(clients[2]);
      webSocket.terminate();
    });

    test("who guesses behind the proxy keeps nobody else there out, at MQTT and at HTTP", async () => {
      const wrong = connectPacket(device, { password: "wrong" });
      const guess = () => throughTcp(world, [line(clients[0])], wrong);
      const codes = await Promise.all(Array.from({ length: 30 }, guess));
      assert.equal([...new Set(codes)].sort(), [4, 5], "a wait began");
      assert.is(await throughTcp(world, [line(clients[1])], connectPacket(device)), 0);
      const statuses = await loginsOf(world, (i) => `198.51.100.${i}, ${clients[0]}`);
      assert.ok(statuses.includes(429), `${statuses}`);
      assert.equal(new Set(await loginsOf(world, (i) => `${clients[0]}, 203.0.113.${i}`)), new Set([401]));
    });
  },
  { ...listeners, TRUSTED_PROXIES: "10.0.0.0/8, 127.0.0.1" },
);

worldSuite(
  "behind a proxy that must send addresses",
  (test, world) => {
    test("a trusted peer without a PROXY header is not let in", async () => {
      const device = await makeDevice(world, await makeProduct(world));
      assert.is(await throughTcp(world, [], connectPacket(device)), -1);
      assert.is(await throughTcp(world, [line(clients[0])], connectPacket(device)), 0);
    });
  },
  { TRUSTED_PROXIES: "127.0.0.0/8", PROXY_PROTOCOL: "required" },
);

worldSuite("behind a proxy that nobody trusts", (test, world) => {
  test("what it says of others is not believed", async () => {
    const device = await makeDevice(world, await makeProduct(world));
    assert.is(await throughTcp(world, [line(clients[0])], connectPacket(device)), -1);
    const statuses = await loginsOf(world, (i) => `198.51.100.${i}`);
    assert.ok(statuses.includes(429), `${statuses}`);
  });
});
