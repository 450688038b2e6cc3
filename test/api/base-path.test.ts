/** BASE_PATH: the service behind a proxy that shows it below a prefix, which it keeps or removes. */
import { once } from "node:events";
import WebSocket from "ws";
import { apiRoutes } from "../../src/api/routes.js";
import { readConfig } from "../../src/config/config.js";
import { ownRoots } from "../../src/config/web-addresses.js";
import { inertDeps } from "../../src/reference/stub-dependencies.js";
import { removeBasePath } from "../../src/server/base-path.js";
import { documentBody } from "../dashboards/documents.js";
import { makeDataPoint, makeDevice, makeProduct } from "../factories.js";
import { startProxy } from "../proxy.js";
import { assert, suite, until } from "../suite.js";
import { type Rec, worldSuite } from "../world.js";

const prefix = "/plant-1/tidemark";

suite("BASE_PATH", (test) => {
  test("is a path without a slash at its end that is none of the service's", () => {
    assert.is(readConfig({}).basePath, "");
    for (const BASE_PATH of ["/t", "/a/b.c/~d_e-f", "/consoles/x", "/my-console"])
      assert.is(readConfig({ BASE_PATH }).basePath, BASE_PATH);
    for (const BASE_PATH of [
      "/",
      "t",
      "/t/",
      "//t",
      "/a//b",
      "/a/../b",
      "/.",
      "/a b",
      "/ä",
      "/a?b",
      "/a%20b",
    ])
      assert.throws(() => readConfig({ BASE_PATH }), /BASE_PATH: must begin with a slash/, BASE_PATH);
    for (const BASE_PATH of ["/api", "/api/x", "/metrics", "/console", "/x/console", "/reference"])
      assert.throws(() => readConfig({ BASE_PATH }), /BASE_PATH: must not begin with/, BASE_PATH);
  });

  test("begins with no path of a route, of any in the service", () => {
    const ofDevices = ["health", "ping", "query", "write", "ws"];
    const ofRoutes = apiRoutes(inertDeps()).map(({ spec }) => spec.path.split("/")[1] ?? "");
    assert.equal([...ownRoots].sort(), [...new Set([...ofRoutes, ...ofDevices])].sort());
    for (const root of ownRoots)
      assert.throws(() => readConfig({ BASE_PATH: `/${root}` }), /BASE_PATH: must not begin with/, root);
  });

  test("is removed where it is the whole of the first segments", () => {
    const cases = [
      ["/t/api/v1/x?y=/t/", "/api/v1/x?y=/t/"],
      ["/t", "/"],
      ["/t/", "/"],
      ["/t?x=1", "/?x=1"],
      ["/tt/api", "/tt/api"],
      ["/api/t/x", "/api/t/x"],
      ["/t/t/x", "/t/x"],
      ["*", "*"],
    ] as const;
    for (const [url, expected] of cases) assert.is(removeBasePath(url, "/t"), expected, url);
    assert.is(removeBasePath("/t/x", ""), "/t/x");
  });
});

worldSuite(
  "a service below a prefix",
  (test, world) => {
    let proxies: Awaited<ReturnType<typeof startProxy>>[] = [];
    let device: Rec;
    test.before(async () => {
      proxies = await Promise.all([true, false].map((keeps) => startProxy(world.http, prefix, keeps)));
      const product = await makeProduct(world);
      await makeDataPoint(world, product, { dataPointID: "temp" });
      device = await makeDevice(world, product, { authType: 1 });
    });
    test.after(async () => {
      await Promise.all(proxies.map((proxy) => proxy.close()));
    });
    /** Through either proxy, and directly, with the prefix and without. */
    const bases = () => [...proxies.map(({ origin }) => origin + prefix), world.http + prefix, world.http];
    const credentials = () => ({ Authorization: `Bearer ${world.first.apiKey}` });
    const basic = () => ({
      Authorization: `Basic ${Buffer.from(`${device.deviceUsername}:${device.token}`).toString("base64")}`,
    });

    test("the API, probes, metrics and the reference answer in each way", async () => {
      for (const base of bases()) {
        const devices = await fetch(`${base}/api/v1/devices?deviceID=${device.deviceID}`, {
          headers: credentials(),
        });
        assert.is(((await devices.json()) as { items: object[] }).items.length, 1, base);
        for (const path of ["/readyz", "/healthz", "/reference", "/reference/page.js", "/ping"])
          assert.ok((await fetch(base + path)).ok, base + path);
        assert.is((await fetch(`${base}/metrics`, { headers: credentials() })).status, 200);
        const document = (await (await fetch(`${base}/openapi.json`)).json()) as { servers: object[] };
        assert.equal(document.servers, [{ url: prefix, description: "this service" }]);
        assert.is((await fetch(`${base}/api/v1/nosuch`, { headers: credentials() })).status, 404);
      }
    });

    test("redirects and addresses of the console have the prefix in each way", async () => {
      for (const base of bases()) {
        for (const path of ["", "/"]) {
          const answer = await fetch(base + path, { redirect: "manual", headers: { Accept: "text/html" } });
          assert.equal(
            [answer.status, answer.headers.get("location")],
            [302, `${prefix}/console/`],
            base + path,
          );
        }
        const page = await (await fetch(`${base}/console/devices/1`)).text();
        const addresses = [...page.matchAll(/(?:href|src)="(\/[^"]*)"/g)].map(([, one]) => one ?? "");
        assert.ok(addresses.length > 2 && addresses.every((one) => one.startsWith(`${prefix}/`)), page);
        const style = addresses.find((one) => one.endsWith(".css"));
        assert.is((await fetch(new URL(`${base}${style?.slice(prefix.length)}`))).status, 200);
      }
    });

    test("devices publish by HTTP and WebSocket with the prefix and without", async () => {
      for (const [i, base] of bases().entries()) {
        const sent = await fetch(`${base}/api/v1/uplinks/data`, {
          method: "POST",
          headers: basic(),
          body: JSON.stringify({ temp: i }),
        });
        assert.is(sent.status, 204, base);
        const socket = new WebSocket(`${base.replace("http", "ws")}/ws`, { headers: basic() });
        await once(socket, "open");
        socket.close();
        await once(socket, "close");
      }
      await world.settled();
      const url = `/api/v1/original_data?deviceID=${device.deviceID}`;
      const found = (await world.call("GET", url)).list as unknown as { originalData: { value: number[] } }[];
      assert.equal(
        found[0]?.originalData.value.toSorted(),
        bases().map((_, i) => i),
      );
    });

    test("a live stream comes through, and a share's path has the prefix", async () => {
      for (const base of bases()) {
        const stream = await fetch(`${base}/api/v1/live?topics=overview`, { headers: credentials() });
        const reader = stream.body?.getReader();
        const text = await until(
          async () => {
            const { value } = (await reader?.read()) ?? {};
            const chunk = Buffer.from(value ?? []).toString();
            return chunk.includes("data:") ? chunk : undefined;
          },
          { what: "an event of the stream" },
        );
        assert.match(text, /data:/);
        await reader?.cancel();
      }
      const dashboard = await world.make("/api/v1/dashboards", {
        name: "shared",
        document: documentBody([]),
      });
      const { path } = await world.make(`/api/v1/dashboards/${dashboard.id}/shares`, { name: "s" });
      assert.match(String(path), /^\/plant-1\/tidemark\/console\/shared\/[\w-]{43}#/);
    });
  },
  { BASE_PATH: prefix },
);
