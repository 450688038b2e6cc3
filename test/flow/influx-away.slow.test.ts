/** A series store that is down at start, goes down in the middle, or refuses: nothing is lost, nothing dropped. */
import { assert, influxSuite, suite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { startFakeInflux } from "./fake-influx.js";
import { createPublisher, type Publisher } from "./publisher.js";
import { payloadsOf, provision, type RunningService, startService, valuesOf } from "./support.js";

const counted = (n: number): string => JSON.stringify({ n });

function publisherOf(device: Rec): Publisher {
  return createPublisher({
    device,
    qos: 1,
    clientID: "flow",
    payload: counted,
    mostInFlight: 50,
    pauseMs: 2,
  });
}

const isDegraded = async (service: RunningService): Promise<boolean> => {
  const { status, body } = await service.call("GET", "/readyz");
  assert.is(status, 200, "uplinks are taken while the series store is away");
  return (body.degraded as Record<string, string>).series !== undefined;
};

async function allThere(service: RunningService, device: Rec, publisher: Publisher): Promise<void> {
  const numbers = Array.from({ length: publisher.sent }, (_, n) => n);
  assert.is(publisher.acknowledged.size, publisher.sent);
  assert.equal(
    (await payloadsOf(service, device)).map((text) => JSON.parse(text).n),
    numbers,
  );
  assert.equal(await valuesOf(service, device), numbers);
  assert.is(await service.metric("tidemark_refused_total"), 0);
}

const wait = (timeMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, timeMs));

influxSuite("InfluxDB away", (test, influx) => {
  const environment = async () => {
    const { url, token, org, bucket } = await influx();
    return { INFLUX_URL: url, INFLUX_TOKEN: token, INFLUX_ORG: org, INFLUX_BUCKET: bucket };
  };

  test(
    "for a while under load: nothing is lost, /readyz names it, the backlog drains",
    () =>
      withTempDir(async (dir) => {
        const service = await startService(dir, await environment());
        const [device] = await provision(service, 1);
        if (device === undefined) throw new Error("no device");
        const publisher = publisherOf(device);
        void publisher.run(service.mqtt);
        await wait(500);
        await (await influx()).stop();
        await until(() => isDegraded(service), { what: "/readyz to name the series store" });
        const before = publisher.acknowledged.size;
        await wait(1500);
        assert.ok(publisher.acknowledged.size > before, "uplinks go on");
        assert.ok((await service.metric("tidemark_journal_lag_messages{")) > 0);
        const query = await service.call("GET", `/api/v1/original_data?deviceIntID=${device.id}`);
        assert.is(query.status, 503, "a question that only InfluxDB can answer");
        await (await influx()).start();
        await wait(500);
        await publisher.stop();
        await service.settled(60_000);
        assert.not.ok(await isDegraded(service));
        await allThere(service, device, publisher);
        await service.stop();
      }),
    { timeoutMs: 600_000 },
  );

  test(
    "at start: the service takes uplinks, names it, and goes on by itself",
    () =>
      withTempDir(async (dir) => {
        const env = await environment();
        await (await influx()).stop();
        const service = await startService(dir, env);
        const [device] = await provision(service, 1);
        if (device === undefined) throw new Error("no device");
        const publisher = publisherOf(device);
        void publisher.run(service.mqtt);
        await until(() => isDegraded(service), { what: "/readyz to name the series store" });
        await wait(500);
        await publisher.stop();
        // Killed in that state, it begins again where the store is.
        await service.kill();
        const again = await startService(dir, env);
        await until(() => isDegraded(again), { what: "/readyz to name the series store" });
        await (await influx()).start();
        await again.settled(60_000);
        await allThere(again, device, publisher);
        await again.stop();
      }),
    { timeoutMs: 600_000 },
  );
});

suite("a series store that refuses", (test) => {
  const badEvery = 5000;
  const isBad = (n: number): boolean => n % badEvery === badEvery - 1;
  for (const status of [400, 422] as const) {
    test(
      `${status} for one line in ${badEvery}, and 503 for a while: every other point is stored, once`,
      () =>
        withTempDir(async (dir) => {
          const fake = await startFakeInflux();
          fake.refuse(status, isBad);
          const influx = {
            INFLUX_URL: fake.url,
            INFLUX_TOKEN: "token",
            INFLUX_ORG: "org",
            INFLUX_BUCKET: "bucket",
          };
          const service = await startService(dir, influx);
          const [device] = await provision(service, 1);
          if (device === undefined) throw new Error("no device");
          const publisher = createPublisher({
            device,
            qos: 1,
            clientID: "flow",
            payload: counted,
            mostInFlight: 200,
          });
          void publisher.run(service.mqtt);
          await until(() => publisher.sent > badEvery, { what: "load", timeoutMs: 30_000 });
          fake.setAway(true);
          await until(() => isDegraded(service), { what: "/readyz to name the series store" });
          await until(() => publisher.sent > badEvery * 2 + 100, { what: "load", timeoutMs: 30_000 });
          fake.setAway(false);
          await publisher.stop();
          await service.settled(60_000);
          const sent = Array.from({ length: publisher.sent }, (_, n) => n);
          assert.equal(
            [...fake.stored.values()].sort((a, b) => a - b),
            sent.filter((n) => !isBad(n)),
          );
          assert.is(
            await service.metric("tidemark_refused_total", 'reason="series"'),
            sent.filter(isBad).length,
          );
          assert.ok((fake.answers.get(status) ?? 0) > 0 && (fake.answers.get(503) ?? 0) > 0);
          assert.is((await payloadsOf(service, device)).length, publisher.sent, "every message is an event");
          await service.stop();
          await fake.close();
        }),
      { timeoutMs: 600_000 },
    );
  }
});
