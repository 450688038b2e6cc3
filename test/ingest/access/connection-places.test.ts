/** Whose the places of the MQTT endpoint are when there are fewer than sockets: over real sockets of every listener. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import mqttPacket, { type Packet } from "mqtt-packet";
import { createWebSocketStream, WebSocket } from "ws";
import { deviceBody, makeDevice, makeProduct, productBody } from "../../factories.js";
import { assert, until } from "../../suite.js";
import { type Rec, type World, worldSuite } from "../../world.js";
import { connectPacket, counter, endedBy, publishPacket, type RawClient, rawConnected } from "../support.js";

const listeners = ["mqtt", "mqtts", "ws", "wss"] as const;
type Listener = (typeof listeners)[number];
const open = { MQTTS_PORT: "0", WS_PORT: "0", WSS_PORT: "0" };
const places = 24;

const portOf = (world: World, listener: Listener) => Number(new URL(world.service[listener] ?? "").port);

function socketTo(world: World, listener: Listener, from: string): Socket {
  const socket = connect({ port: portOf(world, listener), host: "127.0.0.1", localAddress: from });
  return socket.on("error", () => undefined);
}

/** What a client of the listener speaks MQTT over. */
function wireTo(world: World, listener: Listener, from: string): Duplex {
  const socket = socketTo(world, listener, from);
  const below = listener === "mqtts" || listener === "wss" ? secure(socket) : socket;
  if (listener === "mqtt" || listener === "mqtts") return below;
  const webSocket = new WebSocket("ws://localhost/mqtt", "mqtt", { createConnection: () => below as Socket });
  return createWebSocketStream(webSocket).on("error", () => undefined);
}

function secure(socket: Socket): Socket {
  return connectTls({ socket, rejectUnauthorized: false }).on("error", () => undefined);
}

/** Connects, and publishes once; whether both were answered. */
async function getsThrough(world: World, listener: Listener, from: string, device: Rec): Promise<boolean> {
  const wire = wireTo(world, listener, from);
  const parser = mqttPacket.parser();
  const answers: Packet["cmd"][] = [];
  parser.on("packet", ({ cmd }: Packet) => answers.push(cmd));
  wire.on("data", (chunk: Buffer) => parser.parse(chunk));
  const id = `${listener} ${from}`;
  wire.write(mqttPacket.generate(connectPacket(device, { clientId: id })));
  wire.write(mqttPacket.generate(publishPacket("{}")));
  await until(() => wire.destroyed || answers.includes("puback"), { what: `PUBACK at ${id}` });
  wire.destroy();
  return answers.includes("puback");
}

