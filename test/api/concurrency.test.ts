import {
  appTemplateBody,
  certBody,
  dataPointBody,
  deviceBody,
  gatewayBody,
  groupBody,
  makeCert,
  makeDataPoint,
  makeDevice,
  makeGateway,
  makeGroup,
  makePolicy,
  makeProduct,
  makeStream,
  metricBody,
  policyBody,
  productBody,
  productResourceBody,
  streamBody,
} from "../factories.js";
import { assert } from "../suite.js";
import { type Rec, type Reply, refused, type World, worldSuite } from "../world.js";

type Body = Readonly<Record<string, unknown>>;

/** A record that is deleted while another is made that needs it. */
interface Race {
  /** What is deleted: its path and the record. */
  readonly needed: readonly [path: string, record: Rec];
  /** Where the other is made, from what, and where all of its kind that still stand are listed. */
  readonly made: readonly [path: string, body: Body];
  readonly listed?: string;
}

const api = (path: string) => `/api/v1/${path}`;
const atOnce = 8;
const rounds = 4;

/** Resource → the bodies of creates at once, alike in one field, and that field. */
const uniques: Readonly<
  Record<string, (world: World) => Promise<readonly [field: string, body: () => Body]>>
> = {
  products: async () => ["productName", () => productBody({ productName: "The only product" })],
  devices: async (world) => {
    const product = await makeProduct(world);
    return ["deviceID", () => deviceBody(product, { deviceID: "the-only-device" })];
  },
  "devices?": async (world) => {
    const product = await makeProduct(world);
    return ["deviceName", () => deviceBody(product, { deviceName: "The only device" })];
  },
  "devices??": async (world) => {
    const product = await makeProduct(world);
    return ["deviceUsername", () => deviceBody(product, { deviceUsername: "the-only-user" })];
  },
  gateways: async (world) => {
    const product = await makeProduct(world);
    return ["gatewayName", () => gatewayBody(product, { gatewayName: "The only gateway" })];
  },
  groups: async (world) => {
    const product = await makeProduct(world);
    return ["groupName", () => groupBody(product, { groupName: "The only group" })];
  },
  data_points: async (world) => {
    const product = await makeProduct(world);
    return ["dataPointID", () => dataPointBody(product, { dataPointID: "the-only-point" })];
  },
  data_streams: async (world) => {
    const product = await makeProduct(world);
    return ["topic", () => streamBody(product, { topic: "the-only-topic" })];
  },
  "data_streams?": async (world) => {
    const product = await makeProduct(world);
    return ["streamName", () => streamBody(product, { streamName: "The only stream" })];
  },
  metrics: async (world) => {
    const point = await makeDataPoint(world, await makeProduct(world));
    return ["metricName", () => metricBody(point, { metricName: "The only metric" })];
  },
  policies: async () => ["name", () => policyBody({ name: "The only policy" })],
  certs: async () => ["name", () => certBody({ name: "The only certificate" })],
};

/** What is made → its race with the deletion of what it needs. */
const races: Readonly<Record<string, (world: World) => Promise<Race>>> = {
  "a device and its product": (world) => withProduct(world, "devices", deviceBody),
  "a gateway and its product": (world) => withProduct(world, "gateways", gatewayBody),
  "a group and its product": (world) => withProduct(world, "groups", groupBody),
  "a data point and its product": (world) => withProduct(world, "data_points", dataPointBody),
  "a stream and its product": (world) => withProduct(world, "data_streams", streamBody),
  "a metric and its data point": (world) => withPoint(world, "metrics", metricBody),
  "a product resource and its data point": (world) =>
    withPoint(world, "product_resources", productResourceBody),
  "an app template and its data point": (world) => withPoint(world, "app_templates", appTemplateBody),
  "a stream and its data point": async (world) => {
    const product = await makeProduct(world);
    const point = await makeDataPoint(world, product);
    return {
      needed: [api("data_points"), point],
      made: [api("data_streams"), streamBody(product, { dataPoints: [point.id] })],
    };
  },
  "an app template and its stream": async (world) => {
    const product = await makeProduct(world);
    const point = await makeDataPoint(world, product);
    const stream = await makeStream(world, product);
    return {
      needed: [api("data_streams"), stream],
      made: [api("app_templates"), appTemplateBody(point, { dataStreamIntID: stream.id })],
    };
  },
  "a device and its gateway": async (world) => {
    const product = await makeProduct(world);
    const gateway = await makeGateway(world, product);
    const body = deviceBody(product, { upLinkSystem: 2, gateway: gateway.id });
    return { needed: [api("gateways"), gateway], made: [api("devices"), body] };
  },
  "a child and its parent": async (world) => {
    const product = await makeProduct(world);
    const parent = await makeDevice(world, product);
    const body = deviceBody(product, { upLinkSystem: 3, parentDevice: parent.id });
    return { needed: [api("devices"), parent], made: [api("devices"), body] };
  },
  "a member and its device": async (world) => {
    const product = await makeProduct(world);
    const [group, device] = [await makeGroup(world, product), await makeDevice(world, product)];
    return binding("devices", device, `groups/${group.id}/devices`, { ids: [device.id] });
  },
  "a member and its group": async (world) => {
    const product = await makeProduct(world);
    const [group, device] = [await makeGroup(world, product), await makeDevice(world, product)];
    return binding("groups", group, `groups/${group.id}/devices`, { ids: [device.id] });
  },
  "a policy's binding and its device": async (world) => {
    const [policy, device] = [await makePolicy(world), await makeDevice(world, await makeProduct(world))];
    return binding("devices", device, `policies/${policy.id}/devices`, { devicesIntID: [device.id] });
  },
  "a device's binding and its policy": async (world) => {
    const [policy, device] = [await makePolicy(world), await makeDevice(world, await makeProduct(world))];
    return binding("policies", policy, `devices/${device.id}/policies`, { ids: [policy.id] });
  },
  "a device's binding and its certificate": async (world) => {
    const [cert, device] = [await makeCert(world), await makeDevice(world, await makeProduct(world))];
    return binding("certs", cert, `devices/${device.id}/certs`, { ids: [cert.id] });
  },
  "a subscription and its device": async (world) => {
    const device = await makeDevice(world, await makeProduct(world));
    return binding("devices", device, `devices/${device.id}/subscriptions`, { topic: "news" });
  },
  "a subscription and its group": async (world) => {
    const group = await makeGroup(world, await makeProduct(world));
    return binding("groups", group, `groups/${group.id}/subscriptions`, { topic: "news" });
  },
};

