/** What is changed at one node of a cluster holds at the others once the change is answered. */
import { connectAsync } from "mqtt";
import { provision, type RunningService, valuesOf } from "../flow/support.js";
import { assert, influxSuite, openTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { type Cluster, numbers, startCluster } from "./three-nodes.js";

influxSuite("a cluster, changes", (test, influx) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let cluster: Cluster;
  let device: Rec;
  test.before(async () => {
    dir = await openTempDir();
    cluster = await startCluster(dir.path, await influx());
    device = (await provision(nodeAt(0), 3)).find(({ id }) => id % numbers.length === 1) as Rec;
  });
  test.after(async () => {
    await cluster.stop();
    await dir.close();
  });

  const nodeAt = (place: number): RunningService => cluster.nodes[place % numbers.length] as RunningService;
  const times = 10;
  const say = async (place: number, payload: object): Promise<void> => {
    const client = await connectAsync(nodeAt(place).mqtt, {
      username: String(device.deviceUsername),
      password: String(device.token),
      reconnectPeriod: 0,
    });
    await client.publishAsync("data", JSON.stringify(payload), { qos: 1 });
    await client.endAsync();
  };
  const statusFor = async (place: number, key: string, path = "/api/v1/devices"): Promise<number> =>
    (await fetch(`${nodeAt(place).addresses.http}${path}`, { headers: { Authorization: `Bearer ${key}` } }))
      .status;

  test("a data point that was made at one node is known to the owner of a device that sends at once", async () => {
    await say(1, { n: 0 });
    const { body } = await nodeAt(0).call("GET", `/api/v1/devices/${device.id}`);
    const product = await nodeAt(0).call("GET", "/api/v1/products");
    const productIntID = (product.body.items as Rec[])[0]?.id;
    assert.ok(productIntID, JSON.stringify(body));
    for (let i = 0; i < times; i++) {
      await nodeAt(i % 2 === 0 ? 0 : 2).make("/api/v1/data_points", {
        dataPointName: `p${i}`,
        dataPointID: `p${i}`,
        productIntID,
        pointDataType: 1,
        dataTransType: 1,
      });
      await say(1, { [`p${i}`]: i });
    }
    for (const node of cluster.nodes) await node.settled();
    const ingested = await nodeAt(0).call("GET", `/api/v1/devices/${device.id}/ingest_status`);
    assert.is(ingested.body.points, 1 + times, ingested.text);
  });

  test("a key that was revoked at one node is none at the others", async () => {
    // Fewer than the wrong keys of an address that are answered at once.
    for (let i = 0; i < 4; i++) {
      const { id, appID, appSecret } = await nodeAt(i).make("/api/v1/api_keys", { role: "viewer" });
      const key = `${appID}:${appSecret}`;
      for (const place of numbers.keys()) assert.is(await statusFor(place, key), 200);
      assert.is((await nodeAt(i).call("DELETE", `/api/v1/api_keys?ids=${id}`)).status, 204);
      for (const place of numbers.keys()) assert.is(await statusFor(place, key), 401, `${i} ${place}`);
    }
  });

  test("a device that was blocked at one node is not let in at the others", async () => {
    for (let i = 0; i < times; i++) {
      await say(i, { n: i });
      await nodeAt(i + 1).call("PUT", `/api/v1/devices/${device.id}`, { blocked: 1 });
      const refused = await say(i, { n: 100 }).then(
        () => false,
        () => true,
      );
      assert.ok(refused, `${i}`);
      await nodeAt(i + 1).call("PUT", `/api/v1/devices/${device.id}`, { blocked: 0 });
    }
    assert.is((await valuesOf(nodeAt(0), device)).includes(100), false);
  });
});
