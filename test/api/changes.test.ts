import { makeDevice, makeProduct } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, refused, stampPattern, worldSuite } from "../world.js";

const path = "/api/v1/changes";

worldSuite("changes", (test, world) => {
  test("who changed what, when, newest first", async () => {
    const product = await makeProduct(world);
    await world.call("PUT", `/api/v1/products/${product.id}`, { description: "new" });
    await world.call("DELETE", `/api/v1/products?ids=${product.id}`);
    const { page } = await world.call("GET", `${path}?entity=product&recordID=${product.id}`);
    assert.equal(
      [page.meta.count, page.items.map((item) => item.action)],
      [3, ["delete", "update", "create"]],
    );
    for (const item of page.items) {
      hasKeys(item, ["id", "at", "userIntID", "username", "action", "entity", "recordID", "detail"]);
      assert.match(String(item.at), stampPattern);
      assert.equal([item.username, item.entity, item.recordID], ["admin", "product", product.id]);
    }
    assert.equal(
      page.items.map((item) => item.detail),
      [
        null,
        { description: "new" },
        { productName: product.productName, cloudProtocol: 1, description: null },
      ],
    );
  });

  test("no secret is in it", async () => {
    const device = await makeDevice(world, await makeProduct(world), { token: "a-secret-token" });
    await world.call("PUT", `/api/v1/devices/${device.id}`, { token: "another-secret" });
    const user = await world.make("/api/v1/users", {
      username: "u",
      password: "pass-word-1",
      role: "viewer",
    });
    await world.call("PUT", `/api/v1/users/${user.id}`, { password: "pass-word-2" });
    const { appSecret } = await world.make("/api/v1/api_keys", { name: "k" });
    const { text, page } = await world.call("GET", `${path}?_limit=1000`);
    for (const secret of ["secret", "pass-word", "scrypt", "argon", String(appSecret), "secretHash"]) {
      assert.not.ok(text.includes(secret), secret);
    }
    assert.ok(page.items.some((item) => item.entity === "api_key" && item.action === "create"));
  });

  test("filters, pages, and a wrong type", async () => {
    await makeProduct(world);
    const query = (filter: string) => world.call("GET", `${path}?${filter}`);
    assert.is((await query("_limit=1&action=create")).page.items[0]?.action, "create");
    assert.is((await query("entity_like=PROD&_limit=1")).page.items[0]?.entity, "product");
    assert.is((await query("username=nobody")).page.meta.count, 0);
    refused(await query("recordID=x"), "PARAMETER_INVALID", "recordID");
  });

  test("a refused write leaves no trace", async () => {
    const product = await makeProduct(world);
    const before = (await world.call("GET", path)).page.meta.count;
    await world.call("POST", "/api/v1/products", { productName: product.productName, cloudProtocol: 1 });
    await world.call("DELETE", `/api/v1/products?ids=${product.id},99999`);
    assert.is((await world.call("GET", path)).page.meta.count, before);
  });

  test("each tenant's admins see their own, nobody else any", async () => {
    await makeProduct(world);
    const key = await world.stranger();
    const { items } = (await world.call("GET", path, undefined, { key })).page;
    assert.ok(!items.some((item) => item.entity === "product"));
    for (const role of ["operator", "viewer"] as const) {
      refused(
        await world.call("GET", path, undefined, { key: await world.keyOf(role) }),
        "PERMISSION_DENIED",
      );
    }
  });
});
