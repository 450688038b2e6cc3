/** Lists of all devices: whichever node is asked, they are what one process would show. */
import { connectAsync } from "mqtt";
import { provision, type RunningService } from "../flow/support.js";
import { assert, influxSuite, openTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { type Cluster, numbers, startCluster } from "./three-nodes.js";

const devicesCount = 6;
const messagesEach = 8;

interface Listed {
  readonly items: readonly Rec[];
  readonly count: number;
  readonly truncated: boolean;
}

influxSuite("lists of all devices in a cluster", (test, influx) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let cluster: Cluster;
  let devices: Rec[];
  /** Payloads in the order in which they were acknowledged, one after another. */
  const sent: string[] = [];

  const nodeAt = (place: number): RunningService => cluster.nodes[place] as RunningService;

  async function list(place: number, path: string): Promise<Listed> {
    const { http } = nodeAt(place).addresses;
    const authorization = `Basic ${Buffer.from(cluster.apiKey).toString("base64")}`;
    const answer = await fetch(`${http}/api/v1/${path}`, { headers: { authorization } });
    assert.is(answer.status, 200);
    const { items, meta } = (await answer.json()) as { items: Rec[]; meta: { count: number } };
    return { items, count: meta.count, truncated: answer.headers.get("truncated") === "true" };
  }
  const payloads = ({ items }: Listed): unknown[] => items.map(({ payload }) => payload);

  test.before(async () => {
    dir = await openTempDir();
    cluster = await startCluster(dir.path, await influx());
    devices = await provision(nodeAt(0), devicesCount);
    const clients = await Promise.all(
      devices.map(({ deviceUsername, token }, i) =>
        connectAsync(
          nodeAt(i % numbers.length).mqtt,
          { username: String(deviceUsername), password: String(token), reconnectPeriod: 0 },
          false,
        ),
      ),
    );
    for (let n = 0; n < messagesEach * devicesCount; n++) {
      const payload = `{"n":${n}}`;
      await clients[n % devicesCount]?.publishAsync(n % 4 === 0 ? "data" : "other/data", payload, { qos: 1 });
      sent.push(payload);
    }
    for (const client of clients) await client.endAsync();
    sent.reverse();
  });
  test.after(async () => {
    await cluster.stop();
    await dir.close();
  });

  test("each page is the same at every node, newest first, and none of it is missing", async () => {
    const limit = 7;
    for (const place of numbers.keys()) {
      for (let page = 1; (page - 1) * limit < sent.length + limit; page++) {
        const found = await list(place, `device_events?_limit=${limit}&_page=${page}`);
        assert.equal(payloads(found), sent.slice((page - 1) * limit, page * limit), `page ${page}`);
        assert.equal([found.count, found.truncated], [sent.length, false]);
      }
    }
  });

  test("filters hold for what other nodes keep, and the count is of all", async () => {
    const onData = sent.filter((_, i) => (sent.length - 1 - i) % 4 === 0);
    const [device] = devices as [Rec];
    for (const place of numbers.keys()) {
      const byTopic = await list(place, "device_events?topic=data&_limit=100");
      assert.equal([payloads(byTopic), byTopic.count], [onData, onData.length]);
      const byPayload = await list(place, "device_events?payload_like=%224&_limit=100");
      assert.is(byPayload.count, 0);
      const byText = await list(place, 'device_events?payload_like={"n":4&_limit=100');
      assert.equal(
        payloads(byText),
        sent.filter((one) => one.startsWith('{"n":4')),
      );
      const byDevice = await list(place, `device_events?deviceID=${device.deviceID}&_limit=100`);
      assert.is(byDevice.count, messagesEach);
      const byName = await list(place, "device_events?deviceName_like=flow&_limit=100");
      assert.equal(payloads(byName), sent);
      const none = await list(place, "device_events?createAt=2001-01-01T00:00:00Z");
      assert.is(none.count, 0);
    }
  });

  test("connections are those of all nodes", async () => {
    const lists = await Promise.all(
      [...numbers.keys()].map((place) => list(place, "device_connect_logs?_limit=100")),
    );
    const [first] = lists as [Listed];
    assert.is(first.count, 2 * devicesCount);
    assert.is(new Set(first.items.map(({ deviceID }) => deviceID)).size, devicesCount);
    for (const other of lists) assert.equal(other, first);
  });

  test("what an absent node keeps is missing, and the list says so; the rest is in order", async () => {
    await nodeAt(2).kill();
    const found = await list(0, "device_events?_limit=100");
    assert.is(found.truncated, true);
    const there = payloads(found) as string[];
    assert.ok(there.length > 0 && there.length < sent.length, `${there.length}`);
    assert.equal(
      there,
      sent.filter((one) => there.includes(one)),
    );
    await cluster.start(2);
    assert.equal(payloads(await list(0, "device_events?_limit=100")), sent);
  });
});
