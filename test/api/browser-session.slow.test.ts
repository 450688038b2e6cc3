/** Sessions in cookies: what scripts see of them, how long they last, and what other sites can do with them. */
import { request as httpsRequest } from "node:https";
import { makeDevice, makeProduct, unique } from "../factories.js";
import { authorityOf } from "../ingest/transports/mqtt/listeners/support.js";
import { assert } from "../suite.js";
import { type CallOptions, type Reply, refused, worldSuite } from "../world.js";

const me = "/api/v1/me";
/** What a page of the service itself sends. */
const own = { "X-Tidemark": "1", "Sec-Fetch-Site": "same-origin" };
const hourMs = 3_600_000;

worldSuite("sessions of browsers", (test, world) => {
  const login = (headers: CallOptions["headers"] = own, fields: object = {}) => {
    const { username, password } = world.first;
    return world.call(
      "POST",
      "/api/v1/login",
      { username, password, cookie: true, ...fields },
      { key: null, headers: { ...headers } },
    );
  };
  const cookieOf = ({ headers }: Reply): string => headers.get("set-cookie") ?? "";
  const pairOf = (reply: Reply): string => cookieOf(reply).split(";")[0] ?? "";
  const asks = (Cookie: string, method = "GET", path = me, headers: object = own, body?: object) =>
    world.call(method, path, body, { key: null, headers: { ...headers, Cookie } });

  test("the token comes in a cookie that no script reads, and not in the answer", async () => {
    const reply = await login();
    assert.is(reply.status, 201);
    assert.equal(Object.keys(reply.record), ["userIntID", "username", "tenantID", "role", "expiresAt"]);
    const [pair = "", ...attributes] = cookieOf(reply).split("; ");
    assert.match(pair, /^tidemark-[0-9a-f]{8}=[\w-]{20,}$/);
    assert.equal(attributes, ["Path=/", "Max-Age=604800", "HttpOnly", "SameSite=Strict"]);
    const seen = (await asks(pair, "GET", me, {})).record;
    assert.equal([seen.username, seen.role, seen.isDeployment], ["admin", "admin", true]);
    assert.equal(seen.rights, ["read", "write", "command", "admin"]);
  });

  test("a login without cookie is as it was", async () => {
    const { username, password } = world.first;
    const reply = await world.call("POST", "/api/v1/login", { username, password }, { key: null });
    assert.is(reply.headers.get("set-cookie"), null);
    assert.ok(String(reply.record.token).length > 20);
  });

  test("a write needs the header of ours, and the word of the browser that the page is ours", async () => {
    const pair = pairOf(await login());
    const product = () => ({ productName: unique("forged"), cloudProtocol: 1 });
    const { host, origin } = new URL(world.http);
    const forged: readonly object[] = [
      {},
      { "X-Tidemark": "1" },
      { "Sec-Fetch-Site": "same-origin" },
      { "X-Tidemark": "1", "Sec-Fetch-Site": "cross-site" },
      { "X-Tidemark": "1", "Sec-Fetch-Site": "same-site", Origin: origin },
      { "X-Tidemark": "1", "Sec-Fetch-Site": "none" },
      { "X-Tidemark": "1", Origin: "http://evil.example" },
      { "X-Tidemark": "1", Origin: "null" },
      { "X-Tidemark": "1", Origin: `http://${host}.evil.example` },
      { "X-Tidemark": "0", Origin: origin },
    ];
    const before = (await asks(pair, "GET", "/api/v1/products?_limit=1")).page.meta.count;
    for (const headers of forged) {
      refused(await asks(pair, "POST", "/api/v1/products", headers, product()), "PERMISSION_DENIED");
      refused(await asks(pair, "DELETE", "/api/v1/products?ids=1", headers), "PERMISSION_DENIED");
      refused(await asks(pair, "POST", "/api/v1/logout", headers), "PERMISSION_DENIED");
    }
    assert.is((await asks(pair, "GET", "/api/v1/products?_limit=1")).page.meta.count, before);
    for (const headers of [own, { "X-Tidemark": "1", Origin: origin }]) {
      assert.is((await asks(pair, "POST", "/api/v1/products", headers, product())).status, 201);
    }
  });

  test("an upload by a form of another site is refused before any of it is read", async () => {
    const pair = pairOf(await login());
    const reply = await world.call("POST", "/api/v1/devices_import", "x".repeat(1000), {
      key: null,
      headers: { Cookie: pair, "Content-Type": "text/csv", "Sec-Fetch-Site": "cross-site" },
    });
    refused(reply, "PERMISSION_DENIED");
  });

  test("another site cannot log its visitors in", async () => {
    for (const headers of [{}, { ...own, "Sec-Fetch-Site": "cross-site" }]) {
      const reply = await login(headers);
      refused(reply, "PERMISSION_DENIED");
      assert.is(cookieOf(reply), "");
    }
  });

  test("credentials in a header count before the cookie, right or wrong", async () => {
    const pair = pairOf(await login());
    const viewer = await world.keyOf("viewer");
    const both = await world.call("GET", me, undefined, { key: viewer, headers: { Cookie: pair } });
    assert.is(both.record.role, "viewer");
    refused(
      await world.call("GET", me, undefined, { key: "wrong", headers: { Cookie: pair } }),
      "AUTH_FAILED",
    );
    // They need no word of a browser.
    assert.is((await world.call("POST", "/api/v1/logout", undefined, { key: viewer })).status, 204);
  });

  test("a cookie that is no session of ours is nobody, whatever it holds", async () => {
    const name = pairOf(await login()).split("=")[0];
    for (const value of ["", "x", "a:b", world.first.apiKey, "x".repeat(5000), "%00", "=".repeat(20)]) {
      refused(await asks(`${name}=${value}`), "AUTH_FAILED");
    }
    refused(await asks(`other=1; ${";".repeat(100)}`), "AUTH_FAILED");
    refused(await asks("tidemark-00000000=x"), "AUTH_FAILED");
  });

  test("a live feed goes on as long as its session, and ends with it", async () => {
    const device = await makeDevice(world, await makeProduct(world));
    const pair = pairOf(await login());
    const feeds = await Promise.all(
      [`/devices/${device.id}/live`, "/live?topics=presence"].map((path) =>
        fetch(`${world.http}/api/v1${path}`, { headers: { Cookie: pair } }),
      ),
    );
    assert.equal(
      feeds.map(({ status }) => status),
      [200, 200],
    );
    const readers = feeds.map(({ body }) => body?.pipeThrough(new TextDecoderStream()).getReader());
    // A comment comes once the session has been looked at again.
    await Promise.all(
      readers.map(async (reader) => {
        for (let text = ""; !/^:/m.test(text); ) {
          const piece = await reader?.read();
          assert.is(piece?.done, false, text);
          text += piece?.value ?? "";
        }
      }),
    );
    await asks(pair, "POST", "/api/v1/logout");
    await Promise.all(
      readers.map(async (reader) => {
        while ((await reader?.read())?.done === false);
      }),
    );
  });

  test("what pages ask by themselves and open streams do not put its end off, what a person does does", async () => {
    const ask = (pair: string, headers: object) =>
      asks(pair, "GET", me, headers).catch(() => asks(pair, "GET", me, headers));
    const poll = { ...own, "X-Tidemark": "poll" };
    const [left, used] = [pairOf(await login()), pairOf(await login())];
    const stop = new AbortController();
    const openStream = async (): Promise<string> => {
      const { body } = await fetch(`${world.http}/api/v1/live?topics=presence`, {
        headers: { Cookie: left },
        signal: stop.signal,
      });
      let text = "";
      for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += piece;
        // The comment says that the session has been looked at again.
        if (/^:/m.test(text)) break;
      }
      return text;
    };
    world.clock.pass(11 * hourMs);
    assert.match(await openStream(), /^: still here/m);
    assert.is((await ask(left, poll)).status, 200);
    assert.is((await ask(left, {})).status, 200);
    assert.is((await ask(used, poll)).status, 200, "remembered as a poll");
    assert.is((await ask(used, own)).status, 200);
    assert.is((await asks(used, "POST", "/api/v1/logout", { "X-Tidemark": "poll" })).status, 403);
    world.clock.pass(hourMs + 1000);
    refused(await ask(left, poll), "LOGIN_REQUIRED");
    refused(await ask(left, own), "LOGIN_REQUIRED");
    assert.is((await ask(used, poll)).status, 200);
    stop.abort();
  });

  test("a logout ends the session and takes the cookie away", async () => {
    const pair = pairOf(await login());
    const out = await asks(pair, "POST", "/api/v1/logout");
    assert.is(out.status, 204);
    assert.match(cookieOf(out), /^tidemark-[0-9a-f]{8}=; Path=\/; Max-Age=0;/);
    refused(await asks(pair), "AUTH_FAILED");
  });

  test("it goes on with its use, twelve hours at a time and seven days in all", async () => {
    // The connection of the request before has been silent for hours then: a request may meet its end.
    const later = async (ms: number, pair: string): Promise<Reply> => {
      world.clock.pass(ms);
      return asks(pair).catch(() => asks(pair));
    };
    const pair = pairOf(await login());
    for (let hours = 0; hours + 11 < 7 * 24; hours += 11) {
      assert.is((await later(11 * hourMs, pair)).status, 200, `after ${hours + 11} hours`);
    }
    refused(await later(11 * hourMs, pair), "LOGIN_REQUIRED");
    const idle = pairOf(await login().catch(() => login()));
    refused(await later(12 * hourMs + 1000, idle), "LOGIN_REQUIRED");
  });

  test("a new password ends the other sessions, a lower role all of them", async () => {
    const username = unique("browsing");
    const user = await world.make("/api/v1/users", { username, password: "correct horse", role: "operator" });
    const enter = async (password: string) => pairOf(await login(own, { username, password }));
    const [first, second] = [await enter("correct horse"), await enter("correct horse")];
    const change = { password: "correct horse", newPassword: "battery staple" };
    assert.is((await asks(first, "PUT", "/api/v1/me/password", own, change)).status, 204);
    assert.is((await asks(first)).status, 200);
    refused(await asks(second), "AUTH_FAILED");
    assert.is((await world.call("PUT", `/api/v1/users/${user.id}`, { role: "viewer" })).status, 200);
    refused(await asks(first), "AUTH_FAILED");
  });
});

