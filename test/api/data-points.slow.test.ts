import {
  dataPointBody,
  makeDataPoint,
  makeDevice,
  makeMetric,
  makeProduct,
  makeStream,
  modbus,
  streamBody,
} from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, refused, worldSuite } from "../world.js";
import { testResource } from "./resource.js";

const path = "/api/v1/data_points";
const stored = [
  ...["id", "dataPointID", "dataPointName", "productID", "pointDataType", "dataTransType", "unitName"],
  ...["unitSymbol", "upperLimit", "lowerLimit", "dataStep", "binarySize", "faultValue", "isDiscard", "enum"],
  ...["isLocationType", "locationType", "registerAddr", "detail", "createAt", "updateAt"],
];
const listed = [...stored, "productName", "pointDataTypeLabel", "dataTransTypeLabel"];

worldSuite("data points", (test, world) => {
  let shared: Rec | undefined;
  const product = async (): Promise<Rec> => {
    shared ??= await makeProduct(world);
    return shared;
  };

  testResource(test, world, {
    path,
    body: async () => dataPointBody(await product()),
    required: ["dataPointName", "dataPointID", "pointDataType", "dataTransType"],
    optional: {
      unitName: "摄氏度",
      unitSymbol: "℃",
      upperLimit: 85.5,
      lowerLimit: -40,
      dataStep: 0.1,
      binarySize: 4,
      faultValue: "E1",
      isDiscard: 1,
      enum: [{ value: 1, label: "开" }],
      locationType: 2,
      registerAddr: "0x10",
      detail: "roof",
    },
    fixed: { dataPointID: "another", productID: "another", productIntID: 99_999 },
    // dataPointName need not be unique: dataPointID is, and that may not be edited.
    name: "dataPointName",
    unique: "dataPointID",
    keys: { stored, detail: [...listed, "createUser"], listed },
  });

  const post = async (fields: object, owner?: Rec) =>
    world.call("POST", path, dataPointBody(owner ?? (await product()), { ...fields }));

  test("dataPointID: letters, digits, _ . : -, no leading _, not time; unique in its product", async () => {
    for (const dataPointID of ["_x", "time", "a b", "温度", "a/b", "x".repeat(65), "a~2", "a,b", "🦉", 7]) {
      refused(await post({ dataPointID }), "PARAMETER_INVALID", "dataPointID");
    }
    for (const dataPointID of ["x".repeat(64), "a.b:c-d_e", "9", "-", "Time", "__proto__".slice(2)]) {
      assert.is((await post({ dataPointID })).record.dataPointID, dataPointID);
      refused(await post({ dataPointID }), "DATA_EXISTED", "dataPointID");
    }
    assert.is((await post({ dataPointID: "9" }, await makeProduct(world))).status, 201);
  });

  test("the product is named by record id, by productID, or by both when they agree", async () => {
    const { id, productID } = await product();
    const other = await makeProduct(world);
    for (const owner of [
      { productIntID: String(id) },
      { productIntID: undefined, productID },
      { productID },
    ]) {
      assert.is((await post(owner)).record.productID, productID);
    }
    refused(await post({ productID: other.productID }), "PARAMETER_INVALID", "productID");
    refused(await post({ productIntID: undefined }), "PARAMETER_INVALID", "productIntID");
    refused(await post({ productIntID: 99_999 }), "PARAMETER_INVALID", "productIntID");
    const key = await world.otherTenant();
    const sent = dataPointBody(other);
    refused(await world.call("POST", path, sent, { key }), "PARAMETER_INVALID", "productIntID");
  });

  test("numbers may come as text and are stored as numbers", async () => {
    const fields = {
      upperLimit: "85.5",
      lowerLimit: "-4e1",
      dataStep: " .5 ",
      pointDataType: "1",
      binarySize: "8",
    };
    const { record } = await post(fields);
    assert.equal(
      [record.upperLimit, record.lowerLimit, record.dataStep, record.binarySize],
      [85.5, -40, 0.5, 8],
    );
    for (const upperLimit of ["", "1,5", "0x10", "1e999", true]) {
      refused(await post({ upperLimit }), "PARAMETER_INVALID", "upperLimit");
    }
  });

  test("every type and direction has its label", async () => {
    const labels: Record<string, string> = {
      1: "数值",
      4: "故障",
      6: "地理位置",
      15: "有符号整型",
      25: "浮点",
    };
    for (const [code, label] of Object.entries(labels)) {
      const { id } = (await post({ pointDataType: Number(code), faultValue: "E" })).record;
      const detail = (await world.call("GET", `${path}/${id}`)).record;
      assert.equal([detail.pointDataTypeLabel, detail.dataTransTypeLabel], [label, "只上报"]);
    }
    for (const pointDataType of [0, 2, 7, 10, 20, 26]) {
      refused(await post({ pointDataType }), "PARAMETER_INVALID", "pointDataType");
    }
    for (const dataTransType of [0, 4])
      refused(await post({ dataTransType }), "PARAMETER_INVALID", "dataTransType");
  });

  test("a fault needs faultValue, a Modbus product registerAddr", async () => {
    refused(await post({ pointDataType: 4 }), "PARAMETER_INVALID", "faultValue");
    const { record } = await post({ pointDataType: 4, faultValue: "E1" });
    refused(
      await world.call("PUT", `${path}/${record.id}`, { faultValue: null }),
      "PARAMETER_INVALID",
      "faultValue",
    );
    const bus = await makeProduct(world, { cloudProtocol: modbus });
    refused(await post({}, bus), "PARAMETER_INVALID", "registerAddr");
    const register = await makeDataPoint(world, bus, { registerAddr: "40001", pointDataType: 21 });
    refused(
      await world.call("PUT", `${path}/${register.id}`, { registerAddr: null }),
      "PARAMETER_INVALID",
      "registerAddr",
    );
  });

  test("isLocationType follows locationType where it is not said", async () => {
    assert.is((await post({})).record.isLocationType, 0);
    assert.is((await post({ locationType: 1 })).record.isLocationType, 1);
    assert.is((await post({ isLocationType: 2, locationType: 1 })).record.isLocationType, 2);
    const { id } = (await post({})).record;
    const put = await world.call("PUT", `${path}/${id}`, { isLocationType: null, locationType: 3 });
    assert.is(put.record.isLocationType, 1);
  });

  test("pointDataType may change within its stored kind only", async () => {
    const { id } = await makeDataPoint(world, await product());
    const put = (pointDataType: number) => world.call("PUT", `${path}/${id}`, { pointDataType });
    assert.is((await put(18)).record.pointDataType, 18);
    assert.is((await put(24)).record.pointDataType, 24);
    for (const type of [3, 5, 6, 12]) refused(await put(type), "PARAMETER_INVALID", "pointDataType");
  });

  test("lists filter by product and by every scalar field", async () => {
    const owner = await makeProduct(world);
    const fields = { upperLimit: 10.25, unitName: "Percent", dataTransType: 3 };
    const { id } = await makeDataPoint(world, owner, fields);
    await makeDataPoint(world, owner);
    const query = (filter: string) => world.call("GET", `${path}?productID=${owner.productID}&${filter}`);
    assert.is((await query("")).page.meta.count, 2);
    for (const filter of ["upperLimit=10.25", "unitName=Percent", "unitName_like=perc", "dataTransType=3"]) {
      const { items } = (await query(filter)).page;
      assert.equal([items.length, items[0]?.id], [1, id], filter);
    }
    refused(await query("upperLimit=warm"), "PARAMETER_INVALID", "upperLimit");
    refused(await query("pointDataType=1.5"), "PARAMETER_INVALID", "pointDataType");
    assert.is((await query(`productIntID=${owner.id}`)).page.meta.count, 2);
    assert.is((await world.call("GET", `${path}?productID=none`)).page.meta.count, 0);
  });

  test("enum entries are value and label, within bounds", async () => {
    refused(await post({ enum: [{ value: 1 }] }), "PARAMETER_INVALID");
    refused(await post({ enum: "[]" }), "PARAMETER_INVALID", "enum");
    assert.equal((await post({ enum: [] })).record.enum, []);
    const long = Array.from({ length: 1001 }, () => ({ value: 1, label: "x" }));
    refused(await post({ enum: long }), "PARAMETER_INVALID", "enum");
    refused(
      await post({ enum: [{ value: "x".repeat(20_000), label: "x" }] }),
      "PARAMETER_INVALID",
      "enum.0.value",
    );
  });

  test("a data point that a stream or a metric uses stays, and so does what was to go with it", async () => {
    const [a, b, c] = [
      await makeDataPoint(world, await product()),
      await makeDataPoint(world, await product()),
      await makeDataPoint(world, await product()),
    ];
    const stream = await makeStream(world, await product(), { dataPoints: [a.id] });
    const free = await makeStream(world, await product());
    const metric = await makeMetric(world, b);
    for (const used of [a, b]) {
      refused(await world.call("DELETE", `${path}?ids=${c.id},${free.id},${used.id}`), "REFERENCED_ERROR");
      assert.is((await world.call("GET", `${path}/${c.id}`)).status, 200);
      assert.is((await world.call("GET", `/api/v1/data_streams/${free.id}`)).status, 200, "the stream too");
    }
    await world.call("DELETE", `/api/v1/metrics?ids=${metric.id}`);
    // A stream that goes at the same time does not hold its points.
    assert.is((await world.call("DELETE", `${path}?ids=${a.id},${b.id},${stream.id}`)).status, 204);
    refused(await world.call("GET", `/api/v1/data_streams/${stream.id}`), "DATA_NOT_FOUND");
  });

  test("the same path makes, edits and deletes data streams; both share one id sequence", async () => {
    const owner = await product();
    const made = await world.call("POST", path, streamBody(owner, { streamName: "by the other path" }));
    assert.is(made.status, 201, made.text);
    hasKeys(made.record, [
      ...["id", "productID", "streamName", "streamType", "streamDataType", "topic", "dataPoints", "detail"],
      ...["userIntID", "createAt", "updateAt"],
    ]);
    const point = await makeDataPoint(world, owner);
    assert.ok(point.id > made.record.id);
    refused(await world.call("GET", `${path}/${made.record.id}`), "DATA_NOT_FOUND");
    const put = await world.call("PUT", `${path}/${made.record.id}`, { detail: "edited" });
    assert.equal([put.status, put.record.detail], [200, "edited"]);
    assert.is((await world.call("DELETE", `${path}?ids=${made.record.id}`)).status, 204);
    refused(await world.call("GET", `/api/v1/data_streams/${made.record.id}`), "DATA_NOT_FOUND");
    refused(await world.call("POST", path, { streamName: "no more" }), "PARAMETER_INVALID", "topic");
  });

  test("a data point under an old name is a new series: the old points are never answered", async () => {
    const owner = await makeProduct(world);
    const device = await makeDevice(world, owner);
    const values = async () => {
      const reply = await world.call("GET", `/api/v1/original_data?deviceIntID=${device.id}`);
      return reply.list.map((item) => (item.originalData as { value: unknown[] }).value);
    };
    for (const round of [1, 2, 3]) {
      const point = await makeDataPoint(world, owner, { dataPointID: "level" });
      assert.equal(await values(), [[]]);
      await world.publish(device, { level: round });
      assert.equal(await values(), [[round]]);
      assert.is((await world.call("DELETE", `${path}?ids=${point.id}`)).status, 204);
      assert.equal(await values(), []);
    }
  });
});
