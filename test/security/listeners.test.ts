/**
 * Every listener of the service stands in a list here that says what bounds its connections, how long it waits for a
 * first message and for a next one, and what a peer that reads nothing can make it hold. Whatever opens a server, or
 * takes connections from one, is found in the sources and stands here too.
 */
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { type Node, parse } from "acorn";
import mqttPacket from "mqtt-packet";
import { WebSocket } from "ws";
import { connectTimeoutMs } from "../../ingest/transports/mqtt/connection/connection.js";
import { waitingBytesMax } from "../../ingest/transports/mqtt/connection/deliveries.js";
import { handshakeTimeoutMs } from "../../ingest/transports/sockets/tls.js";
import { listenerNames } from "../../src/service/mqtt-listeners.js";
import { makeDevice, makeProduct } from "../factories.js";
import { connectPacket } from "../ingest/support.js";
import { helloOf } from "../ingest/transports/mqtt/listeners/support.js";
import { assert, suite, until } from "../suite.js";
import { type Rec, type World, worldSuite } from "../world.js";

type Listener = "http" | "https" | (typeof listenerNames)[number];

interface Bounds {
  /** What bounds its connections, and who gives way. */
  readonly connections: string;
  /** How far a peer may come before its first message has to be there; each has the time from the one before. */
  readonly first: readonly Phase[];
  /** Between two messages: of HTTP from an answer on, of MQTT one and a half of its keep-alives. Seconds. */
  readonly idle: number;
  /** What is held for a peer that takes nothing. */
  readonly unread: string;
}

interface Phase {
  readonly waitsFor: string;
  readonly ms: number;
}

const keepAlive = 20;
const unauthenticatedGiveWay =
  "one number for all listeners of MQTT (MQTT_CONNECTIONS_MAX); unauthenticated clients give way";
const unreadOfMqtt = `${waitingBytesMax} bytes at QoS 0, the session's queue beyond; not read meanwhile`;
const upTo = (...waitsFor: readonly string[]): Phase[] =>
  waitsFor.map((one) => ({
    waitsFor: one,
    ms: one === "CONNECT" ? connectTimeoutMs : handshakeTimeoutMs,
  }));
const mqttWith = (...waitsFor: readonly string[]): Bounds => ({
  connections: unauthenticatedGiveWay,
  first: upTo("PROXY header", ...waitsFor, "CONNECT"),
  idle: keepAlive * 1.5,
  unread: unreadOfMqtt,
});

const ofHttp =
  "one number for both listeners of HTTP (HTTP_CONNECTIONS_MAX); unauthenticated clients give way";

const listeners: Readonly<Record<Listener, Bounds>> = {
  http: {
    connections: ofHttp,
    first: [{ waitsFor: "request", ms: 10_000 }],
    idle: 75,
    unread: "one answer's pieces of 256 KiB, none for 120 s; the next request is not begun",
  },
  https: {
    connections: ofHttp,
    first: [...upTo("PROXY header", "ClientHello", "TLS handshake"), { waitsFor: "request", ms: 10_000 }],
    idle: 75,
    unread: "as http",
  },
  mqtt: mqttWith(),
  mqtts: mqttWith("ClientHello", "TLS handshake"),
  mqttss: mqttWith("ClientHello", "TLS handshake"),
  ws: mqttWith("upgrade"),
  wss: mqttWith("ClientHello", "TLS handshake", "upgrade"),
};

const overMqtt: readonly Listener[] = listenerNames;
const overTls: readonly Listener[] = ["https", "mqtts", "mqttss", "wss"];
const overHttp: readonly Listener[] = ["http", "https"];
const overWebSocket: readonly Listener[] = ["ws", "wss"];

