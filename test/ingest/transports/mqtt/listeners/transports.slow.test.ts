import { readFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import mqttPacket from "mqtt-packet";
import { WebSocket } from "ws";
import type { ListenerName } from "../../../../../src/service/mqtt-listeners.js";
import { deviceBody, productBody } from "../../../../factories.js";
import { programMissing } from "../../../../programs.js";
import { assert, rejects, until } from "../../../../suite.js";
import { type Rec, type World, worldSuite } from "../../../../world.js";
import { connectPacket, endedBy } from "../../../support.js";
import { authorityOf, connectTo, issued, run, thrownOut, writePair } from "./support.js";

const everyListener = { MQTTS_PORT: "0", MQTTSS_PORT: "0", WS_PORT: "0", WSS_PORT: "0" };
const names = ["mqtt", "mqtts", "mqttss", "ws", "wss"] as const;
const noPrograms = (["mosquitto_pub", "mosquitto_sub", "openssl"] as const)
  .map(programMissing)
  .find((reason) => reason !== null);

const portOf = (address: string | null) => Number(new URL(address ?? "").port);

async function newDevice(world: World, fields: object = {}): Promise<Rec> {
  const product = await world.make("/api/v1/products", productBody());
  return world.make("/api/v1/devices", deviceBody(product, { ...fields }));
}

function failedBy(world: World, reason: string): () => Promise<number> {
  return async () => {
    const { text } = await world.call("GET", "/metrics");
    const pattern = new RegExp(`^tidemark_handshakes_failed_total\\{reason="${reason}"\\} (\\d+)$`, "m");
    return Number(pattern.exec(text)?.[1] ?? 0);
  };
}

async function grows(read: () => Promise<number>, by: () => Promise<unknown>): Promise<void> {
  const before = await read();
  await by();
  await until(async () => (await read()) > before, { what: "the counter to grow" });
}

worldSuite(
  "mqtt transports",
  (test, world) => {
    for (const name of names) {
      test(`${name}: messages of every QoS go both ways`, async () => {
        const device = await newDevice(world);
        const mutual = name === "mqttss" ? await issued(world, "both ways") : {};
        const options = { ca: await authorityOf(world), ...mutual };
        const client = await connectTo(world.service[name], device, options);
        const got: string[] = [];
        client.on("message", (_topic, payload) => got.push(payload.toString()));
        await client.subscribeAsync("echo", { qos: 2 });
        const large = "x".repeat(200_000);
        for (const qos of [0, 1, 2] as const) await client.publishAsync("echo", `at ${qos}`, { qos });
        await client.publishAsync("echo", large, { qos: 1 });
        await until(() => got.length >= 4, { what: "what was published" });
        assert.equal(got.map((text) => text.slice(0, 10)).sort(), ["at 0", "at 1", "at 2", "xxxxxxxxxx"]);
        assert.is(Math.max(...got.map((text) => text.length)), large.length);
        await client.endAsync();
      });
    }

    test("a wrong token is refused on each of them", async () => {
      const device = await newDevice(world);
      const mutual = await issued(world, "wrong token");
      for (const name of names) {
        const options = { ca: await authorityOf(world), ...(name === "mqttss" ? mutual : {}) };
        const attempt = connectTo(world.service[name], device, { ...options, password: "wrong" });
        await rejects(() => attempt, /Not authorized|Bad username or password/);
      }
    });

    test("one client id takes over across listeners", async () => {
      const device = await newDevice(world);
      const ca = await authorityOf(world);
      const first = await connectTo(world.service.mqtts, device, { clientId: "same", ca });
      const out = thrownOut(first);
      const second = await connectTo(world.service.ws, device, { clientId: "same" });
      await out;
      await second.endAsync();
    });

    test("broker_info and Variant B's device name every listener", async () => {
      const device = await newDevice(world);
      const { record } = await world.call("GET", "/api/v1/broker_info");
      const headers = { "Api-Variant": "B" };
      const { record: detail } = await world.call("GET", `/api/v1/devices/${device.id}`, undefined, {
        headers,
      });
      for (const name of names) {
        const address = `127.0.0.1:${portOf(world.service[name])}`;
        assert.is(record[`${name}Broker`], address);
        if (!name.startsWith("ws")) assert.is(detail[`${name}Broker`], address);
      }
    });

    test("the server's certificate names what devices reach it by, its key is sealed", async () => {
      const ca = await authorityOf(world);
      for (const host of ["localhost", "127.0.0.1", "::1"]) {
        const socket = connectTls({
          host: "127.0.0.1",
          port: portOf(world.service.mqtts),
          ca,
          ...(host === "localhost" ? { servername: host } : {}),
          checkServerIdentity: () => undefined,
        });
        await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
        const certificate = socket.getPeerX509Certificate();
        const named = host === "localhost" ? certificate?.checkHost(host) : certificate?.checkIP(host);
        assert.is(named, host);
        assert.ok(socket.authorized);
        socket.destroy();
      }
      const kept = await readFile(join(world.dataDir, "server-certificate.json"), "utf8");
      assert.not.ok(kept.includes("PRIVATE KEY"));
    });

    test("TLS 1.2 and 1.3 are spoken, 1.1 is not", async () => {
      const port = portOf(world.service.mqtts);
      const ca = await authorityOf(world);
      for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
        const socket = connectTls({ port, host: "127.0.0.1", ca, minVersion: version, maxVersion: version });
        await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
        assert.is(socket.getProtocol(), version);
        socket.destroy();
      }
      if (noPrograms !== undefined) return;
      await grows(failedBy(world, "tls"), async () => {
        const args = ["s_client", "-connect", `127.0.0.1:${port}`, "-tls1_1", "-cipher", "ALL:@SECLEVEL=0"];
        const { code, output } = await run("openssl", args);
        assert.is.not(code, 0, output);
        assert.match(output, /protocol version|alert|wrong version/i);
      });
    });

    test("bytes that are no TLS, and silence, cost nobody else anything", async () => {
      const { mqtts } = world.service;
      await grows(failedBy(world, "tls"), async () => {
        const socket = await rawTcp(mqtts);
        socket.write("GET / HTTP/1.1\r\n\r\n");
        await closed(socket);
      });
      await grows(failedBy(world, "timeout"), async () => {
        const silent = await Promise.all(Array.from({ length: 50 }, () => rawTcp(mqtts)));
        const device = await newDevice(world);
        const client = await connectTo(mqtts, device, { ca: await authorityOf(world) });
        await client.endAsync();
        await Promise.all(silent.map(closed));
      });
      const { text } = await world.call("GET", "/metrics");
      assert.match(text, /^tidemark_handshakes_pending 0$/m);
    });

    test("mosquitto clients speak TLS, with and without a certificate of their own", async () => {
      if (noPrograms !== undefined) return;
      const byToken = await newDevice(world);
      const byCertificate = await newDevice(world, { authType: 2 });
      const pair = await issued(world, "mosquitto");
      await world.call("POST", `/api/v1/devices/${byCertificate.id}/certs`, { ids: [pair.id] });
      const files = writePair(world.dataDir, "mosquitto", pair);
      const ways: [Rec, ListenerName, string[]][] = [
        [byToken, "mqtts", ["-P", String(byToken.token)]],
        [byCertificate, "mqttss", ["--cert", files.cert, "--key", files.key]],
      ];
      for (const [device, listener, proof] of ways) {
        const common = [
          ...["-h", "127.0.0.1", "-p", String(portOf(world.service[listener])), "-q", "1", "-t", "news"],
          ...[
            "--cafile",
            join(world.dataDir, "authority.crt"),
            "-u",
            String(device.deviceUsername),
            ...proof,
          ],
        ];
        const heard = run("mosquitto_sub", [...common, "-C", "1", "-W", "15", "-i", "sub"]);
        const online = async () => {
          const { record } = await world.call("GET", `/api/v1/devices/${device.id}`);
          return record.deviceStatus === 1;
        };
        await until(online, { what: "mosquitto_sub to connect" });
        // Sent again until the subscription is there.
        let done = false;
        const waiting = heard.finally(() => {
          done = true;
        });
        while (!done) {
          const { code, output } = await run("mosquitto_pub", [...common, "-m", "hello"]);
          assert.is(code, 0, output);
        }
        assert.equal(await waiting, { code: 0, output: "hello\n" });
      }
    });
  },
  everyListener,
);

