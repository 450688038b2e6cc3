/** The overview: counts of the tenant alone, what came in each second, and the deployment's part for its own admins. */
import { connectAsync } from "mqtt";
import { makeDataPoint, makeDevice, makeGateway, makeGroup, makePolicy, makeProduct } from "../factories.js";
import { publishPacket, rawConnected } from "../ingest/support.js";
import { assert, until } from "../suite.js";
import { hasKeys, stampPattern, worldSuite } from "../world.js";

interface Rates {
  readonly endTime: number;
  readonly intervalMs: number;
  readonly messages: readonly number[];
  readonly points: readonly number[];
}

interface Overview {
  readonly devices: Readonly<Record<string, number>>;
  readonly gateways: number;
  readonly products: number;
  readonly groups: number;
  readonly currentAlerts: { readonly total: number; readonly bySeverity: readonly object[] };
  readonly rates: Rates;
  readonly refused: readonly { readonly reason: string; readonly count: number }[];
  readonly lag: { readonly messages: number; readonly seconds: number };
  readonly commit: { readonly p50Ms: number; readonly p99Ms: number };
  readonly disk: { readonly freeBytes: number; readonly isFull: boolean };
  readonly deployment:
    | (Pick<Overview, "rates" | "refused"> &
        Readonly<Record<string, unknown>> & { readonly eventLoopDelayP99Ms: number })
    | null;
}

const sum = (values: readonly number[]) => values.reduce((total, one) => total + one, 0);