/** What makes a server, opens it, or takes its connections, by file; the listeners that come by there. */
const sites: Readonly<Record<string, readonly Listener[]>> = {
  "src/server/http-server.js: createServer of node:net": ["http"],
  "src/server/http-server.js: listen": overHttp,
  "src/server/secure-port.js: createServer of node:net": ["https"],
  "src/server/connection-pool.js: emit connection": overHttp,
  "src/server/fed-server.js: createServer of node:http": overHttp,
  "src/server/http1-server.js: on request": overHttp,
  "src/server/http1-server.js: emit request": overHttp,
  "src/server/http1-server.js: on upgrade": overHttp,
  "src/server/unread-bodies.js: on connect": overHttp,
  "ingest/transports/websocket/transport.js: WebSocketServer of ws": overHttp,
  "ingest/transports/mqtt/listeners/listener.js: createServer of node:net": overMqtt,
  "ingest/transports/mqtt/listeners/listener.js: listen": overMqtt,
  "ingest/transports/sockets/tls.js: createServer of node:tls": overTls,
  "ingest/transports/sockets/tls.js: emit connection": overTls,
  "ingest/transports/sockets/tls.js: on secureConnection": overTls,
  "ingest/transports/mqtt/listeners/websocket.js: createServer of node:http": overWebSocket,
  "ingest/transports/mqtt/listeners/websocket.js: WebSocketServer of ws": overWebSocket,
  "ingest/transports/mqtt/listeners/websocket.js: emit connection": overWebSocket,
  "ingest/transports/mqtt/listeners/websocket.js: on upgrade": overWebSocket,
};

/** What looks like one of these and takes nothing from outside. */
const others: Readonly<Record<string, string>> = {
  "src/commands/issued.js: listen": "hears which commands were acknowledged",
  "src/contact-points/webhook.js: on upgrade": "an answer to a request of ours, which it refuses",
  "src/cluster/listener.js: createServer of node:tls": "for nodes that have the key: test/cluster/listener",
  "src/cluster/listener.js: listen": "for nodes that have the key: test/cluster/listener",
  "src/cluster/listener.js: on connection": "keeps them, to end them with the service",
  "src/cluster/shared-links.js: createServer of node:http2": "on links of nodes that have the key",
  "src/cluster/shared-links.js: emit connection": "links that have come to the nodes' port",
  "src/cluster/shared-links.js: on session": "cut off if it brings nobody: test/cluster/listener",
  "src/cluster/shared-links.js: on stream": "a client that a node passes on: test/cluster/shared-links",
  "src/server/relayed-requests.js: on request": "requests that a node passes on, within its own bounds",
  "src/commands/node-calls.js: createServer of node:http": "takes links of nodes that have the key",
  "src/commands/node-calls.js: emit connection": "links of nodes that have the key",
  "src/server/relayed-requests.js: on upgrade": "WebSockets that a node passes on, with bounds of their own",
  "src/server/http-server.js: emit connection": "links of nodes that have the key",
};

const makers: Readonly<Record<string, readonly string[]>> = {
  "node:net": ["createServer", "Server"],
  "node:tls": ["createServer", "Server"],
  "node:http": ["createServer", "Server"],
  "node:https": ["createServer", "Server"],
  "node:http2": ["createServer", "createSecureServer"],
  "node:dgram": ["createSocket", "Socket"],
  ws: ["WebSocketServer", "Server"],
  "@hono/node-server": ["serve", "createAdaptorServer"],
};
const events = new Set([
  "connection",
  "secureConnection",
  "upgrade",
  "connect",
  "request",
  "session",
  "stream",
]);
const hearing = new Set(["on", "once", "addListener", "prependListener", "emit"]);

type Syntax = Node & Readonly<Record<string, unknown>>;

const isSyntax = (value: unknown): value is Syntax =>
  typeof value === "object" && value !== null && typeof (value as Syntax).type === "string";

function* everyNode(node: Syntax): Generator<Syntax> {
  yield node;
  for (const value of Object.values(node)) {
    for (const one of Array.isArray(value) ? value : [value]) if (isSyntax(one)) yield* everyNode(one);
  }
}

const nameOf = (value: unknown): string => {
  if (!isSyntax(value)) return "";
  return String(value.type === "Literal" ? value.value : (value.name ?? ""));
};

/** Names in this file → what makes servers, with its module. */
function makersIn(program: Syntax): Map<string, string> {
  const found = new Map<string, string>();
  for (const node of everyNode(program)) {
    if (node.type !== "ImportDeclaration") continue;
    const from = nameOf(node.source);
    for (const one of node.specifiers as readonly Syntax[]) {
      const name = nameOf(one.imported);
      if (makers[from]?.includes(name)) found.set(nameOf(one.local), `${name} of ${from}`);
      // As a whole it could make any of them.
      else if (makers[from] !== undefined && name === "") found.set(nameOf(one.local), `all of ${from}`);
    }
  }
  return found;
}

