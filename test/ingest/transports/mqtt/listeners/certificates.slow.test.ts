import { mkdtempSync, rmSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { connect, connectAsync, type IConnackPacket, type MqttClient } from "mqtt";
import { WebSocket } from "ws";
import { openDb } from "../../../../../store/metadata/db/db.js";
import { createVault } from "../../../../../store/metadata/db/secrets.js";
import { createCert, updateCert } from "../../../../../store/metadata/policies/certs.js";
import { deviceBody, productBody, unique } from "../../../../factories.js";
import { assert, rejects, until } from "../../../../suite.js";
import { type Rec, worldSuite } from "../../../../world.js";
import { eventsOf } from "../../../support.js";
import {
  connectBy,
  connectTo,
  makeAuthority,
  makeCertificate,
  type Pair,
  stored,
  thrownOut,
  type Wanted,
  writePair,
} from "./support.js";

// Files that the service's settings name have to be there before it starts.
const dir = mkdtempSync(join(tmpdir(), "tidemark-certificates-"));
process.once("exit", () => rmSync(dir, { recursive: true, force: true }));
const plant = await makeAuthority();
const ca = writePair(dir, "ca", plant);
const masterKey = "7".repeat(64);
const url = `file:${join(dir, "metadata.db")}`;
const environment = {
  MQTTS_PORT: "0",
  MQTTSS_PORT: "0",
  WSS_PORT: "0",
  HTTPS_PORT: "0",
  CA_CERT: ca.cert,
  CA_KEY: ca.key,
  LIBSQL_URL: url,
  MASTER_KEY: masterKey,
};

/** What another process with the same metadata does. */
async function elsewhere<T>(
  act: (store: Parameters<typeof createCert>[0], actor: Parameters<typeof createCert>[1]) => Promise<T>,
): Promise<T> {
  const db = await openDb({ url, shared: true });
  try {
    const actor = { tenant: 1, userIntID: null, username: null };
    return await act({ db, vault: createVault(Buffer.from(masterKey, "hex")) }, actor);
  } finally {
    await db.close();
  }
}

/** In the store as if the API had issued it, with whatever dates. */
async function keep(pair: Pair): Promise<number> {
  const name = unique("kept");
  const cert = { name, CN: name, enable: 1, ...stored(pair, plant.cert) };
  return (await elsewhere((store, actor) => createCert(store, actor, Date.now(), cert))).id;
}

/** The directory looks for changes twice a second; one client after the other at that pace would take twenty. */
const thrownOutMs = 15_000;

worldSuite(
  "mqtt by certificate",
  (test, world) => {
    const devices = async (authType = 2): Promise<Rec> => {
      const product = await world.make("/api/v1/products", productBody());
      return world.make("/api/v1/devices", deviceBody(product, { authType }));
    };
    const bind = async (device: Rec, id: number) => {
      const reply = await world.call("POST", `/api/v1/devices/${device.id}/certs`, { ids: [id] });
      assert.is(reply.status, 201, reply.text);
    };
    const issue = async (): Promise<Pair & { id: number }> => {
      const { id, cert, key } = await world.make("/api/v1/certs", { name: unique("issued"), enable: 1 });
      return { id, cert: String(cert), key: String(key) };
    };
    const enable = (id: number, on: 0 | 1) => world.call("PUT", `/api/v1/certs/${id}`, { enable: on });
    const enter = (device: Rec, pair: Pair) => connectBy(world.service.mqttss, device, plant.cert, pair);
    const refused = (device: Rec, pair: Pair) =>
      rejects(() => enter(device, pair), /Bad username or password/);
    const terms = { reconnectPeriod: 0, connectTimeout: 10_000, ca: plant.cert };
    const nameless = ({ cert, key }: Pair, username?: string): Promise<MqttClient> => {
      const named = username === undefined ? terms : { ...terms, username };
      return connectAsync(world.service.mqttss ?? "", { ...named, cert, key }, false);
    };
    /** The status of an uplink without any other credential. */
    const post = ({ cert, key }: Pair) =>
      new Promise<number | undefined>((resolve, reject) => {
        const options = { method: "POST", ca: plant.cert, cert, key, agent: false };
        httpsRequest(`${world.service.https}/api/v1/uplinks/data`, options, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on("error", reject)
          .end("{}");
      });
    /** What comes back for a login and a message, without any other credential. */
    const frames = ({ cert, key }: Pair) =>
      new Promise<string[]>((resolve, reject) => {
        const got: string[] = [];
        const url = `${world.service.https?.replace("https", "wss")}/ws`;
        const socket = new WebSocket(url, { ca: plant.cert, cert, key });
        socket.on("error", reject).on("message", (data) => {
          if (got.push(String(data)) === 2) socket.close();
        });
        socket.on("close", (code, reason) =>
          resolve([...got, ...(code === 1005 ? [] : [`${code} ${reason}`])]),
        );
        setTimeout(() => socket.close(), 5000).unref();
        socket.on("open", () => {
          socket.send('{"id":0,"username":"","token":""}');
          socket.send('{"id":1,"topic":"data","payload":{}}');
        });
      });
    /** A device and a certificate bound to it, connected. */
    const connected = async () => {
      const device = await devices();
      const pair = await issue();
      await bind(device, pair.id);
      return { device, pair, client: await enter(device, pair) };
    };

    test("a bound, enabled certificate and the user name are enough", async () => {
      const { client } = await connected();
      await client.publishAsync("data", "{}", { qos: 1 });
      await client.endAsync();
    });

    test("one certificate may be bound to many devices, and one device have many", async () => {
      const shared = await issue();
      const own = await issue();
      const [a, b] = [await devices(), await devices()];
      for (const device of [a, b]) await bind(device, shared.id);
      await bind(a, own.id);
      for (const [device, pair] of [
        [a, shared],
        [b, shared],
        [a, own],
      ] as const) {
        await (await enter(device, pair)).endAsync();
      }
      await refused(b, own);
    });

    test("certificates that are not bound, another device's, or disabled are refused, and logged", async () => {
      const { device, client } = await connected();
      await client.endAsync();
      const other = await issue();
      await refused(device, other);
      const second = await connected();
      await second.client.endAsync();
      await refused(device, second.pair);
      await bind(device, other.id);
      await (await enter(device, other)).endAsync();
      await enable(other.id, 0);
      await refused(device, other);
      await enable(other.id, 1);
      await (await enter(device, other)).endAsync();
      const path = `/api/v1/devices/${device.id}/connect_logs`;
      const { text } = await world.call("GET", path, undefined, { headers: { "Api-Variant": "B" } });
      assert.match(text, /"deviceStatus":2/);
    });

    test("a certificate that is bound to one device needs no user name, over MQTT, HTTP and WebSocket", async () => {
      const device = await devices();
      const pair = await issue();
      await rejects(() => nameless(pair), /Bad username or password/);
      await bind(device, pair.id);
      for (const username of [undefined, ""]) {
        const client = await nameless(pair, username);
        await client.publishAsync("data", "{}", { qos: 1 });
        await client.endAsync();
      }
      assert.is(await post(pair), 204);
      assert.equal(await frames(pair), ['{"ack":0}', '{"ack":1}']);
      await until(async () => (await eventsOf(world, device)).length === 4, { what: "the events" });

      const [client, named] = [await nameless(pair), await enter(device, pair)];
      const out = thrownOut(named);
      await world.call("PUT", `/api/v1/devices/${device.id}`, { deviceUsername: unique("renamed") });
      await out;
      assert.ok(client.connected, "it never said that name");
      const ended = thrownOut(client);
      await enable(pair.id, 0);
      await ended;
      await rejects(() => nameless(pair), /Bad username or password/);
      assert.is(await post(pair), 401);
    });

    test("one that is bound to several needs it, and says so; one of a device that logs in by token too", async () => {
      const pair = await issue();
      const [a, b] = [await devices(), await devices()];
      for (const device of [a, b]) await bind(device, pair.id);
      const { cert, key } = pair;
      const five = connect(world.service.mqttss ?? "", { ...terms, protocolVersion: 5, cert, key });
      const { reasonCode, properties } = await new Promise<IConnackPacket>((resolve) => {
        five.on("error", () => undefined);
        five.on("packetreceive", (packet) => {
          if (packet.cmd === "connack") resolve(packet);
        });
      });
      assert.equal(
        [reasonCode, properties?.reasonString],
        [0x86, "a user name must say which device of its certificate it is"],
      );
      const { text } = await world.call("GET", "/metrics");
      assert.match(text, /tidemark_connections_ended_total\{reason="user_name"\} 1\n/);
      assert.is(await post(pair), 401);
      await (await enter(a, pair)).endAsync();
      await world.call("DELETE", `/api/v1/devices/${b.id}/certs?ids=${pair.id}`);
      await (await nameless(pair)).endAsync();

      const token = await devices(1);
      const own = await issue();
      await bind(token, own.id);
      await rejects(() => nameless(own), /Bad username or password/);
    });

    test("a disabled certificate lets nobody in, not even those who log in by token", async () => {
      const device = await devices(1);
      const pair = await issue();
      const proof = { ca: plant.cert, cert: pair.cert, key: pair.key };
      await (await connectTo(world.service.mqttss, device, proof)).endAsync();
      await enable(pair.id, 0);
      await rejects(() => connectTo(world.service.mqttss, device, proof), /Bad username or password/);
      await enable(pair.id, 1);
      await (await connectTo(world.service.mqttss, device, proof)).endAsync();
    });

    test("its dates count: expired and not yet valid", async () => {
      const dates: Wanted[] = [
        { from: -86_400_000, to: -60_000 },
        { from: 3_600_000, to: 86_400_000 },
      ];
      for (const wanted of dates) {
        for (const authType of [2, 1]) {
          const device = await devices(authType);
          const pair = await makeCertificate(plant, wanted);
          await bind(device, await keep(pair));
          const proof = { ca: plant.cert, ...pair };
          await rejects(() => connectTo(world.service.mqttss, device, proof), /Bad username or password/);
        }
      }
    });

    test("foreign authorities, self-made ones and a server's own never come to MQTT", async () => {
      const device = await devices();
      const foreign = await makeAuthority("Plant CA");
      const strange: [string, Pair][] = [
        ["of an authority of the same name", await makeCertificate(foreign)],
        ["the same, expired", await makeCertificate(foreign, { to: -1000 })],
        ["its own issuer", await makeCertificate(null)],
        ["for servers", await makeCertificate(plant, { purpose: "server", hosts: ["localhost"] })],
      ];
      for (const [what, pair] of strange) {
        // Bound to the device, so that only the signature speaks against it.
        await bind(device, await keep(pair));
        if (what === "the same, expired") await rejects(() => enter(device, pair));
        else await rejects(() => enter(device, pair), /Couldn't connect|closed|ECONNRESET|socket|EPIPE/i);
      }
      const failures = async () => (await world.call("GET", "/metrics")).text;
      await until(
        async () => /handshakes_failed_total\{reason="certificate"\} [3-9]/.test(await failures()),
        { what: "the failures to be counted" },
      );
    });

    test("without a certificate nobody comes to MQTT on that listener", async () => {
      for (const authType of [1, 2]) {
        const device = await devices(authType);
        await rejects(() => connectTo(world.service.mqttss, device, { ca: plant.cert }));
      }
    });

    test("a device of authType 2 is refused on every other listener, with or without token", async () => {
      const { device, pair, client } = await connected();
      await client.endAsync();
      for (const address of [world.service.mqtt, world.service.mqtts, world.service.wss]) {
        for (const password of [String(device.token), ""]) {
          // Given a certificate, MQTT.js would speak TLS to the plain listener.
          const tls =
            address === world.service.mqtt ? {} : { ca: plant.cert, cert: pair.cert, key: pair.key };
          const options = { ...tls, password };
          await rejects(() => connectTo(address, device, options), /Bad username or password/);
        }
      }
    });

    test("a device of authType 1 needs its token there too", async () => {
      const device = await devices(1);
      const pair = await issue();
      await bind(device, pair.id);
      await refused(device, pair);
      const client = await connectTo(world.service.mqttss, device, { ca: plant.cert, ...pair });
      // Its token is what it entered by: the certificate may go.
      await enable(pair.id, 0);
      await client.publishAsync("data", "{}", { qos: 1 });
      await client.endAsync();
    });

    const ends: Record<string, (device: Rec, id: number) => Promise<unknown>> = {
      "when it is disabled": (_device, id) => enable(id, 0),
      "when it is unbound": (device, id) =>
        world.call("DELETE", `/api/v1/devices/${device.id}/certs?ids=${id}`),
      "when another process disables it": (_device, id) =>
        elsewhere((store, actor) => updateCert(store, actor, Date.now(), id, { enable: 0 })),
      "when the device goes back to tokens": (device) =>
        world.call("PUT", `/api/v1/devices/${device.id}`, { authType: 1 }),
    };
    for (const [when, end] of Object.entries(ends)) {
      test(`thrown out soon ${when}`, async () => {
        const { device, pair, client } = await connected();
        const bystander = await connected();
        const out = thrownOut(client);
        const reply = await end(device, pair.id);
        const after = await out;
        assert.ok(after < thrownOutMs, `${after} ms after ${JSON.stringify(reply)}`);
        assert.ok(bystander.client.connected);
        await bystander.client.endAsync();
        await rejects(() => enter(device, pair), /Bad username or password/);
      });
    }

    test("unbound and deleted at once, it is gone all the same", async () => {
      const { device, pair, client } = await connected();
      const out = thrownOut(client);
      await Promise.all([
        world.call("DELETE", `/api/v1/devices/${device.id}/certs?ids=${pair.id}`),
        until(async () => (await world.call("DELETE", `/api/v1/certs?ids=${pair.id}`)).status === 204, {
          what: "the certificate to be deleted",
        }),
      ]);
      await out;
    });

    test("one that runs out while connected is thrown out", async () => {
      const device = await devices();
      const pair = await makeCertificate(plant, { to: 4000 });
      await bind(device, await keep(pair));
      const client = await enter(device, pair);
      const out = thrownOut(client);
      await client.publishAsync("data", "{}", { qos: 1 });
      await out;
      await refused(device, pair);
    });

    test("thousands of devices on one certificate go together", async () => {
      const product = await world.make("/api/v1/products", productBody());
      const pair = await issue();
      const clients = [];
      for (let i = 0; i < 40; i++) {
        const device = await world.make("/api/v1/devices", deviceBody(product, { authType: 2 }));
        await bind(device, pair.id);
        clients.push(await enter(device, pair));
      }
      const out = Promise.all(clients.map(thrownOut));
      await enable(pair.id, 0);
      assert.ok(Math.max(...(await out)) < thrownOutMs);
    });

    test("a resumed TLS session authenticates no more than the certificate does", async () => {
      const { device, pair, client } = await connected();
      await client.endAsync();
      const { port } = new URL(world.service.mqttss ?? "");
      for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
        const secure = { ca: plant.cert, servername: "localhost", maxVersion };
        const host = { host: "127.0.0.1", port: Number(port) };
        const first = connectTls({ ...secure, ...host, cert: pair.cert, key: pair.key });
        first.on("error", () => undefined).resume();
        const session = await new Promise<Buffer>((resolve) => first.once("session", resolve));
        first.destroy();
        const again = connectTls({ ...secure, ...host, session });
        again.on("error", () => undefined).resume();
        await new Promise((resolve) => again.once("secureConnect", resolve));
        assert.ok(again.isSessionReused(), maxVersion);
        again.destroy();
        const resumed = { ...secure, session, password: "" };
        await enable(pair.id, 1);
        await (await connectTo(world.service.mqttss, device, resumed)).endAsync();
        await enable(pair.id, 0);
        await rejects(() => connectTo(world.service.mqttss, device, resumed), /Bad username or password/);
      }
    });
  },
  environment,
);
