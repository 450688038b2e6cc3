/** Devices that speak HTTP reach their node through each of a cluster's. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { WebSocket } from "ws";
import { payloadsOf, provision, type RunningService, valuesOf } from "../flow/support.js";
import { assert, influxSuite, openTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { type Cluster, numbers, startCluster } from "./three-nodes.js";

influxSuite("a cluster, HTTP of devices", (test, influx) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let cluster: Cluster;
  let devices: Rec[];
  test.before(async () => {
    dir = await openTempDir();
    cluster = await startCluster(dir.path, await influx());
    devices = await provision(nodeAt(0), 3);
  });
  test.after(async () => {
    await cluster.stop();
    await dir.close();
  });

  const nodeAt = (place: number): RunningService => cluster.nodes[place % numbers.length] as RunningService;
  const keeperPlace = (device: Rec): number => device.id % numbers.length;
  const keptAt = (place: number): Rec => devices.find((one) => keeperPlace(one) === place) as Rec;

  function ask(place: number, device: Rec, path: string, init: RequestInit = {}): Promise<Response> {
    const login = Buffer.from(`${device.deviceUsername}:${device.token}`).toString("base64");
    const headers = {
      Authorization: `Basic ${login}`,
      ...(init.headers as Record<string, string> | undefined),
    };
    return fetch(`${nodeAt(place).addresses.http}${path}`, { ...init, headers });
  }
  const post = (place: number, device: Rec, path: string, body: string, headers = {}): Promise<Response> =>
    ask(place, device, path, { method: "POST", body, headers });

  test("an uplink through any node is kept once, by the device's own, with the client's address", async () => {
    for (const device of devices) {
      for (const place of numbers.keys()) {
        const { status } = await post(place, device, "/api/v1/uplinks/data", `{"n":${place}}`);
        assert.is(status, 204);
      }
    }
    for (const node of cluster.nodes) await node.settled();
    for (const device of devices) {
      const own = nodeAt(keeperPlace(device));
      assert.equal(await payloadsOf(own, device), ['{"n":0}', '{"n":1}', '{"n":2}']);
      assert.equal(await valuesOf(nodeAt(keeperPlace(device) + 1), device), [0, 1, 2]);
    }
  });

  test("what repeats through another node is recognised by its id", async () => {
    const device = keptAt(1);
    const before = (await payloadsOf(nodeAt(1), device)).length;
    for (const place of numbers.keys()) {
      const { status } = await post(place, device, "/api/v1/uplinks/data", '{"n":50}', {
        "Message-Id": "same",
      });
      assert.is(status, 204);
    }
    assert.is((await payloadsOf(nodeAt(1), device)).length, before + 1);
  });

  test("batches, line protocol and large bodies pass whole", async () => {
    const device = keptAt(2);
    const pad = randomBytes(100 * 1024).toString("hex");
    const large = await post(0, device, "/api/v1/uplinks/data", JSON.stringify({ n: 60, pad }));
    assert.is(large.status, 204);
    const written = await post(1, device, "/api/v2/write?org=o&bucket=b&precision=ms", "data n=61");
    assert.is(written.status, 204, await written.text());
    for (const node of cluster.nodes) await node.settled();
    const values = await valuesOf(nodeAt(0), device);
    assert.equal(values.slice(-2), [60, 61]);
  });

  test("a poll that waits at one node gets what is sent by the device's own", async () => {
    const device = keptAt(0);
    assert.is((await ask(1, device, "/api/v1/inbox")).status, 204);
    const waiting = ask(1, device, "/api/v1/inbox?wait=20");
    const sent = await nodeAt(0).call("POST", "/api/v1/device_publish", {
      deviceIntID: device.id,
      payload: "hello",
      ttl: 60,
    });
    const answer = await waiting;
    assert.match(sent.text, "successful");
    assert.is(answer.status, 200);
    assert.is(await answer.text(), "hello");
  });

  test("a wrong token is refused by the device's node; what a client says of itself in our header is nothing", async () => {
    const device = keptAt(1);
    const refused = await post(0, { ...device, token: "wrong" }, "/api/v1/uplinks/data", '{"n":70}');
    assert.is(refused.status, 401);
    const claimed = await post(1, device, "/api/v1/uplinks/data", '{"n":71}', {
      "Tidemark-Client": '{"address":"9.9.9.9","isSecure":true,"certificate":null}',
    });
    assert.is(claimed.status, 204);
    const { text } = await nodeAt(1).call("GET", `/api/v1/devices/${device.id}/connect_logs`);
    assert.not.match(text, "9.9.9.9");
    assert.match(text, "127.0.0.1");
  });

  test("plain frames over WebSocket, with credentials in the request, go through each node", async () => {
    for (const device of devices) {
      const before = (await payloadsOf(nodeAt(keeperPlace(device)), device)).length;
      for (const place of numbers.keys()) {
        const login = Buffer.from(`${device.deviceUsername}:${device.token}`).toString("base64");
        const url = `${String(nodeAt(place).addresses.http).replace("http", "ws")}/ws?clientID=panel`;
        const socket = new WebSocket(url, { headers: { Authorization: `Basic ${login}` } });
        await once(socket, "open");
        const payload = { n: 90 + place, pad: "x".repeat(100_000) };
        socket.send(JSON.stringify({ id: 1, topic: "data", payload }));
        const [answer] = (await once(socket, "message")) as [Buffer];
        assert.equal(JSON.parse(String(answer)), { ack: 1 });
        socket.close();
      }
      const kept = await payloadsOf(nodeAt(keeperPlace(device)), device);
      assert.is(kept.length, before + numbers.length);
    }
    const wrong = Buffer.from(`${keptAt(1).deviceUsername}:wrong`).toString("base64");
    const url = `${String(nodeAt(0).addresses.http).replace("http", "ws")}/ws`;
    const refused = new WebSocket(url, { headers: { Authorization: `Basic ${wrong}` } });
    const [error] = (await once(refused, "error")) as [Error];
    assert.match(error.message, "401");
  });

  test("while a node is away its devices get 503, the others go on", async () => {
    await nodeAt(1).kill();
    const away = await post(0, keptAt(1), "/api/v1/uplinks/data", '{"n":80}');
    assert.is(away.status, 503);
    const other = await post(0, keptAt(2), "/api/v1/uplinks/data", '{"n":81}');
    assert.is(other.status, 204);
    await cluster.start(1);
    const back = await post(0, keptAt(1), "/api/v1/uplinks/data", '{"n":82}');
    assert.is(back.status, 204);
  });
});
