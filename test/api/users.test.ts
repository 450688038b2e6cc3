import { unique } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, refused, stampPattern, worldSuite } from "../world.js";
import { unknownIDs } from "./resource.js";

const path = "/api/v1/users";
const keys = ["id", "username", "role", "tenantID", "createAt", "updateAt"];
const password = "correct horse";

worldSuite("users", (test, world) => {
  const make = (fields: object = {}, key?: string): Promise<Rec> =>
    world.make(
      path,
      { username: unique("user"), password, role: "operator", ...fields },
      key === undefined ? {} : { key },
    );
  const login = async (user: Rec, secret = password): Promise<string> => {
    const body = { username: user.username, password: secret };
    return String((await world.make("/api/v1/login", body, { key: null })).token);
  };
  const me = (key: string) => world.call("GET", "/api/v1/me", undefined, { key });

  test("create, detail and list have one form, and no password in it", async () => {
    const user = await make();
    hasKeys(user, keys);
    assert.equal([user.role, user.updateAt], ["operator", null]);
    assert.match(String(user.createAt), stampPattern);
    assert.equal((await world.call("GET", `${path}/${user.id}`)).record, user);
    const list = await world.call("GET", `${path}?username=${user.username}`);
    assert.equal(list.page, { items: [user], meta: { count: 1, limit: 10, page: 1 } });
    assert.not.match(list.text, /password|scrypt|argon/i);
    const operators = (await world.call("GET", `${path}?role=operator&username_like=USER`)).page.items;
    assert.ok(operators.some((one) => one.id === user.id));
  });

  test("a create names what is missing or wrong", async () => {
    const post = (fields: object) =>
      world.call("POST", path, { username: unique("user"), password, role: "viewer", ...fields });
    for (const field of ["username", "password", "role"]) {
      for (const value of [undefined, null, "", 1, [], {}]) {
        refused(await post({ [field]: value }), "PARAMETER_INVALID", field);
      }
    }
    refused(await post({ password: "short" }), "PARAMETER_INVALID", "password");
    refused(await post({ role: "root" }), "PARAMETER_INVALID", "role");
    refused(await post({ username: "x".repeat(10_240) }), "PARAMETER_INVALID", "username");
    refused(await post({ username: "a\u0007b" }), "PARAMETER_INVALID", "username");
  });

  test("user names are unique over the deployment, also when made at once", async () => {
    const body = { username: unique("twin"), password, role: "viewer" };
    const replies = await Promise.all([1, 2, 3, 4].map(() => world.call("POST", path, body)));
    assert.is(replies.filter((reply) => reply.status === 201).length, 1);
    for (const reply of replies) if (reply.status !== 201) refused(reply, "DATA_EXISTED", "username");
    const key = await world.otherTenant();
    refused(await world.call("POST", path, body, { key }), "DATA_EXISTED", "username");
  });

  test("an edit changes role and password, not the name; the user's sessions end at once", async () => {
    for (const change of [{ role: "viewer" }, { password: "battery staple" }]) {
      const user = await make();
      const key = await login(user);
      assert.is((await me(key)).record.role, "operator");
      const put = await world.call("PUT", `${path}/${user.id}`, { ...user, ...change });
      assert.is(put.status, 200, put.text);
      hasKeys(put.record, keys);
      assert.match(String(put.record.updateAt), stampPattern);
      refused(await me(key), "AUTH_FAILED");
    }
    const user = await make();
    const put = (body: object) => world.call("PUT", `${path}/${user.id}`, body);
    refused(await put({ username: "another" }), "PARAMETER_INVALID", "username");
    refused(await put({ role: null }), "PARAMETER_INVALID", "role");
    refused(await put({ password: null }), "PARAMETER_INVALID", "password");
    refused(await put({ password: "short" }), "PARAMETER_INVALID", "password");
    await put({ password: "battery staple" });
    assert.is((await me(await login(user, "battery staple"))).status, 200);
    refused(
      await world.call("POST", "/api/v1/login", { username: user.username, password }, { key: null }),
      "AUTH_FAILED",
    );
  });

  test("the key of an administrator who is one no longer is none either, and promotes nobody", async () => {
    const user = await make({ role: "admin" });
    const { appID, appSecret } = await world.make("/api/v1/api_keys", {}, { key: await login(user) });
    const key = `${appID}:${appSecret}`;
    const promote = () => world.call("PUT", `${path}/${user.id}`, { role: "admin" }, { key });
    assert.is((await promote()).status, 200);
    for (const role of ["operator", "viewer"]) {
      await world.call("PUT", `${path}/${user.id}`, { role });
      assert.is((await me(key)).record.role, role);
      refused(await promote(), "PERMISSION_DENIED");
      refused(await world.call("POST", "/api/v1/api_keys", { role: "admin" }, { key }), "PERMISSION_DENIED");
    }
    const put = await world.call("PUT", `${path}/${user.id}`, { role: "admin" });
    assert.equal([put.status, (await me(key)).record.role], [200, "admin"], "as at the time of the call");
    await world.call("DELETE", `${path}?ids=${user.id}`);
  });

  test("a new password leaves API keys alone unless it is asked to revoke them", async () => {
    const [user, other] = [await make({ role: "admin" }), await make({ role: "admin" })];
    const keyOf = async (one: Rec) => {
      const { id, appID, appSecret } = await world.make("/api/v1/api_keys", {}, { key: await login(one) });
      return { id, key: `${appID}:${appSecret}` };
    };
    const [first, second, others] = [await keyOf(user), await keyOf(user), await keyOf(other)];
    await world.call("PUT", `${path}/${user.id}`, { password: "battery staple" });
    assert.is((await me(first.key)).status, 200);
    refused(await world.call("PUT", `${path}/${user.id}`, { revokeApiKeys: "yes" }), "PARAMETER_INVALID");
    await world.call("PUT", `${path}/${user.id}`, { password: "paper clip", revokeApiKeys: true });
    for (const { key } of [first, second]) refused(await me(key), "AUTH_FAILED");
    assert.is((await me(others.key)).status, 200);
    const list = "/api/v1/changes?entity=api_key&action=delete&_limit=2";
    const gone = (await world.call("GET", list)).page.items.map(({ recordID }) => recordID);
    assert.equal(gone, [second.id, first.id]);
    await world.call("DELETE", `${path}?ids=${user.id},${other.id}`);
  });

  test("users change their own password: the session that asks stays, the others end", async () => {
    const user = await make({ role: "viewer" });
    const [asking, other] = [await login(user), await login(user)];
    const change = (body: object, key = asking) => world.call("PUT", "/api/v1/me/password", body, { key });
    refused(
      await change({ password: "wrong", newPassword: "battery staple" }),
      "PARAMETER_INVALID",
      "password",
    );
    refused(await change({ password, newPassword: "short" }), "PARAMETER_INVALID", "newPassword");
    refused(await change({ newPassword: "battery staple" }), "PARAMETER_INVALID", "password");
    const done = await change({ password, newPassword: "battery staple" });
    assert.equal([done.status, done.text], [204, ""]);
    assert.is((await me(asking)).record.username, user.username);
    refused(await me(other), "AUTH_FAILED");
    await login(user, "battery staple");
    refused(
      await world.call("POST", "/api/v1/login", { username: user.username, password }, { key: null }),
      "AUTH_FAILED",
    );
    const [change1] = (await world.call("GET", "/api/v1/changes?entity=user&_limit=1")).page.items;
    assert.equal([change1?.username, change1?.detail], [user.username, { password: "***" }]);
    for (let i = 0; i < 5; i++) await change({ password: "wrong", newPassword: "paper clip" });
    refused(await change({ password: "battery staple", newPassword: "paper clip" }), "TOO_MANY_REQUESTS");
  });

  test("a deleted user is out at once, with its sessions and keys", async () => {
    const user = await make({ role: "admin" });
    const key = await login(user);
    const { appID, appSecret } = await world.make("/api/v1/api_keys", {}, { key });
    assert.is((await me(`${appID}:${appSecret}`)).record.username, user.username);
    assert.is((await world.call("DELETE", `${path}?ids=${user.id}`)).status, 204);
    refused(await me(key), "AUTH_FAILED");
    refused(await me(`${appID}:${appSecret}`), "AUTH_FAILED");
    refused(await world.call("GET", `${path}/${user.id}`), "DATA_NOT_FOUND");
  });

  test("the last admin stays", async () => {
    const { userIntID } = (await world.call("GET", "/api/v1/me")).record;
    refused(await world.call("DELETE", `${path}?ids=${userIntID}`), "REFERENCED_ERROR");
    refused(await world.call("PUT", `${path}/${userIntID}`, { role: "viewer" }), "REFERENCED_ERROR");
    const other = await make({ role: "admin" });
    refused(await world.call("DELETE", `${path}?ids=${userIntID},${other.id}`), "REFERENCED_ERROR");
    assert.is((await world.call("GET", `${path}/${other.id}`)).status, 200);
    assert.is((await world.call("DELETE", `${path}?ids=${other.id}`)).status, 204);
  });

  test("two admins who put each other down at once leave one", async () => {
    const tenantName = unique("duel");
    const first = await world.make("/api/v1/tenants", { tenantName, username: tenantName });
    const key = await login(first, String(first.password));
    const { userIntID } = (await me(key)).record;
    const second = await make({ role: "admin" }, key);
    const secondKey = await login(second);
    // Hashing a new password lies between the look at the other admin and the write.
    const demote = (id: unknown, by: string) =>
      world.call("PUT", `${path}/${id}`, { role: "viewer", password: "battery staple" }, { key: by });
    const replies = await Promise.all([demote(userIntID, secondKey), demote(second.id, key)]);
    assert.is(replies.filter((reply) => reply.status === 200).length, 1);
    for (const reply of replies) if (reply.status !== 200) refused(reply, "AUTH_FAILED", "token");
  });

  test("ids that are none and users of another tenant are 404; delete is all or nothing", async () => {
    const user = await make();
    const key = await world.otherTenant();
    refused(await world.call("GET", `${path}/${user.id}`, undefined, { key }), "DATA_NOT_FOUND");
    refused(await world.call("PUT", `${path}/${user.id}`, { role: "admin" }, { key }), "DATA_NOT_FOUND");
    refused(await world.call("DELETE", `${path}?ids=${user.id}`, undefined, { key }), "DATA_NOT_FOUND");
    assert.is((await world.call("GET", path, undefined, { key })).page.meta.count, 1);
    for (const id of unknownIDs) {
      refused(await world.call("GET", `${path}/${id}`), "DATA_NOT_FOUND");
      refused(await world.call("DELETE", `${path}?ids=${user.id},${id}`), "DATA_NOT_FOUND");
    }
    assert.is((await world.call("GET", `${path}/${user.id}`)).status, 200);
  });

  test("only admins see users", async () => {
    for (const role of ["operator", "viewer"] as const) {
      const key = await world.keyOf(role);
      refused(await world.call("GET", path, undefined, { key }), "PERMISSION_DENIED");
      const body = { username: unique("user"), password, role: "admin" };
      refused(await world.call("POST", path, body, { key }), "PERMISSION_DENIED");
    }
  });
});
