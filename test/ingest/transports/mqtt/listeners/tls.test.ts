/** TLS handshakes: who waits for whom, and for how long. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { connect as connectTls, getCiphers, type TLSSocket } from "node:tls";
import { createMeter } from "../../../../../ingest/meter.js";
import { lookAtHello } from "../../../../../ingest/transports/sockets/client-hello.js";
import { createHandshakeSemaphore } from "../../../../../ingest/transports/sockets/handshake-semaphore.js";
import {
  createTlsLayer,
  handshakeTimeoutMs,
  pressedTimeoutMs,
  type TlsLayer,
} from "../../../../../ingest/transports/sockets/tls.js";
import { readConfig } from "../../../../../src/config/config.js";
import { assert, suite, until } from "../../../../suite.js";
import { worldSuite } from "../../../../world.js";
import { incomingFrom } from "../../../support.js";
import { helloOf, makeAuthority, makeCertificate } from "./support.js";

suite("handshake semaphore", (test) => {
  function open(insideMax: number) {
    const begun: string[] = [];
    const known = new Map<string, { readonly address: string; readonly name: string }>();
    const semaphore = createHandshakeSemaphore<{ readonly address: string; readonly name: string }>(
      insideMax,
      (one) => begun.push(one.name),
    );
    const find = (name: string) => {
      const one = known.get(name) ?? { address: name.charAt(0), name };
      known.set(name, one);
      return one;
    };
    const enter = (...all: readonly string[]) => all.map((name) => semaphore.enter(find(name)));
    return { begun, semaphore, enter, leave: (name: string) => semaphore.leave(find(name)) };
  }

  test("one address has seven eighths at most; another gets in at once", () => {
    const { begun, semaphore, enter, leave } = open(8);
    assert.is(enter("a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9").filter(Boolean).length, 7);
    assert.equal(
      [semaphore.inside, semaphore.waiting, semaphore.held("a"), semaphore.leastHeld],
      [7, 2, 7, 7],
    );
    assert.equal(enter("b1"), [true]);
    leave("a3");
    assert.is(begun.at(-1), "b1", "a is beyond its share, now that b is there");
    leave("b1");
    assert.is(begun.at(-1), "a8");
  });

  test("those that wait are let in address by address, each in its order; those that have left are skipped", () => {
    const { begun, semaphore, enter, leave } = open(8);
    enter("a1", "b1", "c1", "d1", "e1", "f1", "g1", "h1");
    enter("a2", "a3", "a4", "b2", "b3", "x1", "a5");
    leave("a3");
    leave("never came");
    const order: string[] = [];
    for (let i = 0; semaphore.inside > 0; i++) {
      leave(begun[i] ?? "");
      order.push(...begun.slice(8 + order.length));
    }
    assert.equal(order.sort(), ["a2", "a4", "a5", "b2", "b3", "x1"]);
    assert.ok(begun.indexOf("a2") < begun.indexOf("a4") && begun.indexOf("a4") < begun.indexOf("a5"));
    assert.ok(begun.indexOf("x1") < begun.indexOf("a5"));
    assert.is(semaphore.inside + semaphore.waiting, 0);
    assert.is(semaphore.leastHeld, Number.POSITIVE_INFINITY);
  });
});

suite("ClientHello", (test) => {
  const record = (type: number, length: number, bytes: number) =>
    Buffer.concat([Buffer.from([type, 3, 1, length >> 8, length & 255]), Buffer.alloc(bytes)]);

  test("a record of a handshake is waited for, anything else is none", () => {
    for (let bytes = 0; bytes < 300; bytes += 7) assert.is(lookAtHello(record(22, 300, bytes)), "more");
    assert.is(lookAtHello(record(22, 300, 300)), "whole");
    assert.is(lookAtHello(Buffer.from([22])), "more");
    for (const bytes of [
      Buffer.from("GET / HTTP/1.1"),
      record(23, 5, 5),
      record(22, 8188, 0),
      record(22, 300, 9000),
    ]) {
      assert.is(lookAtHello(bytes), "bad");
    }
  });
});

suite("TLS layer", (test) => {
  let server: Server;
  let layer: TlsLayer;
  let now = 0;
  let through = 0;
  const clients: Socket[] = [];
  const meter = createMeter();
  /** Where sockets come from, in the order of their coming. */
  const addresses: string[] = [];
  const port = () => (server.address() as AddressInfo).port;

  test.before(async () => {
    const identity = {
      certificates: [
        await makeCertificate(await makeAuthority(), { purpose: "server", hosts: ["localhost"] }),
      ],
      trusted: [],
    };
    layer = createTlsLayer(
      { identity, certificates: "none", suites: "aead", meter, monotonic: () => now, atOnce: 8 },
      (socket: TLSSocket) => {
        through++;
        socket.on("error", () => undefined);
      },
    );
    server = createServer({ pauseOnConnect: true }, (socket) =>
      layer.accept(socket, incomingFrom(addresses.shift() ?? "a")),
    );
    await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  });
  test.after(() => void server.close());
  test.after.each(async () => {
    for (const client of clients.splice(0)) client.destroy();
    await until(() => meter.handshakesPending === 0, { what: "no handshake" });
    meter.handshakesFailed.clear();
    through = 0;
  });

  async function silent(count: number, address: string, bytes: Buffer): Promise<void> {
    const before = meter.handshakesPending;
    for (let i = 0; i < count; i++) {
      addresses.push(address);
      const socket = connect(port(), "127.0.0.1");
      socket.on("error", () => undefined);
      clients.push(socket);
      await once(socket, "connect");
      socket.write(bytes);
    }
    await until(() => meter.handshakesPending === before + count, { what: "the handshakes to begin" });
  }
  function real(address: string): TLSSocket {
    addresses.push(address);
    const socket = connectTls({ port: port(), host: "127.0.0.1", rejectUnauthorized: false });
    socket.on("error", () => undefined);
    clients.push(socket);
    return socket;
  }
  const failed = (reason: "timeout" | "tls") => meter.handshakesFailed.get(reason) ?? 0;

  test("a client without a ClientHello keeps nobody waiting, of its own address neither", async () => {
    await silent(30, "a", Buffer.from([22]));
    real("a");
    await until(() => through === 1, { what: "the one that speaks" });
    now += handshakeTimeoutMs;
    layer.sweep();
    await until(() => failed("timeout") === 30, { what: "the silent ones to be cut off" });
  });

  test("a ClientHello in pieces, and one with its TLS socket slow to follow, are served", async () => {
    addresses.push("a");
    const socket = connect(port(), "127.0.0.1");
    clients.push(socket);
    const slow = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _encoding, done) => {
        for (const byte of chunk) socket.write(Buffer.from([byte]));
        done();
      },
    });
    socket.setNoDelay(true);
    socket.on("data", (chunk) => slow.push(chunk));
    const secure = connectTls({ socket: slow, rejectUnauthorized: false });
    await once(secure, "secureConnect");
    await until(() => through === 1, { what: "the handshake's end" });
  });

  test("those who begin and do not go on leave another address its places", async () => {
    await silent(20, "a", await helloOf());
    real("b");
    await until(() => through === 1, { what: "b" });
    assert.is(failed("timeout"), 0);
  });

  test("an address alone has its ten seconds, though others of its own wait", async () => {
    await silent(7, "a", await helloOf());
    real("a");
    await until(() => meter.handshakesPending === 8, { what: "all of them" });
    now += handshakeTimeoutMs - 1;
    layer.sweep();
    assert.equal([through, failed("timeout")], [0, 0]);
    now += 1;
    layer.sweep();
    await until(() => failed("timeout") >= 7, { what: "their end" });
  });

  test("where they keep an address with fewer waiting they have three seconds", async () => {
    const hello = await helloOf();
    await silent(1, "b", hello);
    await silent(7, "a", hello);
    const waits = real("b");
    let done = false;
    waits.once("secureConnect", () => {
      done = true;
    });
    await until(() => meter.handshakesPending === 9, { what: "all of them" });
    now += pressedTimeoutMs - 1;
    layer.sweep();
    assert.equal([done, failed("timeout")], [false, 0]);
    now += 1;
    // Its ClientHello may still be on its way: until it has come, nobody with fewer waits.
    const isThrough = (): boolean => {
      layer.sweep();
      return done;
    };
    await until(isThrough, { what: "the one that waited" });
    await until(() => failed("timeout") === 6, { what: "the ends of those of a that had begun" });
    const left = "b's, which stays, and one of a whose turn has come now";
    await until(() => meter.handshakesPending === 2, { what: left });
  });

  test("one port of a peer may come to several of our addresses, each a handshake of its own", async () => {
    const first = connect({ port: port(), host: "127.0.0.1", localAddress: "127.0.0.9" });
    await once(first, "connect");
    const { localPort = 0 } = first;
    const second = connect({ port: port(), host: "127.0.0.5", localAddress: "127.0.0.9", localPort });
    await once(second, "connect");
    clients.push(first, second);
    await until(() => meter.handshakesPending === 2, { what: "both" });
    first.destroy();
    await until(() => meter.handshakesPending === 1, { what: "the first to leave" });
    const secure = connectTls({ socket: second, rejectUnauthorized: false });
    secure.on("error", () => undefined);
    await until(() => through === 1, { what: "the second's handshake" });
    secure.destroy();
  });

  test("IPv6: a subscriber is one address", async () => {
    const hello = await helloOf();
    for (let n = 1; n <= 7; n++) await silent(1, `2001:db8:1:2::${n}`, hello);
    real("2001:db8:1:2::8");
    await until(() => meter.handshakesPending === 8, { what: "it to wait" });
    real("2001:db8:1:3::1");
    await until(() => through === 1, { what: "another" });
    assert.is(meter.handshakesPending, 8);
  });

  test("nobody waits: a slow handshake has its ten seconds", async () => {
    await silent(3, "a", await helloOf());
    now += handshakeTimeoutMs - 1;
    layer.sweep();
    assert.is(failed("timeout"), 0);
    now += 1;
    layer.sweep();
    await until(() => failed("timeout") === 3, { what: "their end" });
  });

  test("a client that sends more than its ClientHello before its turn is cut off", async () => {
    const hello = await helloOf();
    await silent(7, "a", hello);
    addresses.push("a");
    const socket = connect(port(), "127.0.0.1");
    socket.on("error", () => undefined);
    clients.push(socket);
    socket.write(hello);
    await until(() => meter.handshakesPending === 8, { what: "it to wait" });
    socket.write(Buffer.alloc(16_384));
    await until(() => failed("tls") === 1, { what: "its end" });
  });
});

