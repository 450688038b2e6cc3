/** Time-Format and Label-Language: the same records, with numbers for stamps, and labels in English. */
import { wallText } from "../../query/time-text.js";
import { zone } from "../../query/zone.js";
import {
  makeAppTemplate,
  makeCert,
  makeDataPoint,
  makeDevice,
  makeGateway,
  makeGroup,
  makeMetric,
  makePolicy,
  makeProduct,
  makeProductResource,
  makeStream,
} from "../factories.js";
import { assert } from "../suite.js";
import { type Rec, refused, stampPattern, type World, worldSuite } from "../world.js";

const place = zone("UTC");
const hanPattern = /\p{Script=Han}/u;

/** Yields the values of both answers in pairs, each with the path of its keys. */
function* pairs(
  one: unknown,
  other: unknown,
  path = "",
): Generator<[path: string, one: unknown, other: unknown]> {
  if (typeof one !== "object" || one === null || typeof other !== "object" || other === null) {
    yield [path, one, other];
    return;
  }
  assert.equal(Object.keys(other), Object.keys(one), `the keys of ${path}, in their order`);
  for (const [key, value] of Object.entries(one))
    yield* pairs(value, (other as Readonly<Record<string, unknown>>)[key], `${path}.${key}`);
}

/** Made with one of each. */
async function fill(world: World): Promise<{ readonly device: Rec; readonly paths: readonly string[] }> {
  const product = await makeProduct(world);
  const point = await makeDataPoint(world, product, { dataPointID: "temp", upperLimit: 50 });
  await makeStream(world, product);
  const device = await makeDevice(world, product);
  const metric = await makeMetric(world, point);
  const group = await makeGroup(world, product);
  const gateway = await makeGateway(world, product);
  const template = await makeAppTemplate(world, point);
  const policy = await makePolicy(world);
  await makeProductResource(world, point);
  await makeCert(world);
  await world.call("POST", `/api/v1/groups/${group.id}/devices`, { ids: [device.id] });
  await world.call("POST", "/api/v1/device_schedule_publish", {
    deviceID: device.deviceID,
    scheduleName: "Once",
    payload: "on",
    scheduleType: 0,
    crontabTime: "2099-01-01 00:00:00",
  });
  await world.make("/api/v1/silences", {
    startTime: "2099-01-01 00:00:00",
    endTime: "2099-02-01 00:00:00",
    matchers: [],
  });
  await world.make("/api/v1/device_publish", { deviceIntID: device.id, payload: "on" });
  await world.call("PUT", `/api/v1/devices/${device.id}`, { description: "edited" });
  await world.publish(device, { temp: 60 });
  await world.alertsSettled();
  return {
    device,
    paths: [
      ...["products", "devices", "gateways", "groups", "policies", "certs", "data_points", "data_streams"],
      ...["metrics", "app_templates", "product_resources", "current_alerts", "history_alerts", "fleet"],
      ...[
        "users",
        "api_keys",
        "changes",
        "tenants",
        "silences",
        "schedule_publish",
        "device_connect_logs",
        "tasks",
        "device_control_logs",
        "device_events",
      ],
      ...[`products/${product.id}`, `devices/${device.id}`, `gateways/${gateway.id}`, `groups/${group.id}`],
      ...[`data_points/${point.id}`, `metrics/${metric.id}`, `policies/${policy.id}`, "overview"],
      ...[`app_templates/${template.id}`, `devices/${device.id}/events`, `devices/${device.id}/control_logs`],
      ...[`devices/${device.id}/ingest_status`, "platform_select/dict_code"],
    ].map((path) => `/api/v1/${path}`),
  };
}

