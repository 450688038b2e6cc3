/**
 * A cluster whose journals are in a topic: nodes are killed and come back without their folders, brokers lose their power,
 * and with it what their disks have not synced.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { connect, connectAsync } from "mqtt";
import { provision, type RunningService } from "../flow/support.js";
import { type Brokers, startBrokers } from "../kafka/brokers.js";
import { lossyDiskMissing } from "../kafka/lossy-disk.js";
import { assert, influxKafkaSuite, openTempDir, until } from "../suite.js";
import type { Rec } from "../world.js";
import { startBalancer } from "./balancer.js";
import { assertKeptOnce, publishNumbers } from "./publish-numbers.js";
import { type Cluster, numbers, startCluster } from "./three-nodes.js";

/** What is broken, a round each. */
const rounds = [
  { broker: "power", node: "replace" },
  { broker: null, node: "freeze" },
  { broker: "freeze", node: "replace" },
  { broker: "power", node: "freeze" },
  { broker: null, node: "replace" },
  { broker: "freeze", node: null },
  { broker: "power of all", node: null },
] as const;
/** Longer than sessions with a broker live, and than a node waits for another. */
const frozenMs = 6000;
const devicesCount = 9;

influxKafkaSuite(
  "a cluster on Kafka",
  (test, { influx, brokers }) => {
    let dir: Awaited<ReturnType<typeof openTempDir>>;
    let cluster: Cluster;
    let devices: Rec[];
    let balancer: Awaited<ReturnType<typeof startBalancer>>;
    test.before(async () => {
      dir = await openTempDir();
      const { addresses } = await brokers();
      cluster = await startCluster(dir.path, await influx(), {
        JOURNAL_URL: `kafka://${addresses.join()}/cluster`,
        JOURNAL_SHARDS: "5",
      });
      devices = await provision(nodeAt(0), devicesCount);
      balancer = await startBalancer(() => cluster.nodes.map(({ mqtt }) => new URL(mqtt).host));
    });
    test.after(async () => {
      await balancer.close();
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

    test("nodes are replaced and frozen, brokers lose their power, are frozen, and lose it all at once, under load: nothing acknowledged is lost, nothing is there twice", async () => {
      const { nodes } = await brokers();
      let isOver = false;
      const publishing = devices.map((device) =>
        publishNumbers(
          () => `mqtt://127.0.0.1:${balancer.port}`,
          device,
          () => isOver,
        ),
      );
      for (const [round, broken] of rounds.entries()) {
        await pause(1000 + Math.random() * 1000);
        const broker = nodes[round % nodes.length] as Brokers["nodes"][number];
        const place = round % numbers.length;
        if (broken.broker === "power") await broker.cutPower();
        if (broken.broker === "power of all") await Promise.all(nodes.map((one) => one.cutPower()));
        if (broken.broker === "freeze") broker.freeze();
        if (broken.node === "replace") await replace(place);
        if (broken.node === "freeze") nodeAt(place).signal("SIGSTOP");
        if (broken.node === "freeze" || broken.broker === "freeze") await pause(frozenMs);
        if (broken.node === "freeze") nodeAt(place).signal("SIGCONT");
        if (broken.broker === "power") await broker.start();
        if (broken.broker === "power of all") await Promise.all(nodes.map((one) => one.start()));
        if (broken.broker === "freeze") broker.thaw();
      }
      await pause(2000);
      isOver = true;
      const acknowledged = await Promise.all(publishing);
      for (const node of cluster.nodes) await node.settled();
      for (const [i, device] of devices.entries()) {
        const own = acknowledged[i] ?? [];
        assert.ok(own.length > 100, `${own.length} messages`);
        await assertKeptOnce(anyNode, device, own);
      }
    });

    test("what waits in a session, and a command without its receipt, outlive the folders of all nodes", async () => {
      const [device] = devices as [Rec];
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
  },
  () => startBrokers(3, { loseUnsynced: true }),
  lossyDiskMissing,
);