/** What a compiled file makes of servers and their connections. */
function sitesIn(text: string): string[] {
  const program = parse(text, { ecmaVersion: "latest", sourceType: "module" }) as unknown as Syntax;
  const made = makersIn(program);
  const found = new Set<string>();
  for (const node of everyNode(program)) {
    if (node.type !== "CallExpression" && node.type !== "NewExpression") continue;
    const callee = node.callee as Syntax;
    const maker = made.get(nameOf(callee)) ?? made.get(nameOf(callee.object));
    if (maker !== undefined) found.add(maker);
    if (callee.type !== "MemberExpression") continue;
    const method = nameOf(callee.property);
    if (method === "listen") found.add(method);
    const [event] = node.arguments as readonly Syntax[];
    // 'connect' of a socket or client of ours is no connection to us.
    const isOurs = nameOf(event) === "connect" && method !== "emit" && nameOf(callee.object) !== "server";
    if (hearing.has(method) && events.has(nameOf(event)) && !isOurs) {
      found.add(`${method === "emit" ? method : "on"} ${nameOf(event)}`);
    }
  }
  return [...found];
}

suite("every listener", (test) => {
  const root = join(import.meta.dirname, "..", "..");
  const files = ["src", "ingest", "query", "store"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".js"))
      .map((name) => join(folder, name)),
  );

  test("the looking finds servers by whatever name, and their connections", () => {
    for (const [text, expected] of [
      [
        'import { createServer as make } from "node:tls"; make().listen(1);',
        ["createServer of node:tls", "listen"],
      ],
      ['import { WebSocketServer } from "ws"; new WebSocketServer({});', ["WebSocketServer of ws"]],
      ['import * as net from "node:net"; net.createServer();', ["all of node:net"]],
      ['import http from "node:http"; new http.Server();', ["all of node:http"]],
      ['import { createSocket } from "node:dgram"; createSocket("udp4");', ["createSocket of node:dgram"]],
      ['x.once("upgrade", f); x.emit("connection", s);', ["on upgrade", "emit connection"]],
      ['socket.once("connect", f); server.on("connect", f);', ["on connect"]],
      ['import { connect } from "node:net"; connect(1).on("data", f);', []],
    ] as const) {
      assert.equal(sitesIn(text).sort(), [...expected].sort(), text);
    }
  });

  test("each place that makes one or takes its connections is listed, and is there", () => {
    const found = files.flatMap((file) =>
      sitesIn(readFileSync(join(root, file), "utf8")).map((site) => `${file}: ${site}`),
    );
    assert.equal(found.sort(), [...Object.keys(sites), ...Object.keys(others)].sort());
  });

  test("each listener has its bounds, and is opened in one place", () => {
    assert.equal(Object.keys(listeners).sort(), ["http", "https", ...listenerNames].sort());
    const opened = Object.entries(sites).filter(([site]) => site.endsWith(": listen"));
    assert.equal(opened.flatMap(([, all]) => all).sort(), Object.keys(listeners).sort());
  });
});

const proxy = "127.0.0.2";

worldSuite(
  "listeners that hear nothing",
  (test, world) => {
    let device: Rec;
    test.before(async () => {
      device = await makeDevice(world, await makeProduct(world));
    });

    test("each closes within its time, however far its peer has come", async () => {
      const begun = world.clock.monotonic();
      const waiting: { what: string; ms: number; socket: Socket }[] = [];
      for (const [listener, { first }] of entries(listeners)) {
        for (const { waitsFor, ms } of first) {
          for (const begins of [false, true]) {
            const socket = await comeTo(world, listener, waitsFor, begins);
            if (socket !== null) waiting.push({ what: `${listener}: ${waitsFor}, ${begins}`, ms, socket });
          }
        }
      }
      const open = (): string[] => waiting.filter(({ socket }) => !socket.closed).map(({ what }) => what);
      world.clock.pass(2000);
      await new Promise((resolve) => setTimeout(resolve, 1500));
      // A busy machine may have taken longer than they have.
      if (world.clock.monotonic() - begun < 9000) assert.is(open().length, waiting.length, `only ${open()}`);
      world.clock.pass(Math.max(...waiting.map(({ ms }) => ms)));
      await until(() => open().length === 0, { what: `the ends of ${open()}` }).catch(() => undefined);
      assert.equal(open(), []);
    });

    test("each closes when nothing follows, and not before", async () => {
      const begun = world.clock.monotonic();
      const waiting: { what: Listener; idle: number; socket: Socket }[] = [];
      for (const [listener, { idle }] of entries(listeners)) {
        // Without a certificate nobody comes so far; after it the listener is `mqtts`.
        if (listener === "mqttss") continue;
        waiting.push({ what: listener, idle, socket: await letIn(world, listener, device) });
      }
      const open = () => waiting.filter(({ socket }) => !socket.closed).map(({ what }) => what);
      for (const idle of [...new Set(waiting.map((one) => one.idle))].sort((a, b) => a - b)) {
        const later = waiting.filter((one) => one.idle > idle).map(({ what }) => what);
        world.clock.pass(idle * 1000 - (world.clock.monotonic() - begun) + 1500);
        await until(() => open().length <= later.length, { what: `ends after ${idle} s` });
        assert.equal(open(), later);
      }
    });
  },
  { HTTPS_PORT: "0", MQTTS_PORT: "0", MQTTSS_PORT: "0", WS_PORT: "0", WSS_PORT: "0", TRUSTED_PROXIES: proxy },
);

