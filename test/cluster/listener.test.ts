/** The port at which nodes reach each other: who comes in, and how long it waits for what. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { RelayedClient } from "../../ingest/transports/sockets/relay.js";
import { createLinks } from "../../src/cluster/links.js";
import { type ClusterListener, listenCluster } from "../../src/cluster/listener.js";
import { linkKey, linkProtocols, linkSuites } from "../../src/cluster/secret.js";
import type { ClusterSettings } from "../../src/config/cluster.js";
import { freePort } from "../free-port.js";
import { assert, suite, until } from "../suite.js";

const masterKey = randomBytes(32);
const client: RelayedClient = { address: "192.0.2.7", isSecure: false, certificate: null };

interface Told {
  readonly mqtt: { readonly socket: Duplex; readonly client: RelayedClient }[];
  readonly http: Socket[];
  readonly logged: Record<string, unknown>[];
}

suite("the nodes' port", (test) => {
  let settings: ClusterSettings;
  let listener: ClusterListener;
  let told: Told;
  test.before.each(async () => {
    const [one, two] = [await freePort(), await freePort()];
    const nodes = [
      { number: 1, host: "127.0.0.1", port: one },
      { number: 2, host: "127.0.0.1", port: two },
    ];
    settings = { nodes, self: nodes[0] as (typeof nodes)[0], host: "127.0.0.1", masterKey };
    told = { mqtt: [], http: [], logged: [] };
    const log = { warn: (msg: string, fields: object) => told.logged.push({ msg, ...fields }) };
    listener = await listenCluster({
      settings,
      log: log as never,
      linksMax: 4,
      onLink: () => undefined,
      onMqtt: (socket, known) => told.mqtt.push({ socket, client: known }),
      onHttp: (socket) => told.http.push(socket),
      onCalls: (socket) => told.http.push(socket),
      onLive: (socket) => told.http.push(socket),
    });
  });
  test.after.each(() => listener.close());

  const port = (): number => settings.self.port;
  const linksOfTwo = () =>
    createLinks(
      { ...settings, self: settings.nodes[1] as (typeof settings.nodes)[0] },
      { info: () => undefined, warn: () => undefined },
    );
  const link = (protocol: string): Promise<TLSSocket> => {
    const socket = connectTls({
      port: port(),
      host: "127.0.0.1",
      ...linkSuites,
      ALPNProtocols: [protocol],
      pskCallback: () => ({ psk: linkKey(masterKey, 1), identity: "2" }),
      checkServerIdentity: () => undefined,
    });
    return once(socket, "secureConnect").then(() => socket);
  };
  const closes = async (socket: Socket): Promise<number> => {
    const startedAt = performance.now();
    socket.on("error", () => undefined);
    socket.resume();
    if (!socket.closed) await new Promise<void>((resolve) => socket.once("close", () => resolve()));
    return performance.now() - startedAt;
  };

  test("a client is announced before its bytes, which come whole and in order", async () => {
    const relay = await linksOfTwo().openRelay(1, client);
    relay.write("first ");
    relay.write("second");
    await until(() => told.mqtt.length === 1, { what: "the client" });
    const [taken] = told.mqtt;
    assert.equal(taken?.client, client);
    let text = "";
    taken?.socket.on("data", (piece: Buffer) => {
      text += String(piece);
    });
    await until(() => text === "first second", { what: "its bytes" });
    relay.destroy();
  });

  test("who says nothing, or not whom it brings, is cut off within five seconds", async () => {
    const silent = connect(port(), "127.0.0.1");
    const noClient = await link(linkProtocols.mqtt);
    const noJson = await link(linkProtocols.mqtt);
    noJson.write("hello\n");
    const endless = await link(linkProtocols.mqtt);
    endless.write("x".repeat(2000));
    const times = await Promise.all([silent, noClient, noJson, endless].map(closes));
    for (const ms of times.slice(0, 2)) assert.ok(ms > 3000 && ms < 12_000, `${ms} ms`);
    for (const ms of times.slice(2)) assert.ok(ms < 3000, `${ms} ms`);
    assert.is(told.mqtt.length, 0);
  });

  test("there are so many links and no more", async () => {
    const links: Socket[] = [];
    for (let i = 0; i < 4; i++) links.push(await link(linkProtocols.http));
    await until(() => told.http.length === 4, { what: "the links" });
    const fifth = connect(port(), "127.0.0.1");
    assert.ok((await closes(fifth)) < 3000);
    for (const one of links) one.destroy();
  });

  test("a flood of those without the key is one line in the log", async () => {
    for (let i = 0; i < 20; i++) {
      const socket = connect(port(), "127.0.0.1");
      socket.write("GET / HTTP/1.1\r\n\r\n");
      await closes(socket);
    }
    assert.is(told.logged.length, 1);
    assert.is(told.mqtt.length + told.http.length, 0);
  });

  test("a second process of one number does not start", async () => {
    const second = listenCluster({
      // Its own machine, but the number of the first.
      settings: { ...settings, host: "127.0.0.2" },
      log: { warn: () => undefined } as never,
      linksMax: 4,
      onLink: () => undefined,
      onMqtt: () => undefined,
      onHttp: () => undefined,
      onCalls: () => undefined,
      onLive: () => undefined,
    });
    await second.then(
      () => assert.unreachable(),
      (error: Error) => assert.match(error.message, "another process is node 1"),
    );
    const free = connect(port(), "127.0.0.2");
    await closes(free);
    assert.is(told.logged.length, 0);
  });

  test("a node that does not answer, is not there, or is another one, is given up", async () => {
    const links = linksOfTwo();
    const startedAt = performance.now();
    await listener.close();
    const failure = (promise: Promise<unknown>): Promise<string> =>
      promise.then(
        () => "none",
        (error: Error) => error.message,
      );
    assert.match(
      await failure(links.openRelay(1, client)),
      /cannot reach node 1 at 127.0.0.1:\d+: .*ECONNREFUSED/,
    );
    const mute: Server = createServer(() => undefined).listen(port(), "127.0.0.1");
    await once(mute, "listening");
    assert.match(await failure(links.openRelay(1, client)), "it does not answer");
    mute.close();
    assert.ok(performance.now() - startedAt < 10_000);
    assert.match(await failure(links.openRelay(2, client)), "it is unknown", "never to itself");
    assert.match(await failure(links.openRelay(3, client)), "it is unknown", "nor out of the cluster");
  });
});
