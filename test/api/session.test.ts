import { unique } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, refused, stampPattern, worldSuite } from "../world.js";

const me = "/api/v1/me";
const identity = ["userIntID", "username", "tenantID", "role"];

worldSuite("sessions and credentials", (test, world) => {
  const login = (username: unknown, password: unknown) =>
    world.call("POST", "/api/v1/login", { username, password }, { key: null });
  const asks = (Authorization: string) =>
    world.call("GET", me, undefined, { key: null, headers: { Authorization } });
  const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

  test("a login answers a token that carries the user until the logout", async () => {
    const { username, password } = world.first;
    const { status, record } = await login(username, password);
    assert.is(status, 201);
    hasKeys(record, [...identity, "token", "expiresAt"]);
    assert.equal([record.username, record.role], ["admin", "admin"]);
    assert.match(String(record.expiresAt), stampPattern);
    const key = String(record.token);
    const seen = (await world.call("GET", me, undefined, { key })).record;
    hasKeys(seen, identity);
    assert.equal(seen.userIntID, record.userIntID);
    const out = await world.call("POST", "/api/v1/logout", undefined, { key });
    assert.equal([out.status, out.text], [204, ""]);
    refused(await world.call("GET", me, undefined, { key }), "AUTH_FAILED", "token");
  });

  test("an API key goes as Basic and as Bearer, the scheme in any case", async () => {
    const { apiKey } = world.first;
    for (const form of [
      `Bearer ${apiKey}`,
      `bearer  ${apiKey}`,
      basic(apiKey),
      basic(apiKey).replace("Basic", "BASIC"),
    ]) {
      assert.is((await asks(form)).record.username, "admin", form);
    }
  });

  test("every wrong form is AUTH_FAILED in the same words", async () => {
    const [appID = "", appSecret = ""] = world.first.apiKey.split(":");
    const forms = [
      ...["", "Bearer", "Bearer ", "Basic", "Basic !!!", "Digest x", appSecret, world.first.apiKey],
      ...[`Bearer ${appID}`, `Bearer ${appSecret}`, `Bearer ${appID}:`, `Bearer :${appSecret}`, basic(appID)],
      ...[
        "Bearer x".repeat(1000),
        "Bearer ' or 1=1 --",
        basic("%00:%00"),
        basic("\u0000\ud800:x"),
        basic("🦉:🦉"),
      ],
    ];
    const texts = new Set<string>();
    for (const form of forms) {
      const reply = await asks(form);
      refused(reply, "AUTH_FAILED", "token");
      assert.is(reply.headers.get("www-authenticate"), "Bearer");
      texts.add(reply.text);
    }
    refused(await world.call("GET", me, undefined, { key: null }), "AUTH_FAILED", "token");
    assert.is(texts.size, 1);
  });

  test("an unknown user and a wrong password are told apart by nobody", async () => {
    const [unknown, wrong] = [await login(unique("nobody"), "x"), await login("admin", "x")];
    refused(unknown, "AUTH_FAILED", "token");
    refused(wrong, "AUTH_FAILED", "token");
    assert.is(unknown.text, wrong.text);
  });

  test("a login needs both texts", async () => {
    for (const value of [undefined, null, 1, {}, ["admin"]]) {
      refused(await login(value, "x"), "PARAMETER_INVALID", "username");
      refused(await login("admin", value), "PARAMETER_INVALID", "password");
    }
    refused(await login("x".repeat(10_240), "x"), "PARAMETER_INVALID", "username");
    refused(await login("admin", "x".repeat(10_240)), "PARAMETER_INVALID", "password");
  });

  test("guessing is slowed down for that name alone, and one success clears the count", async () => {
    const username = unique("guessed");
    await world.make("/api/v1/users", { username, password: "correct horse", role: "viewer" });
    for (let i = 0; i < 4; i++) refused(await login(username, "wrong"), "AUTH_FAILED");
    assert.is((await login(username, "correct horse")).status, 201);
    for (let i = 0; i < 5; i++) refused(await login(username, "wrong"), "AUTH_FAILED");
    const held = await login(username, "correct horse");
    refused(held, "TOO_MANY_REQUESTS");
    assert.ok(Number(held.headers.get("retry-after")) >= 1);
    assert.is((await login("admin", world.first.password)).status, 201);
  });

  test("guessing the secret of an API key is slowed down too", async () => {
    const [appID = "", appSecret = ""] = (await world.keyOf("viewer")).split(":");
    for (let i = 0; i < 5; i++) refused(await asks(`Bearer ${appID}:${i}`), "AUTH_FAILED", "token");
    refused(await asks(`Bearer ${appID}:${appSecret}`), "TOO_MANY_REQUESTS");
  });

  test("guesses made at once are counted like guesses one after the other", async () => {
    const guess = (i: number) =>
      fetch(`${world.http}/api/v1/login`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ username: "parallel", password: `wrong ${i}` }),
      }).then(({ status }) => status);
    const statuses = await Promise.all(Array.from({ length: 40 }, (_, i) => guess(i)));
    assert.ok(statuses.filter((status) => status === 401).length <= 5, `${statuses}`);
    assert.ok(statuses.includes(429));
  });
});
