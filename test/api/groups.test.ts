import { groupBody, makeDevice, makeGroup, makeProduct, unique } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, refused, worldSuite } from "../world.js";
import { testResource } from "./resource.js";

const path = "/api/v1/groups";
const stored = ["id", "groupID", "groupName", "description", "productID", "createAt", "updateAt"];
const storedB = [...stored, "devices", "userIntID"];
const asB = { headers: { "Api-Variant": "B" } };

worldSuite("groups", (test, world) => {
  let shared: Rec | undefined;
  const product = async (): Promise<Rec> => {
    shared ??= await makeProduct(world);
    return shared;
  };

  testResource(test, world, {
    path,
    body: async () => groupBody(await product()),
    required: ["productID", "groupName"],
    optional: { description: "on the roof" },
    fixed: { groupID: "another", productID: "another", productIntID: 99_999 },
    name: "groupName",
    keys: {
      stored,
      detail: [...stored, "productName", "createUser"],
      listed: [...stored, "productName", "deviceCount"],
    },
  });

  test("groupID is six letters and digits, and names the group in paths and ids", async () => {
    const { id, groupID } = await makeGroup(world, await product());
    assert.match(String(groupID), /^(?=.*[A-Za-z])[0-9A-Za-z]{6}$/);
    assert.is((await world.call("GET", `${path}/${groupID}`)).record.id, id);
    assert.is((await world.call("PUT", `${path}/${groupID}`, {})).status, 200);
    assert.is((await world.call("DELETE", `${path}?ids=${groupID},${id}`)).status, 204);
    refused(await world.call("GET", `${path}/${id}`), "DATA_NOT_FOUND");
  });

  test("the product is named by productID or productIntID, and must be the tenant's", async () => {
    const { id, productID, productName } = await product();
    const post = (fields: object) => world.call("POST", path, { groupName: unique("Group"), ...fields });
    const made = await post({ productIntID: String(id) });
    assert.equal([made.status, made.record.productID], [201, productID]);
    assert.is((await world.call("GET", `${path}/${made.record.id}`)).record.productName, productName);
    assert.is((await post({ productIntID: id, productID })).status, 201);
    refused(await post({ productID: "absent" }), "PARAMETER_INVALID", "productID");
    refused(await post({ productIntID: 99_999 }), "PARAMETER_INVALID", "productIntID");
    const other = await makeProduct(world);
    refused(await post({ productIntID: id, productID: other.productID }), "PARAMETER_INVALID", "productID");
    const key = await world.otherTenant();
    refused(
      await world.call("POST", path, groupBody(await product()), { key }),
      "PARAMETER_INVALID",
      "productID",
    );
  });

  test("filters name the product too", async () => {
    const owner = await makeProduct(world);
    const { id, groupID } = await makeGroup(world, owner, { description: "of the filters" });
    const part = encodeURIComponent(String(owner.productName).toUpperCase());
    for (const query of [
      `productID=${owner.productID}`,
      `productIntID=${owner.id}`,
      `productName_like=${part}`,
      `groupID_like=${groupID}`,
      "description_like=FILTERS",
    ]) {
      const { items } = (await world.call("GET", `${path}?${query}`)).page;
      assert.ok(
        items.some((item) => item.id === id),
        query,
      );
    }
    refused(await world.call("GET", `${path}?productIntID=x`), "PARAMETER_INVALID", "productIntID");
  });

  test("Variant B: description is required, devices and userIntID are shown, deviceCount is not", async () => {
    const owner = await makeProduct(world);
    const body = groupBody(owner);
    refused(await world.call("POST", path, body, asB), "PARAMETER_INVALID", "description");
    const made = await world.make(path, { ...body, description: "" }, asB);
    hasKeys(made, storedB);
    assert.equal(made.devices, []);
    const device = await makeDevice(world, owner);
    await world.make(`${path}/${made.id}/devices`, { ids: [device.id] });
    const devices = [{ id: device.id }];
    const listed = (await world.call("GET", path, undefined, asB)).page.items[0];
    hasKeys(listed, [...storedB, "productName"]);
    assert.equal(listed?.devices, devices);
    const detail = (await world.call("GET", `${path}/${made.groupID}`, undefined, asB)).record;
    hasKeys(detail, [...storedB, "productName", "createUser"]);
    assert.equal([detail.devices, detail.createUser], [devices, "admin"]);
    const edited = (
      await world.call("PUT", `${path}/${made.id}`, { ...detail, groupName: unique("Group") }, asB)
    ).record;
    hasKeys(edited, storedB);
    assert.equal(edited.devices, devices);
    const shown = (await world.call("GET", `${path}?groupID=${made.groupID}`)).page.items[0];
    assert.is(shown?.deviceCount, 1);
  });

  test("a product that a group belongs to stays until the group is gone", async () => {
    const owner = await makeProduct(world);
    const group = await makeGroup(world, owner);
    refused(await world.call("DELETE", `/api/v1/products?ids=${owner.id}`), "REFERENCED_ERROR");
    assert.is((await world.call("DELETE", `${path}?ids=${group.id}`)).status, 204);
    assert.is((await world.call("DELETE", `/api/v1/products?ids=${owner.id}`)).status, 204);
  });

  test("tenants may use the same group name", async () => {
    const key = await world.otherTenant();
    const owner = await world.make(
      "/api/v1/products",
      { productName: unique("Product"), cloudProtocol: 1 },
      { key },
    );
    const { groupName } = await makeGroup(world, await product());
    await world.make(path, { groupName, productID: owner.productID }, { key });
  });
});
