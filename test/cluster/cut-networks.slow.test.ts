/**
 * A node or a broker is cut off under load, so that packets vanish without an error: what has been acknowledged is
 * there, once, all shards are held, and sessions go on. Each test prints the longest pause of a device.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { connect, connectAsync, type MqttClient } from "mqtt";
import { readClusterState } from "../../store/metadata/cluster/cluster-state.js";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import { provision, type RunningService } from "../flow/support.js";
import { type InfluxServer, startInflux } from "../influxd/influxd.js";
import { type Brokers, startBrokers } from "../kafka/brokers.js";
import type { Networks, Place } from "../networks/networks.js";
import { assert, clusterNetworksSuite, openTempDir, until } from "../suite.js";
import type { Rec } from "../world.js";
import { openClusterNetworks } from "./cluster-networks.js";
import { assertKeptOnce, publishNumbers } from "./publish-numbers.js";
import { type Cluster, numbers, startCluster } from "./three-nodes.js";

/** Longer than brokers and nodes wait for each other. */
const cutMs = 9000;
/** Devices of each test that publish. */
const publishers = 9;
const shards = 6;

clusterNetworksSuite("a cluster whose network is cut", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let networks: Networks;
  let ofBrokers: readonly Place[];
  let ofNodes: readonly Place[];
  let influx: InfluxServer;
  let brokers: Brokers;
  let cluster: Cluster;
  let db: Db;
  let unused: Rec[];
  test.before(async () => {
    dir = await openTempDir();
    ({ networks, ofBrokers, ofNodes } = await openClusterNetworks());
    influx = await startInflux(networks.host);
    brokers = await startBrokers(3, { places: ofBrokers });
    const environment = {
      JOURNAL_URL: `kafka://${brokers.addresses.join()}/cluster`,
      JOURNAL_SHARDS: String(shards),
    };
    cluster = await startCluster(dir.path, influx, environment, { places: ofNodes });
    db = await openDb({ url: `file:${join(dir.path, "metadata.db")}`, shared: true, migrates: false });
    unused = await provision(anyNode(), 3 * (publishers + numbers.length));
  });
  test.after(async () => {
    await db.close();
    await cluster.stop();
    await brokers.close();
    await influx.close();
    await networks.close();
    await dir.close();
  });

  const anyNode = (): RunningService =>
    cluster.nodes[Math.floor(Math.random() * numbers.length)] as RunningService;

  /** Resolves once each of the nodes is there and has its share. */
  const allHeld = (): Promise<unknown> =>
    until(
      async () => {
        const { nodes, holders } = await readClusterState(db);
        const ofEach = numbers.map(
          (number) => [...holders.values()].filter((holder) => holder.number === number).length,
        );
        return nodes.length === numbers.length && ofEach.every((count) => count === shards / numbers.length);
      },
      { what: "all shards to be held" },
    );

  const loginOf = (device: Rec) => ({
    username: String(device.deviceUsername),
    password: String(device.token),
    clientId: `sleeper ${device.id}`,
    clean: false,
    reconnectPeriod: 0,
  });

  /** Resolves once each node lets each device in: what is held may still be on its way. */
  async function allServed(devices: readonly Rec[]): Promise<void> {
    for (const node of cluster.nodes)
      for (const device of devices) {
        const once = { ...loginOf(device), clientId: `first ${device.id}`, clean: true };
        const client = await until(() => connectAsync(node.mqtt, once, false), {
          what: "a device to be let in",
        });
        await client.endAsync();
      }
  }

  /** Leaves a session with a message in its queue. */
  async function fallAsleep(device: Rec): Promise<void> {
    const client = await connectAsync(anyNode().mqtt, loginOf(device), false);
    await client.subscribeAsync("down", { qos: 1 });
    await client.endAsync();
    const command = { deviceID: device.deviceID, topic: "down", payload: "wake up", ttl: 600 };
    const sent = await anyNode().call("POST", "/api/v1/device_publish", command);
    assert.is(sent.status, 201, sent.text);
  }

  /** The session is there, and so is its message. */
  async function wakeUp(device: Rec): Promise<void> {
    const messages: string[] = [];
    const client = connect(anyNode().mqtt, loginOf(device));
    client.on("message", (_, payload) => messages.push(payload.toString()));
    const isThere = new Promise((resolve) =>
      client.once("connect", (answer) => resolve(answer.sessionPresent)),
    );
    assert.is(await isThere, true);
    await until(() => messages.length > 0, { what: "the message" });
    await client.endAsync();
    assert.equal(messages, ["wake up"]);
  }

  /** Cuts under load, heals, and counts. */
  async function survive(what: string, cut: (devices: readonly Rec[]) => Promise<void>): Promise<void> {
    const devices = unused.splice(0, publishers);
    const sleepers = unused.splice(0, numbers.length);
    await allHeld();
    await allServed([...devices, ...sleepers]);
    for (const one of sleepers) await fallAsleep(one);
    let isOver = false;
    const pauses = devices.map(() => ({ at: performance.now(), longestMs: 0, count: 0 }));
    const publishing = devices.map((device, i) =>
      publishNumbers(
        () => anyNode().mqtt,
        device,
        () => isOver,
        () => {
          const own = pauses[i] as (typeof pauses)[0];
          const now = performance.now();
          Object.assign(own, { at: now, longestMs: Math.max(own.longestMs, now - own.at) });
          own.count++;
        },
      ),
    );
    const allGoOn = async (): Promise<void> => {
      const before = pauses.map(({ count }) => count);
      const goesOn = (): boolean => pauses.every(({ count }, i) => count >= (before[i] ?? 0) + 20);
      await until(goesOn, { what: "messages of all devices to be acknowledged", timeoutMs: 120_000 });
    };
    await allGoOn();
    for (const own of pauses) own.longestMs = 0;
    await cut(devices);
    await pause(cutMs);
    await networks.heal();
    await allGoOn();
    isOver = true;
    const acknowledged = await Promise.all(publishing);
    const longestMs = Math.max(...pauses.map((own) => own.longestMs));
    console.log(
      `${what}: cut for ${cutMs} ms, the longest pause of a device was ${Math.round(longestMs)} ms`,
    );
    await allHeld();
    for (const node of cluster.nodes) await node.settled();
    for (const [i, device] of devices.entries()) {
      const own = acknowledged[i] ?? [];
      await assertKeptOnce(anyNode, device, own);
    }
    for (const one of sleepers) await wakeUp(one);
  }

  test("a node is cut off from the brokers and the other nodes, and not from its clients", () =>
    survive("a node without brokers and nodes", async () => {
      await networks.part(ofNodes.slice(0, 1), [...ofNodes.slice(1), ...ofBrokers]);
    }));

  test("a broker is cut off from the other brokers and the nodes", () =>
    survive("a broker", async () => {
      await networks.part(ofBrokers.slice(0, 1), [...ofBrokers.slice(1), ...ofNodes]);
    }));

  test("a node is cut off from the other nodes alone", () =>
    survive("a node without nodes", async (devices) => {
      // Two of three are passed on to another node.
      const atOne = await Promise.all(devices.map(lookOn));
      await networks.part(ofNodes.slice(0, 1), ofNodes.slice(1));
      const ended = (): number => atOne.filter(({ connected }) => !connected).length;
      await until(() => ended() >= devices.length / 2, {
        what: "the end of what was passed on",
        timeoutMs: 30_000,
      });
      assert.ok(ended() < devices.length, "who is kept at that node stays");
      for (const client of atOne) client.end(true);
    }));

  /** A client of the first node that says nothing. */
  const lookOn = (device: Rec): Promise<MqttClient> =>
    connectAsync(
      (cluster.nodes[0] as RunningService).mqtt,
      { ...loginOf(device), clientId: `onlooker ${device.id}`, clean: true, keepalive: 0 },
      false,
    );
});
