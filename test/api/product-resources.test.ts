import { makeDataPoint, makeProduct, makeProductResource, productResourceBody } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, refused, stampPattern, worldSuite } from "../world.js";
import { type Body, badValues, unknownIDs } from "./resource.js";

const path = "/api/v1/product_resources";
const lwm2m = 3;
const stored = ["codeValue", "createAt", "dataPointIntID", "id", "productItemIntID", "updateAt"];
const codes = {
  serialNumber: "序列号",
  softVersion: "软件版本",
  hardwareVersion: "硬件版本",
  manufacturer: "制造商",
};

worldSuite("product resources", (test, world) => {
  let shared: Promise<Rec> | undefined;
  const point = (): Promise<Rec> => {
    shared ??= makeProduct(world).then((product) => makeDataPoint(world, product, { pointDataType: 3 }));
    return shared;
  };
  const post = async (body: Body) => world.call("POST", path, productResourceBody(await point(), body));

  test("create answers six fields, the list has the names and labels too", async () => {
    for (const [codeValue, codeValueLabel] of Object.entries(codes)) {
      const made = await makeProductResource(world, await point(), { codeValue });
      hasKeys(made, stored);
      assert.match(String(made.createAt), stampPattern);
      const { items } = (await world.call("GET", `${path}?codeValue=${codeValue}`)).page;
      const looked = { codeValueLabel, dataPointName: (await point()).dataPointName, itemName: null };
      assert.equal(items, [{ ...made, ...looked }]);
      assert.equal([made.updateAt, made.productItemIntID], [null, null]);
    }
  });

  test("the product is named by productIntID, also as text, or by productID", async () => {
    const product = await makeProduct(world);
    const own = await makeDataPoint(world, product);
    await makeProductResource(world, own, { productID: undefined, productIntID: String(product.id) });
    await makeProductResource(world, own, { productIntID: product.id, dataPointIntID: String(own.id) });
    const { page } = await world.call("GET", `${path}?productID=${product.productID}&_limit=1&_page=2`);
    assert.equal([page.meta, page.items.length], [{ count: 2, limit: 1, page: 2 }, 1]);
    refused(await post({ productIntID: product.id }), "PARAMETER_INVALID", "productID");
    refused(await post({ productID: undefined }), "PARAMETER_INVALID", "productIntID");
    refused(await post({ productID: "nowhere" }), "PARAMETER_INVALID", "productID");
  });

  test("an item is LwM2M's, and 0 is none", async () => {
    const own = await makeDataPoint(world, await makeProduct(world, { cloudProtocol: lwm2m }));
    for (const [sent, kept] of [
      [7, 7],
      ["8", 8],
      [0, null],
      [null, null],
    ]) {
      const { productItemIntID } = await makeProductResource(world, own, { productItemIntID: sent });
      assert.is(productItemIntID, kept);
    }
    assert.is((await post({ productItemIntID: 7 })).record.productItemIntID, null);
  });

  test("the data point must be the product's, the code one of the dictionary", async () => {
    const elsewhere = await makeDataPoint(world, await makeProduct(world));
    refused(await post({ dataPointIntID: elsewhere.id }), "PARAMETER_INVALID", "dataPointIntID");
    for (const field of ["codeValue", "dataPointIntID"]) {
      for (const value of [undefined, ...badValues]) {
        refused(await post({ [field]: value }), "PARAMETER_INVALID", field);
      }
    }
    for (const value of badValues) {
      for (const field of ["productIntID", "productID", "productItemIntID"]) {
        assert.ok([201, 400].includes((await post({ [field]: value })).status), field);
      }
    }
  });

  test("its data point stays; delete is all or nothing", async () => {
    const own = await makeDataPoint(world, await makeProduct(world));
    const [one, other] = [await makeProductResource(world, own), await makeProductResource(world, own)];
    refused(await world.call("DELETE", `/api/v1/data_points?ids=${own.id}`), "REFERENCED_ERROR");
    for (const id of unknownIDs) {
      refused(await world.call("DELETE", `${path}?ids=${one.id},${id}`), "DATA_NOT_FOUND");
    }
    const gone = await world.call("DELETE", `${path}?ids=${one.id},${other.id}`);
    assert.equal([gone.status, gone.text], [204, ""]);
    refused(await world.call("DELETE", `${path}?ids=${one.id}`), "DATA_NOT_FOUND");
    assert.is((await world.call("DELETE", `/api/v1/data_points?ids=${own.id}`)).status, 204);
  });

  test("a tenant sees and takes its own only; a viewer reads", async () => {
    const made = await makeProductResource(world, await point());
    const key = await world.otherTenant();
    assert.is((await world.call("GET", path, undefined, { key })).page.meta.count, 0);
    refused(await world.call("DELETE", `${path}?ids=${made.id}`, undefined, { key }), "DATA_NOT_FOUND");
    const body = productResourceBody(await point());
    refused(await world.call("POST", path, body, { key }), "PARAMETER_INVALID", "productID");
    const viewer = { key: await world.keyOf("viewer") };
    assert.is((await world.call("GET", path, undefined, viewer)).status, 200);
    refused(await world.call("POST", path, body, viewer), "PERMISSION_DENIED");
    refused(await world.call("DELETE", `${path}?ids=${made.id}`, undefined, viewer), "PERMISSION_DENIED");
  });
});
