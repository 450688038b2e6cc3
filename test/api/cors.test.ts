/** CORS_ORIGINS: pages of listed origins call the API with a key, never with a session's cookie. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readConfig } from "../../src/config/config.js";
import { hasChromium, launchHeadless } from "../console/chromium.js";
import { assert, suite } from "../suite.js";
import { worldSuite } from "../world.js";

const listed = "https://app.example.com";
const other = "https://evil.example.com";

suite("CORS_ORIGINS", (test) => {
  test("are origins as browsers send them", () => {
    assert.equal(readConfig({}).corsOrigins, []);
    assert.equal(
      readConfig({ CORS_ORIGINS: " https://a.example , http://b.example:8080,https://a.example" })
        .corsOrigins,
      ["https://a.example", "http://b.example:8080"],
    );
    const wrong = ["*", "null", "https://*.example", "a.example", "https://a.example/", "https://A.example"];
    wrong.push(
      "https://a.example:443",
      "ftp://a.example",
      "https://u@a.example",
      "https://a.example,",
      "file://",
    );
    for (const CORS_ORIGINS of wrong)
      assert.throws(() => readConfig({ CORS_ORIGINS }), /CORS_ORIGINS: must be origins/, CORS_ORIGINS);
  });
});

const page = createServer((_, response) =>
  response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>elsewhere</title>"),
);
await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
page.unref();
const pageOrigin = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;

worldSuite(
  "CORS",
  (test, world) => {
    const ask = (method: string, path: string, headers: Record<string, string>) =>
      fetch(world.http + path, { method, headers });
    const bearer = () => `Bearer ${world.first.apiKey}`;
    const named = ({ headers }: Response, name: string) =>
      (headers.get(name) ?? "").split(",").map((one) => one.trim().toLowerCase());
    const corsHeaders = ({ headers }: Response) =>
      [...headers.keys()].filter((name) => name.startsWith("access-control-"));

    test("a preflight of a listed origin is answered without credentials", async () => {
      const answer = await ask("OPTIONS", "/api/v1/devices", {
        Origin: listed,
        "Access-Control-Request-Method": "PUT",
        "Access-Control-Request-Headers": "authorization,content-type",
      });
      assert.is(answer.status, 204);
      assert.is(answer.headers.get("access-control-allow-origin"), listed);
      for (const method of ["get", "post", "put", "delete"])
        assert.ok(named(answer, "access-control-allow-methods").includes(method), method);
      for (const name of ["authorization", "content-type", "api-variant", "time-format", "last-event-id"])
        assert.ok(named(answer, "access-control-allow-headers").includes(name), name);
      assert.not(named(answer, "access-control-allow-headers").includes("x-tidemark"));
      assert.ok(Number(answer.headers.get("access-control-max-age")) >= 600);
      assert.is(answer.headers.get("access-control-allow-credentials"), null);
      assert.ok(named(answer, "vary").includes("origin"));
    });

    test("answers, errors and streams of the API may be read; their headers too", async () => {
      const calls = [
        ["GET", "/api/v1/devices", bearer(), 200],
        ["GET", "/api/v1/devices", "Bearer no:such", 401],
        ["GET", "/api/v1/nosuch", bearer(), 404],
        ["PUT", "/api/v1/devices", bearer(), 405],
        ["GET", "/api/v1/live?topics=overview", bearer(), 200],
      ] as const;
      for (const [method, path, Authorization, status] of calls) {
        const answer = await ask(method, path, { Origin: listed, Authorization });
        assert.is(answer.status, status, path);
        assert.is(answer.headers.get("access-control-allow-origin"), listed, path);
        assert.is(answer.headers.get("access-control-allow-credentials"), null);
        assert.ok(named(answer, "vary").includes("origin"), path);
        for (const name of [
          "x-request-id",
          "api-variant",
          "truncated",
          "formula-errors",
          "retry-after",
          "etag",
          "allow",
        ])
          assert.ok(named(answer, "access-control-expose-headers").includes(name), name);
        await answer.body?.cancel();
      }
      const own = await ask("GET", "/api/v1/devices", { Origin: listed, Authorization: bearer() });
      assert.ok(["origin", "api-variant", "time-format"].every((name) => named(own, "vary").includes(name)));
    });

    test("other origins, paths beside the API and devices' paths have no such headers", async () => {
      const preflight = {
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "authorization",
      };
      for (const Origin of [other, "null", `${listed}.evil.example`, "https://APP.example.com", ""]) {
        assert.equal(
          corsHeaders(await ask("OPTIONS", "/api/v1/devices", { Origin, ...preflight })),
          [],
          Origin,
        );
        const answer = await ask("GET", "/api/v1/devices", { Origin, Authorization: bearer() });
        assert.equal(corsHeaders(answer), [], Origin);
        assert.ok(named(answer, "vary").includes("origin"), "caches keep them apart");
      }
      for (const path of [
        "/",
        "/console/",
        "/openapi.json",
        "/metrics",
        "/healthz",
        "/api/v1/inbox",
        "/api/v1/uplinks/t",
      ]) {
        for (const method of ["GET", "OPTIONS"])
          assert.equal(
            corsHeaders(await ask(method, path, { Origin: listed, ...preflight })),
            [],
            `${method} ${path}`,
          );
      }
    });

    const inBrowser = async () => {
      const browser = await launchHeadless();
      try {
        const context = await browser.newContext();
        const tab = await context.newPage();
        await tab.goto(pageOrigin);
        const read = (init: object, path = "/api/v1/products") =>
          tab.evaluate(
            ([url, options]) =>
              fetch(url as string, options as object).then(
                async (answer) => [answer.status, answer.headers.get("x-request-id") !== null],
                (error: unknown) => String(error),
              ),
            [world.http + path, init] as const,
          );
        const headers = { Authorization: bearer(), "Content-Type": "application/json" };
        assert.equal(await read({ headers }), [200, true]);
        const body = JSON.stringify({ productName: "from elsewhere", cloudProtocol: 1 });
        assert.equal(await read({ method: "POST", headers, body }), [201, true]);
        // A session's cookie is never of use: the browser shows no answer.
        assert.match(String(await read({ headers, credentials: "include" })), /TypeError/);
        assert.match(
          String(await read({ method: "POST", headers, body: "{}" }, "/api/v1/uplinks/t")),
          /TypeError/,
        );
      } finally {
        await browser.close();
      }
    };
    const browserName = "a page of a listed origin calls the API in a browser";
    if (hasChromium) test(browserName, inBrowser, { timeoutMs: 60_000 });
    else test.skip(browserName, "there is no Chromium: apt-get install chromium-headless-shell");
  },
  { CORS_ORIGINS: `${listed},${pageOrigin}` },
);

worldSuite("without CORS_ORIGINS", (test, world) => {
  test("nothing of CORS is answered", async () => {
    const headers = { Origin: listed, "Access-Control-Request-Method": "GET" };
    const answer = await fetch(`${world.http}/api/v1/devices`, { method: "OPTIONS", headers });
    assert.is(answer.status, 405);
    assert.equal(
      [...answer.headers.keys()].filter((name) => name.startsWith("access-control-")),
      [],
    );
  });
});
