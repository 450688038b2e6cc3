import { makeProduct, productBody } from "../factories.js";
import { assert, until } from "../suite.js";
import { hasKeys, refused, stampPattern, worldSuite } from "../world.js";
import { unknownIDs } from "./resource.js";

const path = "/api/v1/api_keys";
const keys = ["id", "name", "appID", "role", "userIntID", "username", "expiresAt", "createAt"];

worldSuite("API keys", (test, world) => {
  const me = (key: string) => world.call("GET", "/api/v1/me", undefined, { key });

  test("the secret is shown once, at the making", async () => {
    const { appSecret, ...rest } = await world.make(path, { name: "ci", role: "operator" });
    hasKeys(rest, keys);
    assert.equal([rest.name, rest.role, rest.username, rest.expiresAt], ["ci", "operator", "admin", null]);
    assert.match(String(rest.createAt), stampPattern);
    const detail = await world.call("GET", `${path}/${rest.id}`);
    assert.equal(detail.record, rest);
    const list = await world.call("GET", `${path}?name_like=CI`);
    assert.equal(list.page.items, [rest]);
    assert.not.ok(`${detail.text}${list.text}`.includes(String(appSecret)));
    assert.is((await me(`${rest.appID}:${appSecret}`)).record.role, "operator");
    refused(await me(`${rest.appID}:${appSecret}x`), "AUTH_FAILED", "token");
  });

  test("a key acts as its user", async () => {
    const { id } = await world.make("/api/v1/products", productBody(), {
      key: await world.keyOf("operator"),
    });
    assert.is((await world.call("GET", `/api/v1/products/${id}`)).record.createUser, "admin");
  });

  test("a revoked key is out at once, however it was used before", async () => {
    for (let i = 0; i < 10; i++) {
      const { id, appID, appSecret } = await world.make(path, {});
      const key = `${appID}:${appSecret}`;
      await Promise.all([me(key), me(key), me(key)]);
      assert.is((await world.call("DELETE", `${path}?ids=${i % 2 === 0 ? id : appID}`)).status, 204);
      const { status, failure } = await me(key);
      // After five wrong keys the address waits, as right keys do not.
      const expected = i < 4 ? ["AUTH_FAILED"] : ["AUTH_FAILED", "TOO_MANY_REQUESTS"];
      assert.ok(expected.includes(failure.errorCode), `${status} ${failure.errorCode}`);
    }
  });

  test("a key ends at its expiry, also one that is remembered", async () => {
    const ends = new Date(Date.now() + 2500).toISOString();
    const { appID, appSecret, expiresAt } = await world.make(path, { expiresAt: ends });
    assert.match(String(expiresAt), stampPattern);
    const key = `${appID}:${appSecret}`;
    assert.is((await me(key)).status, 200);
    const reply = await until(
      async () => {
        const seen = await me(key);
        return seen.status === 401 && seen;
      },
      { what: "the key to expire" },
    );
    refused(reply, "AUTH_FAILED", "token");
    assert.ok(Date.now() >= Date.parse(ends));
  });

  test("what is wrong with a key is named", async () => {
    for (const expiresAt of ["yesterday", "2020-01-01 00:00:00", 5, true, {}]) {
      refused(await world.call("POST", path, { expiresAt }), "PARAMETER_INVALID", "expiresAt");
    }
    for (const role of ["root", "", 1])
      refused(await world.call("POST", path, { role }), "PARAMETER_INVALID", "role");
    refused(await world.call("POST", path, { name: "x".repeat(10_240) }), "PARAMETER_INVALID", "name");
  });

  test("ids that are none and keys of another tenant are 404; delete is all or nothing", async () => {
    const { id } = await world.make(path, {});
    const key = await world.otherTenant();
    refused(await world.call("GET", `${path}/${id}`, undefined, { key }), "DATA_NOT_FOUND");
    refused(await world.call("DELETE", `${path}?ids=${id}`, undefined, { key }), "DATA_NOT_FOUND");
    assert.is((await world.call("GET", path, undefined, { key })).page.meta.count, 0);
    for (const unknown of unknownIDs) {
      refused(await world.call("DELETE", `${path}?ids=${id},${unknown}`), "DATA_NOT_FOUND");
    }
    assert.is((await world.call("GET", `${path}/${id}`)).status, 200);
  });

  test("only admins handle keys", async () => {
    for (const role of ["operator", "viewer"] as const) {
      const key = await world.keyOf(role);
      refused(await world.call("GET", path, undefined, { key }), "PERMISSION_DENIED");
      refused(await world.call("POST", path, { role: "admin" }, { key }), "PERMISSION_DENIED");
    }
    await makeProduct(world);
  });
});
