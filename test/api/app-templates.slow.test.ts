import {
  appTemplateBody,
  makeAppTemplate,
  makeDataPoint,
  makeProduct,
  makeStream,
  mqtt,
  unique,
} from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, refused, worldSuite } from "../world.js";
import { type Body, testResource } from "./resource.js";

const path = "/api/v1/app_templates";
const lwm2m = 3;
const items = { instanceID: 1, itemID: 2, itemName: "Sensor value", itemOperations: "RW", objectID: 3303 };
const stored = [
  ...["id", "templateName", "templateType", "productID", "productItemIntID", "topic", "dataPointIntID"],
  ...["dataPointID", "dataStreamIntID", "dataTransType", "enum", "places", "defaultValues", "createAt"],
  ...[...Object.keys(items), "updateAt"],
];
const shown = [...stored, "templateTypeLabel", "dataPointName", "dataStreamName"];

worldSuite("app templates", (test, world) => {
  const points = new Map<number, Promise<Rec>>();
  /** One data point of a product of that protocol. */
  const point = (cloudProtocol = mqtt): Promise<Rec> => {
    const known = points.get(cloudProtocol);
    if (known !== undefined) return known;
    const made = makeProduct(world, { cloudProtocol }).then((product) => makeDataPoint(world, product));
    points.set(cloudProtocol, made);
    return made;
  };
  const productOf = async (made: Rec): Promise<Rec> =>
    (await world.call("GET", `/api/v1/products?productID=${made.productID}`)).page.items[0] ?? made;
  const put = (template: Rec, body: object) => world.call("PUT", `${path}/${template.id}`, body);
  const post = async (body: Body) => world.call("POST", path, appTemplateBody(await point(), body));

  testResource(test, world, {
    path,
    body: async () => appTemplateBody(await point(lwm2m)),
    required: ["templateName", "templateType", "dataPointIntID"],
    optional: { topic: "switch/1", places: [3, 4], productItemIntID: 7, ...items },
    fixed: { productID: "another", productIntID: 99_999 },
    name: "templateName",
    unique: null,
    keys: { stored, detail: shown, listed: shown },
  });

  test("what is known of the data point and the stream is looked up", async () => {
    const owner = await productOf(await point());
    const choices = [{ value: 0, label: "关" }];
    const own = await makeDataPoint(world, owner, { dataTransType: 3, enum: choices });
    const stream = await makeStream(world, owner, { streamType: 2 });
    const made = await makeAppTemplate(world, own, { dataStreamIntID: stream.id, templateType: "2" });
    const detail = (await world.call("GET", `${path}/${made.id}`)).record;
    const expected = {
      dataPointID: own.dataPointID,
      dataPointName: own.dataPointName,
      dataTransType: 3,
      enum: choices,
      dataStreamName: stream.streamName,
      topic: stream.topic,
      templateTypeLabel: "枚举",
      places: null,
    };
    assert.equal({ ...detail, ...expected }, detail);
    assert.equal((await world.call("GET", `${path}?dataPointIntID=${own.id}`)).page.items, [detail]);
  });

  test("the topic is the stream's, also after the stream's has changed, unless the template has its own", async () => {
    const owner = await productOf(await point());
    const [one, other] = [await makeStream(world, owner), await makeStream(world, owner)];
    const template = await makeAppTemplate(world, await point(), { dataStreamIntID: one.id });
    const read = async () => (await world.call("GET", `${path}/${template.id}`)).record;
    const moved = await put(template, { ...(await read()), dataStreamIntID: other.id });
    assert.is(moved.record.topic, other.topic, "the topic as read goes along");
    const topic = unique("moved");
    await world.call("PUT", `/api/v1/data_streams/${other.id}`, { topic });
    assert.is((await read()).topic, topic);
    assert.is((await put(template, { topic: "own" })).record.topic, "own");
    assert.is((await put(template, { dataStreamIntID: one.id })).record.topic, "own");
    assert.is((await put(template, { topic: "" })).record.topic, one.topic);
    assert.is((await put(template, { dataStreamIntID: null })).record.topic, null);
    refused(await put(template, { topic: "a/#" }), "PARAMETER_INVALID", "topic");
  });

  test("defaultValues are read by id and value, and answered with their data points", async () => {
    const owner = await productOf(await point());
    const made = [await makeDataPoint(world, owner), await makeDataPoint(world, owner, { pointDataType: 5 })];
    const values = [true, { level: [1, "\u{1f600}"] }];
    const defaultValues = made.map(({ id }, i) => ({ id, value: values[i] })).reverse();
    const template = await makeAppTemplate(world, await point(), { defaultValues });
    const expected = defaultValues.map(({ id, value }) => {
      const { dataPointID, dataPointName, pointDataType } = made.find((one) => one.id === id) as Rec;
      return { id, dataPointID, dataPointName, enum: null, pointDataType, value };
    });
    assert.equal(template.defaultValues, expected);
    const detail = (await world.call("GET", `${path}/${template.id}`)).record;
    assert.equal((await put(template, detail)).record.defaultValues, expected);
    const one = await put(template, { defaultValues: [{ id: String(made[0]?.id) }] });
    assert.equal(
      (one.record.defaultValues as Rec[]).map(({ id, value }) => [id, value]),
      [[made[0]?.id, null]],
    );
    assert.equal((await put(template, { defaultValues: null })).record.defaultValues, []);
    const half = [{ id: Number(made[0]?.id), value: ["\ud800"] }];
    refused(await put(template, { defaultValues: half }), "PARAMETER_INVALID", "defaultValues");
  });

  test("data points and streams must be the product's, default values and places of their shape", async () => {
    const elsewhere = await makeProduct(world);
    const [far, stream] = [await makeDataPoint(world, elsewhere), await makeStream(world, elsewhere)];
    const wrong: Readonly<Record<string, readonly unknown[]>> = {
      dataPointIntID: [far.id, 99_999],
      dataStreamIntID: [stream.id, 99_999, 0],
      defaultValues: [[{ id: far.id, value: 1 }], [{ value: 1 }], [1], {}, "x"],
      places: [[1], [1, 2, 3], ["a", 1], [1.5, 1], {}, "1,2"],
      templateType: [0, 7],
    };
    const template = await makeAppTemplate(world, await point());
    for (const [field, values] of Object.entries(wrong)) {
      for (const value of values) {
        for (const reply of [await post({ [field]: value }), await put(template, { [field]: value })]) {
          assert.is(reply.failure.errorCode, "PARAMETER_INVALID", `${field} ${JSON.stringify(value)}`);
          assert.ok(
            Object.keys(reply.failure.errors).some((name) => name.startsWith(field)),
            reply.text,
          );
        }
      }
    }
    refused(await post({ productID: undefined }), "PARAMETER_INVALID", "productIntID");
    const productIntID = (await productOf(far)).id;
    refused(await post({ productIntID }), "PARAMETER_INVALID", "productID");
    refused(await post({ productID: "", productIntID }), "PARAMETER_INVALID", "dataPointIntID");
  });

  test("what LwM2M alone has is null for other products", async () => {
    const template = await makeAppTemplate(world, await point(), { ...items, productItemIntID: 7 });
    const nothing = Object.fromEntries(Object.keys(items).map((field) => [field, null]));
    assert.equal({ ...template, ...nothing, productItemIntID: null }, template);
    const edited = (await put(template, { ...items, productItemIntID: 7 })).record;
    assert.equal({ ...edited, ...nothing, productItemIntID: null }, edited);
    const item = await makeAppTemplate(world, await point(lwm2m), { ...items, productItemIntID: "0" });
    assert.equal({ ...item, ...items, productItemIntID: null }, item);
  });

  test("what a template names stays; with the product everything goes", async () => {
    const product = await makeProduct(world);
    const [own, other] = [await makeDataPoint(world, product), await makeDataPoint(world, product)];
    const stream = await makeStream(world, product);
    const defaultValues = [{ id: other.id, value: 1 }];
    const template = await makeAppTemplate(world, own, { dataStreamIntID: stream.id, defaultValues });
    for (const { id } of [own, other, stream]) {
      refused(await world.call("DELETE", `/api/v1/data_points?ids=${id}`), "REFERENCED_ERROR");
    }
    refused(await world.call("DELETE", `/api/v1/data_streams?ids=${stream.id}`), "REFERENCED_ERROR");
    const listed = await world.call("GET", `/api/v1/products?productID=${product.productID}`);
    assert.is(listed.page.items[0]?.appCount, 1);
    assert.is((await world.call("DELETE", `/api/v1/products?ids=${product.id}`)).status, 204);
    refused(await world.call("GET", `${path}/${template.id}`), "DATA_NOT_FOUND");
  });

  test("templates of one product may share a name; both variants show them alike", async () => {
    const product = await makeProduct(world);
    const own = await makeDataPoint(world, product);
    const templateName = "Switch";
    const made = [await makeAppTemplate(world, own, { templateName })];
    made.push(await makeAppTemplate(world, own, { templateName, productID: null, productIntID: product.id }));
    const query = `${path}?productID=${product.productID}&templateName=Switch`;
    const a = await world.call("GET", query);
    const b = await world.call("GET", query, undefined, { headers: { "Api-Variant": "B" } });
    assert.equal(
      a.page.items.map(({ id }) => id),
      made.map(({ id }) => id).reverse(),
    );
    assert.equal(b.page, a.page);
    hasKeys(b.page.items[0], shown);
  });
});
