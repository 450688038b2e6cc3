/** Links to a node that has gone silent are ended after seconds, those to all others stay, whatever they wait for. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createLinkWatch, type LinkWatch } from "../../src/cluster/link-watch.js";
import { createLinks, type Links } from "../../src/cluster/links.js";
import { type ClusterListener, listenCluster } from "../../src/cluster/listener.js";
import type { ClusterNode } from "../../src/config/cluster.js";
import { freePort } from "../free-port.js";
import { assert, rejects, suite, until } from "../suite.js";

const lookEveryMs = 20;
const failure = (code?: string): Error =>
  new Error("cannot reach the node", { cause: Object.assign(new Error("away"), { code }) });

suite("the watch over links between nodes", (test) => {
  let server: Server;
  let watch: LinkWatch;
  let lines: string[];
  /** What happens to the next connections to a node; null: it echoes what it receives. */
  let fault: Error | "silent" | null;
  let opened: number;
  const sockets: Socket[] = [];
  const connected = async (): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("error", () => undefined);
    sockets.push(socket);
    await once(socket, "connect");
    return socket;
  };
  test.before.each(async () => {
    [fault, opened, lines] = [null, 0, []];
    server = createServer((socket) => {
      sockets.push(socket);
      socket
        .on("error", () => undefined)
        .on("data", (piece) => {
          if (fault !== "silent") socket.write(piece);
        });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const log = (msg: string, fields: object): number => lines.push(`${msg} ${JSON.stringify(fields)}`);
    watch = createLinkWatch({
      openEcho: async () => {
        opened++;
        if (fault instanceof Error) throw fault;
        return connected();
      },
      log: { info: log, warn: log } as never,
      lookEveryMs,
    });
  });
  test.after.each(async () => {
    watch.close();
    for (const socket of sockets.splice(0)) socket.destroy();
    server.close();
  });

  /** So many looks later, as this process's own timers go. */
  async function looks(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }

  test("a node that does not answer loses its links, each with the reason; one line logs that, and one that it is back", async () => {
    const [one, two] = [await connected(), await connected()];
    const errors: string[] = [];
    for (const link of [one, two]) {
      link.on("error", ({ message }) => errors.push(message));
      watch.add(7, link);
    }
    await looks(20);
    assert.equal([one.destroyed, two.destroyed, lines], [false, false, []]);
    fault = "silent";
    await until(() => one.closed && two.closed, { what: "the end of the links" });
    assert.equal(errors, ["the node is silent", "the node is silent"]);
    assert.equal(lines, ['a node is silent: the links to it and from it are ended {"node":7,"links":2}']);
    fault = null;
    const three = await connected();
    watch.add(7, three);
    assert.equal(lines.slice(1), ['a node that was silent is there again {"node":7}']);
    await looks(20);
    assert.equal([three.destroyed, lines.length], [false, 2]);
  });

  test("one that cannot be reached at all is silent, too; links of others stay", async () => {
    for (const code of [undefined, "EHOSTUNREACH"]) {
      const [link, other] = [await connected(), await connected()];
      watch.add(1, other);
      await until(() => opened > 0, { what: "a way to the other node" });
      await looks(3);
      fault = failure(code);
      watch.add(7, link);
      await until(() => link.closed, { what: "the end of the link" });
      assert.is(other.destroyed, false);
      fault = null;
    }
  });

  test("one that refuses, or ends the way to it, has said something", async () => {
    fault = failure("ECONNREFUSED");
    const link = await connected();
    watch.add(7, link);
    await until(() => opened >= 20, { what: "ways that are refused" });
    assert.equal([link.destroyed, lines], [false, []]);
  });

  test("without links nobody is asked", async () => {
    const link = await connected();
    watch.add(7, link);
    await until(() => opened === 1, { what: "a way to the node" });
    link.destroy();
    await looks(5);
    fault = "silent";
    await looks(20);
    assert.equal([opened, lines], [1, []]);
  });
});

