import { packedTimeZones } from "../../store/time-zones/packed.js";
import { makeDataPoint, makeDevice, makeProduct } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, refused, worldSuite } from "../world.js";

worldSuite("service", (test, world) => {
  const anyone = (path: string) => world.call("GET", path, undefined, { key: null });

  test("health and readiness need no login", async () => {
    const { version, commit, ...health } = (await anyone("/healthz")).record as Record<string, unknown>;
    const timezones = { version: packedTimeZones().version, source: "built-in", warning: null };
    assert.equal(health, { status: "ok", engine: "embedded", timezones });
    assert.match(String(version), /^\d+\.\d+\.\d+$/);
    assert.ok(commit === null || /^[0-9a-f]{40}$/.test(String(commit)));
    assert.equal((await anyone("/readyz")).record, { status: "ok", degraded: {} });
  });

  test("metrics need an admin of the deployment, and count what came in", async () => {
    refused(await anyone("/metrics"), "AUTH_FAILED");
    for (const role of ["viewer", "operator"] as const)
      refused(
        await world.call("GET", "/metrics", undefined, { key: await world.keyOf(role) }),
        "PERMISSION_DENIED",
      );
    const key = await world.keyOf("admin");
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "t" });
    const device = await makeDevice(world, product);
    const counter = async (name: string) => {
      const { text } = await world.call("GET", "/metrics", undefined, { key });
      return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "m").exec(text)?.[1]);
    };
    const before = await counter("tidemark_messages_total");
    await world.publish(device, { t: 1 }, { t: 2 });
    assert.is(await counter("tidemark_messages_total"), before + 2);
    const reply = await world.call("GET", "/metrics", undefined, { key });
    assert.match(reply.headers.get("content-type") ?? "", /^text\/plain/);
    for (const line of reply.text.trimEnd().split("\n")) {
      assert.match(
        line,
        /^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? -?[\d.e+-]+|.* (NaN|\+Inf))$/,
      );
    }
    const json = { Accept: "application/json" };
    refused(await world.call("GET", "/metrics", undefined, { headers: json }), "NOT_ACCEPTABLE");
  });

  test("the clock", async () => {
    const { record } = await world.call("GET", "/api/v1/time");
    hasKeys(record, ["time", "text", "timezone"]);
    assert.ok(Math.abs(Number(record.time) - Date.now()) < 10_000);
    assert.equal(record.text, new Date(Number(record.time)).toISOString().slice(0, 19).replace("T", " "));
    assert.is(record.timezone, "UTC");
    refused(await anyone("/api/v1/time"), "AUTH_FAILED");
  });

  test("the reference names every route, openly", async () => {
    const { status, record } = await anyone("/openapi.json");
    assert.is(status, 200);
    const paths = Object.keys(record.paths as object);
    for (const name of [
      "products",
      "devices",
      "data_points",
      "data_streams",
      "metrics",
      "users",
      "api_keys",
    ]) {
      for (const path of [`/api/v1/${name}`, `/api/v1/${name}/{id}`]) assert.ok(paths.includes(path), path);
    }
    for (const path of paths.filter((one) => !one.includes("{") && one.startsWith("/api/"))) {
      // The second has a member of its own in its errors, for clients of InfluxDB.
      if (path === "/api/v1/login" || path === "/api/v2/write") continue;
      const methods = Object.keys((record.paths as Record<string, object>)[path] ?? {});
      for (const method of methods) {
        const reply = await world.call(method.toUpperCase(), path, undefined, { key: null });
        refused(reply, "AUTH_FAILED", "token");
      }
    }
  });

  test("points can be written once more from what was kept", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "t" });
    const device = await makeDevice(world, product);
    await world.publish(device, { time: "2024-01-01T00:00:00Z", t: 1 });
    const resettled = await world.call("POST", "/api/v1/resettle", { startTime: "2024-01-01 00:00:00" });
    assert.is(resettled.status, 200, resettled.text);
    hasKeys(resettled.record, ["messages", "points"]);
    assert.ok(Number(resettled.record.points) >= 1);
    const data = await world.call("GET", `/api/v1/original_data?deviceIntID=${device.id}`);
    assert.equal(data.list[0]?.originalData, { time: ["2024-01-01 00:00:00"], value: [1] });
    refused(
      await world.call("POST", "/api/v1/resettle", { startTime: "soon" }),
      "PARAMETER_INVALID",
      "startTime",
    );
    const key = await world.keyOf("operator");
    refused(await world.call("POST", "/api/v1/resettle", { startTime: "0" }, { key }), "PERMISSION_DENIED");
  });
});
