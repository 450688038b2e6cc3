/** A cluster whose points are in two InfluxDBs: every answer is that of a service with one, and each point is there once. */
import { connectAsync } from "mqtt";
import { type AnyService, openService, provision, type RunningService } from "../flow/support.js";
import { type InfluxServer, startInflux } from "../influxd/influxd.js";
import { assert, influxSuite, openTempDir, rejects, until } from "../suite.js";
import type { Rec } from "../world.js";
import { publishNumbers } from "./publish-numbers.js";
import { type Cluster, placesOf, startCluster } from "./three-nodes.js";

const devicesCount = 9;
const pointsOfEach = 60;
const start = Date.UTC(2025, 9, 25, 20);
/** Across the end of summer time in Berlin: two calendar days, one of them of 25 hours. */
const stepMs = 55 * 60_000;
/** What a record has of the deployment that made it. */
const own: ReadonlySet<string> = new Set(["deviceIntID", "productID", "createAt"]);

influxSuite("a cluster with two InfluxDBs", (test, influx) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let second: InfluxServer;
  let cluster: Cluster;
  let single: AnyService;
  let devices: Rec[] = [];
  /** The same devices of the service with one InfluxDB. */
  let twins: Rec[] = [];
  let listed: Readonly<Record<string, string>> = {};

  test.before(async () => {
    dir = await openTempDir();
    second = await startInflux();
    const first = await influx();
    listed = {
      INFLUX_URL: `${first.url}, ${second.url}`,
      INFLUX_TOKEN: `${first.token},${second.token}`,
    };
    cluster = await startCluster(dir.path, first, listed);
    single = await openService(`${dir.path}/single`, {
      INFLUX_URL: second.url,
      INFLUX_TOKEN: second.token,
      INFLUX_ORG: second.org,
      INFLUX_BUCKET: "single",
    });
    devices = await provision(nodeAt(0), devicesCount);
    twins = await provision(single, devicesCount);
    for (const service of [nodeAt(0), single]) {
      const points = (await service.call("GET", "/api/v1/data_points")).body.items as Rec[];
      for (const aggregateType of [1, 2, 3, 4, 5, 6, 7, 8])
        await service.make("/api/v1/metrics", {
          metricName: `aggregate-${aggregateType}`,
          dataPointIntID: points[0]?.id,
          metricType: 2,
          aggregateType,
          aggregateData: 1,
          expressions: "dataPoint * 2 + 1",
        });
    }
  });
  test.after(async () => {
    await single?.stop();
    await cluster?.stop();
    await second?.close();
    await dir?.close();
  });

  const { nodeAt, keeperPlace } = placesOf(
    () => cluster,
    () => devices,
  );
  /** Shards are shared out in turn: those of the first and the third node are in the first InfluxDB. */
  const influxOf = (device: Rec): number => keeperPlace(device) % 2;

  async function publish(service: AnyService, device: Rec, payloads: readonly object[]): Promise<void> {
    const login = { username: String(device.deviceUsername), password: String(device.token) };
    const client = await connectAsync(service.mqtt, login);
    for (const payload of payloads) await client.publishAsync("data", JSON.stringify(payload), { qos: 1 });
    await client.endAsync();
  }

  const answersOf = async (service: AnyService, of: readonly Rec[]): Promise<unknown[]> => {
    const range = "startTime=2025-10-25T00:00:00Z&endTime=2025-10-30T00:00:00Z&timezone=Europe/Berlin";
    const all = of.map(({ deviceID }) => deviceID).join();
    const paths = of
      .flatMap(({ deviceID }) => [
        `original_data?deviceID=${deviceID}&${range}`,
        `original_data?deviceID=${deviceID}&limit=7`,
        ...["hour", "day", "month"].map(
          (unit) => `metrics_data?deviceID=${deviceID}&${range}&time_unit=${unit}`,
        ),
      ])
      .concat([`original_data?deviceID=${all}&${range}`, `original_data?deviceID=${all}&limit=1`]);
    const answers: unknown[] = [];
    for (const path of paths) {
      const { status, text } = await service.call("GET", `/api/v1/${path}`);
      assert.is(status, 200, `${path}: ${text}`);
      answers.push(
        path,
        JSON.parse(text, (key, value) => (own.has(key) ? undefined : value)),
      );
    }
    return answers;
  };

  /** Rows of a device in each InfluxDB. */
  const rowsOf = async (device: Rec): Promise<number[]> => {
    const counts: number[] = [];
    for (const { url, token, org, bucket } of [await influx(), second]) {
      const flux = `from(bucket: "${bucket}") |> range(start: 0)
        |> filter(fn: (r) => r.device == "${device.deviceID}") |> group() |> count()`;
      const answer = await fetch(`${url}/api/v2/query?org=${org}`, {
        method: "POST",
        headers: { authorization: `Token ${token}`, "content-type": "application/vnd.flux" },
        body: flux,
      });
      const rows = (await answer.text()).trim().split("\r\n").slice(1);
      counts.push(Number(rows[0]?.split(",").at(-1) ?? 0));
    }
    return counts;
  };

  const numbered = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({ n: (from + i) * 1.25, time: start + (from + i) * stepMs }));

  test("each device is in the one of its shard, and every answer is that of a service with one", async () => {
    for (const [i, device] of devices.entries()) {
      const payloads = numbered(i, pointsOfEach);
      await publish(nodeAt(i), device, payloads);
      await publish(single, twins[i] as Rec, payloads);
    }
    for (const node of cluster.nodes) await node.settled();
    await single.settled();
    for (const device of devices) {
      const rows = await rowsOf(device);
      assert.is(rows[influxOf(device)], pointsOfEach);
      assert.is(rows[1 - influxOf(device)], 0);
    }
    assert.equal(new Set(devices.map(influxOf)).size, 2);
    const expected = await answersOf(single, twins);
    for (const node of cluster.nodes) assert.equal(await answersOf(node, devices), expected);
  });

  test("a device that is given another gateway has the points of both", async () => {
    const moved = devices.findIndex((device) => influxOf(device) === 0);
    const above = devices.findIndex((device) => influxOf(device) === 1);
    for (const [service, all] of [
      [nodeAt(0), devices],
      [single, twins],
    ] as const) {
      const device = all[moved] as Rec;
      const { status, text } = await service.call("PUT", `/api/v1/devices/${device.id}`, {
        upLinkSystem: 3,
        parentDevice: all[above]?.id,
      });
      assert.is(status, 200, text);
      // Half of the times were there before: what came later counts.
      const later = numbered(moved + pointsOfEach / 2, pointsOfEach).map(({ n, time }) => ({ n: -n, time }));
      await publish(service, device, later);
    }
    for (const node of cluster.nodes) await node.settled();
    await single.settled();
    assert.equal(await rowsOf(devices[moved] as Rec), [pointsOfEach, pointsOfEach]);
    const expected = await answersOf(single, twins);
    for (const node of cluster.nodes) assert.equal(await answersOf(node, devices), expected);
  });

  test("while one is killed, the points of its shards wait, and the others' go on", async () => {
    const [atFirst, atSecond] = [0, 1].map((place) =>
      devices.findLast((device) => influxOf(device) === place),
    ) as [Rec, Rec];
    const before = { first: await valuesAt(nodeAt(0), atFirst), second: await valuesAt(nodeAt(0), atSecond) };
    let isOver = false;
    const publishing = [atFirst, atSecond].map((device) =>
      publishNumbers(
        () => nodeAt(0).mqtt,
        device,
        () => isOver,
      ),
    );
    await second.kill();
    await until(async () => (await valuesAt(nodeAt(0), atFirst)) > before.first, {
      what: "points in the InfluxDB that is there",
    });
    for (const path of [`deviceID=${atSecond.deviceID}`, `deviceID=${atFirst.deviceID},${atSecond.deviceID}`])
      assert.is((await nodeAt(0).call("GET", `/api/v1/original_data?${path}`)).status, 503);
    const degraded = async (place: number) =>
      ((await nodeAt(place).call("GET", "/readyz")).body.degraded ?? {}) as unknown as Record<string, string>;
    await until(async () => (await degraded(0)).series?.includes(second.url), {
      what: "/readyz to name the one that is away",
    });
    isOver = true;
    const acknowledged = await Promise.all(publishing);
    await second.start();
    for (const node of cluster.nodes) await node.settled();
    for (const place of [0, 1, 2])
      await until(async () => Object.keys(await degraded(place)).length === 0, { what: "no more trouble" });
    for (const [i, device] of [atFirst, atSecond].entries()) await assertKept(device, acknowledged[i] ?? []);
  });

  /** How many points of it can be read. */
  async function valuesAt(service: RunningService, device: Rec): Promise<number> {
    const { status, text } = await service.call(
      "GET",
      `/api/v1/original_data?deviceID=${device.deviceID}&startTime=2001-01-01T00:00:00Z&limit=100000`,
    );
    assert.is(status, 200, text);
    return (JSON.parse(text) as { originalData: { value: number[] } }[])[0]?.originalData.value.length ?? 0;
  }

  async function assertKept(device: Rec, acknowledged: readonly number[]): Promise<void> {
    const { text } = await nodeAt(1).call(
      "GET",
      // After the points of the tests before.
      `/api/v1/original_data?deviceID=${device.deviceID}&startTime=2025-11-01T00:00:00Z&limit=100000`,
    );
    const [only] = JSON.parse(text) as { originalData: { value: number[] } }[];
    const stored = only?.originalData.value ?? [];
    assert.is(new Set(stored).size, stored.length, "no point twice");
    const there = new Set(stored);
    assert.equal(
      acknowledged.filter((n) => !there.has(n)),
      [],
      "every point",
    );
  }

  test("another number of them, or another order, ends the start with code 2", async () => {
    const [first, ...others] = cluster.nodes;
    assert.ok(first !== undefined && others.length === 2);
    await first?.stop();
    const { INFLUX_URL: urls = "", INFLUX_TOKEN: tokens = "" } = listed;
    const turned = (text: string): string => text.split(",").reverse().join(",");
    const start = (environment: object) => cluster.start(0, environment as Record<string, string>);
    await rejects(
      () => start({ INFLUX_URL: turned(urls), INFLUX_TOKEN: turned(tokens) }),
      /ended with 2: .*INFLUX_URL: .* has the points of number 2 of the list, not of number 1/s,
    );
    await rejects(
      () => start({ INFLUX_URL: second.url, INFLUX_TOKEN: second.token }),
      /ended with 2: .*INFLUX_URL: names one InfluxDB, and the deployment's points are in 2 InfluxDBs/s,
    );
    await start({});
  });
});