worldSuite(
  "sessions of browsers over TLS and behind proxies",
  (test, world) => {
    const body = () => {
      const { username, password } = world.first;
      return JSON.stringify({ username, password, cookie: true });
    };
    const asks = (Cookie: string, proto: string) =>
      world.call("GET", me, undefined, { key: null, headers: { Cookie, "X-Forwarded-Proto": proto } });

    test("over TLS the cookie is of this host and of TLS alone", async () => {
      const ca = await authorityOf(world);
      const cookies = await new Promise<readonly string[]>((resolve, reject) => {
        const headers = { ...own, "Content-Type": "application/json" };
        const request = httpsRequest(
          `${world.service.https}/api/v1/login`,
          { method: "POST", headers, ca },
          (response) => resolve(response.resume().headers["set-cookie"] ?? []),
        );
        request.on("error", reject);
        request.end(body());
      });
      assert.is(cookies.length, 1);
      assert.match(
        cookies[0] ?? "",
        /^__Host-tidemark-[0-9a-f]{8}=\S+; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure$/,
      );
      const [Cookie = ""] = (cookies[0] ?? "").split(";");
      const seen = await asks(Cookie, "https");
      assert.is(seen.record.username, "admin");
    });

    test("a cookie of the other kind of connection is none: what another host has set is not taken over TLS", async () => {
      const login = async (proto: string) => {
        const headers = { ...own, "X-Forwarded-Proto": proto };
        const reply = await world.call("POST", "/api/v1/login", JSON.parse(body()), { key: null, headers });
        return (reply.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
      };
      const [secure, plain] = [await login("https"), await login("http")];
      assert.is((await asks(secure, "https")).status, 200);
      assert.is((await asks(plain, "http")).status, 200);
      refused(await asks(plain, "https"), "AUTH_FAILED");
      refused(await asks(secure, "http"), "AUTH_FAILED");
      refused(await asks(secure.replace("__Host-", ""), "https"), "AUTH_FAILED");
      assert.is((await asks(`${plain}; ${secure}`, "https")).status, 200);

      const ca = await authorityOf(world);
      const status = await new Promise<number | undefined>((resolve, reject) => {
        const options = { headers: { ...own, Cookie: plain }, ca };
        httpsRequest(`${world.service.https}${me}`, options, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on("error", reject)
          .end();
      });
      assert.is(status, 401);
    });

    test("a trusted proxy says whether its client's connection uses TLS", async () => {
      for (const [proto, isSecure] of [
        ["https", true],
        ["http", false],
        ["HTTPS, http", true],
      ] as const) {
        const reply = await world.call("POST", "/api/v1/login", JSON.parse(body()), {
          key: null,
          headers: { ...own, "X-Forwarded-Proto": proto },
        });
        assert.is((reply.headers.get("set-cookie") ?? "").includes("; Secure"), isSecure, proto);
      }
    });
  },
  { HTTPS_PORT: "0", TRUSTED_PROXIES: "127.0.0.1" },
);
