import {
  makeAppTemplate,
  makeCert,
  makeDataPoint,
  makeDevice,
  makeGateway,
  makeGroup,
  makeMetric,
  makePolicy,
  makeProduct,
  makeStream,
  unique,
} from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, refused, stampPattern, worldSuite } from "../world.js";

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

  test("an edit lists the fields whose value it changed, of every kind of record, in either variant", async () => {
    const product = await makeProduct(world);
    const [point, other] = [await makeDataPoint(world, product), await makeDataPoint(world, product)];
    const device = await makeDevice(world, product, {
      location: { b: 1, a: [2] },
      metaData: { x: null },
      latitude: "1.50",
      token: "a-token-of-its-own",
      scopes: [{ scopeType: 1, scopeName: "yard", center: [7, -12], radius: 50 }],
    });
    const loraProduct = await makeProduct(world, { cloudProtocol: 4 });
    const lora = await makeDevice(world, loraProduct, {
      deviceID: "0011223344556677",
      authType: null,
      cloudProtocol: 4,
      lora: { type: "otaa", appEUI: "0".repeat(16), appKey: "a".repeat(32), fcntCheck: 0, canJoin: 1 },
    });
    const rule = await world.make("/api/v1/alert_rules", {
      alertName: "hot",
      alertContent: "too hot",
      alertSeverity: 2,
      productID: product.productID,
      dataPointIntID: point.id,
      condition: "dataPoint > 1",
      duration: 0,
    });
    const user = await world.make("/api/v1/users", {
      username: unique("user"),
      password: "pass-word-1",
      role: "viewer",
    });
    const dataPoints = [point.id, other.id];
    const cases: readonly (readonly [string, string, Rec, object, object?])[] = [
      ["products", "product", product, { description: "new" }],
      [
        "devices",
        "device",
        device,
        { description: "new", latitude: "2.5" },
        { description: "new", latitude: 2.5 },
      ],
      ["devices", "device", device, { token: "another-token" }, { token: "***" }],
      ["devices", "device", device, { scopes: [] }],
      ["devices", "device", lora, { lora: { ...(lora.lora as object), canJoin: 0 } }, { lora: "***" }],
      ["gateways", "device", await makeGateway(world, product), { mac: "00:11" }],
      ["groups", "device_group", await makeGroup(world, product), { description: "new" }],
      [
        "data_points",
        "data_point",
        point,
        { unitName: "K", upperLimit: "9" },
        { unitName: "K", upperLimit: 9 },
      ],
      ["data_points", "data_point", point, { enum: [{ value: 1, label: "on" }] }],
      ["data_streams", "data_stream", await makeStream(world, product, { dataPoints }), { detail: "new" }],
      [
        ...(["data_streams", "data_stream", await makeStream(world, product, { dataPoints })] as const),
        { dataPoints: [other.id, point.id] },
      ],
      ["metrics", "metric", await makeMetric(world, point), { remark: "new" }],
      [
        ...(["app_templates", "app_template"] as const),
        await makeAppTemplate(world, point, { places: [1, 2], defaultValues: [{ id: other.id, value: 1 }] }),
        { places: [1, 3] },
      ],
      [
        ...(["app_templates", "app_template"] as const),
        await makeAppTemplate(world, point, { defaultValues: [{ id: other.id, value: 1 }] }),
        { defaultValues: [{ id: other.id, value: 2 }] },
      ],
      ["policies", "policy", await makePolicy(world), { access: "2" }, { access: 2 }],
      ["certs", "cert", await makeCert(world), { enable: 0 }],
      ["alert_rules", "alert_rule", rule, { duration: 60 }],
      ["users", "user", user, { role: "operator" }],
    ];
    for (const [resource, entity, { id }, fields, listed = fields] of cases) {
      const read = async () => (await world.call("GET", `/api/v1/${resource}/${id}`)).record;
      const logged = async () => {
        const { page } = await world.call(
          "GET",
          `${path}?entity=${entity}&recordID=${id}&action=update&_limit=1`,
        );
        return page.items[0]?.detail;
      };
      const put = async (body: object, headers = {}) => {
        const reply = await world.call("PUT", `/api/v1/${resource}/${id}`, body, { headers });
        assert.is(reply.status, 200, reply.text);
      };
      await put({ ...(await read()), ...fields });
      assert.equal(await logged(), listed, resource);
      const changed = await read();
      await put(changed);
      assert.equal(await logged(), {}, `${resource}, as read`);
      assert.match(String((await read()).updateAt), stampPattern);
      assert.equal({ ...(await read()), updateAt: null }, { ...changed, updateAt: null });
      if (resource !== "devices" || id === lora.id) continue;
      const b = { "Api-Variant": "B" };
      const ofB = (await world.call("GET", `/api/v1/devices/${id}`, undefined, { headers: b })).record;
      await put({ ...ofB, serialNumber: "B-1" }, b);
      assert.equal(await logged(), { serialNumber: "B-1" });
      await put({ ...ofB, serialNumber: null }, b);
    }
  });

  test("a user who is put as they are stays logged in", async () => {
    const username = unique("user");
    const user = await world.make("/api/v1/users", { username, password: "pass-word-1", role: "admin" });
    const login = await world.make("/api/v1/login", { username, password: "pass-word-1" }, { key: null });
    const me = () => world.call("GET", "/api/v1/me", undefined, { key: String(login.token) });
    assert.is((await world.call("PUT", `/api/v1/users/${user.id}`, { username, role: "admin" })).status, 200);
    assert.is((await me()).status, 200);
    assert.is((await world.call("PUT", `/api/v1/users/${user.id}`, { role: "viewer" })).status, 200);
    refused(await me(), "AUTH_FAILED");
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
