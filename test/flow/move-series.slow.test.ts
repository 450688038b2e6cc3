/** `tidemark move-series` between a service's engines, killed and counted. */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@libsql/client/sqlite3";
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
      assert.equal([there.refused, there.missing], [0, []]);
      assert.is(there.source, "emptied");
      service = await startService(data, env);
      await service.settled();
      assert.equal(await answersOf(service, devices), before);

      await publishSome(service, devices, 10_000);
      before = await answersOf(service, devices);
      await service.stop();
      const back = await toolAnswer(data, env, "move-series", "--to", "embedded");
      assert.equal([back.refused, back.missing, back.source], [0, [], "emptied"]);
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

/** A folder with 600 points of two devices, whose service has ended. */
async function someData(dir: string): Promise<{ readonly data: string; readonly devices: Rec[] }> {
  const data = join(dir, "data");
  await mkdir(data);
  const service = await startService(data);
  const devices = await provision(service, 2);
  const rows = devices.flatMap(({ deviceID }) =>
    Array.from({ length: 300 }, (_, n) => `${deviceID},n,${Date.UTC(2025, 0, 1) + n * 60_000},${n}`),
  );
  await service.stop();
  const file = join(dir, "rows.csv");
  await writeFile(file, `deviceID,dataPointID,time,value\n${rows.join("\n")}\n`);
  await toolAnswer(data, {}, "import", file);
  return { data, devices };
}

influxSuite("a move of points that something came between", (test, influx) => {
  let buckets = 0;
  const environment = async (): Promise<Environment> => {
    const { url, token, org } = await influx();
    return { INFLUX_URL: url, INFLUX_TOKEN: token, INFLUX_ORG: org, INFLUX_BUCKET: `between-${++buckets}` };
  };
  /** As a run leaves it that was killed once everything had been copied. */
  const unfinished = async (data: string, env: Environment): Promise<void> => {
    const { INFLUX_URL, INFLUX_ORG, INFLUX_BUCKET } = env;
    await writeFile(
      join(data, "move-series.json"),
      JSON.stringify({
        from: "embedded",
        to: `bucket ${INFLUX_BUCKET} of ${INFLUX_ORG}, ${INFLUX_URL}`,
        checkpoints: [0],
        upTo: 2,
        counts: { devices: 2, series: 2, points: 600, written: 600, refused: 0 },
      }),
    );
  };

  test("a target that has lost what an earlier run copied gets it again, before anything is emptied", () =>
    withTempDir(async (dir) => {
      const { data, devices } = await someData(dir);
      const env = await environment();
      await unfinished(data, env);
      const moved = await toolAnswer(data, env, "move-series", "--to", "influxdb");
      assert.equal([moved.points, moved.missing, moved.source], [600, [], "emptied"]);
      const service = await startService(data, env);
      for (const device of devices) assert.is((await valuesOf(service, device)).length, 300);
      await service.stop();
    }));

  test("what was imported meanwhile comes along", () =>
    withTempDir(async (dir) => {
      const { data, devices } = await someData(dir);
      const env = await environment();
      await toolAnswer(data, env, "move-series", "--to", "influxdb", "--keep");
      await unfinished(data, env);
      const file = join(dir, "late.csv");
      await writeFile(
        file,
        `deviceID,dataPointID,time,value\n${devices[0]?.deviceID},n,${Date.UTC(2025, 5, 1)},7777\n`,
      );
      await toolAnswer(data, {}, "import", file);
      const moved = await toolAnswer(data, env, "move-series", "--to", "influxdb");
      assert.equal([moved.points, moved.missing, moved.source], [601, [], "emptied"]);
      const service = await startService(data, env);
      assert.ok((await valuesOf(service, devices[0] as Rec)).includes(7777));
      await service.stop();
    }));

  test("a start of the service in between makes the next run begin anew", () =>
    withTempDir(async (dir) => {
      const { data } = await someData(dir);
      await unfinished(data, await environment());
      const service = await startService(data);
      await service.stop();
      assert.equal(
        (await readdir(data)).filter((name) => name.startsWith("move-series")),
        [],
      );
      assert.ok(service.logged.some(({ msg }) => String(msg).includes("was not finished")));
    }));

  test("damage keeps the source, at the second run too, until the service has mended it", () =>
    withTempDir(async (dir) => {
      const { data } = await someData(dir);
      const env = await environment();
      const [part = ""] = (await readdir(join(data, "series"))).filter((name) =>
        /^points-.*\.db$/.test(name),
      );
      const client = createClient({ url: `file:${join(data, "series", part)}` });
      await client.execute("update chunk set data = zeroblob(length(data)) where id = 1");
      client.close();
      for (let run = 0; run < 2; run++) {
        const { code, answer } = await runTool(data, env, "move-series", "--to", "influxdb").ended;
        assert.equal([code, answer.source, answer.checkpoints], [1, "kept", null], `run ${run}`);
        assert.match(String((answer.missing as string[]).join()), "were lost");
      }
    }));

  test("a bucket that other processes may use is not emptied", () =>
    withTempDir(async (dir) => {
      const env = {
        ...(await environment()),
        LIBSQL_URL: `file:${join(dir, "shared.db")}`,
        MASTER_KEY: "7".repeat(64),
      };
      const refused = await runTool(join(dir, "data"), env, "move-series", "--to", "embedded").ended;
      assert.is(refused.code, 1);
      assert.match(refused.errors, "other processes may use the bucket");
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
