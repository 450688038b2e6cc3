/** Links that many clients share: whose bytes are whose, who is held up by whom, and how they end. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { RelayedClient } from "../../ingest/transports/sockets/relay.js";
import {
  clientsEverMax,
  clientsMax,
  createSharedLinks,
  type SharedLinks,
  takeSharedLinks,
} from "../../src/cluster/shared-links.js";
import { assert, rejects, suite, until, watchTurns } from "../suite.js";

const clientOf = (n: number): RelayedClient => ({
  address: `192.0.2.${n % 256}`,
  isSecure: n % 2 === 0,
  certificate: n % 3 === 0 ? { fingerprint: "ab".repeat(32), validFrom: 1, validTo: 2 } : null,
});

interface Taken {
  readonly stream: Duplex;
  readonly client: RelayedClient;
}

suite("links that clients share", (test) => {
  let server: Server;
  /** Those that are open, and how many there ever were. */
  let sockets: Set<Socket>;
  let opened: number;
  let taken: Taken[];
  let links: SharedLinks;

  test.before.each(async () => {
    [sockets, opened, taken] = [new Set(), 0, []];
    const take = takeSharedLinks({
      onClient: (stream, client) => taken.push({ stream: stream.on("error", () => undefined), client }),
      helloTimeoutMs: 5000,
    });
    server = createServer((socket) => {
      sockets.add(socket.on("error", () => undefined));
      socket.once("close", () => sockets.delete(socket));
      take(socket);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    links = createSharedLinks(async () => {
      opened++;
      const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
      await once(socket, "connect");
      return socket.on("error", () => undefined);
    });
  });
  test.after.each(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });

  async function open(n = 0): Promise<Duplex> {
    return (await links.open(clientOf(n))).on("error", () => undefined);
  }
  async function openBoth(): Promise<readonly [here: Duplex, there: Duplex]> {
    const before = taken.length;
    const here = await open();
    await until(() => taken.length > before, { what: "the client" });
    return [here, (taken[before] as Taken).stream];
  }
  async function textOf(stream: Duplex, length: number): Promise<string> {
    let text = "";
    stream.on("data", (piece: Buffer) => {
      text += String(piece);
    });
    await until(() => text.length >= length, { what: `${length} characters` });
    return text;
  }
  /** Writes until nothing more is taken for a while; how many bytes were. */
  async function fill(stream: Duplex): Promise<number> {
    const piece = Buffer.alloc(16 * 1024, 1);
    for (let bytes = piece.length; ; bytes += piece.length) {
      assert.ok(bytes < 512 * 1024, "more is held than has bounds");
      if (stream.write(piece)) continue;
      const drained = once(stream, "drain").then(() => true);
      const gaveUp = new Promise((resolve) => setTimeout(resolve, 2000, false));
      if (!(await Promise.race([drained, gaveUp]))) return bytes;
    }
  }

  test("each client is announced to its node, and its bytes come back to it alone; few links carry them all", async () => {
    const count = 2 * clientsMax + 2;
    const clients = await Promise.all(Array.from({ length: count }, (_, n) => open(n)));
    for (const [n, stream] of clients.entries()) stream.write(`${n},`);
    await until(() => taken.length === count, { what: "the clients" });
    assert.is(opened, 3);
    for (const { stream, client } of taken) {
      stream.on("data", (piece: Buffer) => stream.write(`${client.address} ${piece}`));
    }
    const answers = await Promise.all(
      clients.map((stream, n) => textOf(stream, `${clientOf(n).address} ${n},`.length)),
    );
    assert.equal(
      answers,
      clients.map((_, n) => `${clientOf(n).address} ${n},`),
    );
    const byAddress = (one: RelayedClient, other: RelayedClient): number =>
      one.address < other.address ? -1 : 1;
    assert.equal(
      taken.map(({ client }) => client).sort(byAddress),
      clients.map((_, n) => clientOf(n)).sort(byAddress),
    );
    // Both ends learn of a client that leaves, and the last client closes its link.
    for (const stream of clients) stream.end();
    await until(() => taken.every(({ stream }) => stream.closed) && sockets.size === 0, {
      what: "the end of all links",
    });
    assert.ok(clients.every(({ closed }) => closed));
  });

  test("what the other side has said before it left is read to its end, in both directions", async () => {
    const [here, there] = await openBoth();
    const text = "x".repeat(300_000);
    // As what goes on with a client does from the beginning.
    const fromHere = textOf(there, text.length);
    there.end(text);
    assert.is((await textOf(here, text.length)).length, text.length);
    here.end(text);
    assert.is((await fromHere).length, text.length);
    await until(() => here.closed && there.closed, { what: "the end at both sides" });
  });

  test("a client that does not read stops itself alone, in both directions, and what is held for it is little", async () => {
    const stuck = await openBoth();
    const other = await openBoth();
    assert.is(opened, 1);
    for (const [from, to] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const held = await fill(stuck[from]);
      assert.ok(held > 32 * 1024, `${held} bytes are held`);
      let came = 0;
      other[to].on("data", ({ length }: Buffer) => {
        came += length;
      });
      const sent = 16 * 2 ** 20;
      other[from].write(Buffer.alloc(sent));
      await until(() => came === sent, { what: "all that was sent to the other" });
      // What it was sent before is there once it reads.
      let late = 0;
      stuck[to].on("data", ({ length }: Buffer) => {
        late += length;
      });
      await until(() => late === held, { what: "what was held" });
    }
  });

  test("however much all of them say at once in both directions, none waits for another for ever", async () => {
    const ends = await Promise.all(Array.from({ length: clientsMax }, (_, n) => open(n)));
    await until(() => taken.length === clientsMax, { what: "the clients" });
    ends.push(...taken.map(({ stream }) => stream));
    let came = 0;
    for (const stream of ends) {
      stream.on("data", ({ length }: Buffer) => {
        came += length;
      });
    }
    const each = 256 * 1024;
    for (const stream of ends) stream.write(Buffer.alloc(each));
    await until(() => came === ends.length * each, { what: "all that was said" });
    assert.is(opened, 1);
  });

  test("what waits for a client holds no memory of what came with it for others", async () => {
    const [quiet, unread] = await openBoth();
    const [busy, read] = await openBoth();
    read.resume();
    unread.pause();
    for (let n = 0; n < 50; n++) {
      quiet.write("ab");
      busy.write(Buffer.alloc(4000));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => unread.readableLength === 100, { what: "what is not read" });
    const held = new Set<ArrayBufferLike>();
    unread.on("data", (piece: Buffer) => held.add(piece.buffer));
    unread.resume();
    await until(() => held.size === 50, { what: "all pieces" });
    const bytes = [...held].reduce((sum, { byteLength }) => sum + byteLength, 0);
    assert.is(bytes, 100);
  });

  test("a client that leaves while its node does not read keeps nobody out", async () => {
    const [here, there] = await openBoth();
    const leaving = await Promise.all(Array.from({ length: clientsMax - 1 }, () => open()));
    for (const stream of leaving) stream.write("CONNECT");
    await until(() => taken.length === clientsMax, { what: "the clients" });
    for (const { stream } of taken.slice(1)) stream.pause();
    for (const stream of leaving) stream.destroy();
    await Promise.all(leaving.map((stream) => once(stream, "close")));
    for (let n = 1; n < clientsMax; n++) await open(n);
    await until(() => taken.length === 2 * clientsMax - 1, { what: "the next clients" });
    assert.is(opened, 1);
    there.write("still here");
    assert.is(await textOf(here, 10), "still here");
  });

  test("a client that its node has given up ends, though it does not read", async () => {
    const [here, there] = await openBoth();
    here.pause();
    there.write(Buffer.alloc(30_000));
    await until(() => here.readableLength > 0, { what: "something to read" });
    const ended = once(here, "close");
    there.destroy();
    await ended;
    // One that has said its last word as well.
    const [half, other] = await openBoth();
    half.pause();
    other.resume();
    half.end();
    other.write(Buffer.alloc(30_000));
    await until(() => half.readableLength > 0, { what: "something to read" });
    const halfEnded = once(half, "close");
    other.destroy();
    await halfEnded;
  });

  test("a client that breaks off ends at its node, which waits for it to read and does not read itself", async () => {
    const [here, there] = await openBoth();
    there.pause();
    here.write("PING");
    await until(() => there.readableLength > 0, { what: "something to read" });
    there.write(Buffer.alloc(2 ** 20));
    await new Promise((resolve) => setTimeout(resolve, 100));
    const ended = once(there, "close");
    here.destroy();
    await ended;
  });

  test("clients that break off, however many, end no other one", async () => {
    const [here, there] = await openBoth();
    for (let n = 1; n <= 4 * clientsEverMax; n++) {
      const rude = await open(n);
      rude.write("CONNECT");
      rude.destroy();
      if (n % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => taken.filter(({ stream }) => !stream.closed).length === 1, {
      what: "the end of those that broke off",
    });
    there.write("still here");
    assert.is(await textOf(here, 10), "still here");
    // A link that takes no more goes with its last client.
    here.end();
    there.resume();
    await until(() => there.closed, { what: "its end" });
    assert.ok(sockets.size <= 1, `${sockets.size} links`);
  });

  test("a link that ends ends its clients at both nodes, in a short turn; the next client gets another", async () => {
    const clients = await Promise.all(Array.from({ length: clientsMax }, (_, n) => open(n)));
    await until(() => taken.length === clientsMax, { what: "the clients" });
    for (const { stream } of taken) stream.resume();
    for (const stream of clients) stream.resume();
    const turns = watchTurns();
    for (const socket of sockets) socket.destroy();
    await until(() => [...clients, ...taken.map(({ stream }) => stream)].every(({ closed }) => closed), {
      what: "the end of the clients",
    });
    const { longestMs } = turns.stop();
    assert.ok(longestMs < 100, `a turn of ${longestMs} ms`);
    const [here, there] = await openBoth();
    here.write("anew");
    assert.is(await textOf(there, 4), "anew");
    assert.is(opened, 2);
    // One that is found dead as it is chosen is not taken.
    for (const socket of sockets) socket.destroy();
    await until(() => here.closed, { what: "the end of the client" });
    const [next] = await openBoth();
    assert.is(next.closed, false);
    assert.is(opened, 3);
  });

  test("a link at which nothing is read or answered ends with its clients; one that is answered goes on", async () => {
    const sockets = new Set<Socket>();
    const mute = createServer({ pauseOnConnect: true }, (socket) => {
      sockets.add(socket.on("error", () => undefined));
    }).listen(0, "127.0.0.1");
    await once(mute, "listening");
    const openTo = async (to: Server) => {
      const socket = connect((to.address() as AddressInfo).port, "127.0.0.1").on("error", () => undefined);
      await once(socket, "connect");
      return socket;
    };
    const linksTo = (to: Server) => createSharedLinks(() => openTo(to), 50);
    const [dead, alive] = [linksTo(mute), linksTo(server)];
    const [stuck, idle] = [await dead.open(clientOf(1)), await alive.open(clientOf(2))];
    stuck.write(Buffer.alloc(8 * 2 ** 20));
    await until(() => stuck.closed, { what: "its end" });
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.is(idle.closed, false);
    idle.destroy();
    mute.close();
    for (const socket of sockets) socket.destroy();
  });

  test("a client that waits for a link that cannot be opened gets the reason, and the next try is a new one", async () => {
    let attempts = 0;
    const failing = createSharedLinks(async () => {
      throw new Error(`attempt ${++attempts}`);
    });
    const together = await Promise.all([1, 2, 3].map(() => rejects(() => failing.open(clientOf(1)))));
    assert.equal(
      together.map(({ message }) => message),
      ["attempt 1", "attempt 1", "attempt 1"],
    );
    assert.is((await rejects(() => failing.open(clientOf(1)))).message, "attempt 2");
  });
});