for (const variant of ["A", "B"] as const) {
  worldSuite(`times and labels of answers, Variant ${variant}`, (test, world) => {
    let filled: Awaited<ReturnType<typeof fill>>;
    const ask = (path: string, headers: Readonly<Record<string, string>>) =>
      world.call("GET", path, undefined, { headers: { "Api-Variant": variant, ...headers } });
    test.before(async () => {
      filled = await fill(world);
    });

    test("with ms each stamp of a record is a number, the time that the text shows, and nothing else changes", async () => {
      let stamps = 0;
      for (const path of filled.paths) {
        const [text, ms] = [await ask(path, {}), await ask(path, { "Time-Format": "ms" })];
        assert.equal([text.status, ms.status], [200, 200], `${path}: ${text.text}`);
        for (const [at, one, other] of pairs(JSON.parse(text.text), JSON.parse(ms.text), path)) {
          if (typeof one === "string" && stampPattern.test(one)) {
            assert.is(wallText(place, other as number), one, at);
            stamps++;
          } else if (!path.endsWith("/overview")) assert.equal(other, one, at);
        }
      }
      assert.ok(stamps > 30, `${stamps} stamps`);
    });

    test("in English no label is Chinese, and nothing else changes", async () => {
      let labels = 0;
      for (const path of filled.paths.filter((one) => !/overview$|dict_code$/.test(one))) {
        const [zh, en] = [await ask(path, {}), await ask(path, { "Label-Language": "en" })];
        for (const [at, one, other] of pairs(JSON.parse(zh.text), JSON.parse(en.text), path)) {
          if (/Label$|\.alert(Name|Content)$/.test(at) && one !== null) {
            assert.is(typeof other, "string", at);
            assert.ok(!hanPattern.test(String(other)), `${at}: ${other}`);
            labels++;
          } else assert.equal(other, one, at);
        }
      }
      assert.ok(labels > 10, `${labels} labels`);
    });

    test("the usual forms may be named, and give the same bytes; caches learn what an answer depends on", async () => {
      const path = `/api/v1/devices/${filled.device.id}`;
      const usual = await ask(path, {});
      const named = await ask(path, { "Time-Format": "text", "Label-Language": "zh" });
      assert.is(named.text, usual.text);
      for (const { headers } of [usual, named]) {
        assert.is(headers.get("vary"), "Api-Variant, Time-Format, Label-Language");
        assert.is(headers.get("cache-control"), "private, no-cache");
      }
      refused(await ask(path, { "Time-Format": "iso" }), "PARAMETER_INVALID", "Time-Format");
      refused(await ask(path, { "Label-Language": "fr" }), "PARAMETER_INVALID", "Label-Language");
    });

    test("the answers to writes are written in the same way", async () => {
      const headers = { "Api-Variant": variant, "Time-Format": "ms" };
      const body = { username: `writer-${variant}`, password: "correct horse", role: "viewer" };
      const made = await world.call("POST", "/api/v1/users", body, { headers });
      assert.equal([made.status, typeof made.record.createAt, made.record.updateAt], [201, "number", null]);
      const edited = await world.call(
        "PUT",
        `/api/v1/users/${made.record.id}`,
        { role: "operator" },
        { headers },
      );
      assert.equal([edited.status, typeof edited.record.updateAt], [200, "number"]);
    });
  });
}

worldSuite(
  "times of answers, where a clock is set back",
  (test, world) => {
    test("two moments that the wall clock shows alike are distinguished", async () => {
      const summer = Date.UTC(2026, 9, 25, 0, 30);
      const shown = [];
      for (const at of [summer, summer + 3_600_000]) {
        world.clock.step(at - world.clock.now());
        const product = await makeProduct(world);
        const path = `/api/v1/products/${product.id}`;
        const [text, ms] = [
          await world.call("GET", path),
          await world.call("GET", path, undefined, { headers: { "Time-Format": "ms" } }),
        ];
        shown.push([String(text.record.createAt).slice(0, 16), ms.record.createAt]);
      }
      const [first, second] = shown as [[string, number], [string, number]];
      assert.equal([first[0], second[0]], ["2026-10-25 02:30", "2026-10-25 02:30"]);
      assert.ok(Math.abs(second[1] - first[1] - 3_600_000) < 60_000, `${first[1]} ${second[1]}`);
    });
  },
  { TIMEZONE: "Europe/Berlin" },
);
