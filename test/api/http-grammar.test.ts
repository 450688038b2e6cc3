/** Requests as HTTP allows them and few clients write them: targets, codings, media types, in any case. */

import { connect as connectTls } from "node:tls";
import { deflateSync, gzipSync } from "node:zlib";
import { WebSocket } from "ws";
import { makeDataPoint, makeDevice, makeProduct } from "../factories.js";
import { eventsOf } from "../ingest/support.js";
import { basicOf } from "../ingest/transports/http/support.js";
import { assert } from "../suite.js";
import { type Rec, worldSuite } from "../world.js";
import { exchange, type RawAnswer } from "./raw-http.js";

worldSuite(
  "HTTP by its grammar",
  (test, world) => {
    let device: Rec;
    test.before.each(async () => {
      const product = await makeProduct(world, { cloudProtocol: 5 });
      await makeDataPoint(world, product, { dataPointID: "n" });
      device = await makeDevice(world, product);
    });
    const ask = async (head: string, body: Uint8Array | string = ""): Promise<RawAnswer> => {
      const bytes = Buffer.concat([Buffer.from(`${head}Connection: close\r\n\r\n`), Buffer.from(body)]);
      const [answer] = await exchange(world.http, bytes);
      assert.ok(answer, head);
      return answer;
    };
    const post = (target: string, headers: string, body: Uint8Array | string) =>
      ask(
        `POST ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: ${basicOf(device)}\r\nContent-Length: ${body.length}\r\n${headers}`,
        body,
      );
    const payloads = async () => (await eventsOf(world, device)).map(({ payload }) => payload);

    test("a target in absolute form, as proxies send it, is that of its path, and Host does not count", async () => {
      const sent = '{"n":1}';
      for (const prefix of ["http://example.org", "HTTP://example.org:8080", "https://[2001:db8::1]:8443"])
        assert.is((await post(`${prefix}/api/v1/uplinks/data?a=b`, "", sent)).status, 204, prefix);
      assert.equal(await payloads(), [sent, sent, sent]);
      for (const [target, status] of [
        ["http://x/healthz", 200],
        ["http://x/ping", 204],
        ["http://x/api/v1/me", 401],
        ["http://x", 404],
        ["http://x?a", 404],
        ["http://x/nowhere", 404],
        ["ftp://x/healthz", 400],
        ["http://a@x/ping", 204],
        ["http://a b/healthz", 400],
      ] as const)
        assert.is((await ask(`GET ${target} HTTP/1.1\r\nHost: y\r\n`)).status, status, target);
      assert.is(
        (await ask("GET http://x/healthz HTTP/1.1\r\n")).status,
        400,
        "HTTP/1.1 needs a Host all the same",
      );
      assert.is((await ask("GET http://1.2.3.4.5/healthz HTTP/1.1\r\nHost: x\r\n")).status, 400);
      // The page's own origin is that of the target.
      const login = (target: string) =>
        ask(
          `POST ${target}/api/v1/login HTTP/1.1\r\nHost: evil.example\r\nX-Tidemark: 1\r\nOrigin: http://evil.example\r\nContent-Type: application/json\r\nContent-Length: 47\r\n`,
          '{"username":"a","password":"b","cookie":true}  ',
        );
      assert.is((await login("http://good.example")).status, 403);
      assert.is((await login("http://evil.example")).status, 401);
    });

    test("a WebSocket by a target in absolute form", async () => {
      const { host } = new URL(world.http);
      const socket = new WebSocket(`ws://${host}/ws`, {
        headers: { Authorization: basicOf(device) },
        finishRequest: (request) => {
          request.path = `http://${host}/ws`;
          request.end();
        },
      });
      await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
      socket.close();
    });

    test("content codings in any case, x-gzip and deflate; others are 415 and name those that are taken", async () => {
      const sent = '{"n":2}';
      const packed = { gzip: gzipSync(sent), deflate: deflateSync(sent), identity: Buffer.from(sent) };
      const taken: readonly (readonly [string, keyof typeof packed])[] = [
        ["gzip", "gzip"],
        ["GZip", "gzip"],
        ["x-gzip", "gzip"],
        ["X-GZIP", "gzip"],
        ["gzip, identity", "gzip"],
        [", gzip ,", "gzip"],
        ["deflate", "deflate"],
        ["Deflate", "deflate"],
        ["identity", "identity"],
        ["Identity", "identity"],
        ["", "identity"],
      ];
      for (const [name, as] of taken)
        assert.is(
          (await post("/api/v1/uplinks/data", `Content-Encoding: ${name}\r\n`, packed[as])).status,
          204,
          name,
        );
      assert.equal(await payloads(), Array(taken.length).fill(sent));
      for (const name of ["br", "compress", "gzip, gzip", "gzip, deflate", "gzip;q=1"]) {
        const answer = await post("/api/v1/uplinks/data", `Content-Encoding: ${name}\r\n`, packed.gzip);
        assert.equal([answer.status, answer.headers.get("accept-encoding")], [415, "gzip, deflate"], name);
      }
      const wrong = await post("/api/v1/uplinks/data", "Content-Encoding: deflate\r\n", "nothing packed");
      assert.is(wrong.status, 400);
      const json = await post(
        "/api/v1/login",
        "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
        gzipSync("{}"),
      );
      assert.equal([json.status, json.headers.get("accept-encoding")], [415, "identity"]);
    });

    test("transfer codings and expectations in any case; one beneath chunked is 501", async () => {
      const chunks = '7\r\n{"n":3}\r\n0\r\n\r\n';
      const head = `POST /api/v1/uplinks/data HTTP/1.1\r\nHost: x\r\nAuthorization: ${basicOf(device)}\r\n`;
      for (const coding of ["chunked", "Chunked", "CHUNKED"])
        assert.is((await ask(`${head}Transfer-Encoding: ${coding}\r\n`, chunks)).status, 204, coding);
      const packed = await ask(`${head}Transfer-Encoding: gzip, chunked\r\n`, chunks);
      assert.equal([packed.status, JSON.parse(packed.body).errorCode], [501, "NOT_IMPLEMENTED"]);
      assert.is((await ask(`${head}Expect: 100-Continue\r\nContent-Length: 7\r\n`, '{"n":3}')).status, 204);
      assert.is((await payloads()).length, 4);
    });

    test("media types in any case, with parameters and quoted texts", async () => {
      for (const type of [
        "APPLICATION/JSON",
        'application/json; charset="utf-8"',
        'Application/Json ;charset=UTF-8; note="a;b"',
      ]) {
        const headers = `Content-Type: ${type}\r\n`;
        assert.is((await post("/api/v1/uplinks/data", headers, "{")).status, 400, type);
        assert.is((await post("/api/v1/login", headers, "{}")).status, 400, type);
      }
      assert.is((await post("/api/v1/uplinks/data", "Content-Type: application/jsonx\r\n", "{")).status, 204);
    });

    test("HEAD is GET without a body; a method that there is not is 405 with those there are", async () => {
      assert.is((await ask("HEAD /ping HTTP/1.1\r\nHost: x\r\n")).status, 204);
      assert.is((await ask("HEAD /health HTTP/1.1\r\nHost: x\r\n")).status, 200);
      const answer = await ask("OPTIONS /api/v1/uplinks/data HTTP/1.1\r\nHost: x\r\n");
      assert.equal([answer.status, answer.headers.get("allow")], [405, "POST"]);
    });

    test("HTTP/1.0 over TLS, by a client that offers nothing else", async () => {
      const { port } = new URL(world.service.https ?? "");
      const socket = connectTls({
        host: "127.0.0.1",
        port: Number(port),
        rejectUnauthorized: false,
        ALPNProtocols: ["http/1.0"],
      });
      let text = "";
      socket.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      socket.write("GET /healthz HTTP/1.0\r\n\r\n");
      await new Promise((resolve, reject) => socket.once("close", resolve).once("error", reject));
      assert.match(text, /^HTTP\/1\.1 200 /);
    });
  },
  { HTTPS_PORT: "0" },
);
