/** Clients of MQTT reach their device's node through each of a cluster's. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";
import { connectAsync, connect as connectLater, type IClientOptions, type MqttClient } from "mqtt";
import { linkKey, linkProtocols, linkSuites } from "../../src/cluster/secret.js";
import { payloadsOf, provision, type RunningService, valuesOf } from "../flow/support.js";
import { assert, influxSuite, openTempDir, until } from "../suite.js";
import type { Rec } from "../world.js";
import { type Cluster, numbers, placesOf, startCluster } from "./three-nodes.js";

const closes = (client: MqttClient): Promise<void> =>
  new Promise((resolve) => {
    client.once("close", () => resolve());
  });

influxSuite("a cluster, MQTT", (test, influx) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let cluster: Cluster;
  let devices: Rec[];
  test.before(async () => {
    dir = await openTempDir();
    cluster = await startCluster(dir.path, await influx());
    devices = await provision(nodeAt(0), 6);
  });
  test.after(async () => {
    await cluster.stop();
    await dir.close();
  });

  const { nodeAt, keeperPlace, keptAt } = placesOf(
    () => cluster,
    () => devices,
  );
  const login = (device: Rec): IClientOptions => ({
    username: String(device.deviceUsername),
    password: String(device.token),
    reconnectPeriod: 0,
    protocolVersion: 5,
  });
  const connect = (node: RunningService, device: Rec, options: IClientOptions = {}): Promise<MqttClient> =>
    connectAsync(node.mqtt, { ...login(device), ...options });

  test("what a device says through any node is kept once, by its own", async () => {
    for (const [i, device] of devices.entries()) {
      for (const place of numbers.keys()) {
        const client = await connect(nodeAt(place), device, { protocolVersion: i % 2 === 0 ? 4 : 5 });
        await client.publishAsync("data", JSON.stringify({ n: place }), { qos: place === 1 ? 2 : 1 });
        await client.endAsync();
      }
    }
    for (const node of cluster.nodes) await node.settled();
    for (const device of devices) {
      const sent = [0, 1, 2].map((n) => `{"n":${n}}`);
      assert.equal(await payloadsOf(nodeAt(keeperPlace(device)), device), sent);
      assert.equal(await valuesOf(nodeAt(keeperPlace(device) + 1), device), [0, 1, 2]);
      const { body } = await nodeAt(keeperPlace(device)).call(
        "GET",
        `/api/v1/devices/${device.id}/connect_logs`,
      );
      for (const { IP } of body.items as { IP: string }[]) assert.is(IP, "127.0.0.1");
    }
    for (const node of cluster.nodes) {
      await until(async () => (await node.metric("tidemark_connections_relayed ")) === 0, {
        what: "no connection to be passed on",
      });
    }
  });

  test("a session is the same through each node, and a client that comes through another takes over", async () => {
    const device = keptAt(1);
    const session = { clean: false, clientId: "kept", properties: { sessionExpiryInterval: 600 } };
    const first = await connect(nodeAt(0), device, session);
    await first.subscribeAsync("down", { qos: 1 });
    const ended = closes(first);
    const second = await connect(nodeAt(2), device, session);
    await ended;
    await second.endAsync();
    const { status } = await nodeAt(1).call("POST", "/api/v1/device_publish", {
      deviceIntID: device.id,
      topic: "down",
      payload: "wait",
    });
    assert.is(status, 201);
    const received: string[] = [];
    const third = connectLater(nodeAt(0).mqtt, { ...login(device), ...session });
    third.on("message", (_topic, payload) => received.push(String(payload)));
    await until(() => received.length === 1, { what: "what waited" });
    assert.equal(received, ["wait"]);
    await third.endAsync();
  });

  test("a wrong token is refused, and counted, by the device's node", async () => {
    const device = keptAt(2);
    await connect(nodeAt(0), device, { password: "wrong" }).then(
      () => assert.unreachable(),
      (error: Error & { code: number }) => assert.is(error.code, 134),
    );
    const refusals = (node: RunningService): Promise<number> =>
      node.metric("tidemark_connections_ended_total", 'reason="credentials"');
    assert.equal([await refusals(nodeAt(0)), await refusals(nodeAt(2))], [0, 1]);
    await connect(nodeAt(1), { ...device, deviceUsername: "nobody" }).then(
      () => assert.unreachable(),
      (error: Error & { code: number }) => assert.is(error.code, 134),
    );
  });

  test("large messages pass whole, both ways", async () => {
    const device = keptAt(0);
    const client = await connect(nodeAt(1), device, { clientId: "large" });
    const payload = JSON.stringify({ n: 7, pad: randomBytes(96 * 1024).toString("hex") });
    await client.subscribeAsync("down", { qos: 1 });
    const received = new Promise<string>((resolve) => {
      client.once("message", (_topic, message) => resolve(String(message)));
    });
    await client.publishAsync("data", payload, { qos: 1 });
    const text = randomBytes(90 * 1024).toString("hex");
    await nodeAt(0).call("POST", "/api/v1/device_publish", {
      deviceIntID: device.id,
      topic: "down",
      payload: text,
    });
    assert.is(await received, text);
    assert.is((await payloadsOf(nodeAt(0), device)).at(-1), payload);
    await client.endAsync();
  });

  test("while a node is away its devices receive a code to retry, the others go on", async () => {
    await nodeAt(1).kill();
    await connect(nodeAt(0), keptAt(1)).then(
      () => assert.unreachable(),
      (error: Error & { code: number }) => assert.is(error.code, 136),
    );
    const client = await connect(nodeAt(2), keptAt(0));
    await client.publishAsync("data", '{"n":8}', { qos: 1 });
    await client.endAsync();
    await cluster.start(1);
    const back = await connect(nodeAt(0), keptAt(1));
    await back.publishAsync("data", '{"n":9}', { qos: 1 });
    assert.is((await payloadsOf(nodeAt(1), keptAt(1))).at(-1), '{"n":9}');
    await back.endAsync();
  });

  test("a client's end is seen by the device's node at once, and so is the node's by the client", async () => {
    const device = keptAt(1);
    const will = { topic: "data", payload: Buffer.from('{"n":10}'), qos: 1 as const };
    const client = await connect(nodeAt(0), device, { clientId: "ends", will });
    client.stream.destroy();
    await until(async () => (await payloadsOf(nodeAt(1), device)).at(-1) === '{"n":10}', {
      what: "the will",
    });
    const next = await connect(nodeAt(0), device, { clientId: "ends" });
    const closed = closes(next);
    await nodeAt(0).call("PUT", `/api/v1/devices/${device.id}`, { blocked: 1 });
    await closed;
    await nodeAt(0).call("PUT", `/api/v1/devices/${device.id}`, { blocked: 0 });
  });

  test("nobody gets in at the nodes' port without the key, nor with that of another node", async () => {
    const port = cluster.ports[0] as number;
    const plain = connectTcp(port, "127.0.0.1");
    plain.write(`{"address":"1.1.1.1","isSecure":false,"certificate":null}\n`);
    plain.on("error", () => undefined);
    await once(plain, "close");
    const attempt = (psk: Uint8Array, identity: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = connectTls({
          port,
          host: "127.0.0.1",
          ...linkSuites,
          ALPNProtocols: [linkProtocols.mqtt],
          pskCallback: () => ({ psk, identity }),
          checkServerIdentity: () => undefined,
        });
        socket.once("secureConnect", () => {
          socket.destroy();
          resolve("in");
        });
        socket.once("error", () => resolve("refused"));
        socket.once("close", () => resolve("refused"));
      });
    const key = (number: number) => linkKey(cluster.masterKey, number);
    assert.is(await attempt(key(1), "2"), "in");
    assert.is(await attempt(key(1), "9"), "refused");
    assert.is(await attempt(key(2), "2"), "refused");
    assert.is(await attempt(randomBytes(32), "2"), "refused");
    const refused = nodeAt(0).logged.filter(({ msg }) =>
      String(msg).startsWith("a link of the cluster was refused"),
    );
    assert.is(refused.length, 1, "one line, however many");
  });
});
