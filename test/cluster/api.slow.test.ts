/** The API of a device is the same from each node of a cluster. */
import { connectAsync } from "mqtt";
import { provision, type RunningService } from "../flow/support.js";
import { assert, influxSuite, openTempDir, until } from "../suite.js";
import type { Rec } from "../world.js";
import { type Cluster, numbers, startCluster } from "./three-nodes.js";

influxSuite("a cluster, the API of a device", (test, influx) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let cluster: Cluster;
  let devices: Rec[];
  test.before(async () => {
    dir = await openTempDir();
    cluster = await startCluster(dir.path, await influx());
    devices = await provision(nodeAt(0), 3);
    for (const device of devices) {
      const client = await connectAsync(nodeAt(0).mqtt, login(device));
      for (let n = 0; n < 5; n++) await client.publishAsync("data", `{"n":${n},"other":1}`, { qos: 1 });
      await client.endAsync();
    }
    for (const node of cluster.nodes) await node.settled();
  });
  test.after(async () => {
    await cluster.stop();
    await dir.close();
  });

  const nodeAt = (place: number): RunningService => cluster.nodes[place % numbers.length] as RunningService;
  const login = (device: Rec) => ({
    username: String(device.deviceUsername),
    password: String(device.token),
    reconnectPeriod: 0,
  });

  test("messages, connections, sessions and counts of a device are those of its node, asked anywhere", async () => {
    for (const { id } of devices) {
      for (const path of ["events?_limit=3&_page=2", "connect_logs", "sessions", "ingest_status"]) {
        const answers: string[] = [];
        for (const node of cluster.nodes) {
          const { status, text } = await node.call("GET", `/api/v1/devices/${id}/${path}`);
          assert.is(status, 200, text);
          answers.push(text);
        }
        assert.is(new Set(answers).size, 1, `${path}: ${answers.join("\n")}`);
      }
      const { body } = await nodeAt(id).call("GET", `/api/v1/devices/${id}/events`);
      assert.is((body.items as unknown[]).length, 5);
      const ingested = await nodeAt(id + 1).call("GET", `/api/v1/devices/${id}/ingest_status`);
      assert.is(ingested.body.messages, 5);
    }
  });

  test("a session is ended at its node, asked anywhere", async () => {
    const [device] = devices as [Rec];
    const options = { clean: false, protocolVersion: 5, properties: { sessionExpiryInterval: 600 } } as const;
    for (const [place, node] of cluster.nodes.entries()) {
      const clientId = `ended by ${place}`;
      const client = await connectAsync(nodeAt(0).mqtt, { ...login(device), ...options, clientId });
      await client.endAsync();
      const path = `/api/v1/devices/${device.id}/sessions`;
      const gone = await node.call("DELETE", `${path}?clientIDs=${encodeURIComponent(clientId)}`);
      assert.is(gone.status, 204, gone.text);
      assert.not.match((await node.call("GET", path)).text, clientId);
    }
  });

  test("a command sent through any node reaches the device, wherever it is connected", async () => {
    for (const device of devices) {
      const client = await connectAsync(nodeAt(device.id + 1).mqtt, login(device));
      const received: string[] = [];
      client.on("message", (_topic, payload) => received.push(String(payload)));
      await client.subscribeAsync("down", { qos: 1 });
      for (const place of numbers.keys()) {
        const { status, text } = await nodeAt(place).call("POST", "/api/v1/device_publish", {
          deviceID: device.deviceID,
          topic: "down",
          payload: `from ${place}`,
        });
        assert.equal(
          [status, JSON.parse(text).publishStatus ?? text],
          [201, JSON.parse(text).publishStatus ?? text],
        );
      }
      await until(() => received.length === numbers.length, { what: "the commands" });
      assert.equal(received, ["from 0", "from 1", "from 2"]);
      const logs = async () => {
        const { body } = await nodeAt(0).call(
          "GET",
          `/api/v1/device_control_logs?deviceID=${device.deviceID}`,
        );
        return (body.items as Rec[]).map(({ publishStatus }) => publishStatus);
      };
      await until(async () => (await logs()).every((status) => status === 2), { what: "the receipts" });
      assert.is((await logs()).length, numbers.length);
      await client.endAsync();
    }
  });

  test("new points of a device are published at each node", async () => {
    const [device] = devices as [Rec];
    const abort = new AbortController();
    const Authorization = `Bearer ${cluster.apiKey}`;
    const texts = await Promise.all(
      cluster.nodes.map(async (node) => {
        const answer = await fetch(`${node.addresses.http}/api/v1/devices/${device.id}/live`, {
          headers: { Authorization },
          signal: abort.signal,
        });
        assert.is(answer.status, 200);
        const told = { text: "" };
        void (async () => {
          const decoder = new TextDecoder();
          for await (const piece of answer.body as unknown as AsyncIterable<Uint8Array>)
            told.text += decoder.decode(piece);
        })().catch(() => undefined);
        return told;
      }),
    );
    const client = await connectAsync(nodeAt(2).mqtt, login(device));
    await client.publishAsync("data", '{"n":4711}', { qos: 1 });
    await until(() => texts.every(({ text }) => text.includes("4711")), { what: "the point at each" });
    abort.abort();
    await client.endAsync();
  });

  test("errors are reported alike at all nodes, and another tenant's device is nowhere", async () => {
    const [device] = devices as [Rec];
    for (const node of cluster.nodes) {
      const wrong = await node.call("GET", `/api/v1/devices/${device.id}/events?_limit=x`);
      assert.is(wrong.status, 400);
      const nobody = await node.call("POST", "/api/v1/device_publish", { deviceID: "nobody", payload: "x" });
      assert.is(nobody.status, 404);
      const malformed = await node.call("POST", "/api/v1/device_publish", { deviceID: device.deviceID });
      assert.is(malformed.status, 400);
    }
  });

  test("while its node is away a device's messages are 503, with a reason; its points are there", async () => {
    const device = devices.find(({ id }) => id % numbers.length === 1) as Rec;
    await nodeAt(1).kill();
    const events = await nodeAt(0).call("GET", `/api/v1/devices/${device.id}/events`);
    assert.is(events.status, 503);
    assert.match(events.text, "does not answer");
    const command = await nodeAt(0).call("POST", "/api/v1/device_publish", {
      deviceID: device.deviceID,
      payload: "x",
    });
    assert.is(command.status, 503);
    const points = await nodeAt(0).call(
      "GET",
      `/api/v1/original_data?deviceIntID=${device.id}&startTime=2001-01-01T00:00:00Z`,
    );
    assert.is(points.status, 200);
    await cluster.start(1);
    const back = await nodeAt(0).call("GET", `/api/v1/devices/${device.id}/events`);
    assert.is(back.status, 200);
  });
});