worldSuite(
  "mqtt over WebSocket",
  (test, world) => {
    const open = async (protocols: string[], path = "/mqtt"): Promise<WebSocket> => {
      const address = new URL(path, world.service.ws ?? "");
      const socket = new WebSocket(address, protocols, { perMessageDeflate: true });
      await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
      return socket;
    };
    const ended = (socket: WebSocket): Promise<number> =>
      new Promise((resolve) => socket.once("close", resolve));

    test("both subprotocols on any path; nothing is compressed", async () => {
      for (const path of ["/mqtt", "/", "/some/where?x=1"]) {
        const socket = await open(["other", "mqtt"], path);
        assert.is(socket.protocol, "mqtt");
        assert.is(socket.extensions, "");
        socket.terminate();
      }
      const old = await open(["mqttv3.1"]);
      assert.is(old.protocol, "mqttv3.1");
      old.terminate();
    });

    test("without a subprotocol of MQTT the upgrade is refused [MQTT-6.0.0-3]", async () => {
      await grows(failedBy(world, "subprotocol"), async () => {
        await rejects(() => open([]), /400/);
        await rejects(() => open(["soap", "wamp"]), /400/);
      });
    });

    test("a peer that is gone before it is answered ends nobody but itself", async () => {
      const upgrade = [
        "GET /mqtt HTTP/1.1",
        ...["Host: x", "Connection: Upgrade", "Upgrade: websocket"],
        ...["Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version: 13"],
      ];
      for (let i = 0; i < 40; i++) {
        const socket = await rawTcp(world.service.ws);
        const offer = i % 4 < 2 ? [] : ["Sec-WebSocket-Protocol: mqtt"];
        socket.write([...upgrade, ...offer, "", ""].join("\r\n"));
        if (i % 2 === 1) await new Promise((resolve) => setImmediate(resolve));
        socket.resetAndDestroy();
      }
      await until(
        async () => (await failedBy(world, "lost")()) + (await failedBy(world, "subprotocol")()) > 0,
        {
          what: "the ends to be noticed",
        },
      );
      await (await connectTo(world.service.ws, await newDevice(world))).endAsync();
    });

    test("what is no WebSocket gets an answer of HTTP", async () => {
      await grows(failedBy(world, "http"), async () => {
        const response = await fetch(String(world.service.ws).replace("ws:", "http:"));
        assert.is(response.status, 426);
      });
      await grows(failedBy(world, "http"), async () => {
        const socket = await rawTcp(world.service.ws);
        socket.write("nonsense\r\n\r\n");
        await closed(socket);
      });
      await grows(failedBy(world, "timeout"), async () => {
        const slow = await rawTcp(world.service.ws);
        slow.write("GET /mqtt HTTP/1.1\r\nHost: x\r\n");
        await closed(slow);
      });
    });

    test("packets and frames need not meet [MQTT-6.0.0-2]", async () => {
      const device = await newDevice(world);
      const socket = await open(["mqtt"]);
      const got: Buffer[] = [];
      socket.on("message", (data: Buffer) => got.push(data));
      const bytes = Buffer.concat([
        mqttPacket.generate(connectPacket(device, { clientId: "frames" })),
        mqttPacket.generate({ cmd: "pingreq" }),
        mqttPacket.generate({ cmd: "pingreq" }),
      ]);
      for (const byte of bytes) socket.send(Buffer.of(byte));
      const expected = "20020000d000d000";
      await until(() => Buffer.concat(got).toString("hex") === expected, {
        what: "CONNACK and two PINGRESP",
      });
      socket.terminate();
    });

    test("a text frame ends the connection [MQTT-6.0.0-1]", async () => {
      const device = await newDevice(world);
      await grows(endedBy(world, "protocol"), async () => {
        const socket = await open(["mqtt"]);
        socket.send(mqttPacket.generate(connectPacket(device, { clientId: "text" })).toString("latin1"));
        assert.is(await ended(socket), 1003);
      });
      const client = await connectTo(world.service.ws, device, { clientId: "text" });
      await client.endAsync();
    });

    test("an oversize frame ends the connection before it is collected", async () => {
      await grows(endedBy(world, "oversize"), async () => {
        const socket = await open(["mqtt"]);
        socket.on("error", () => undefined);
        socket.send(Buffer.alloc(1024 * 1024));
        assert.is(await ended(socket), 1009);
      });
    });

    test("a packet too large before CONNECT is refused in small frames too", async () => {
      await grows(endedBy(world, "oversize"), async () => {
        const socket = await open(["mqtt"]);
        socket.on("error", () => undefined);
        socket.send(Buffer.of(0x10, 0xff, 0xff, 0x7f));
        await ended(socket);
      });
    });

    test("pings are answered", async () => {
      const socket = await open(["mqtt"]);
      const pong = new Promise((resolve) => socket.once("pong", (data) => resolve(data.toString())));
      socket.ping("there?");
      assert.is(await pong, "there?");
      socket.terminate();
    });

    test("a client that goes is noticed, a close is answered", async () => {
      const device = await newDevice(world);
      const status = async () =>
        (await world.call("GET", `/api/v1/devices/${device.id}`)).record.deviceStatus;
      for (const leave of ["terminate", "close"] as const) {
        const socket = await open(["mqtt"]);
        socket.send(mqttPacket.generate(connectPacket(device, { clientId: "leaves" })));
        await until(async () => (await status()) === 1, { what: "the device to be online" });
        socket[leave]();
        await until(async () => (await status()) === 0, { what: "the device to be offline" });
      }
    });
  },
  { WS_PORT: "0" },
);

async function rawTcp(address: string | null): Promise<Socket> {
  const socket = connect(portOf(address), "127.0.0.1");
  socket.on("error", () => undefined).resume();
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  return socket;
}

function closed(socket: Socket): Promise<unknown> {
  return socket.destroyed ? Promise.resolve() : new Promise((resolve) => socket.once("close", resolve));
}
