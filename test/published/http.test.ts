/** Faults published of Hono, its server for Node, and Node's own, each replayed in kind over raw sockets. */
import { connect, type Socket } from "node:net";
import { exchange } from "../api/raw-http.js";
import { makeProduct } from "../factories.js";
import { eventsOf } from "../ingest/support.js";
import { assert, cpuTime, until } from "../suite.js";
import { heldBytes, publishedSuite } from "./support.js";

const close = "Connection: close\r\n\r\n";
const post = "POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
const smuggled = `GET /healthz HTTP/1.1\r\nHost: x\r\n${close}`;

/** Each of them was once read as two requests, or as another one than a proxy before had read. */
const smuggling: readonly (readonly [title: string, head: string, body: string, status?: number])[] = [
  ["CVE-2018-7159 (Node): a space within a Content-Length", "Content-Length: 1 2\r\n", `{}${smuggled}`],
  [
    "CVE-2019-15605 (Node): a Transfer-Encoding that is malformed",
    "Content-Length: 5\r\nTransfer-Encoding:\u000bchunked\r\n",
    `0\r\n\r\n${smuggled}`,
  ],
  [
    "CVE-2020-8201 (Node): a carriage return in the name of a header",
    "Content\rLength: 2\r\n",
    `{}${smuggled}`,
  ],
  [
    "CVE-2020-8287 (Node): two Transfer-Encodings",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: eee\r\n",
    `0\r\n\r\n${smuggled}`,
  ],
  ["CVE-2021-22959 (Node): a space before the colon", "Content-Length : 2\r\n", `{}${smuggled}`],
  [
    "CVE-2021-22960 (Node): a line feed in an extension of a chunk",
    "Transfer-Encoding: chunked\r\n",
    `2;x\nxx\r\n{}\r\n0\r\n\r\n${smuggled}`,
  ],
  [
    "CVE-2022-32213 (Node): a Transfer-Encoding that only ends with chunked",
    "Transfer-Encoding: chunkedchunked\r\n",
    `0\r\n\r\n${smuggled}`,
    // A coding that nobody knows (RFC 9112, section 6.1).
    501,
  ],
  [
    "CVE-2022-32214 (Node): a line feed alone between headers",
    "X: a\nTransfer-Encoding: chunked\r\n",
    `0\r\n\r\n${smuggled}`,
  ],
  [
    "CVE-2022-32215 (Node): a Transfer-Encoding over several lines",
    "Transfer-Encoding: chunked\r\n , identity\r\n",
    `0\r\n\r\n${smuggled}`,
  ],
  [
    "CVE-2023-30589 (Node): a carriage return alone between headers",
    "X: a\rContent-Length: 2\r\n",
    `{}${smuggled}`,
  ],
  [
    "CVE-2024-27982 (Node): a space before the name of a header",
    " Content-Length: 2\r\nContent-Length: 0\r\n",
    `{}${smuggled}`,
  ],
];

