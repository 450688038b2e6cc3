/**
 * Every list of the reference, by every field of its items: a field filters by what is shown of it, or the answer
 * says that it cannot; nothing is ignored.
 */
import { connectAsync } from "mqtt";
import { apiRoutes } from "../../src/api/routes.js";
import { type JSONSchema, listOperations } from "../../src/reference/close-schemas.js";
import { openApiDocument } from "../../src/reference/document.js";
import { inertDeps } from "../../src/reference/stub-dependencies.js";
import { documentBody } from "../dashboards/documents.js";
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
  mqtt,
} from "../factories.js";
import { assert, until } from "../suite.js";
import { type Rec, type Reply, type World, worldSuite } from "../world.js";

const document = openApiDocument(apiRoutes(inertDeps()));
const variants = ["A", "B"] as const;

function resolved(schema: JSONSchema | undefined): JSONSchema {
  const name = schema?.$ref?.split("/").at(-1);
  return name === undefined
    ? (schema ?? {})
    : resolved(document.components.schemas?.[name] as JSONSchema | undefined);
}

/** The properties of a schema, of all its forms. */
function propertiesOf(schema: JSONSchema | undefined): Map<string, JSONSchema[]> {
  const { properties = {}, anyOf = [], oneOf = [], allOf = [] } = resolved(schema);
  const found = new Map(Object.entries(properties).map(([name, one]) => [name, [resolved(one)]]));
  for (const form of [...anyOf, ...oneOf, ...allOf]) {
    for (const [name, some] of propertiesOf(form)) found.set(name, [...(found.get(name) ?? []), ...some]);
  }
  return found;
}

interface List {
  readonly path: string;
  /** Names of the fields of its items. */
  readonly fields: readonly string[];
  /** Names of its query parameters. */
  readonly parameters: ReadonlySet<string>;
}

const lists: readonly List[] = Object.entries(document.paths).flatMap(([path, { get }]): List[] => {
  const answer = propertiesOf(get?.responses["200"]?.content?.["application/json"]?.schema);
  if (get === undefined || !answer.has("meta")) return [];
  const items = (answer.get("items") ?? []).flatMap((one) => [...propertiesOf(one.items).keys()]);
  const parameters = new Set(
    (get.parameters ?? []).filter((one) => one.in === "query").map(({ name }) => name),
  );
  return [{ path, fields: [...new Set(items)], parameters }];
});

/** What cannot be filtered by, and why. Anything else that is refused is a fault. */
function mayRefuse(path: string, field: string, value: unknown): boolean {
  const isLabel = field.endsWith("Label");
  const isSecret = field === "token";
  const isLive =
    (path.startsWith("/api/v1/device_consoles") && field === "value") || path.endsWith("/sessions");
  const isOfTask = path === "/api/v1/tasks" && ["statusUrl", "msg"].includes(field);
  return isLabel || isSecret || isLive || isOfTask || (typeof value === "object" && value !== null);
}