/** Strangers that come one after the other until it is stopped, each saying `bytes`. */
function flood(world: World, listener: Listener, from: string, bytes: Buffer) {
  const sockets: Socket[] = [];
  let displaced = 0;
  let stopped = false;
  const ended = (async () => {
    while (!stopped) {
      const socket = socketTo(world, listener, from);
      socket.once("close", () => displaced++);
      sockets.push(socket.resume());
      await new Promise((resolve) => socket.once("connect", resolve).once("close", resolve));
      socket.write(bytes);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  })();
  return {
    get displaced() {
      return displaced;
    },
    stop: async () => {
      stopped = true;
      await ended;
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** As far as a client gets without a credential. */
const beginnings: readonly (readonly [Listener, string, Buffer])[] = [
  ["mqtt", "silent", Buffer.alloc(0)],
  ["mqtt", "in the midst of CONNECT", Buffer.from([0x10, 0xff, 0x01])],
  ["mqtts", "in the midst of a ClientHello", Buffer.from([0x16, 3, 1])],
  ["ws", "in the midst of an upgrade", Buffer.from("GET /mqtt HTTP/1.1\r\nX: ")],
  ["wss", "silent", Buffer.alloc(0)],
];

worldSuite(
  "places of the MQTT endpoint",
  (test, world) => {
    let product: Rec;
    let device: Rec;
    test.before(async () => {
      product = await makeProduct(world);
      device = await makeDevice(world, product);
    });

    for (const [listener, how, bytes] of beginnings) {
      test(`unauthenticated clients of one address at ${listener}, ${how}, keep nobody out, of their own address neither`, async () => {
        const crowd = flood(world, listener, "127.0.0.1", bytes);
        await until(() => crowd.displaced > places, { what: "every place to be taken" });
        for (const each of new Set([listener, "mqtts"] as const)) {
          assert.ok(await getsThrough(world, each, "127.0.0.2", device));
          // It is in the flood's own line, and has to be quicker than that is long.
          const ofItsAddress = () => getsThrough(world, each, "127.0.0.1", device);
          await until(ofItsAddress, {
            what: "a device of the flood's address to get through",
            timeoutMs: 30_000,
          });
        }
        const ends = await Promise.all([
          endedBy(world, "gave_way")(),
          counter(world, "tidemark_handshakes_failed_total", "gave_way")(),
        ]);
        assert.ok(ends[listener === "mqtt" ? 0 : 1] > 0, `${ends}`);
        await crowd.stop();
      });
    }

    test("devices that have been let in stay, those behind one address too; a tenant leaves places to others", async () => {
      const devices = await Promise.all([1, 2, 3].map(() => makeDevice(world, product)));
      const inside: RawClient[] = [];
      for (let n = 0; n < 21; n++) {
        const one = devices[n % 3] as Rec;
        inside.push(await rawConnected(world.mqtt, one, { clientId: `${n}` }, "127.0.0.1"));
      }
      const crowd = flood(world, "mqtt", "127.0.0.1", Buffer.alloc(0));
      await until(() => crowd.displaced > 3 * places, { what: "every other place to be taken" });
      const key = await world.otherTenant();
      const other = await world.make("/api/v1/products", productBody(), { key });
      const theirs = await world.make("/api/v1/devices", deviceBody(other), { key });
      assert.ok(await getsThrough(world, "mqtts", "127.0.0.2", theirs));
      for (const client of inside) client.send(publishPacket("{}"));
      for (const client of inside) await client.next("puback");
      await crowd.stop();
      for (const client of inside) await client.cut();
    });

    test("a client that has sent DISCONNECT leaves its place, though it keeps its own half open", async () => {
      const socket = connect({ port: portOf(world, "mqtt"), host: "127.0.0.1", allowHalfOpen: true });
      let reset = false;
      socket.on("error", () => {
        reset = true;
      });
      socket.resume().write(mqttPacket.generate(connectPacket(device)));
      await once(socket, "data");
      socket.write(mqttPacket.generate({ cmd: "disconnect" }));
      await until(
        () => {
          socket.write(Buffer.from([0]));
          return reset;
        },
        { what: "the other half to be closed" },
      );
    });
  },
  { ...open, MQTT_CONNECTIONS_MAX: String(places) },
);

worldSuite(
  "places behind a trusted proxy",
  (test, world) => {
    const line = (address: string) => Buffer.from(`PROXY TCP4 ${address} 192.0.2.1 4711 1883\r\n`);

    test("each client counts as itself once the proxy has sent its address", async () => {
      const device = await makeDevice(world, await makeProduct(world));
      const others: Socket[] = [];
      for (let n = 1; n <= 6; n++) {
        const socket = socketTo(world, "mqtt", "127.0.0.1").resume();
        socket.write(line(`198.51.100.${n}`));
        others.push(socket);
      }
      const crowd = flood(world, "mqtt", "127.0.0.1", line("203.0.113.9"));
      await until(() => crowd.displaced > 2 * places, { what: "every place to be taken" });
      assert.not.ok(
        others.some(({ destroyed }) => destroyed),
        "those of other clients stay",
      );
      assert.ok(await getsThrough(world, "mqtt", "127.0.0.1", device));
      await crowd.stop();
      for (const socket of others) socket.destroy();
    });

    test("a WebSocket counts by the address of its upgrade", async () => {
      const upgraded = async (address: string): Promise<WebSocket> => {
        const headers = { "X-Forwarded-For": address };
        const webSocket = new WebSocket(world.service.ws ?? "", "mqtt", { headers });
        webSocket.on("error", () => undefined);
        await new Promise((resolve) => webSocket.once("open", resolve).once("close", resolve));
        return webSocket;
      };
      const others = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => upgraded(`198.51.100.${n}`)));
      const flooding: WebSocket[] = [];
      for (let n = 0; n < 2 * places; n++) flooding.push(await upgraded("203.0.113.9"));
      await until(
        () => flooding.filter(({ readyState }) => readyState === WebSocket.CLOSED).length >= places,
        { what: "the flood to displace itself" },
      );
      assert.equal(
        others.map(({ readyState }) => readyState),
        others.map(() => WebSocket.OPEN),
      );
      for (const webSocket of [...others, ...flooding]) webSocket.terminate();
    });
  },
  { ...open, MQTT_CONNECTIONS_MAX: String(places), TRUSTED_PROXIES: "127.0.0.1" },
);
