/** A cluster whose journals are in a topic: what outlives the folders of its nodes. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { connect, connectAsync } from "mqtt";
import { provision, type RunningService } from "../flow/support.js";
import { assert, influxKafkaSuite, openTempDir, until } from "../suite.js";
import type { Rec } from "../world.js";
import { type Cluster, numbers, startCluster } from "./three-nodes.js";

influxKafkaSuite("a cluster on Kafka", (test, { influx, brokers }) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let cluster: Cluster;
  let device: Rec;
  test.before(async () => {
    dir = await openTempDir();
    const { addresses } = await brokers();
    cluster = await startCluster(dir.path, await influx(), {
      JOURNAL_URL: `kafka://${addresses.join()}/cluster`,
      JOURNAL_SHARDS: "5",
    });
    [device] = (await provision(nodeAt(0), 1)) as [Rec];
  });
  test.after(async () => {
    await cluster.stop();
    await dir.close();
  });

  const nodeAt = (place: number): RunningService => cluster.nodes[place] as RunningService;
  const anyNode = (): RunningService => nodeAt(Math.floor(Math.random() * numbers.length));

  /** As on another machine: the node of this place comes back with an empty folder. */
  async function replace(place: number): Promise<void> {
    await nodeAt(place).kill();
    await rm(join(dir.path, `node-${place}`), { recursive: true });
    await cluster.start(place);
  }

  test("what waits in a session, and a command without its receipt, outlive the folders of all nodes", async () => {
    const login = {
      username: String(device.deviceUsername),
      password: String(device.token),
      clientId: "sleeper",
      clean: false,
      reconnectPeriod: 0,
    };
    const first = await connectAsync(anyNode().mqtt, login, false);
    await first.subscribeAsync("down", { qos: 1 });
    await first.endAsync();
    const sent = await anyNode().call("POST", "/api/v1/device_publish", {
      deviceID: device.deviceID,
      topic: "down",
      payload: "wake up",
      ttl: 600,
    });
    assert.is(sent.status, 201, sent.text);
    for (const place of numbers.keys()) await replace(place);
    const messages: string[] = [];
    // What waits comes with the answer to CONNECT.
    const second = connect(anyNode().mqtt, login);
    second.on("message", (_, payload) => messages.push(payload.toString()));
    await until(() => messages.length > 0, { what: "the message" });
    const publishStatus = async (): Promise<unknown> => {
      const { body } = await anyNode().call("GET", "/api/v1/device_control_logs?_limit=100");
      return (body.items as Rec[]).find(({ payload }) => payload === "wake up")?.publishStatus;
    };
    await until(async () => (await publishStatus()) === 2, { what: "the receipt" });
    assert.equal(messages, ["wake up"]);
    await second.endAsync();
  });
});