worldSuite("filters of every list", (test, world) => {
  /** The record that a path's {id} is to name, by the path's beginning. */
  const owners = new Map<string, Rec>();

  test.before(async () => {
    const product = await makeProduct(world, { description: "sensors" });
    const named = { productID: product.productID };
    const point = await makeDataPoint(world, product, { upperLimit: 50, unitName: "degree", detail: "d" });
    const fed = { ...point, ...named };
    const stream = await makeStream(world, product, { dataPoints: [point.id], detail: "s" });
    await makeMetric(world, point);
    await makeProductResource(world, fed);
    await makeAppTemplate(world, fed, { topic: "switch" });
    await world.make("/api/v1/alert_rules", {
      alertName: "hot",
      alertContent: "hot",
      alertSeverity: 1,
      ...named,
      dataPointIntID: point.id,
      condition: "dataPoint > 1000",
      duration: 0,
    });
    const gateway = await makeGateway(world, product);
    const device = await makeDevice(world, product, {
      upLinkSystem: 2,
      gateway: gateway.id,
      description: "north",
      latitude: 1.5,
      longitude: 2.5,
      IMEI: "356938035643809",
      serialNumber: "s-1",
      manufacturer: "m",
      deviceConsoleIP: "10.0.0.1",
    });
    const group = await makeGroup(world, product, { description: "all" });
    const policy = await makePolicy(world, { description: "p", topic: "never/#", access: 2, allow: 0 });
    const cert = await makeCert(world);
    await makeDevice(world, product);
    await makePolicy(world);
    const post = async (path: string, body: object) => {
      const reply = await world.call("POST", `/api/v1/${path}`, body);
      assert.ok(reply.status < 300, `${path}: ${reply.text}`);
    };
    await post(`groups/${group.id}/devices`, { ids: [device.id] });
    await post(`devices/${device.id}/policies`, { ids: [policy.id] });
    await post(`devices/${device.id}/certs`, { ids: [cert.id] });
    for (const owner of [`devices/${device.id}`, `groups/${group.id}`, `products/${product.id}`]) {
      await post(`${owner}/subscriptions`, { topic: `of/${owner}` });
    }
    const schedule = { payload: "{}", scheduleName: "s", scheduleType: 1, IntervalMinute: "60" };
    await post("device_schedule_publish", { deviceID: device.deviceID, ...schedule, topic: "t" });
    await post("group_schedule_publish", { groupID: group.groupID, ...schedule });
    const clients = [await world.connect(device), await world.connect(gateway)];
    const key = String(point.dataPointID);
    await clients[0]?.publishAsync("never/this", "{}", { qos: 1 }).catch(() => undefined);
    await world.publish(device, { [key]: 51 }, { [key]: 1 }, { [key]: 52 });
    await world.publish(gateway, { unknown: 1 });
    await world.alertsSettled();
    for (const of of [device, gateway])
      await post("device_publish", { deviceID: of.deviceID, payload: "go" });
    await post("group_publish", { groupID: group.groupID, payload: "all", needAck: 1 });
    for (const client of clients) await client.endAsync();
    await leaveSession(world, device);
    await post("contact_points", {
      name: "siren",
      type: "mqtt",
      settings: { deviceIntID: device.id, topic: "t" },
      subjectTemplate: "s",
      bodyTemplate: "b",
    });
    const contacts = (await world.call("GET", "/api/v1/contact_points")).page.items;
    const about = {
      alertName: "hot",
      productIntID: product.id,
      groupIntID: group.id,
      deviceIntID: device.id,
    };
    await post("alert_routes", { name: "r", contactPoints: [contacts[0]?.id], timezone: "UTC", ...about });
    const span = { startTime: "2098-01-01 00:00:00", endTime: "2098-02-01 00:00:00", comment: "c" };
    await post("silences", { ...span, ...about });
    await post(`contact_points/${contacts[0]?.id}/test`, {});
    const shown = { description: "d", document: documentBody([], { variables: [] }) };
    const dashboard = await world.make("/api/v1/dashboards", { name: "board", ...shown });
    await world.call("PUT", `/api/v1/dashboards/${dashboard.id}`, { version: 1, description: "e" });
    await post(`dashboards/${dashboard.id}/shares`, { name: "s", expiresAt: "2090-01-01 00:00:00" });
    await post("users", { username: "olga", password: "a long password", role: "operator" });
    await post("api_keys", { name: "k", role: "viewer", expiresAt: "2090-01-01 00:00:00" });
    await world.call("PUT", `/api/v1/products/${product.id}`, { description: "more sensors" });
    await world.call("PUT", `/api/v1/devices/${device.id}`, { description: "south" });
    await world.call("PUT", `/api/v1/groups/${group.id}`, { description: "some" });
    const beginnings = { products: product, data_streams: stream, gateways: gateway, groups: group };
    for (const [word, owner] of Object.entries({
      ...beginnings,
      devices: device,
      policies: policy,
      certs: cert,
      dashboards: dashboard,
    })) {
      owners.set(`/api/v1/${word}/{id}`, owner);
      owners.set(`/api/v1/platform_select/${word}/{id}`, owner);
    }
    owners.set("/api/v1/device_consoles/{id}", device);
    assert.is(product.cloudProtocol, mqtt);
    // The group command is a task, and alerts are written after the points.
    for (const path of [`groups/${group.id}/control_logs`, "current_alerts", "history_alerts"]) {
      const first = async () => (await world.call("GET", `/api/v1/${path}`)).page.items[0];
      await until(first, { what: path });
    }
  });

  function addressOf(path: string): string {
    const owner = [...owners].find(([beginning]) => path.startsWith(beginning))?.[1];
    return path.replace("{id}", String(owner?.id));
  }
  const ask = (path: string, variant: string, query = ""): Promise<Reply> =>
    world.call("GET", `${addressOf(path)}?_limit=100${query}`, undefined, {
      headers: { "Api-Variant": variant },
    });

  test("there are lists, and each has its pages", () => {
    assert.ok(lists.length > 35, `${lists.length}`);
    assert.ok(listOperations(document).length > lists.length);
    for (const { path, parameters } of lists) assert.ok(parameters.has("_page"), path);
  });

  for (const { path, fields, parameters } of lists) {
    test(`${path}: every field of the schema is a parameter, or refused by name`, async () => {
      for (const field of fields) {
        const { status, failure, text } = await ask(path, "A", `&${field}=1`);
        if (parameters.has(field)) assert.ok(status === 200 || failure.errors[field] !== undefined, text);
        else {
          assert.is(status, 400, `${field} is ignored`);
          assert.ok(String(failure.errors[field]).startsWith(`cannot filter by ${field}`), text);
        }
        const like = await ask(path, "A", `&${field}_like=1`);
        assert.is(like.status, parameters.has(field) ? 200 : 400, `${field}_like: ${like.text}`);
      }
      assert.is((await ask(path, "A", "&nobody=1&nobody_like=1&token=&_other=x")).status, 200);
    });

    for (const variant of variants) {
      test(`${path}, ${variant}: what is shown of a field finds the item, what is not does not`, async () => {
        const { page, status, text } = await ask(path, variant);
        assert.is(status, 200, text);
        const names = new Set(page.items.flatMap((item) => Object.keys(item)));
        assert.ok(page.items.length > 0, "no item");
        for (const field of names) {
          const item = page.items.find((one) => one[field] !== null && one[field] !== undefined);
          const value = item?.[field];
          if (item === undefined || value === undefined || Array.isArray(value)) continue;
          const shown = typeof value === "object" ? JSON.stringify(value) : String(value);
          // These two bound the time of an alert's start; that they do is tested elsewhere.
          if (parameters.has("timezone") && (field === "startTime" || field === "endTime")) continue;
          const reply = await ask(path, variant, `&${field}=${encodeURIComponent(shown)}`);
          if (!parameters.has(field)) {
            assert.ok(mayRefuse(path, field, value), `${field} is refused`);
            continue;
          }
          if (typeof value === "object") continue;
          assert.is(reply.status, 200, `${field}: ${reply.text}`);
          const { items, meta } = reply.page;
          assert.ok(
            items.some((one) => sameItem(one, item)),
            `${field}=${shown} does not find its own`,
          );
          assert.is(items.length, meta.count);
          for (const one of items) assert.equal(one[field], value, `${field}=${shown}`);
          const other = await ask(path, variant, `&${field}=${encodeURIComponent(otherThan(value))}`);
          assert.is(other.status, 200, `${field}: ${other.text}`);
          assert.not.ok(
            other.page.items.some((one) => sameItem(one, item)),
            `${field} is ignored`,
          );
        }
      });
    }
  }
});

/** Connects and goes, and leaves a session behind. */
async function leaveSession(world: World, { deviceUsername, token }: Rec): Promise<void> {
  const identity = { username: String(deviceUsername), password: String(token) };
  const options = { ...identity, clientId: "kept", clean: false, reconnectPeriod: 0 };
  await (await connectAsync(world.mqtt, options)).endAsync();
}

const sameItem = (one: Rec, other: Rec): boolean =>
  one.id === other.id && one.deviceIntID === other.deviceIntID && one.time === other.time;

function otherThan(value: unknown): string {
  if (typeof value === "number") return String(value + 1);
  if (typeof value === "boolean") return String(!value);
  const text = String(value);
  return /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text) ? "2001-02-03 04:05:06" : `${text}~`;
}