worldSuite("overview", (test, world) => {
  const overview = async (key?: string): Promise<Overview> => {
    const reply = await world.call("GET", "/api/v1/overview", undefined, key === undefined ? {} : { key });
    assert.is(reply.status, 200, reply.text);
    return reply.record as unknown as Overview;
  };
  const refusedAs = ({ refused }: Pick<Overview, "refused">, reason: string) =>
    refused.find((one) => one.reason === reason)?.count ?? 0;

  test("a new deployment has nothing, and every second of ten minutes is there", async () => {
    const all = await overview();
    hasKeys(all, [
      "devices",
      "gateways",
      "products",
      "groups",
      "currentAlerts",
      "rates",
      "refused",
      "lag",
      "commit",
      "disk",
      "deployment",
    ]);
    assert.equal(all.devices, { total: 0, online: 0, sleeping: 0, offline: 0, blocked: 0 });
    assert.equal(all.currentAlerts, { total: 0, bySeverity: [] });
    assert.equal(
      [all.rates.messages.length, all.rates.points.length, all.rates.intervalMs],
      [600, 600, 1000],
    );
    assert.equal([sum(all.rates.messages), sum(all.rates.points), all.refused], [0, 0, []]);
    const aside = world.clock.now() - all.rates.endTime;
    assert.ok(aside >= 0 && aside < 60_000, `${aside} ms`);
    assert.ok(all.disk.freeBytes > 0);
    assert.is(all.disk.isFull, false);
    hasKeys(all.deployment ?? {}, [
      "rates",
      "refused",
      "connections",
      "eventLoopDelayP99Ms",
      "degraded",
      "version",
      "engine",
      "startedAt",
      "timezones",
    ]);
    assert.is(all.deployment?.engine, "embedded");
    assert.equal(all.deployment?.degraded, {});
    assert.match(String(all.deployment?.startedAt), stampPattern);
  });

  test("devices by state, current alerts by severity, each tenant its own", async () => {
    const product = await makeProduct(world);
    const point = await makeDataPoint(world, product, { dataPointID: "t", upperLimit: 30 });
    const [online, blocked] = [await makeDevice(world, product), await makeDevice(world, product)];
    await makeDevice(world, product);
    await makeGateway(world, product);
    await makeGroup(world, product);
    assert.is((await world.call("PUT", `/api/v1/devices/${blocked.id}`, { blocked: 1 })).status, 200);
    const raw = await rawConnected(world.mqtt, online);
    raw.send(publishPacket(JSON.stringify({ t: 99 })));
    await raw.next("puback");
    const found = await until(
      async () => {
        const all = await overview();
        return all.devices.online === 1 && all.currentAlerts.total === 1 ? all : undefined;
      },
      { what: "the device to be online and its alert to be written" },
    );
    assert.equal(found.devices, { total: 3, online: 1, sleeping: 0, offline: 2, blocked: 1 });
    assert.equal([found.gateways, found.products, found.groups], [1, 1, 1]);
    assert.equal(found.currentAlerts.bySeverity, [{ alertSeverity: 2, count: 1 }]);
    assert.is(found.deployment?.connections, 1);
    const [alert] = (await world.call("GET", "/api/v1/current_alerts")).page.items;
    assert.is((await world.call("DELETE", `/api/v1/current_alerts?ids=${alert?.id}`)).status, 204);
    assert.is((await overview()).currentAlerts.total, 0);
    const elsewhere = await overview(await world.otherTenant());
    assert.equal(
      [elsewhere.devices.total, elsewhere.gateways, elsewhere.products, elsewhere.currentAlerts.total],
      [0, 0, 0, 0],
    );
    assert.is(sum(elsewhere.rates.messages), 0);
    assert.equal(elsewhere.refused, []);
    assert.is(elsewhere.deployment, null);
    await raw.cut();
    assert.ok(Number(point.id) > 0);
  });

  test("what comes in a second stands in that second; a clock that is set changes nothing", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "t" });
    const device = await makeDevice(world, product);
    const raw = await rawConnected(world.mqtt, device);
    // What came before stands in whole seconds.
    world.clock.pass(1000);
    const before = await overview();
    for (let n = 1; n <= 3; n++)
      raw.send(publishPacket(JSON.stringify({ t: n, nobody: 1 }), { messageId: n }));
    await raw.many("puback", 3);
    await world.settled();
    world.clock.step(-86_400_000);
    world.clock.pass(1000);
    const after = await overview();
    assert.is(sum(after.rates.messages) - sum(before.rates.messages), 3);
    assert.is(sum(after.rates.points) - sum(before.rates.points), 3);
    assert.is(refusedAs(after, "unknown") - refusedAs(before, "unknown"), 3);
    assert.is(sum(after.rates.messages.slice(-30)) >= 3, true, "the newest are last");
    assert.ok(Math.abs(after.rates.endTime - world.clock.now()) < 60_000);
    world.clock.step(86_400_000);
    const { deployment } = after;
    assert.ok(sum(deployment?.rates.messages ?? []) >= sum(after.rates.messages));
    await raw.cut();
  });

  test("refusals by policies and by length are shown, to their tenant alone", async () => {
    const product = await makeProduct(world);
    const device = await makeDevice(world, product);
    const policy = await makePolicy(world, { topic: "secret/#", access: 2, allow: 0 });
    await world.call("POST", `/api/v1/policies/${policy.id}/devices`, { devicesIntID: [device.id] });
    const client = await connectAsync(world.mqtt, {
      protocolVersion: 5,
      username: String(device.deviceUsername),
      password: String(device.token),
    });
    const told = (topic: string): Promise<unknown> =>
      client.publishAsync(topic, "{}", { qos: 1 }).then(
        () => null,
        (error: { readonly code?: unknown }) => error.code,
      );
    await until(async () => (await told("secret/x")) === 0x87, { what: "the policy to refuse it" });
    assert.is(refusedAs(await overview(), "policy"), 1);
    assert.is(await told("long/".repeat(100)), 0x90);
    assert.is(refusedAs(await overview(), "topic"), 1);
    const elsewhere = await overview(await world.otherTenant());
    assert.equal(elsewhere.refused, []);
    await client.endAsync();
  });

  test("commits and the event loop are shown for the last minutes, and one reader takes nothing from another", async () => {
    const device = await makeDevice(world, await makeProduct(world));
    await world.publish(device, { t: 1 });
    await world.settled();
    const one = await overview();
    const metrics = async () => (await world.call("GET", "/metrics")).text;
    const delay = /^tidemark_event_loop_delay_seconds\{quantile="0.99"\} (.+)$/m;
    const first = Number(delay.exec(await metrics())?.[1]);
    const second = Number(delay.exec(await metrics())?.[1]);
    assert.ok(first > 0 && second > 0, `${first}, ${second}`);
    const other = await overview();
    assert.ok(one.commit.p99Ms > 0 && one.commit.p50Ms > 0 && one.commit.p50Ms <= one.commit.p99Ms);
    assert.ok(other.commit.p99Ms > 0);
    assert.ok(Number(other.deployment?.eventLoopDelayP99Ms) > 0);
    await until(async () => (await overview()).lag.messages === 0, { what: "everything to be readable" });
  });

  test("viewers read it; the deployment's part is for its administrators", async () => {
    for (const role of ["viewer", "operator"] as const) {
      assert.is((await overview(await world.keyOf(role))).deployment, null, role);
    }
    const key = await world.keyOf("admin");
    assert.ok((await overview(key)).deployment !== null);
    const reply = await world.call("GET", "/api/v1/overview", undefined, { key: null });
    assert.is(reply.status, 401);
    assert.is((await world.call("GET", "/api/v1/overview")).headers.get("cache-control"), "no-store");
  });
});
