/**
 * Two processes share what Mosquitto hands out; one is killed, the broker restarts in the middle. Nothing that was
 * acknowledged is lost.
 */
import type { MqttClient } from "mqtt";
import { shardOfID } from "../../store/journal/shard-ids.js";
import { brokerMissing, type Mosquitto, startMosquitto } from "../ingest/transports/broker/mosquitto.js";
import { makeDevice, pointOf } from "../ingest/transports/broker/support.js";
import { assert, openTempDir, suite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { payloadsOf, type RunningService, startService, startWithShards, valuesOf } from "./support.js";
import { createPair, type Pair } from "./two-processes.js";

const started = Math.floor(Date.now() / 1000) - 86_400;
const devicesCount = 4;
const shards = 3;

/** A careful client of MQTT 5 sends again what the broker had for nobody. */
const noMatchingSubscribers = 0x10;

/** Publishes numbered messages of all devices in turn, each with a time of its own. */
function createLoad(client: MqttClient, devices: readonly Rec[]) {
  const acknowledged = new Set<number>();
  let sent = 0;
  let running = true;
  let open = 0;
  const forNobody = new Set<number>();
  // The callback does not give the reason code.
  client.on("packetreceive", (packet) => {
    if (packet.cmd === "puback" && packet.reasonCode === noMatchingSubscribers)
      forNobody.add(packet.messageId ?? 0);
  });

  const failures: string[] = [];

  function publish(n: number, topic: string, payload: string): void {
    client.publish(topic, payload, { qos: 1 }, (error, packet) => {
      if (forNobody.delete(packet?.messageId ?? 0)) {
        setTimeout(() => publish(n, topic, payload), 50);
        return;
      }
      open--;
      if (error) failures.push(`${n}: ${error.message}`);
      else acknowledged.add(n);
    });
  }

  async function run(): Promise<void> {
    while (running) {
      if (open < 200) {
        const n = sent++;
        const { deviceID } = devices[n % devices.length] as Rec;
        const payload = JSON.stringify({ n, time: started * 1000 + n });
        open++;
        publish(n, `devices/${deviceID}/up/data`, payload);
      }
      if (open >= 200 || sent % 5 === 0) await pause(5);
    }
  }
  const done = run();
  return {
    acknowledged,
    failures,
    get sent() {
      return sent;
    },
    /** Sends nothing new; resolves when everything is acknowledged. */
    stop: async () => {
      running = false;
      await done;
      await until(() => open === 0, { what: "the last acknowledgements", timeoutMs: 30_000 });
    },
  };
}

type Load = ReturnType<typeof createLoad>;

const session = {
  clean: false,
  clientId: "load",
  reconnectPeriod: 50,
  properties: { sessionExpiryInterval: 3600 },
};

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

suite("two processes on one broker", (test) => {
  const missing = brokerMissing();
  if (missing !== null) {
    test.skip("everything", missing);
    return;
  }
  let broker: Mosquitto;
  let brokerDir: Awaited<ReturnType<typeof openTempDir>>;
  test.before.each(async () => {
    brokerDir = await openTempDir();
    broker = await startMosquitto({ dir: brokerDir.path });
  });
  test.after.each(async () => {
    await broker.stop();
    await brokerDir.close();
  });

  async function withPair(
    protocolVersion: 4 | 5,
    use: (
      pair: Pair,
      services: [RunningService, RunningService],
      devices: Rec[],
      load: Load,
    ) => Promise<void>,
  ): Promise<void> {
    await withTempDir(async (dir) => {
      const pair = createPair(dir, { BROKER_URL: broker.url });
      const services: [RunningService, RunningService] = [await pair.start(0), await pair.start(1)];
      const product = await services[0].make("/api/v1/products", { productName: "shared", cloudProtocol: 1 });
      await services[0].make("/api/v1/data_points", pointOf(product));
      const devices: Rec[] = [];
      for (let i = 0; i < devicesCount; i++) devices.push(await makeDevice(services[0], product));
      for (const service of services) await connected(service);
      const client = await broker.connect({ ...session, protocolVersion });
      const load = createLoad(client, devices);
      await use(pair, services, devices, load);
      await client.endAsync();
      for (const service of services) await service.stop();
    });
  }

  const connected = (service: RunningService) =>
    until(async () => (await service.metric("tidemark_broker_connections ")) === 1, {
      what: "the service at the broker",
      timeoutMs: 30_000,
    });
  const taken = (service: RunningService) => service.metric("tidemark_broker_messages_total");

  async function eventsOf(services: readonly RunningService[], devices: readonly Rec[]): Promise<number[]> {
    const found: number[] = [];
    for (const service of services) {
      for (const device of devices) {
        found.push(
          ...(await payloadsOf(service, device)).map((text) => (JSON.parse(text) as { n: number }).n),
        );
      }
    }
    return found.sort((a, b) => a - b);
  }

  /** Waits until every acknowledged number is an event and a point somewhere. */
  async function allThere(
    services: readonly RunningService[],
    devices: readonly Rec[],
    load: Load,
  ): Promise<number[]> {
    let events: number[] = [];
    await until(
      async () => {
        events = await eventsOf(services, devices);
        const seen = new Set(events);
        const lost = [...load.acknowledged].filter((n) => !seen.has(n));
        if (lost.length > 0)
          throw new Error(`${lost.length} of ${load.acknowledged.size} missing: ${lost.slice(0, 10)}`);
        return true;
      },
      { what: "all that was acknowledged", timeoutMs: 40_000 },
    );
    const values: number[] = [];
    for (const service of services) {
      await service.settled();
      for (const device of devices) values.push(...(await valuesOf(service, device)));
    }
    assert.equal([...new Set(values)].length, new Set(events).size);
    return events;
  }

  test(
    "one is killed under load and starts again: nothing is lost, nothing is there twice",
    () =>
      withPair(4, async (pair, services, devices, load) => {
        await until(async () => (await taken(services[0])) > 300 && (await taken(services[1])) > 300, {
          what: "both to have a share",
          timeoutMs: 30_000,
        });
        for (let kill = 0; kill < 2; kill++) {
          await services[1].kill();
          await pause(700);
          services[1] = await pair.start(1);
          await connected(services[1]);
          await pause(500);
        }
        await load.stop();
        const events = await allThere(services, devices, load);
        assert.is(load.acknowledged.size, load.sent, load.failures.slice(0, 5).join("; "));
        assert.is(events.length, load.sent, "none twice");
        assert.ok((await taken(services[1])) > 100);
      }),
    { timeoutMs: 600_000 },
  );

  test(
    "the broker restarts in the middle: nothing is lost, no point is there twice",
    () =>
      withPair(5, async (_pair, services, devices, load) => {
        await until(async () => (await taken(services[0])) > 300, { what: "load", timeoutMs: 30_000 });
        for (let restart = 0; restart < 2; restart++) {
          await broker.stop();
          await pause(400);
          await broker.start();
          for (const service of services) await connected(service);
          await pause(500);
        }
        await load.stop();
        await allThere(services, devices, load);
        assert.is(load.acknowledged.size, load.sent, load.failures.slice(0, 5).join("; "));
        assert.ok((await services[0].metric("tidemark_broker_connections_ended_total")) >= 2);
      }),
    { timeoutMs: 600_000 },
  );

  test(
    "a process with several shards is killed: each message is once in the shard of its device",
    () =>
      withTempDir(async (dir) => {
        const start = () => startWithShards(shards, dir, { BROKER_URL: broker.url });
        let service = await start();
        const product = await service.make("/api/v1/products", { productName: "shards", cloudProtocol: 1 });
        await service.make("/api/v1/data_points", pointOf(product));
        const devices: Rec[] = [];
        for (let i = 0; i < 2 * shards; i++) devices.push(await makeDevice(service, product));
        await connected(service);
        const client = await broker.connect({ ...session, protocolVersion: 5 });
        const load = createLoad(client, devices);
        for (let kill = 0; kill < 2; kill++) {
          await until(async () => (await taken(service)) > 300, { what: "load", timeoutMs: 30_000 });
          await service.kill();
          service = await start();
          await connected(service);
        }
        await load.stop();
        const events = await allThere([service], devices, load);
        assert.is(load.acknowledged.size, load.sent, load.failures.slice(0, 5).join("; "));
        assert.is(events.length, load.sent, "none twice");
        for (const device of devices) {
          const { body } = await service.call("GET", `/api/v1/devices/${device.id}/events?_limit=1000`);
          const ids = (body.items as Rec[]).map(({ id }) => shardOfID(id));
          assert.equal([...new Set(ids)], [device.id % shards]);
        }
        await client.endAsync();
        await service.stop();
      }),
    { timeoutMs: 600_000 },
  );

  test(
    "one process alone loses nothing though its devices are back before it",
    () =>
      withTempDir(async (dir) => {
        const service = await startService(dir, { BROKER_URL: broker.url, BROKER_SHARED: "off" });
        const product = await service.make("/api/v1/products", { productName: "alone", cloudProtocol: 1 });
        await service.make("/api/v1/data_points", pointOf(product));
        const device = await makeDevice(service, product);
        await connected(service);
        const client = await broker.connect({ ...session, protocolVersion: 4 });
        const load = createLoad(client, [device]);
        for (let restart = 0; restart < 2; restart++) {
          await pause(500);
          await broker.stop();
          await pause(1500);
          await broker.start();
          await connected(service);
        }
        await load.stop();
        await allThere([service], [device], load);
        await client.endAsync();
        await service.stop();
      }),
    { timeoutMs: 600_000 },
  );
});
