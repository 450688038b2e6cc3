/** The journal in a topic: services and brokers are killed under load, folders are lost, the topic is not as it must be. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { connectAsync } from "mqtt";
import { prepareTopic } from "../../store/journal/kafka/topic.js";
import { assertKeptOnce, publishNumbers } from "../cluster/publish-numbers.js";
import type { InfluxServer } from "../influxd/influxd.js";
import type { Brokers } from "../kafka/brokers.js";
import { assert, influxKafkaSuite, openTempDir, rejects, until } from "../suite.js";
import { nothingSetAside, payloadsOf, provision, type RunningService, startService } from "./support.js";

const rounds = 6;
const devicesCount = 6;

influxKafkaSuite("the journal in a topic of Kafka", (test, { influx, brokers }) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let topics = 0;
  test.before(async () => {
    dir = await openTempDir();
  });
  test.after(() => dir.close());

  /** The settings of a deployment of its own: metadata outside of the data folder, a topic that nobody has. */
  async function deployment(more: Readonly<Record<string, string>> = {}) {
    const name = `flow-${topics++}`;
    const folder = join(dir.path, name);
    await mkdir(folder);
    const { url, token, org, bucket } = (await influx()) as InfluxServer;
    const { addresses } = await brokers();
    const settings = {
      LIBSQL_URL: `file:${join(folder, "metadata.db")}`,
      MASTER_KEY: "5a".repeat(32),
      API_KEY: "flow:0123456789abcdef0123456789abcdef",
      INFLUX_URL: url,
      INFLUX_TOKEN: token,
      INFLUX_ORG: org,
      INFLUX_BUCKET: bucket,
      JOURNAL_URL: `kafka://${addresses.join()}/${name}`,
      JOURNAL_SHARDS: "4",
      ...more,
    };
    return { topic: name, folder, settings, dataDir: join(folder, "data") };
  }

  /** A device of the service, and its client, whose first message is acknowledged. */
  async function firstClient(service: RunningService) {
    const [device] = await provision(service, 1);
    assert.ok(device);
    const login = { username: String(device.deviceUsername), password: String(device.token) };
    const client = await connectAsync(service.mqtt, { ...login, reconnectPeriod: 0 });
    await client.publishAsync("data", '{"n":1}', { qos: 1 });
    return { device, login, client };
  }

  test("brokers and the service are killed and frozen, its folder is lost: nothing acknowledged is lost or twice", async () => {
    const { settings, dataDir } = await deployment();
    const { nodes } = await brokers();
    let service = await startService(dataDir, settings);
    const devices = await provision(service, devicesCount);
    let isOver = false;
    const publishing = devices.map((device) =>
      publishNumbers(
        () => service.mqtt,
        device,
        () => isOver,
      ),
    );
    for (let round = 0; round < rounds; round++) {
      await pause(1000 + Math.random() * 1000);
      const node = nodes[round % nodes.length] as Brokers["nodes"][number];
      if (round % 3 === 1) {
        node.freeze();
        await pause(4000);
        node.thaw();
      } else {
        await node.kill();
        await pause(1000);
        await service.kill();
        // As on another machine: nothing is left but the topic and the metadata.
        if (round % 2 === 0) await rm(dataDir, { recursive: true });
        // A start gives up where the brokers have no new leader in time, and its supervisor starts it again.
        service = await until(() => startService(dataDir, settings), { what: "a start" });
        await node.start();
      }
    }
    await pause(3000);
    isOver = true;
    const acknowledged = await Promise.all(publishing);
    await service.settled();
    for (const [i, device] of devices.entries()) {
      assert.ok((acknowledged[i]?.length ?? 0) > 100, `${acknowledged[i]?.length} messages`);
      await assertKeptOnce(() => service, device, acknowledged[i] ?? []);
    }
    await nothingSetAside(service);
    await service.stop();
  });

  test("while two brokers of three are away nothing is acknowledged, and /readyz says why; then it goes on", async () => {
    const { settings, dataDir } = await deployment();
    const { nodes } = await brokers();
    const service = await startService(dataDir, settings);
    const { device, login, client } = await firstClient(service);
    for (const node of nodes.slice(1)) node.freeze();
    let isAcknowledged = false;
    const second = client.publishAsync("data", '{"n":2}', { qos: 1 }).then(() => {
      isAcknowledged = true;
    });
    const told = await until(
      async () => {
        const { status, text } = await service.call("GET", "/readyz");
        return status === 503 && text;
      },
      { what: "the trouble" },
    );
    assert.match(told, /cannot append a frame/);
    assert.is(isAcknowledged, false);
    await rejects(
      () => connectAsync(service.mqtt, { ...login, clientId: "late", reconnectPeriod: 0 }, false),
      /Server unavailable/,
    );
    for (const node of nodes.slice(1)) node.thaw();
    await second;
    await until(async () => (await service.call("GET", "/readyz")).status === 200, { what: "readiness" });
    await client.endAsync();
    await service.settled();
    await assertKeptOnce(() => service, device, [1, 2]);
    await service.stop();
  });

  test("a second process that takes the journal ends the first, which acknowledges nothing more", async () => {
    const { settings, dataDir, folder } = await deployment();
    const first = await startService(dataDir, settings);
    const { device, client } = await firstClient(first);
    const second = await startService(join(folder, "other"), settings);
    let isAcknowledged = false;
    void client.publishAsync("data", '{"n":2}', { qos: 1 }).then(
      () => {
        isAcknowledged = true;
      },
      () => undefined,
    );
    assert.is(await first.ended, 1);
    assert.is(isAcknowledged, false);
    client.end(true);
    const fatal = first.logged.find(({ level }) => level === "error");
    assert.match(JSON.stringify(fatal), /another process has taken over the journal/);
    await second.settled();
    await assertKeptOnce(() => second, device, [1]);
    assert.equal(await payloadsOf(second, device), ['{"n":1}'], "what the first had under way is void");
    await second.stop();
  });

  test("a start that would keep less than is promised ends with a line and code 2", async () => {
    const { settings, dataDir, folder, topic } = await deployment();
    const refused = async (
      what: RegExp,
      more: Readonly<Record<string, string>>,
      in_ = join(folder, "other"),
    ): Promise<void> => {
      const failure = await rejects(() => startService(in_, { ...settings, ...more }), what);
      assert.match(failure.message, /ended with 2/);
    };
    const { nodes } = await brokers();
    const addresses = nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
    const needs = { brokers: addresses, clientID: "test", partitions: 4, frameBytesMax: 1 << 20 };
    const never = new AbortController().signal;
    await prepareTopic({ ...needs, topic: "lax", replicas: 3, acceptsUnflushed: true }, never);
    const at = (name: string) => settings.JOURNAL_URL.replace(`/${topic}`, `/${name}`);
    await refused(/JOURNAL_URL: cannot use topic lax: flush.messages is/, { JOURNAL_URL: at("lax") });
    const service = await startService(dataDir, settings);
    await service.stop();
    await refused(/JOURNAL_URL: is not set, and the deployment's journal is in topic/, { JOURNAL_URL: "" });
    await refused(/has 4 partitions, not 5/, { JOURNAL_SHARDS: "5" });
    await prepareTopic({ ...needs, topic: "empty", replicas: 3, acceptsUnflushed: false }, never);
    await refused(/JOURNAL_URL: is topic empty .*, and this deployment's journal is in topic flow/, {
      JOURNAL_URL: at("empty"),
    });
    await refused(/holds a journal already, and it is not that of this deployment/, {
      LIBSQL_URL: `file:${join(folder, "another.db")}`,
    });
    const local = join(folder, "local");
    const alone = await startService(local, {
      ...settings,
      JOURNAL_URL: "",
      LIBSQL_URL: `file:${join(folder, "local.db")}`,
    });
    await alone.stop();
    await refused(/holds a journal that is kept on this disk alone/, {}, local);
    await refused(/INFLUX_URL: is required with JOURNAL_URL/, { INFLUX_URL: "" });
    await refused(/JOURNAL_CA: needs a JOURNAL_URL of kafkas/, { JOURNAL_CA: "/nowhere" });
  });
});
