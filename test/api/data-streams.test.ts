import { makeDataPoint, makeProduct, makeStream, streamBody, unique } from "../factories.js";
import { assert } from "../suite.js";
import { type Rec, refused, worldSuite } from "../world.js";
import { testResource } from "./resource.js";

const path = "/api/v1/data_streams";
const stored = [
  ...["id", "productID", "streamName", "streamType", "streamDataType", "topic", "dataPoints", "detail"],
  ...["userIntID", "createAt", "updateAt"],
];

worldSuite("data streams", (test, world) => {
  let shared: Rec | undefined;
  const product = async (): Promise<Rec> => {
    shared ??= await makeProduct(world);
    return shared;
  };

  testResource(test, world, {
    path,
    body: async () => streamBody(await product()),
    required: ["streamName", "streamType", "streamDataType", "topic"],
    optional: { detail: "every minute" },
    fixed: { productID: "another", productIntID: 99_999 },
    name: "streamName",
    keys: {
      stored,
      detail: [...stored, "productName", "streamTypeLabel", "streamDataTypeLabel", "dataPointNames"],
      listed: [
        ...["id", "productName", "streamName", "streamType", "streamTypeLabel", "streamDataType"],
        ...["streamDataTypeLabel", "topic"],
      ],
    },
  });

  const post = async (fields: object, owner?: Rec) =>
    world.call("POST", path, streamBody(owner ?? (await product()), { ...fields }));

  test("dataPoints keep their order, with their names", async () => {
    const owner = await makeProduct(world);
    const points = [];
    for (const dataPointName of ["a", "b", "c"])
      points.push(await makeDataPoint(world, owner, { dataPointName }));
    const [a, b, c] = points.map((point) => point.id);
    const stream = await makeStream(world, owner, { dataPoints: [c, String(a), b] });
    assert.equal(stream.dataPoints, [c, a, b]);
    const detail = async () => (await world.call("GET", `${path}/${stream.id}`)).record;
    assert.equal((await detail()).dataPointNames, ["c", "a", "b"]);
    const { page } = await world.call("GET", `${path}/${stream.id}/data_points?_limit=2`);
    assert.equal([page.items.map((item) => item.id), page.meta.count], [[c, a], 3]);
    await world.call("PUT", `${path}/${stream.id}`, { dataPoints: [b, c] });
    assert.equal((await detail()).dataPointNames, ["b", "c"]);
    await world.call("PUT", `${path}/${stream.id}`, { detail: "kept" });
    assert.equal((await detail()).dataPoints, [b, c]);
    await world.call("PUT", `${path}/${stream.id}`, { dataPoints: null });
    assert.equal((await detail()).dataPoints, []);
  });

  test("dataPoints are the product's own, each once", async () => {
    const point = await makeDataPoint(world, await product());
    const foreign = await makeDataPoint(world, await makeProduct(world));
    const stream = await makeStream(world, await product());
    const wrong = [[foreign.id], [point.id, point.id], [99_999], [stream.id]];
    for (const dataPoints of wrong) {
      refused(await post({ dataPoints }), "PARAMETER_INVALID", "dataPoints");
      const put = await world.call("PUT", `${path}/${stream.id}`, { dataPoints });
      refused(put, "PARAMETER_INVALID", "dataPoints");
    }
    for (const dataPoints of [["x"], [0], [1.5], [null]]) {
      refused(await post({ dataPoints }), "PARAMETER_INVALID", "dataPoints.0");
    }
    refused(await post({ dataPoints: Array(1001).fill(point.id) }), "PARAMETER_INVALID", "dataPoints");
  });

  test("a topic is a topic name, one a product and direction", async () => {
    for (const topic of ["a/#", "+", "a\u0000", "x".repeat(70_000)]) {
      refused(await post({ topic }), "PARAMETER_INVALID", "topic");
    }
    const topic = unique("温度/room 1");
    assert.is((await post({ topic })).status, 201);
    refused(await post({ topic }), "DATA_EXISTED", "topic");
    assert.is((await post({ topic, streamType: 2 })).status, 201, "the other direction");
    assert.is((await post({ topic }, await makeProduct(world))).status, 201, "another product");
  });

  test("a topic has no variables of policies: create and edit say so, in both variants", async () => {
    const stream = await makeStream(world, await product());
    for (const topic of ["v1/%d/raw", "%u", "a%dz"]) {
      for (const variant of ["A", "B"]) {
        const headers = { "Api-Variant": variant };
        const named = {
          productID: (await product()).productID,
          streamName: unique("s"),
          streamType: 1,
          streamDataType: 1,
        };
        for (const reply of [
          await world.call("POST", path, { ...named, topic }, { headers }),
          await world.call("POST", "/api/v1/data_points", { ...named, topic }, { headers }),
          await world.call("PUT", `${path}/${stream.id}`, { topic }, { headers }),
          await world.call("PUT", `/api/v1/data_points/${stream.id}`, { topic }, { headers }),
        ]) {
          refused(reply, "PARAMETER_INVALID", "topic");
          assert.match(reply.text, /only policies replace them/);
        }
      }
    }
    assert.is(
      (await post({ topic: unique("100%") })).status,
      201,
      "a percent sign is a character like any other",
    );
  });

  test("types have labels; 3 and 4 need a product with a gateway", async () => {
    const { id } = await makeStream(world, await product(), { streamType: 2, streamDataType: "2" });
    const detail = (await world.call("GET", `${path}/${id}`)).record;
    assert.equal([detail.streamTypeLabel, detail.streamDataTypeLabel], ["设备数据下发", "二进制"]);
    for (const streamType of [0, 3, 4, 5])
      refused(await post({ streamType }), "PARAMETER_INVALID", "streamType");
    refused(await world.call("PUT", `${path}/${id}`, { streamType: 3 }), "PARAMETER_INVALID", "streamType");
    for (const streamDataType of [0, 3])
      refused(await post({ streamDataType }), "PARAMETER_INVALID", "streamDataType");
  });

  test("lists filter by product, type and topic", async () => {
    const owner = await makeProduct(world);
    const { id, topic } = await makeStream(world, owner, { streamType: 2 });
    await makeStream(world, owner);
    const query = async (filter: string) =>
      (await world.call("GET", `${path}?productID=${owner.productID}&${filter}`)).page.items.map(
        (item) => item.id,
      );
    assert.is((await query("")).length, 2);
    assert.equal(await query("streamType=2"), [id]);
    assert.equal(await query(`topic=${topic}`), [id]);
    assert.equal(await query(`topic_like=${String(topic).toUpperCase()}`), [id]);
    refused(await world.call("GET", `${path}?streamType=up`), "PARAMETER_INVALID", "streamType");
  });

  test("what is no stream is not there", async () => {
    const point = await makeDataPoint(world, await product());
    refused(await world.call("GET", `${path}/${point.id}`), "DATA_NOT_FOUND");
    refused(await world.call("PUT", `${path}/${point.id}`, {}), "DATA_NOT_FOUND");
    refused(await world.call("DELETE", `${path}?ids=${point.id}`), "DATA_NOT_FOUND");
    refused(await world.call("GET", `${path}/${point.id}/data_points`), "DATA_NOT_FOUND");
  });
});
