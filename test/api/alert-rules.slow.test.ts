import { makeDataPoint, makeDevice, makeProduct, unique } from "../factories.js";
import { assert } from "../suite.js";
import { type Rec, refused, worldSuite } from "../world.js";
import { testResource } from "./resource.js";

const path = "/api/v1/alert_rules";
const keys = [
  ...["id", "alertName", "alertContent", "alertSeverity", "alertSeverityLabel", "productID", "productIntID"],
  ...["dataPointIntID", "dataPointName", "condition", "duration", "createUser", "createAt", "updateAt"],
];

worldSuite("alert rules", (test, world) => {
  let shared: Rec | undefined;
  /** Each rule gets a new data point of one product, since the number of rules of a data point is limited. */
  const point = async (): Promise<Rec> => {
    shared ??= await makeProduct(world);
    return makeDataPoint(world, shared);
  };
  const body = async () => ({
    alertName: unique("Rule"),
    condition: "dataPoint > 50",
    dataPointIntID: (await point()).id,
  });

  testResource(test, world, {
    path,
    body,
    name: "alertName",
    required: ["alertName", "dataPointIntID", "condition"],
    optional: {},
    fixed: { productID: "another", productIntID: 99_999 },
    keys: { stored: keys, detail: keys, listed: keys },
  });

  test("what is left out has its default, and null brings it back", async () => {
    const rule = await world.make(path, await body());
    const defaults = {
      alertContent: rule.alertName,
      alertSeverity: 2,
      alertSeverityLabel: "主要",
      duration: 0,
    };
    assert.equal({ ...rule, ...defaults }, rule);
    const put = (fields: object) => world.call("PUT", `${path}/${rule.id}`, fields);
    const changed = (await put({ alertContent: "x", alertSeverity: 4, duration: "60" })).record;
    assert.equal([changed.alertContent, changed.alertSeverity, changed.duration], ["x", 4, 60]);
    const back = (await put({ alertContent: null, alertSeverity: null, duration: null })).record;
    assert.equal({ ...back, ...defaults }, back);
  });

  test("a condition that is none, or names what is not there, is refused with its place", async () => {
    for (const condition of [
      "dataPoint >",
      "nothing > 1",
      "x = 1",
      "import('fs')",
      "1".repeat(1025),
      "   ",
    ]) {
      refused(
        await world.call("POST", path, { ...(await body()), condition }),
        "PARAMETER_INVALID",
        "condition",
      );
    }
    const text = await makeDataPoint(world, await makeProduct(world), { pointDataType: 3 });
    const wrong = { ...(await body()), dataPointIntID: text.id };
    refused(await world.call("POST", path, wrong), "PARAMETER_INVALID", "dataPointIntID");
  });

  test("a data point and a product have so many rules and no more; what is there can be edited", async () => {
    const product = await makeProduct(world);
    const points: Rec[] = [];
    for (let i = 0; i < 6; i++) points.push(await makeDataPoint(world, product));
    const rule = async (i: number) => ({ ...(await body()), dataPointIntID: points[i]?.id });
    const made: Rec[] = [];
    for (let i = 0; i < 5; i++) {
      for (let k = 0; k < 20; k++) made.push(await world.make(path, await rule(i)));
      if (i > 0) continue;
      refused(await world.call("POST", path, await rule(0)), "RESOURCE_LIMITED");
      const taken = { ...(await rule(0)), alertName: made[0]?.alertName };
      refused(await world.call("POST", path, taken), "DATA_EXISTED", "alertName");
    }
    refused(await world.call("POST", path, await rule(5)), "RESOURCE_LIMITED");
    const put = (id: unknown, fields: object) => world.call("PUT", `${path}/${id}`, fields);
    assert.is((await put(made[0]?.id, { duration: 5 })).status, 200);
    refused(await put(made[0]?.id, { dataPointIntID: points[1]?.id }), "RESOURCE_LIMITED");
    assert.is((await put(made[0]?.id, { dataPointIntID: points[5]?.id })).status, 200);
    assert.is((await world.call("DELETE", `${path}?ids=${made[1]?.id}`)).status, 204);
    assert.is((await world.call("POST", path, await rule(0))).status, 201);
  });

  test("rules that are moved to one data point at once are never more than it may have", async () => {
    const product = await makeProduct(world);
    const points = [await makeDataPoint(world, product), await makeDataPoint(world, product)];
    const rules: Rec[] = [];
    for (let i = 0; i < 38; i++) {
      rules.push(await world.make(path, { ...(await body()), dataPointIntID: points[i < 19 ? 0 : 1]?.id }));
    }
    const moved = await Promise.all(
      rules
        .slice(0, 8)
        .map(({ id }) => world.call("PUT", `${path}/${id}`, { dataPointIntID: points[1]?.id })),
    );
    assert.is(moved.filter(({ status }) => status === 200).length, 1);
    for (const answer of moved) if (answer.status !== 200) refused(answer, "RESOURCE_LIMITED");
  });

  test("a rule holds its data point, goes with its product, and its alerts end with it", async () => {
    const product = await makeProduct(world);
    const own = await makeDataPoint(world, product, { dataPointID: "t" });
    const rule = await world.make(path, {
      ...(await body()),
      dataPointIntID: own.id,
      condition: "dataPoint > 1",
    });
    refused(await world.call("DELETE", `/api/v1/data_points?ids=${own.id}`), "REFERENCED_ERROR");
    const device = await makeDevice(world, product);
    await world.publish(device, { t: 2 });
    await world.alertsSettled();
    const count = async (list: string) =>
      (await world.call("GET", `/api/v1/${list}?deviceIntID=${device.id}`)).page.meta.count;
    assert.equal([await count("current_alerts"), await count("history_alerts")], [1, 0]);
    assert.is((await world.call("DELETE", `${path}?ids=${rule.id}`)).status, 204);
    assert.equal([await count("current_alerts"), await count("history_alerts")], [0, 1]);
    await world.make(path, { ...(await body()), dataPointIntID: own.id });
    assert.is((await world.call("DELETE", `/api/v1/devices?ids=${device.id}`)).status, 204);
    assert.is((await world.call("DELETE", `/api/v1/products?ids=${product.id}`)).status, 204);
  });
});