publishedSuite("HTTP", (test, world, scene) => {
  const statuses = async (bytes: string) => (await exchange(world.http, bytes)).map(({ status }) => status);
  const opened = async (): Promise<Socket> => {
    const { hostname, port } = new URL(world.http);
    const socket = connect(Number(port), hostname).on("error", () => undefined);
    await new Promise((resolve) => socket.once("connect", resolve));
    return socket;
  };

  for (const [title, head, body, status = 400] of smuggling) {
    test(`${title} is refused, and nothing after it is read`, async () => {
      assert.equal(await statuses(`${post}${head}\r\n${body}`), [status]);
    });
  }

  test("CVE-2025-23167 (Node): headers end with an empty line and with nothing like it", async () => {
    assert.equal(await statuses(`GET /healthz HTTP/1.1\r\nHost: x\r\n\rX${smuggled}`), [400]);
  });

  test("CVE-2024-22019 (Node): extensions of chunks are bounded", async () => {
    const chunked = `${post}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const endless = await exchange(world.http, `${chunked}1;${"x".repeat(70_000)}`);
    assert.equal(
      endless.map(({ status }) => status),
      [413],
    );
    const many = `1;${"x".repeat(10_000)}\r\n \r\n`.repeat(40);
    const [answer] = await exchange(world.http, `${chunked}${many}0\r\n\r\n`);
    assert.ok([400, 413].includes(answer?.status ?? 0), `${answer?.status}`);
  });

  test("CVE-2013-4450 (Node): pipelined requests that nobody reads are answered in order once somebody does", async () => {
    const socket = await opened();
    socket.pause();
    socket.write(`GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(300));
    for (let i = 0; i < 5; i++) assert.is((await fetch(`${world.http}/readyz`)).status, 200);
    let text = "";
    socket.setEncoding("latin1").on("data", (chunk) => {
      text += chunk;
    });
    socket.resume();
    await until(() => text.split("HTTP/1.1 200 OK").length === 301, { what: "each answer" });
    socket.destroy();
  });

  test("CVE-2013-4450 (Node): large answers that nobody reads are not made before there is capacity for them", async () => {
    const before = process.memoryUsage.rss();
    const socket = await opened();
    socket.pause();
    socket.write(`GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(1600));
    for (let i = 0; i < 10; i++) assert.is((await fetch(`${world.http}/readyz`)).status, 200);
    assert.ok(process.memoryUsage.rss() - before < 200e6);
    let read = 0;
    socket.on("data", (chunk) => {
      read += chunk.length;
    });
    socket.resume();
    await until(() => read > 10e6, { what: "answers once somebody reads" });
    socket.destroy();
  });

  test("CVE-2018-12121 (Node): many unfinished headers of the largest size hold no more than they have sent", async () => {
    const before = heldBytes();
    const flood: Socket[] = [];
    for (let i = 0; i < 60; i++) {
      const socket = await opened();
      socket.write(`GET /healthz HTTP/1.1\r\n${`X: ${"x".repeat(5000)}\r\n`.repeat(12)}`);
      flood.push(socket);
    }
    assert.is((await fetch(`${world.http}/healthz`)).status, 200);
    assert.ok(heldBytes() - before < 60 * 2 * 65_536 + 5e6);
    for (const socket of flood) socket.destroy();
  });

  test("CVE-2016-2216 (Node): characters that end like CR and LF split no answer", async () => {
    for (const text of ["\u010d\u010aX-Injected: 1", "\r\nX-Injected: 1", "%0d%0aX-Injected:%201"]) {
      const coded = encodeURIComponent(text);
      for (const path of [
        `/api/v1/download?filename=${coded}&fileType=export_excel&token=${coded}`,
        `/api/v1/devices/${coded}`,
        `/${coded}`,
      ]) {
        const [answer, ...more] = await exchange(world.http, `GET ${path} HTTP/1.1\r\nHost: x\r\n${close}`);
        assert.ok(answer !== undefined && answer.status >= 400);
        assert.not.ok(answer.headers.has("x-injected"));
        assert.equal(more, []);
      }
    }
  });

  test("CVE-2017-11499 (Node): bodies of keys chosen to collide cost no more than others", async () => {
    const spent = cpuTime();
    // As many members as a body may have values for.
    const keys = Array.from({ length: 49_000 }, (_, i) => `"${i * 65_536}":0`);
    for (let i = 0; i < 3; i++) {
      const reply = await world.call("POST", "/api/v1/products", `{${keys.join()}}`);
      assert.is(reply.status, 400);
    }
    const query = Array.from({ length: 4000 }, (_, i) => `${i * 65_536}=1`).join("&");
    assert.ok((await world.call("GET", `/api/v1/products?${query}`)).status < 500);
    const ms = spent();
    assert.ok(ms < 5000, `${ms} ms`);
  });

  test("CVE-2024-48913 (Hono): a body without a Content-Type is not taken, and no cookie is ever set", async () => {
    const body = JSON.stringify({ productName: "Forged", cloudProtocol: 1 });
    for (const type of [
      "",
      "Content-Type: text/plain\r\n",
      "Content-Type: application/x-www-form-urlencoded\r\n",
    ]) {
      const head = `POST /api/v1/products HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${world.first.apiKey}\r\n`;
      const length = `Content-Length: ${body.length}\r\n`;
      const [answer] = await exchange(world.http, `${head}${type}${length}${close}${body}`);
      assert.is(answer?.status, 415);
      assert.not.ok(answer?.headers.has("set-cookie"));
    }
    const { page } = await world.call("GET", "/api/v1/products?productName=Forged");
    assert.is(page.meta.count, 0);
  });

  test("CVE-2025-58362 (Hono): an odd address of a request reaches no route that needs credentials", async () => {
    for (const target of [
      ...["x:/api/v1/users", "http:///api/v1/users", "http://x/healthz@/api/v1/users", "//x/api/v1/users"],
      ...["http://a:b@c/api/v1/users", "/healthz/../api/v1/users", "/healthz/%2e%2e/api/v1/users"],
      ...["/api/v1//users", "/API/V1/users", "/api/v1/users/", "/api/v1/users;x=1", "/api/v1/users#/healthz"],
    ]) {
      const [answer] = await exchange(world.http, `GET ${target} HTTP/1.1\r\nHost: x\r\n${close}`);
      assert.ok(
        [400, 401, 404].includes(answer?.status ?? 0),
        `${target}: ${answer?.status} ${answer?.body}`,
      );
    }
  });

  test("CVE-2025-59139 (Hono): a Content-Length beside chunks gets round no bound of a body", async () => {
    const large = "x".repeat(2 << 20);
    const chunked = `Transfer-Encoding: chunked\r\n\r\n${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`;
    const answered = async (bytes: string) => (await statuses(bytes).catch(() => [0]))[0] ?? 0;
    assert.ok([400, 0].includes(await answered(`${post}Content-Length: 2\r\n${chunked}`)));
    assert.ok([413, 0].includes(await answered(`${post}Connection: close\r\n${chunked}`)));
  });

  for (const [cve, what] of [
    ["CVE-2024-32869 (Hono)", "encoded"],
    ["CVE-2024-23340 (@hono/node-server)", "plain"],
  ] as const) {
    test(`${cve}: ${what} double dots lead out of no folder`, async () => {
      const dots =
        what === "plain" ? ["..", "./..", "...//.."] : ["%2e%2e", "..%2f..", "%2e%2e%5c", "..%5c.."];
      for (const up of dots) {
        for (const file of ["package.json", "etc/passwd", "first-start.json"]) {
          const path = `/reference/${up}/${up}/${file}`;
          const [answer] = await exchange(world.http, `GET ${path} HTTP/1.1\r\nHost: x\r\n${close}`);
          assert.ok([400, 404].includes(answer?.status ?? 0), `${path}: ${answer?.status}`);
        }
      }
    });
  }

  test("CVE-2023-50710 (Hono): the parameter of a path is the one of its own request", async () => {
    const product = await makeProduct(world);
    const [a, b] = [await scene.device(), await scene.device({ productID: product.productID })];
    await world.publish(a, '{"temp":1}');
    const paths = [`/api/v1/devices/${a.id}`, `/api/v1/products/${product.id}`, `/api/v1/devices/${b.id}`];
    const replies = await Promise.all(
      Array.from({ length: 60 }, (_, i) => world.call("GET", paths[i % 3] ?? "")),
    );
    const wanted = [a.id, product.id, b.id];
    assert.equal(
      replies.map(({ record }) => record.id),
      replies.map((_, i) => wanted[i % 3]),
    );
    assert.equal([(await eventsOf(world, a)).length, (await eventsOf(world, b)).length], [1, 0]);
  });

  test("CVE-2024-32652 (@hono/node-server): a Host that is none is answered", async () => {
    const [empty] = await exchange(world.http, `GET /healthz HTTP/1.1\r\nHost:\r\n${close}`);
    assert.is(empty?.status, 200);
    for (const host of ["/", "a b", "[", "x:99999", "@", "x@y", "a/b", "%", "\\", "x:y", "[::1"]) {
      const [answer] = await exchange(world.http, `GET /healthz HTTP/1.1\r\nHost: ${host}\r\n${close}`);
      assert.is(answer?.status, 400, JSON.stringify(host));
    }
  });
});