async function withProduct(
  world: World,
  path: string,
  body: (product: Rec, fields?: Body) => Body,
): Promise<Race> {
  const product = await makeProduct(world);
  return { needed: [api("products"), product], made: [api(path), body(product)] };
}

async function withPoint(
  world: World,
  path: string,
  body: (point: Rec, fields?: Body) => Body,
): Promise<Race> {
  const product = await makeProduct(world);
  const point = await makeDataPoint(world, product);
  // Some bodies name the product, which the created record does not carry.
  const record = { ...point, productID: product.productID };
  return { needed: [api("data_points"), point], made: [api(path), body(record)] };
}

function binding(path: string, needed: Rec, list: string, body: Body): Race {
  return { needed: [api(path), needed], made: [api(list), body], listed: api(list) };
}

worldSuite("concurrent requests", (test, world) => {
  for (const [name, prepare] of Object.entries(uniques)) {
    const path = api(name.replaceAll("?", ""));
    test(`exactly one of parallel creates at ${path} that share a field wins (${name})`, async () => {
      const [field, body] = await prepare(world);
      const replies = await Promise.all(
        Array.from({ length: atOnce }, () => world.call("POST", path, body())),
      );
      const won = replies.filter(({ status }) => status === 201);
      assert.is(won.length, 1, replies.map(({ status }) => status).join());
      for (const reply of replies) if (reply.status !== 201) refused(reply, "DATA_EXISTED", field);
    });
  }

  for (const [name, prepare] of Object.entries(races)) {
    test(`${name} at once: made and kept, or neither`, async () => {
      const prepared = await Promise.all(Array.from({ length: rounds }, () => prepare(world)));
      await Promise.all(prepared.map((race, round) => run(world, race, round % 2 === 0)));
    });
  }

  test("a product and everything of it go at once with what is being added to it", async () => {
    const product = await makeProduct(world);
    const adding = Array.from({ length: atOnce }, () =>
      world.call("POST", api("data_points"), dataPointBody(product)),
    );
    const removal = world.call("DELETE", `${api("products")}?ids=${product.id}`);
    const added = await Promise.all(adding);
    assert.is((await removal).status, 204, (await removal).text);
    for (const { status, record } of added) {
      if (status === 201) await isGone(world, `${api("data_points")}/${record.id}`);
    }
  });
});

async function run(world: World, { needed, made, listed }: Race, deleteFirst: boolean): Promise<void> {
  const [neededPath, record] = needed;
  const remove = () => world.call("DELETE", `${neededPath}?ids=${record.id}`);
  const make = () => world.call("POST", ...made);
  const started = deleteFirst ? [remove(), make()] : [make(), remove()];
  const replies = await Promise.all(started);
  const [removal, creation] = (deleteFirst ? replies : replies.reverse()) as [Reply, Reply];
  const told = `DELETE ${removal.status} ${removal.text}, POST ${creation.status} ${creation.text}`;
  assert.ok([204, 400].includes(removal.status), told);
  assert.ok([201, 400, 404].includes(creation.status), told);
  const stands = (await world.call("GET", `${neededPath}?_limit=1000`)).page.items.some(
    ({ id }) => id === record.id,
  );
  assert.is(stands, removal.status !== 204, told);
  if (removal.status === 400) {
    refused(removal, "REFERENCED_ERROR");
    assert.is(creation.status, 201, told);
  }
  if (listed !== undefined) return isWithout(world, listed, stands ? null : record.id);
  if (creation.status !== 201) return;
  const list = await world.call("GET", `${made[0]}?_limit=1000`);
  const found = list.page.items.some(({ id }) => id === creation.record.id);
  assert.is(found, stands, `${told}; ${stands ? "lost" : "left without what it needs"}`);
}

/** The list answers, and does not hold the record that is gone; or its owner is the one that has gone. */
async function isWithout(world: World, list: string, gone: number | null): Promise<void> {
  const reply = await world.call("GET", list);
  if (reply.status === 404 && gone !== null) return;
  assert.is(reply.status, 200, reply.text);
  const ids = reply.page.items.map(({ id }) => id);
  assert.is(ids.length, reply.page.meta.count);
  assert.ok(gone === null || !ids.includes(gone), `${list} still has ${gone}`);
}

async function isGone(world: World, path: string): Promise<void> {
  const { status, text } = await world.call("GET", path);
  assert.is(status, 404, `${path} is left: ${text}`);
}