const entries = (all: typeof listeners) => Object.entries(all) as [Listener, Bounds][];

function socketTo(world: World, listener: Listener, from = "127.0.0.1"): Socket {
  const port = Number(new URL(world.service[listener] ?? "").port);
  const socket = connect({ port, host: "127.0.0.1", localAddress: from });
  return socket.on("error", () => undefined);
}

async function secured(socket: Socket): Promise<Socket> {
  const secure = connectTls({ socket, rejectUnauthorized: false }).on("error", () => undefined);
  await once(secure, "secureConnect");
  return secure;
}

async function upgraded(socket: Socket): Promise<WebSocket> {
  const webSocket = new WebSocket("ws://localhost/mqtt", "mqtt", { createConnection: () => socket });
  webSocket.on("error", () => undefined);
  await once(webSocket, "open");
  return webSocket;
}

const beginnings: Readonly<Record<string, string | Buffer>> = {
  "PROXY header": "PROXY TCP4 192.",
  request: "GET / HTTP/1.1\r\nHost: x\r\nX: ",
  upgrade: "GET / HTTP/1.1\r\nHost: x\r\nX: ",
  CONNECT: Buffer.from([0x10, 0x20, 0]),
  ClientHello: Buffer.from([22, 3, 1]),
};

/** A peer that has come so far and says nothing more, or only begins to; null where there is nothing to begin with. */
async function comeTo(
  world: World,
  listener: Listener,
  waitsFor: string,
  begins: boolean,
): Promise<Socket | null> {
  const socket = socketTo(world, listener, waitsFor === "PROXY header" ? proxy : undefined);
  const bytes = begins ? beginnings[waitsFor] : undefined;
  if (waitsFor === "TLS handshake") {
    if (begins) return drop(socket);
    socket.resume().write(await helloOf());
    return socket;
  }
  // What follows the mutual handshake only a certificate sees.
  if (listener === "mqttss" && waitsFor === "CONNECT") return drop(socket);
  const isSecure = overTls.includes(listener) && ["upgrade", "CONNECT", "request"].includes(waitsFor);
  const wire = isSecure ? await secured(socket) : socket;
  wire.resume();
  if (overWebSocket.includes(listener) && waitsFor === "CONNECT") {
    const webSocket = await upgraded(wire);
    if (bytes !== undefined) webSocket.send(bytes);
  } else if (bytes !== undefined) wire.write(bytes);
  return socket;
}

function drop(socket: Socket): null {
  socket.destroy();
  return null;
}

/** One that has been answered its first message. */
async function letIn(world: World, listener: Listener, device: Rec): Promise<Socket> {
  const socket = socketTo(world, listener);
  const wire = overTls.includes(listener) ? await secured(socket) : socket;
  if (overHttp.includes(listener)) {
    wire.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    await once(wire, "data");
    return socket;
  }
  const packet = mqttPacket.generate(connectPacket(device, { clientId: listener, keepalive: keepAlive }));
  if (overWebSocket.includes(listener)) {
    const webSocket = await upgraded(wire);
    webSocket.send(packet);
    await once(webSocket, "message");
  } else {
    wire.write(packet);
    await once(wire, "data");
  }
  return socket;
}
