import {
  deviceBody,
  makeDataPoint,
  makeDevice,
  makeMetric,
  makeProduct,
  makeStream,
  productBody,
} from "../factories.js";
import { assert } from "../suite.js";
import { refused, worldSuite } from "../world.js";
import { testResource } from "./resource.js";

const stored = ["id", "productID", "productName", "description", "cloudProtocol", "createAt", "updateAt"];
const shown = [...stored, "cloudProtocolLabel", "deviceCount"];

worldSuite("products", (test, world) => {
  testResource(test, world, {
    path: "/api/v1/products",
    body: async () => productBody(),
    required: ["productName", "cloudProtocol"],
    optional: { description: "weather stations" },
    fixed: { productID: "another", cloudProtocol: 2 },
    name: "productName",
    keys: {
      stored,
      detail: [...shown, "createUser"],
      listed: [...shown, "appCount", "dataPointCount", "dataStreamCount", "itemCount"],
    },
  });

  test("productID is six letters and digits, and names the product in paths and ids", async () => {
    const { id, productID } = await makeProduct(world);
    assert.match(String(productID), /^(?=.*[A-Za-z])[0-9A-Za-z]{6}$/);
    assert.is((await world.call("GET", `/api/v1/products/${productID}`)).record.id, id);
    assert.is((await world.call("PUT", `/api/v1/products/${productID}`, {})).status, 200);
    assert.is((await world.call("DELETE", `/api/v1/products?ids=${productID},${id}`)).status, 204);
    refused(await world.call("GET", `/api/v1/products/${id}`), "DATA_NOT_FOUND");
  });

  test("cloudProtocol takes 1 to 7, also as text, with their labels", async () => {
    for (const [i, label] of ["MQTT", "CoAP", "LwM2M", "LoRa", "HTTP", "WebSocket", "Modbus"].entries()) {
      const { id, cloudProtocol } = await makeProduct(world, { cloudProtocol: String(i + 1) });
      assert.is(cloudProtocol, i + 1);
      const detail = (await world.call("GET", `/api/v1/products/${id}`)).record;
      assert.equal([detail.cloudProtocolLabel, detail.createUser], [label, "admin"]);
    }
    for (const cloudProtocol of [0, 8, 1.5, "MQTT"]) {
      const reply = await world.call("POST", "/api/v1/products", productBody({ cloudProtocol }));
      refused(reply, "PARAMETER_INVALID", "cloudProtocol");
    }
    assert.is((await world.call("GET", "/api/v1/products?cloudProtocol=6")).page.items[0]?.cloudProtocol, 6);
    refused(
      await world.call("GET", "/api/v1/products?cloudProtocol=six"),
      "PARAMETER_INVALID",
      "cloudProtocol",
    );
  });

  test("both spellings of the name filter find the product", async () => {
    const { id } = await makeProduct(world, { productName: "Misspelt one" });
    for (const parameter of ["productName_like", "pruductName_like"]) {
      const { items } = (await world.call("GET", `/api/v1/products?${parameter}=misspelt`)).page;
      assert.equal(
        items.map((item) => item.id),
        [id],
      );
    }
  });

  test("counts follow what the product has; those that do not apply are null", async () => {
    const product = await makeProduct(world);
    await makeDevice(world, product);
    await makeDataPoint(world, product);
    await makeDataPoint(world, product);
    await makeStream(world, product);
    const listed = async (productID: unknown) =>
      (await world.call("GET", `/api/v1/products?productID=${productID}`)).page.items[0] ?? {};
    const counts = { deviceCount: 1, appCount: 0, dataPointCount: 2, dataStreamCount: 1, itemCount: null };
    assert.equal({ ...(await listed(product.productID)), ...counts }, await listed(product.productID));
    const lwm2m = await makeProduct(world, { cloudProtocol: 3 });
    const none = { deviceCount: 0, dataPointCount: null, dataStreamCount: null, itemCount: 0 };
    assert.equal({ ...(await listed(lwm2m.productID)), ...none }, await listed(lwm2m.productID));
  });

  test("a product that devices belong to stays; without them it goes with all it owns", async () => {
    const product = await makeProduct(world);
    const other = await makeProduct(world);
    const device = await makeDevice(world, product);
    const point = await makeDataPoint(world, product);
    const stream = await makeStream(world, product, { dataPoints: [point.id] });
    const metric = await makeMetric(world, point);
    refused(await world.call("DELETE", `/api/v1/products?ids=${other.id},${product.id}`), "REFERENCED_ERROR");
    assert.is((await world.call("GET", `/api/v1/products/${other.id}`)).status, 200);
    assert.is((await world.call("DELETE", `/api/v1/devices?ids=${device.id}`)).status, 204);
    assert.is((await world.call("DELETE", `/api/v1/products?ids=${other.id},${product.id}`)).status, 204);
    refused(await world.call("GET", `/api/v1/data_points/${point.id}`), "DATA_NOT_FOUND");
    refused(await world.call("GET", `/api/v1/data_streams/${stream.id}`), "DATA_NOT_FOUND");
    refused(await world.call("GET", `/api/v1/metrics/${metric.id}`), "DATA_NOT_FOUND");
    refused(
      await world.call("POST", "/api/v1/devices", deviceBody(product)),
      "PARAMETER_INVALID",
      "productID",
    );
  });

  test("tenants may use the same product name", async () => {
    const body = productBody();
    await world.make("/api/v1/products", body);
    await world.make("/api/v1/products", body, { key: await world.otherTenant() });
  });
});
