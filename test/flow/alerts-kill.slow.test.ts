/** Load, SIGKILL, start again: alerts have counted each message once, and each entry of an envelope is one event. */
import { assert, suite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { createPublisher } from "./publisher.js";
import { nothingSetAside, payloadsOf, type RunningService, startService } from "./support.js";

const rounds = 3;
const messagesLeast = 100;
/** A round under load ends when so many more have been acknowledged: a slow machine takes its time. */
const perRound = 150;

const kinds = { upper: "n超上限", rule: "always" } as const;

/** Where the gateway publishes: long enough for its entries to refer to one another for it. */
const envelopeTopic = "site/hall/telemetry";

interface Devices {
  readonly device: Rec;
  readonly gateway: Rec;
  readonly child: Rec;
  readonly sibling: Rec;
}

async function provision(service: RunningService): Promise<Devices> {
  const product = await service.make("/api/v1/products", { productName: "watch", cloudProtocol: 1 });
  const point = await service.make("/api/v1/data_points", {
    dataPointName: "n",
    dataPointID: "n",
    productIntID: product.id,
    pointDataType: 1,
    dataTransType: 1,
    upperLimit: -1,
  });
  await service.make("/api/v1/alert_rules", {
    alertName: kinds.rule,
    dataPointIntID: point.id,
    condition: "dataPoint >= 0",
  });
  const device = (name: string, fields: object) =>
    service.make("/api/v1/devices", {
      productID: product.productID,
      cloudProtocol: 1,
      deviceType: 1,
      upLinkSystem: 1,
      authType: 1,
      deviceName: name,
      deviceID: name,
      ...fields,
    });
  const gateway = await service.make("/api/v1/gateways", {
    gatewayName: "gateway",
    productID: product.productID,
    gatewayProtocol: 1,
    upLinkNetwork: 1,
  });
  const child = await device("child", { upLinkSystem: 2, gateway: gateway.id });
  const sibling = await device("sibling", { upLinkSystem: 2, gateway: gateway.id });
  return { device: await device("alone", {}), gateway, child, sibling };
}

async function alertsSettled(service: RunningService): Promise<void> {
  const isDone = async () =>
    (await service.metric("tidemark_journal_lag_messages{", 'consumer="alerts"')) === 0 &&
    (await service.metric("tidemark_journal_lag_messages{", 'consumer="series"')) === 0 &&
    (await service.metric("tidemark_journal_pending_bytes ")) === 0;
  await until(isDone, { what: "the effects of messages", timeoutMs: 30_000 });
}

async function check(service: RunningService, { device, gateway, child, sibling }: Devices): Promise<void> {
  for (const one of [device, child, sibling]) {
    const events = (await payloadsOf(service, one)).length;
    const { body } = await service.call("GET", `/api/v1/current_alerts?deviceIntID=${one.id}`);
    const alerts = body.items as readonly Rec[];
    const times = Object.fromEntries(alerts.map((alert) => [alert.alertName, alert.alertTimes]));
    assert.equal(times, { [kinds.upper]: events, [kinds.rule]: events });
    const status = (await service.call("GET", `/api/v1/devices/${one.id}/ingest_status`)).body;
    assert.equal([status.messages, status.points], [events, events]);
  }
  const sent = (await payloadsOf(service, gateway)).map(
    (text) => (JSON.parse(text) as { Telemetry: { n: number }[] }).Telemetry[0]?.n,
  );
  for (const one of [child, sibling]) {
    const entries = (await payloadsOf(service, one)).map((text) => (JSON.parse(text) as { n: number }).n);
    assert.equal(entries, sent);
    const under = await service.call("GET", `/api/v1/devices/${one.id}/events?topic=${envelopeTopic}`);
    assert.is((under.body.meta as { count: number }).count, sent.length);
  }
}

suite("alerts through kill -9", (test) => {
  test(
    `${rounds} kills under load: every message counts once`,
    () =>
      withTempDir(async (dir) => {
        let service = await startService(dir);
        const devices = await provision(service);
        const common = { qos: 1, mostInFlight: 60, pauseMs: 2 } as const;
        const publishers = [
          createPublisher({
            ...common,
            device: devices.device,
            clientID: "a",
            payload: (n) => `{"n":${n}}`,
          }),
          createPublisher({
            ...common,
            device: devices.gateway,
            clientID: "b",
            payload: (n) =>
              JSON.stringify({
                Telemetry: [
                  { DeviceID: "child", n },
                  { DeviceID: "nobody", n },
                  { DeviceID: "sibling", n },
                ],
              }),
            topic: envelopeTopic,
          }),
        ];
        const acknowledged = () => Math.min(...publishers.map((one) => one.acknowledged.size));
        for (let round = 0; round < rounds; round++) {
          const enough = acknowledged() + perRound * (0.5 + Math.random());
          const running = publishers.map((one) => one.run(service.mqtt).catch(() => undefined));
          await until(() => acknowledged() >= enough, { what: "messages", timeoutMs: 30_000 });
          await service.kill();
          await Promise.all(running);
          service = await startService(dir);
          await alertsSettled(service);
          await check(service, devices);
          await nothingSetAside(service);
        }
        assert.ok(acknowledged() > messagesLeast);
        await service.stop();
        service = await startService(dir);
        await alertsSettled(service);
        await check(service, devices);
        await service.stop();
      }),
    { timeoutMs: 600_000 },
  );
});
