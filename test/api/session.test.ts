import { unique } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, refused, stampPattern, worldSuite } from "../world.js";

const me = "/api/v1/me";
/** Guesses that are let through in so many milliseconds: five, then one after a second, two, four … */
const freeBy = (ms: number): number => 5 + Math.ceil(Math.log2(ms / 1000 + 1));
const identity = ["userIntID", "username", "tenantID", "role"];
const ofMe = [...identity, "rights", "isDeployment", "timezone", "variant", "version", "mapTiles"];

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
    hasKeys(seen, ofMe);
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

  test("nobody can distinguish an unknown user from a wrong password", async () => {
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

  test("guessing API keys is slowed down by address, whether they exist or not; a right one gets in", async () => {
    const [right, second] = [await world.keyOf("viewer"), await world.keyOf("viewer")];
    const [appID = ""] = right.split(":");
    const guess = (i: number) =>
      asks(i % 2 === 0 ? `Bearer ${appID}:${i}` : `Bearer ${unique("nobody")}:${i}`);
    const words = new Set<string>();
    const told: number[] = [];
    for (let i = 0; i < 12; i++) {
      const { status, text } = await guess(i);
      told.push(status);
      words.add(text);
    }
    assert.ok(told.includes(429), `${told}`);
    assert.is(words.size, new Set(told).size, "one answer for each status");
    for (const key of [right, second]) assert.is((await asks(`Bearer ${key}`)).record.role, "viewer");
    const before = performance.now();
    const statuses = await Promise.all(Array.from({ length: 40 }, async (_, i) => (await guess(i)).status));
    const wrong = statuses.filter((status) => status === 401).length;
    assert.ok(wrong <= freeBy(performance.now() - before), `${statuses}`);
    assert.is(
      (await asks(`Bearer ${await world.keyOf("viewer")}`)).status,
      200,
      "one that was never right before",
    );
  });

  test("a name with NUL or another control character is nobody's", async () => {
    const username = unique("controlled");
    await world.make("/api/v1/users", { username, password: "correct horse", role: "viewer" });
    for (const name of [`${username}\0`, `\0${username}`, `${username.slice(0, 3)}\0${username.slice(3)}`]) {
      refused(await login(name, "correct horse"), "PARAMETER_INVALID", "username");
    }
    refused(await login(`${username}\u001f`, "correct horse"), "PARAMETER_INVALID", "username");
    const [appID = "", appSecret = ""] = (await world.keyOf("viewer")).split(":");
    for (const id of [`${appID}\0`, `\0${appID}`, `${appID}\n`]) {
      assert.ok([401, 429].includes((await asks(basic(`${id}:${appSecret}`))).status), id);
    }
    assert.is((await asks(basic(`${appID}:${appSecret}`))).status, 200);
  });

  test("a logout forgets the session that it ends, and no other credential", async () => {
    const viewer = await world.keyOf("viewer");
    const [ends, stays] = [
      await login("admin", world.first.password),
      await login("admin", world.first.password),
    ];
    const token = (reply: typeof ends) => `Bearer ${reply.record.token}`;
    // What a key that cannot be logged out asks ends nothing.
    assert.is((await world.call("POST", "/api/v1/logout", undefined, { key: viewer })).status, 204);
    for (const form of [`Bearer ${viewer}`, token(ends), token(stays)])
      assert.is((await asks(form)).status, 200);
    await world.call("POST", "/api/v1/logout", undefined, { key: String(ends.record.token) });
    refused(await asks(token(ends)), "AUTH_FAILED");
    assert.is((await asks(token(stays))).status, 200);
  });

  test("during a flood of guesses keys, sessions and a password that was right before get in", async () => {
    const session = String((await login("admin", world.first.password)).record.token);
    let answered = 0;
    const flood = Array.from({ length: 12 }, (_, i) =>
      login(`flood ${i}`, "wrong").finally(() => {
        answered++;
      }),
    );
    assert.is((await asks(`Bearer ${world.first.apiKey}`)).status, 200);
    assert.is((await asks(`Bearer ${session}`)).status, 200);
    assert.is((await login("admin", world.first.password)).status, 201);
    assert.ok(answered < 12, "they did not wait for the flood's turns");
    for (const reply of await Promise.all(flood)) refused(reply, "AUTH_FAILED");
  });

  test("guesses made at once are counted like guesses one after the other", async () => {
    const guess = (i: number) =>
      fetch(`${world.http}/api/v1/login`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ username: "parallel", password: `wrong ${i}` }),
      }).then(({ status }) => status);
    const begun = performance.now();
    const statuses = await Promise.all(Array.from({ length: 40 }, (_, i) => guess(i)));
    const checked = statuses.filter((status) => status === 401).length;
    assert.ok(checked <= freeBy(performance.now() - begun), `${statuses}`);
    assert.ok(statuses.includes(429));
  });
});
