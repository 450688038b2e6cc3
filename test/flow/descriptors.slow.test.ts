import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { connectAsync } from "mqtt";
import { createMeter } from "../../ingest/meter.js";
import { connectionLimits, limitIn, openFilesMax } from "../../src/host/descriptors.js";
import { createRequestBudget } from "../../src/http/request-budget.js";
import { inertDeps } from "../../src/reference/stub-dependencies.js";
import { listenHttp } from "../../src/server/http-server.js";
import { systemClock } from "../../store/lib/clock.js";
import { dataPointBody, deviceBody, productBody } from "../factories.js";
import { assert, openTempDir, suite, until } from "../suite.js";
import { startService } from "./support.js";

suite("descriptors", (test) => {
  test("connections never take those of the stores, nor HTTP those of devices", () => {
    const most = { http: 4000, mqtt: 100_000 };
    for (const openFiles of [16, 256, 900, 1024, 4096, 65_536, 1_048_576]) {
      const { http, mqtt } = connectionLimits(openFiles, most);
      assert.ok(http + mqtt <= openFiles - Math.min(256, openFiles / 4), `${openFiles}`);
      assert.ok(mqtt >= 3 * http || mqtt === 100_000, `${openFiles}: ${http} and ${mqtt}`);
    }
    assert.equal(connectionLimits(900, most), { http: 168, mqtt: 507 });
    assert.equal(connectionLimits(null, most), most);
    assert.equal(connectionLimits(1_048_576, most), most);
    assert.equal(connectionLimits(1024, { http: 8, mqtt: 20 }), { http: 8, mqtt: 20 });
  });

  test("a connection of HTTP is one descriptor, asked and answered or not", async () => {
    const config = {
      host: "127.0.0.1",
      httpPort: 0,
      apiVariant: "A",
      trustedProxies: [],
      basePath: "",
    } as const;
    const { log } = inertDeps();
    const { monotonic } = systemClock;
    const deps = {
      config,
      log,
      meter: createMeter(),
      monotonic,
      requests: createRequestBudget(),
      connectionsMax: 100,
    };
    const listener = await listenHttp(() => new Response("ok"), deps);
    const descriptors = () => readdirSync("/proc/self/fd").length;
    const before = descriptors();
    const sockets = Array.from({ length: 40 }, () => connect(Number(new URL(listener.address).port)));
    let answered = 0;
    for (const socket of sockets) socket.on("data", () => answered++);
    try {
      await until(() => deps.meter.httpConnections === 40, { what: "the connections" });
      // Both ends are of this process.
      assert.is(descriptors() - before, 2 * 40);
      for (const socket of sockets.slice(20)) socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      await until(() => answered >= 20, { what: "the answers" });
      assert.is(descriptors() - before, 2 * 40);
    } finally {
      for (const socket of sockets) socket.destroy();
      listener.stop();
      await listener.closed();
    }
  });

  test("the limit is read", () => {
    const text = (soft: string) =>
      `Limit                     Soft Limit           Hard Limit           Units     \nMax open files            ${soft}                 524288               files     \n`;
    assert.is(limitIn(text("1024")), 1024);
    assert.is(limitIn(text("unlimited")), null);
    assert.is(limitIn(""), null);
    if (process.platform === "linux") assert.ok((openFilesMax() ?? 1) > 0);
  });

  test("idle HTTP sockets beyond the limit of open files keep no device out", async () => {
    const dir = await openTempDir();
    const service = await startService(dir.path, {}, 400);
    const sockets: Socket[] = [];
    try {
      const product = await service.make("/api/v1/products", productBody());
      await service.make("/api/v1/data_points", dataPointBody(product));
      const device = await service.make("/api/v1/devices", deviceBody(product));
      const { hostname, port } = new URL(service.addresses.http ?? "");
      let closed = 0;
      for (let i = 0; i < 600; i++) {
        const socket = connect(Number(port), hostname);
        socket.on("error", () => undefined);
        socket.once("close", () => closed++);
        socket.resume();
        sockets.push(socket);
      }
      await until(() => closed >= 500, { what: "the flood to displace itself" });
      const options = { username: String(device.deviceUsername), password: String(device.token) };
      const clients = await Promise.all(
        Array.from({ length: 8 }, () => connectAsync(service.mqtt, { ...options, reconnectPeriod: 0 })),
      );
      await Promise.all(clients.map((client) => client.publishAsync("data", "{}", { qos: 1 })));
      assert.is((await service.call("GET", "/readyz")).status, 200);
      await Promise.all(clients.map((client) => client.endAsync()));
      assert.ok(service.logged.some(({ msg }) => String(msg).startsWith("the limit of open files")));
    } finally {
      for (const socket of sockets) socket.destroy();
      await service.stop();
      await dir.close();
    }
  });
});