/** OpenSSL's suites of TLS 1.2 for a key on an elliptic curve. */
const ofTls12 = getCiphers().filter((name) => name.startsWith("ecdhe-ecdsa-"));
const isAead = (name: string): boolean => /gcm|ccm|chacha20/.test(name) && !name.includes("ccm8");

for (const [suites, takes] of [
  ["aead", isAead],
  ["compatible", (name: string) => isAead(name) || name === "ecdhe-ecdsa-aes128-sha"],
] as const) {
  worldSuite(
    `suites of TLS: ${suites}`,
    (test, world) => {
      const agreed = (ciphers: string) =>
        new Promise<string | null>((resolve) => {
          const port = Number(new URL(world.service.mqtts ?? "").port);
          const offer = { ciphers: ciphers.toUpperCase(), maxVersion: "TLSv1.2" } as const;
          const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false, ...offer });
          socket.once("secureConnect", () => resolve(socket.getCipher().name));
          socket.once("error", () => resolve(null));
          socket.once("close", () => resolve(null));
          socket.once("secureConnect", () => socket.destroy());
        });

      test("those of TLS 1.2 with authenticated encryption, and those that the setting adds", async () => {
        const all = suites === "aead" ? ofTls12 : [...ofTls12.filter(isAead), "ecdhe-ecdsa-aes128-sha"];
        assert.ok(all.some((name) => !isAead(name)));
        const refusedToo = ofTls12.includes("ecdhe-ecdsa-aes128-ccm")
          ? all
          : all.filter((name) => !name.includes("ccm"));
        for (const name of refusedToo)
          assert.is((await agreed(name))?.toLowerCase() ?? null, takes(name) ? name : null, name);
      });
    },
    { MQTTS_PORT: "0", TLS_SUITES: suites },
  );
}

suite("the setting of suites", (test) => {
  test("AEAD unless it is said otherwise", () => {
    assert.is(readConfig({}).tlsSuites, "aead");
    assert.throws(() => readConfig({ TLS_SUITES: "all" }), /TLS_SUITES/);
  });
});
