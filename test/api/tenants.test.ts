import { unique } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, refused, stampPattern, worldSuite } from "../world.js";

const path = "/api/v1/tenants";
const keys = ["id", "tenantID", "tenantName", "createAt"];

worldSuite("tenants", (test, world) => {
  const body = (fields: object = {}) => ({
    tenantName: unique("Tenant"),
    username: unique("boss"),
    ...fields,
  });

  test("a tenant comes with its first admin, whose password is shown once", async () => {
    const tenant = await world.make(path, body());
    hasKeys(tenant, [...keys, "username", "password"]);
    assert.match(String(tenant.tenantID), /^C[0-9A-Za-z]{8}$/);
    assert.match(String(tenant.createAt), stampPattern);
    const { username, password } = tenant;
    const session = await world.make("/api/v1/login", { username, password }, { key: null });
    assert.equal([session.tenantID, session.role], [tenant.tenantID, "admin"]);
    const list = (await world.call("GET", path)).list;
    for (const one of list) hasKeys(one, keys);
    assert.equal(list[0]?.tenantName, "default");
    assert.ok(list.some((one) => one.id === tenant.id));
  });

  test("a taken name is refused, and then nothing is made", async () => {
    const [one, other] = [body(), body()];
    await world.make(path, one);
    const count = (await world.call("GET", path)).list.length;
    refused(
      await world.call("POST", path, { ...one, username: other.username }),
      "DATA_EXISTED",
      "tenantName",
    );
    refused(await world.call("POST", path, { ...other, username: one.username }), "DATA_EXISTED", "username");
    assert.is((await world.call("GET", path)).list.length, count);
    await world.make(path, other);
  });

  test("what is missing or wrong is named", async () => {
    for (const field of ["tenantName", "username"]) {
      for (const value of [undefined, null, "", " ", 1, [], "x".repeat(10_240), "a\u0000"]) {
        refused(await world.call("POST", path, body({ [field]: value })), "PARAMETER_INVALID", field);
      }
    }
  });

  test("only admins of the deployment's own tenant may", async () => {
    for (const key of [
      await world.otherTenant(),
      await world.keyOf("operator"),
      await world.keyOf("viewer"),
    ]) {
      refused(await world.call("GET", path, undefined, { key }), "PERMISSION_DENIED");
      refused(await world.call("POST", path, body(), { key }), "PERMISSION_DENIED");
    }
  });

  test("what concerns every tenant is not for another tenant's admin", async () => {
    const key = await world.otherTenant();
    refused(await world.call("GET", "/metrics", undefined, { key }), "PERMISSION_DENIED");
    refused(
      await world.call("POST", "/api/v1/resettle", { startTime: "2026-01-01 00:00:00" }, { key }),
      "PERMISSION_DENIED",
    );
  });
});
