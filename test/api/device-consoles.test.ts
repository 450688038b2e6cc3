import { makeAppTemplate, makeDataPoint, makeDevice, makeProduct, makeStream } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, refused, worldSuite } from "../world.js";
import { unknownIDs } from "./resource.js";

const form = [
  ...["id", "templateName", "templateType", "templateTypeLabel", "productID", "productItemIntID", "topic"],
  ...["dataPointIntID", "dataPointID", "dataPointName", "dataStreamIntID", "dataStreamName", "dataTransType"],
  ...["enum", "places", "instanceID", "createAt", "updateAt", "defaultValues", "value"],
];
const kinds = { temp: 1, on: 5, note: 3, place: 6, idle: 1 } as const;

worldSuite("device consoles", (test, world) => {
  const consoleOf = async (device: Rec, query = "") =>
    (await world.call("GET", `/api/v1/device_consoles/${device.id}${query}`)).page;
  const values = async (device: Rec) =>
    Object.fromEntries((await consoleOf(device)).items.map((item) => [item.dataPointID, item.value]));

  /** A product with a template for each kind of data point. */
  async function furnished(): Promise<{ product: Rec; points: Rec[] }> {
    const product = await makeProduct(world);
    const points: Rec[] = [];
    for (const [dataPointID, pointDataType] of Object.entries(kinds)) {
      const point = await makeDataPoint(world, product, { dataPointID, pointDataType });
      await makeAppTemplate(world, point);
      points.push(point);
    }
    return { product, points };
  }

  test("the product's templates in the console form, each with the newest value as text", async () => {
    const { product } = await furnished();
    const [device, silent] = [await makeDevice(world, product), await makeDevice(world, product)];
    const none = { temp: null, on: null, note: null, place: null, idle: null };
    assert.equal(await values(device), none);
    await world.publish(device, { temp: 21.5, on: true, note: "始", place: [121.4, 31.2] }, { temp: 22 });
    const now = { temp: "22", on: "true", note: "始", place: "[121.4,31.2]", idle: null };
    assert.equal(await values(device), now);
    assert.equal(await values(silent), none);
    await world.publish(device, { time: "2020-01-01T00:00:00Z", temp: 1 }, { on: 0, temp: -0.5 });
    assert.equal(await values(device), { ...now, on: "false", temp: "-0.5" });
    const page = await consoleOf(device, "?_limit=2&_page=2");
    assert.equal(page.meta, { count: 5, limit: 2, page: 2 });
    for (const item of page.items) hasKeys(item, form);
    const [first] = page.items;
    assert.equal((await consoleOf(device, `?dataPointID=${first?.dataPointID}`)).items, [first]);
  });

  test("a template shows the stream and defaults of its product, the device by its string id too", async () => {
    const product = await makeProduct(world);
    const point = await makeDataPoint(world, product);
    const stream = await makeStream(world, product, { streamType: 2 });
    const defaultValues = [{ id: point.id, value: 1 }];
    const places = [1, 2];
    const made = await makeAppTemplate(world, point, { dataStreamIntID: stream.id, defaultValues, places });
    const device = await makeDevice(world, product);
    const [item] = (await consoleOf(device)).items;
    const looked = {
      topic: stream.topic,
      dataStreamName: stream.streamName,
      places,
      templateTypeLabel: "开关",
    };
    assert.equal({ ...item, ...looked, id: made.id, defaultValues: made.defaultValues }, item);
    const byText = await world.call("GET", `/api/v1/device_consoles/${device.deviceID}`);
    assert.equal(byText.page.items, [item]);
    const b = { headers: { "Api-Variant": "B" } };
    assert.equal((await world.call("GET", `/api/v1/device_consoles/${device.id}`, undefined, b)).page.items, [
      item,
    ]);
  });

  test("a data point that is made again starts without a value", async () => {
    const product = await makeProduct(world);
    const first = await makeDataPoint(world, product, { dataPointID: "again" });
    const device = await makeDevice(world, product);
    await world.publish(device, { again: 1 });
    await world.call("DELETE", `/api/v1/data_points?ids=${first.id}`);
    await makeAppTemplate(world, await makeDataPoint(world, product, { dataPointID: "again" }));
    assert.equal(await values(device), { again: null });
    await world.publish(device, { again: 2 });
    assert.equal(await values(device), { again: "2" });
  });

  test("gateways have consoles too", async () => {
    const { product } = await furnished();
    const body = { gatewayName: "console gateway", productID: product.productID };
    const made = await world.make("/api/v1/gateways", { ...body, gatewayProtocol: 1, upLinkNetwork: 4 });
    const gateway = (await world.call("GET", `/api/v1/gateways/${made.id}`)).record;
    await world.publish(gateway, { temp: 5 });
    assert.is((await values(gateway)).temp, "5");
  });

  test("what is no device of the tenant is 404", async () => {
    const device = await makeDevice(world, await makeProduct(world));
    assert.equal((await consoleOf(device)).items, []);
    const key = await world.otherTenant();
    const path = "/api/v1/device_consoles";
    refused(await world.call("GET", `${path}/${device.id}`, undefined, { key }), "DATA_NOT_FOUND");
    for (const id of unknownIDs) refused(await world.call("GET", `${path}/${id}`), "DATA_NOT_FOUND");
    refused(await world.call("GET", `${path}/${device.id}?_limit=1001`), "PARAMETER_INVALID", "_limit");
    refused(await world.call("GET", `${path}/${device.id}`, undefined, { key: null }), "AUTH_FAILED");
  });
});
