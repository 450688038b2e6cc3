import { makeDataPoint, makeMetric, makeProduct, metricBody } from "../factories.js";
import { assert } from "../suite.js";
import { type Rec, refused, worldSuite } from "../world.js";
import { testResource } from "./resource.js";

const path = "/api/v1/metrics";
const stored = [
  ...["id", "metricName", "metricType", "dataPointIntID", "aggregateType", "aggregateData", "chartType"],
  ...["expressions", "isShow", "productID", "productItemIntID", "remark", "createAt", "updateAt"],
];

worldSuite("metrics", (test, world) => {
  let shared: Rec | undefined;
  const point = async (): Promise<Rec> => {
    shared ??= await makeDataPoint(world, await makeProduct(world), { dataPointID: "temp" });
    return shared;
  };

  testResource(test, world, {
    path,
    body: async () => metricBody(await point()),
    required: ["metricName", "dataPointIntID"],
    optional: { aggregateData: 1, expressions: "dataPoint * 2", remark: "doubled", productItemIntID: 7 },
    fixed: { productID: "another", productIntID: 99_999 },
    name: "metricName",
    keys: {
      stored,
      detail: [
        ...[...stored, "metricTypeLabel", "dataPointName", "aggregateTypeLabel", "aggregateDataLabel"],
        ...["chartTypeLabel", "createUser"],
      ],
      listed: ["id", "metricName", "metricType", "metricTypeLabel", "dataPointName"],
    },
    optionalBase: { metricType: 2 },
  });

  const post = async (fields: object) =>
    world.call("POST", path, metricBody(await point(), { aggregateType: undefined, ...fields }));

  test("metricType absent: a formula where there are expressions, else an aggregate", async () => {
    const formula = (await post({ expressions: "dataPoint + 1" })).record;
    const defaults = { metricType: 1, aggregateType: null, aggregateData: 2, chartType: 1, isShow: 1 };
    assert.equal({ ...formula, ...defaults, productID: (await point()).productID }, formula);
    for (const expressions of [undefined, null, "", "   "]) {
      const aggregate = (await post({ expressions, aggregateType: "3" })).record;
      assert.equal([aggregate.metricType, aggregate.aggregateType, aggregate.expressions], [2, 3, null]);
    }
    const both = (await post({ expressions: "dataPoint", aggregateType: 1, aggregateData: 1, metricType: 2 }))
      .record;
    assert.equal([both.metricType, both.aggregateData], [2, 1]);
  });

  test("a formula of many slow functions is refused", async () => {
    const expressions = Array(33).fill("floor(dataPoint,15)").join("+");
    refused(await post({ expressions }), "PARAMETER_INVALID", "expressions");
    assert.is((await post({ expressions: "floor(dataPoint,15)" })).status, 201);
  });

  test("a formula metric needs expressions, an aggregate metric aggregateType", async () => {
    for (const expressions of [undefined, null, "", " "]) {
      refused(await post({ metricType: 1, expressions }), "PARAMETER_INVALID", "expressions");
    }
    refused(await post({ metricType: 2 }), "PARAMETER_INVALID", "aggregateType");
    refused(await post({}), "PARAMETER_INVALID", "aggregateType");
    const formula = (await post({ expressions: "dataPoint" })).record;
    const put = (id: number, body: object) => world.call("PUT", `${path}/${id}`, body);
    refused(await put(formula.id, { expressions: null }), "PARAMETER_INVALID", "expressions");
    refused(await put(formula.id, { expressions: " " }), "PARAMETER_INVALID", "expressions");
    refused(await put(formula.id, { metricType: 2 }), "PARAMETER_INVALID", "aggregateType");
    const aggregate = await makeMetric(world, await point());
    refused(await put(aggregate.id, { aggregateType: null }), "PARAMETER_INVALID", "aggregateType");
    refused(await put(aggregate.id, { metricType: 1 }), "PARAMETER_INVALID", "expressions");
    for (const field of ["metricType", "chartType", "isShow"]) {
      refused(await put(aggregate.id, { [field]: null }), "PARAMETER_INVALID", field);
    }
    assert.is((await put(aggregate.id, { expressions: "" })).record.expressions, null);
  });

  test("codes outside their tables are refused; those inside have labels", async () => {
    const wrong = { metricType: 3, aggregateType: 9, aggregateData: 0, chartType: 3, isShow: 2 };
    for (const [field, value] of Object.entries(wrong)) {
      refused(await post({ aggregateType: 1, [field]: value }), "PARAMETER_INVALID", field);
    }
    const labels = ["最大值", "最小值", "平均值", "累计值", "增量", "首值", "末值", "计数"];
    for (const [i, label] of labels.entries()) {
      const { id } = await makeMetric(world, await point(), { aggregateType: i + 1, chartType: 2 });
      const detail = (await world.call("GET", `${path}/${id}`)).record;
      const { aggregateTypeLabel, aggregateDataLabel, chartTypeLabel, metricTypeLabel } = detail;
      assert.equal(
        [aggregateTypeLabel, aggregateDataLabel, chartTypeLabel, metricTypeLabel],
        [label, "原始值", "柱状图", "聚合指标"],
      );
    }
  });

  test("a formula that cannot be is refused with what and where", async () => {
    const wrong: Readonly<Record<string, RegExp>> = {
      "dataPoint +": /missing.*column 11/,
      "dataPoint + nowhere": /nowhere.*column 13/,
      "random()": /random/,
      "x = 1": /assignment.*column 3/,
      "import('fs')": /text/,
      "f(x) = x": /assignment/,
      "[1,2]": /matrices.*column 1/,
      "5 cm": /cm/,
      "(dataPoint": /parenthesis/,
      "dataPoint)": /parenthesis.*column 10/,
      "1; 2": /one expression.*column 2/,
      "dataPoint.constructor": /./,
      "sin()": /sin takes 1/,
      时间: /时间/,
      "🦉": /./,
      "'; drop table metric; --": /./,
      [`dataPoint${" + 1".repeat(300)}`]: /longer than 1024/,
      [`1${"+1".repeat(250)}`]: /more than 200/,
      ["(".repeat(500)]: /./,
      ["dataPoint".repeat(1000)]: /longer/,
    };
    for (const [expressions, message] of Object.entries(wrong)) {
      const reply = await post({ expressions });
      refused(reply, "PARAMETER_INVALID", "expressions");
      assert.match(reply.failure.errors.expressions ?? "", message, expressions);
    }
    const { id } = (await post({ expressions: "temp + currentValue - lastValue" })).record;
    refused(
      await world.call("PUT", `${path}/${id}`, { expressions: "1 +" }),
      "PARAMETER_INVALID",
      "expressions",
    );
    refused(
      await post({ expressions: "1 +", metricType: 2, aggregateType: 1 }),
      "PARAMETER_INVALID",
      "expressions",
    );
  });

  test("the data point must be a number or boolean of the tenant, on an edit of the same product", async () => {
    const owner = { id: 0, productID: (await point()).productID };
    const { items } = (await world.call("GET", `/api/v1/products?productID=${owner.productID}`)).page;
    const product = items[0] ?? owner;
    for (const pointDataType of [3, 4, 6, 11, 14]) {
      const text = await makeDataPoint(world, product, { pointDataType, faultValue: "E" });
      refused(
        await post({ dataPointIntID: text.id, aggregateType: 1 }),
        "PARAMETER_INVALID",
        "dataPointIntID",
      );
    }
    const on = await makeDataPoint(world, product, { pointDataType: 5 });
    const metric = await makeMetric(world, on);
    const elsewhere = await makeDataPoint(world, await makeProduct(world));
    for (const dataPointIntID of [elsewhere.id, 99_999]) {
      const put = await world.call("PUT", `${path}/${metric.id}`, { dataPointIntID });
      refused(put, "PARAMETER_INVALID", "dataPointIntID");
    }
    const moved = await world.call("PUT", `${path}/${metric.id}`, { dataPointIntID: (await point()).id });
    assert.is(moved.record.dataPointIntID, (await point()).id);
    const key = await world.otherTenant();
    refused(await world.call("POST", path, metricBody(on), { key }), "PARAMETER_INVALID", "dataPointIntID");
  });

  test("expressionsLabel and dataStreamIntID are taken and not returned, productItemIntID 0 is null", async () => {
    const sent = { expressionsLabel: "双倍", dataStreamIntID: "3", productItemIntID: "0", aggregateType: 1 };
    const { id, productItemIntID } = (await post(sent)).record;
    assert.is(productItemIntID, null);
    const put = await world.call("PUT", `${path}/${id}`, { ...sent, metricName: "双倍" });
    assert.equal([put.status, put.record.metricName, put.record.productItemIntID], [200, "双倍", null]);
  });

  test("lists filter by product, data point and type", async () => {
    const own = await makeDataPoint(world, await makeProduct(world));
    const formula = await makeMetric(world, own, { expressions: "dataPoint", aggregateType: undefined });
    await makeMetric(world, own);
    const query = async (filter: string) =>
      (await world.call("GET", `${path}?productID=${own.productID}&${filter}`)).page.items.map(
        (item) => item.id,
      );
    assert.is((await query("")).length, 2);
    assert.equal(await query("metricType=1"), [formula.id]);
    assert.equal(await query("expressions=dataPoint"), [formula.id]);
    assert.is((await query(`dataPointIntID=${own.id}`)).length, 2);
    refused(await world.call("GET", `${path}?metricType=formula`), "PARAMETER_INVALID", "metricType");
  });
});
