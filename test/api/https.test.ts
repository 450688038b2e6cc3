/** HTTP over TLS: the same service, for callers and for devices. */
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

    /** What ALPN agrees on; an error's code where the handshake fails. */
    function agreedOn(protocols: readonly string[] | undefined): Promise<string | false | null> {
      const { hostname, port } = new URL(url());
      return new Promise((resolve) => {
        const offer = protocols === undefined ? {} : { ALPNProtocols: [...protocols] };
        const to = { host: hostname, port: Number(port), ca, servername: "localhost", ...offer };
        const socket = connectTls(to, () => {
          resolve(socket.alpnProtocol);
          socket.destroy();
        });
        socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      });
    }

    test("the API answers over TLS, by HTTP/1.1, whatever else a client offers", async () => {
      const Authorization = `Bearer ${world.first.apiKey}`;
      assert.is((await ask1("GET", "/healthz", {})).status, 200);
      assert.is((await ask1("GET", "/api/v1/devices", { Authorization })).status, 200);
      assert.is(await agreedOn(["h2", "http/1.1"]), "http/1.1");
      assert.is(await agreedOn(["http/1.0"]), "http/1.0");
      assert.is(await agreedOn(undefined), false);
      // RFC 7301 §3.2: a server that knows none of them says so.
      assert.match(String(await agreedOn(["h2"])), /NO_APPLICATION_PROTOCOL/);
    });

    test("a device's 204 is an event", async () => {
      const headers = { Authorization: basicOf(device), "Content-Type": "application/json" };
      assert.is((await ask1("POST", "/api/v1/uplinks/data", headers, '{"a":1}')).status, 204);
      assert.is((await eventsOf(world, device)).length, 1);
    });

    test("a device is authenticated by its certificate, and by nothing else", async () => {
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

    test("plain frames go over TLS as well", async () => {
      const socket = new WebSocket(`${url().replace("https", "wss")}/ws`, {
        ca,
        headers: { Authorization: basicOf(device) },
      });
      const answer = new Promise((resolve) => socket.once("message", (data) => resolve(String(data))));
      socket.on("open", () => socket.send('{"id":1,"topic":"data","payload":{}}'));
      assert.is(await answer, '{"ack":1}');
      socket.close();
    });
  },
  { HTTPS_PORT: "0" },
);
