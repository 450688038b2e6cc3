/** HTTP over TLS, and HTTP/2: the same service, for callers and for devices. */
import { connect as connect2, constants } from "node:http2";
import { request as httpsRequest } from "node:https";
import { connect as connectTls } from "node:tls";
import { WebSocket } from "ws";
import { makeDevice, makeProduct } from "../factories.js";
import { eventsOf } from "../ingest/support.js";
import { basicOf } from "../ingest/transports/http/support.js";
import { authorityOf, issued } from "../ingest/transports/mqtt/listeners/support.js";
import { assert, until } from "../suite.js";
import { type Rec, worldSuite } from "../world.js";

worldSuite(
  "HTTPS",
  (test, world) => {
    let ca: string;
    let product: Rec;
    let device: Rec;
    test.before(async () => {
      ca = await authorityOf(world);
      product = await makeProduct(world, { cloudProtocol: 5 });
    });
    test.before.each(async () => {
      device = await makeDevice(world, product);
    });
    const url = (path = "") => `${world.service.https}${path}`;

    interface Answer {
      readonly status: number;
      readonly text: string;
    }

    function ask1(
      method: string,
      path: string,
      headers: Readonly<Record<string, string>>,
      body = "",
      options: object = {},
    ): Promise<Answer> {
      return new Promise((resolve, reject) => {
        const request = httpsRequest(url(path), { method, headers, ca, ...options }, (response) => {
          let text = "";
          response.on("data", (chunk) => {
            text += chunk;
          });
          response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
        });
        request.on("error", reject);
        request.end(body);
      });
    }

    async function withHttp2<T>(
      work: (ask: (headers: object, body?: string) => Promise<Answer>) => Promise<T>,
    ): Promise<T> {
      const session = connect2(url(), { ca });
      // Only then a client knows how many requests it may make at once.
      await new Promise((resolve) => session.once("remoteSettings", resolve));
      const ask = (headers: object, body?: string): Promise<Answer> =>
        new Promise((resolve, reject) => {
          const stream = session.request({ ...headers });
          let status = 0;
          let text = "";
          stream.on("response", (got) => {
            status = Number(got[":status"]);
          });
          stream.on("data", (chunk) => {
            text += chunk;
          });
          stream.on("end", () => resolve({ status, text }));
          stream.on("error", reject);
          stream.end(body);
        });
      try {
        return await work(ask);
      } finally {
        session.close();
      }
    }

    test("the API answers over TLS, of HTTP/1.1 and HTTP/2", async () => {
      const Authorization = `Bearer ${world.first.apiKey}`;
      assert.is((await ask1("GET", "/healthz", {})).status, 200);
      assert.is((await ask1("GET", "/api/v1/devices", { Authorization })).status, 200);
      await withHttp2(async (ask) => {
        assert.is((await ask({ ":path": "/healthz" })).status, 200);
        assert.is((await ask({ ":path": "/api/v1/devices" })).status, 401);
        const many = await Promise.all(
          Array.from({ length: 20 }, () => ask({ ":path": "/api/v1/devices", Authorization })),
        );
        for (const { status } of many) assert.is(status, 200);
        const body = JSON.stringify({ productName: "by HTTP/2", cloudProtocol: 1 });
        const made = {
          ":path": "/api/v1/products",
          ":method": "POST",
          Authorization,
          "content-type": "application/json",
        };
        assert.is((await ask(made, body)).status, 201);
      });
    });

    test("a device sends over both, and each 204 is an event", async () => {
      const headers = { Authorization: basicOf(device), "Content-Type": "application/json" };
      assert.is((await ask1("POST", "/api/v1/uplinks/data", headers, '{"a":1}')).status, 204);
      await withHttp2(async (ask) => {
        const post = { ":path": "/api/v1/uplinks/data", ":method": "POST", ...headers };
        const all = await Promise.all(Array.from({ length: 50 }, (_, n) => ask(post, `{"n":${n}}`)));
        for (const { status } of all) assert.is(status, 204);
        const wrong = { ...post, Authorization: basicOf({ ...device, token: "wrong" }) };
        assert.is((await ask(wrong, "{}")).status, 401);
      });
      assert.is((await eventsOf(world, device)).length, 51);
    });

    test("a device proves itself by its certificate, and by nothing else", async () => {
      const secured = await makeDevice(world, product, { authType: 2 });
      const own = await issued(world, "over https");
      await world.call("POST", `/api/v1/devices/${secured.id}/certs`, { ids: [own.id] });
      const headers = {
        Authorization: basicOf({ ...secured, token: "" }),
        "Content-Type": "application/json",
      };
      const post = (options: object) => ask1("POST", "/api/v1/uplinks/data", headers, "{}", options);
      assert.is((await post({})).status, 401, "without");
      assert.is((await post(await issued(world, "of another"))).status, 401);
      assert.is((await post(own)).status, 204);
      assert.is((await eventsOf(world, secured)).length, 1);
    });

    test("a client that says nothing after its handshake, or before it, is cut off", async () => {
      const { hostname, port } = new URL(url());
      const silent = connectTls({
        host: hostname,
        port: Number(port),
        ca,
        servername: "localhost",
        ALPNProtocols: ["h2"],
      });
      silent.on("error", () => undefined).resume();
      let isClosed = false;
      silent.on("close", () => {
        isClosed = true;
      });
      await new Promise((resolve) => silent.once("secureConnect", resolve));
      world.clock.pass(11_000);
      await until(() => isClosed, { what: "the silent one to be cut off" });
    });

    test("a body that stays away is ended alone; the connection goes on", async () => {
      const session = connect2(url(), { ca });
      const stream = session.request({
        ":path": "/api/v1/login",
        ":method": "POST",
        "content-type": "application/json",
      });
      stream.on("error", () => undefined);
      let code: number | undefined;
      stream.on("close", () => {
        code = stream.rstCode;
      });
      stream.write("{");
      await new Promise((resolve) => setTimeout(resolve, 100));
      world.clock.pass(11_000);
      await until(() => code !== undefined, { what: "the stream to be ended" });
      assert.is(code, constants.NGHTTP2_CANCEL);
      assert.not(session.closed);
      session.close();
    });

    test("a device's body that stays away is ended, whatever its other requests bring", async () => {
      const session = connect2(url(), { ca });
      const post = () => {
        const headers = { Authorization: basicOf(device), "content-type": "text/plain" };
        const stream = session.request({ ":path": "/api/v1/uplinks/data", ":method": "POST", ...headers });
        stream.on("error", () => undefined);
        return stream;
      };
      const [away, live] = [post(), post()];
      let status = 0;
      live.on("response", (headers) => {
        status = Number(headers[":status"]);
      });
      away.write("x");
      await new Promise((resolve) => live.write("x".repeat(100_000), resolve));
      await until(
        async () => (await world.call("GET", `/api/v1/devices/${device.id}`)).record.deviceStatus === 1,
        { what: "the device" },
      );
      await new Promise((resolve) => session.ping(() => resolve(undefined)));
      world.clock.pass(61_000);
      await until(() => away.closed, { what: "the stream to be ended" });
      assert.is(away.rstCode, constants.NGHTTP2_CANCEL);
      live.end("y");
      await until(() => status === 204, { what: "the other one's answer", timeoutMs: 10_000 });
      session.close();
    });

    test("plain frames go over TLS as well; more requests than a connection may make wait", async () => {
      const socket = new WebSocket(`${url().replace("https", "wss")}/ws`, {
        ca,
        headers: { Authorization: basicOf(device) },
      });
      const answer = new Promise((resolve) => socket.once("message", (data) => resolve(String(data))));
      socket.on("open", () => socket.send('{"id":1,"topic":"data","payload":{}}'));
      assert.is(await answer, '{"ack":1}');
      socket.close();
      const session = connect2(url(), { ca });
      const settings = await new Promise<{ maxConcurrentStreams?: number }>((resolve) =>
        session.once("remoteSettings", resolve),
      );
      assert.is(settings.maxConcurrentStreams, 100);
      session.close();
    });
  },
  { HTTPS_PORT: "0" },
);
