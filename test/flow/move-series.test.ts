/** `tidemark move-series` between a service's engines, killed and counted. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { assert, influxSuite, suite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { createPublisher } from "./publisher.js";
import { type Environment, runTool, toolAnswer } from "./run-tool.js";
import { nothingSetAside, provision, type RunningService, startService, valuesOf } from "./support.js";

/** Values and hours of all devices, as the service answers them. */
async function answersOf(service: RunningService, devices: readonly Rec[]): Promise<string[]> {
  const range = "startTime=2024-12-31T00:00:00Z&limit=100000";
  return Promise.all(
    devices.map(async ({ id }) => {
      const raw = await service.call("GET", `/api/v1/original_data?deviceIntID=${id}&${range}`);
      const days = await service.call(
        "GET",
        `/api/v1/metrics_data?deviceIntID=${id}&${range}&time_unit=day&fill=none&timezone=Europe/Berlin`,
      );
      assert.equal([raw.status, days.status], [200, 200]);
      return raw.text + days.text;
    }),
  );
}

/** Stamps of the service, and times that the devices bring, a month apart. */
const payload = (n: number): string =>
  JSON.stringify(
    n % 3 === 0 ? { n, time: new Date(Date.UTC(2025, n % 7, 1) + n * 1000).toISOString() } : { n },
  );

async function publishSome(service: RunningService, devices: readonly Rec[], from: number): Promise<void> {
  const publishers = devices.map((device) =>
    createPublisher({
      device,
      qos: 1,
      clientID: "some",
      payload: (n) => payload(n + from),
      mostInFlight: 100,
      pauseMs: 1,
    }),
  );
  for (const publisher of publishers) void publisher.run(service.mqtt).catch(() => undefined);
  await until(() => publishers.every(({ acknowledged }) => acknowledged.size > 1500), { what: "messages" });
  await Promise.all(publishers.map((publisher) => publisher.stop()));
  await service.settled();
}

influxSuite("points move between the engines of a service", (test, influx) => {
  let buckets = 0;
  const environment = async (): Promise<Environment> => {
    const { url, token, org } = await influx();
    return { INFLUX_URL: url, INFLUX_TOKEN: token, INFLUX_ORG: org, INFLUX_BUCKET: `move-${++buckets}` };
  };

  test("there and back, with messages in between and kills in the midst: the same answers", () =>
    withTempDir(async (dir) => {
      const env = await environment();
      const data = join(dir, "data");
      await mkdir(data);
      let service = await startService(data);
      const devices = await provision(service, 4);
      const [product] = (await service.call("GET", "/api/v1/products")).body.items as Rec[];
      const [point] = (await service.call("GET", "/api/v1/data_points")).body.items as Rec[];
      await service.make("/api/v1/metrics", {
        metricName: "sum",
        productIntID: product?.id,
        dataPointIntID: point?.id,
        metricType: 2,
        aggregateType: 4,
      });
      await publishSome(service, devices, 0);
      let before = await answersOf(service, devices);
      const refused = await runTool(data, env, "move-series", "--to", "influxdb").ended;
      assert.is(refused.code, 1);
      assert.match(refused.errors, "another process holds");
      await service.stop();

      // Killed wherever it is, and begun again.
      for (let tries = 0; tries < 3; tries++) {
        const { child, ended } = runTool(data, env, "move-series", "--to", "influxdb");
        await new Promise((resolve) => setTimeout(resolve, 700 + tries * 300));
        child.kill("SIGKILL");
        await ended;
      }
      const there = await toolAnswer(data, env, "move-series", "--to", "influxdb");
      assert.equal([there.refused, there.notMoved], [0, []]);
      assert.is(there.source, "emptied");
      service = await startService(data, env);
      await service.settled();
      assert.equal(await answersOf(service, devices), before);

      await publishSome(service, devices, 10_000);
      before = await answersOf(service, devices);
      await service.stop();
      const back = await toolAnswer(data, env, "move-series", "--to", "embedded");
      assert.equal([back.refused, back.notMoved, back.source], [0, [], "emptied"]);
      assert.ok(Number(back.points) > 4 * 3000, `${back.points} points`);
      service = await startService(data);
      await service.settled();
      assert.equal(await answersOf(service, devices), before);
      await nothingSetAside(service);
      await service.stop();

      const empty = await toolAnswer(data, env, "move-series", "--to", "embedded");
      assert.equal([empty.points, empty.devices], [0, 4]);
    }));

  test("what the service took meanwhile on the other engine joins what is moved, nothing twice", () =>
    withTempDir(async (dir) => {
      const env = await environment();
      const data = join(dir, "data");
      await mkdir(data);
      let service = await startService(data);
      const devices = await provision(service, 2);
      await publishSome(service, devices, 0);
      await service.stop();
      // The other engine reads what the journal still has, and gets more.
      service = await startService(data, env);
      await publishSome(service, devices, 10_000);
      const expected = await Promise.all(devices.map((device) => valuesOf(service, device)));
      await service.stop();
      const moved = await toolAnswer(data, env, "move-series", "--to", "influxdb", "--keep");
      assert.equal([moved.written, moved.refused, moved.source], [0, 0, "kept"]);
      assert.ok(Number(moved.points) > 3000, `${moved.points} points`);
      service = await startService(data, env);
      await service.settled();
      assert.equal(await Promise.all(devices.map((device) => valuesOf(service, device))), expected);
      await service.stop();
    }));
});

suite("move-series, misused", (test) => {
  test("without the other engine, or a direction, it says what is missing", () =>
    withTempDir(async (dir) => {
      const none = await runTool(dir, {}, "move-series", "--to", "influxdb").ended;
      assert.is(none.code, 1);
      assert.match(none.errors, "INFLUX_URL");
      const aimless = await runTool(dir, {}, "move-series").ended;
      assert.is(aimless.code, 1);
      assert.match(aimless.errors, "usage: tidemark move-series --to influxdb|embedded");
    }));
});