suite("two nodes, one of which goes silent", (test) => {
  const masterKey = randomBytes(32);
  const client = { address: "192.0.2.7", isSecure: false, certificate: null };
  const closers: (() => unknown)[] = [];
  test.after.each(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  interface Node {
    readonly links: Links;
    /** Those that came. */
    readonly taken: Duplex[];
    readonly lines: string[];
  }

  async function startNode(nodes: readonly ClusterNode[], number: number, port: number): Promise<Node> {
    const self = { number, host: "127.0.0.1", port };
    const node = { taken: [] as Duplex[], lines: [] as string[] };
    const log = { info: (msg: string) => node.lines.push(msg), warn: (msg: string) => node.lines.push(msg) };
    const settings = {
      nodes: nodes.map((one) => (one.number === number ? self : one)),
      self,
      host: "127.0.0.1",
      masterKey,
    };
    const links = createLinks(settings, log as never);
    const take = (link: Duplex): void => {
      link.on("error", () => undefined).resume();
      node.taken.push(link);
    };
    const listener: ClusterListener = await listenCluster({
      settings,
      log: log as never,
      linksMax: 10,
      onLink: links.watch,
      onMqtt: take,
      onHttp: take,
      onCalls: take,
      onLive: take,
    });
    closers.push(listener.close, links.close);
    return { ...node, links };
  }

  test("links in both directions end at both nodes, with what waits at them; one that waits for a node that is there goes on", async () => {
    const ports = [await freePort(), await freePort()] as const;
    const gates = [await startGate(ports[0]), await startGate(ports[1])] as const;
    closers.push(...gates.map(({ close }) => close));
    // Each reaches the other through its gate.
    const nodes = gates.map(({ port }, i) => ({ number: i + 1, host: "127.0.0.1", port }));
    const one = await startNode(nodes, 1, ports[0]);
    const two = await startNode(nodes, 2, ports[1]);
    const relay = await one.links.openRelay(2, client);
    relay.on("error", () => undefined);
    const back = await two.links.openRelay(1, client);
    back.on("error", () => undefined);
    // Nobody answers it, for longer than a node may be silent.
    const call = one.links.call(2, { call: "follow" }, 120_000);
    const called = rejects(() => call, /silent/);
    await until(() => two.taken.length === 2 && one.taken.length === 1, { what: "the links" });
    await new Promise((resolve) => setTimeout(resolve, 8000));
    assert.equal([relay.destroyed, back.destroyed, one.lines, two.lines], [false, false, [], []]);
    const silentFrom = performance.now();
    for (const gate of gates) gate.shut();
    await called;
    await until(() => [relay, back, ...one.taken, ...two.taken].every(({ destroyed }) => destroyed), {
      what: "the end of all links",
    });
    const ms = performance.now() - silentFrom;
    assert.ok(ms > 3000 && ms < 30_000, `after ${ms} ms`);
    const line = "a node is silent: the links to it and from it are ended";
    assert.equal([one.lines, two.lines], [[line], [line]]);
    for (const gate of gates) gate.open();
    (await one.links.openRelay(2, client)).destroy();
    assert.equal(one.lines, [line, "a node that was silent is there again"]);
  });
});

/** A way to a port at which, once it is shut, bytes go nowhere and connections stay open. */
async function startGate(to: number) {
  const sockets = new Set<Socket>();
  let isShut = false;
  const server = createServer((socket) => {
    const onward = connect(to, "127.0.0.1");
    for (const [from, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(from);
      from.on("error", () => undefined);
      from.on("data", (piece) => {
        if (!isShut) other.write(piece);
      });
      from.once("close", () => {
        sockets.delete(from);
        if (!isShut) other.destroy();
      });
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    shut: () => {
      isShut = true;
    },
    open: () => {
      for (const socket of sockets) socket.destroy();
      isShut = false;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
