/** What never becomes a request of a route, over raw sockets: each gets the body and the headers of our errors. */
import { createMeter } from "../../ingest/meter.js";
import { createRequestBudget } from "../../src/http/request-budget.js";
import { createLogger } from "../../src/observability/log.js";
import { listenHttp } from "../../src/server/http-server.js";
import { assert, suite } from "../suite.js";
import { type World, worldSuite } from "../world.js";
import { exchange, type RawAnswer } from "./raw-http.js";

function isError(answer: RawAnswer | undefined, status: number, errorCode: string): void {
  assert.ok(answer, "there is no answer");
  assert.is(answer.status, status, answer.body);
  assert.match(answer.headers.get("content-type") ?? "", /^application\/json/);
  assert.match(answer.headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/);
  assert.match(answer.headers.get("api-variant") ?? "", /^[AB]$/);
  const failure = JSON.parse(answer.body) as Record<string, unknown>;
  assert.equal(Object.keys(failure), ["errorCode", "message", "errors"]);
  assert.is(failure.errorCode, errorCode);
}

const large = "x".repeat(70_000);
const get = "GET /healthz HTTP/1.1\r\nHost: x\r\n";

worldSuite("unreadable requests", (test, world: World) => {
  const cases: readonly (readonly [string, string, number, string])[] = [
    ["no HTTP at all", "hello\r\n\r\n", 400, "BAD_REQUEST"],
    ["TLS", "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\r\n\r\n", 400, "BAD_REQUEST"],
    ["an unknown method", "BREW / HTTP/1.1\r\nHost: x\r\n\r\n", 400, "BAD_REQUEST"],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "BAD_REQUEST"],
    ["a header without a name", `${get}: x\r\n\r\n`, 400, "BAD_REQUEST"],
    ["a control character in a header", `${get}X: \u0001\r\n\r\n`, 400, "BAD_REQUEST"],
    ["two lengths", `${get}Content-Length: 1\r\nContent-Length: 2\r\n\r\nx`, 400, "BAD_REQUEST"],
    [
      "a length beside chunks",
      `POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
      400,
      "BAD_REQUEST",
    ],
    [
      "a broken chunk",
      `POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      400,
      "BAD_REQUEST",
    ],
    [
      "endless chunk extensions",
      `POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1;${large}`,
      413,
      "PAYLOAD_TOO_LARGE",
    ],
    ["a header over 64 KiB", `${get}X: ${large}\r\n\r\n`, 431, "HEADERS_TOO_LARGE"],
    [
      "a megabyte of headers, sent on after the answer",
      `${get}${`X: ${large}\r\n`.repeat(15)}\r\n`,
      431,
      "HEADERS_TOO_LARGE",
    ],
    ["an address over 64 KiB", `GET /${large} HTTP/1.1\r\nHost: x\r\n\r\n`, 431, "HEADERS_TOO_LARGE"],
    ["CONNECT", "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n", 405, "METHOD_NOT_ALLOWED"],
  ];
  for (const [name, bytes, status, errorCode] of cases) {
    test(name, async () => {
      const answers = await exchange(world.http, bytes);
      assert.is(answers.length, 1);
      isError(answers[0], status, errorCode);
      assert.is(answers[0]?.headers.get("connection"), "close");
      assert.is(answers[0]?.headers.has("allow"), status === 405);
    });
  }

  const close = "Connection: close\r\n\r\n";
  const requests: readonly (readonly [string, string, number, string])[] = [
    ["no Host", `GET /healthz HTTP/1.1\r\n${close}`, 400, "BAD_REQUEST"],
    ["an empty path", `GET ? HTTP/1.1\r\nHost: x\r\n${close}`, 400, "BAD_REQUEST"],
    [
      "a Host that looks like one",
      `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1127.0.0.1\r\n${close}`,
      400,
      "BAD_REQUEST",
    ],
    [
      "a body and a Host that looks like one",
      `POST /api/v1/login HTTP/1.1\r\nHost: 1.2.3.4.5\r\nContent-Type: application/json\r\nContent-Length: 0\r\n${close}`,
      400,
      "BAD_REQUEST",
    ],
    ["a Host that is none", `GET /healthz HTTP/1.1\r\nHost: a b\r\n${close}`, 400, "BAD_REQUEST"],
    ["a backslash", `GET /a\\b HTTP/1.1\r\nHost: x\r\n${close}`, 400, "BAD_REQUEST"],
    ["OPTIONS *", `OPTIONS * HTTP/1.1\r\nHost: x\r\n${close}`, 400, "BAD_REQUEST"],
    ["TRACE", `TRACE /healthz HTTP/1.1\r\nHost: x\r\n${close}`, 405, "METHOD_NOT_ALLOWED"],
    ["another Expect", `${get}Expect: 200-ok\r\n${close}`, 417, "EXPECTATION_FAILED"],
    [
      "an upgrade to what there is not",
      `GET /nowhere HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n${close}`,
      404,
      "DATA_NOT_FOUND",
    ],
  ];
  for (const [name, bytes, status, errorCode] of requests) {
    test(`a request with ${name}`, async () => {
      const answers = await exchange(world.http, bytes);
      assert.is(answers.length, 1);
      isError(answers[0], status, errorCode);
    });
  }

  test("HTTP/1.0 needs no Host; an upgrade is no reason not to answer; 100-continue is answered", async () => {
    const [old] = await exchange(world.http, "GET /healthz HTTP/1.0\r\n\r\n");
    assert.is(old?.status, 200);
    const [plain] = await exchange(
      world.http,
      `${get}Upgrade: websocket\r\nConnection: upgrade, close\r\n\r\n`,
    );
    assert.is(plain?.status, 200);
    const login = `POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 2\r\n${close}`;
    const [refused] = await exchange(world.http, login, "{}");
    isError(refused, 400, "PARAMETER_INVALID");
  });

  test("what was asked before it is answered first, and others do not notice", async () => {
    const answers = await exchange(world.http, `${get}\r\n${get}\r\nnonsense\r\n\r\n`);
    assert.equal(
      answers.map(({ status }) => status),
      [200, 200, 400],
    );
    isError(answers[2], 400, "BAD_REQUEST");
    const [again] = await exchange(world.http, `${get}\r\n`, "nonsense\r\n\r\n").then((all) => all.slice(1));
    isError(again, 400, "BAD_REQUEST");
    assert.is((await fetch(`${world.http}/healthz`)).status, 200);
  });
});

suite("requests that come too late", (test) => {
  const log = createLogger(
    "error",
    () => undefined,
    () => 0,
  );
  const config = {
    host: "127.0.0.1",
    httpPort: 0,
    apiVariant: "B",
    trustedProxies: [],
    basePath: "",
  } as const;
  const body = { everyMs: 100, bytesMin: 10 };
  const times = { firstMs: 50, headersMs: 50, publicBodyMs: 100, body, idleMs: 500, unreadMs: 500 };
  const monotonic = () => performance.now();
  const deps = {
    config,
    log,
    times,
    monotonic,
    checkMs: 20,
    connectionsMax: 10,
    meter: createMeter(),
    requests: createRequestBudget(),
  };

  for (const [name, bytes] of [
    ["headers", get],
    ["body", `${get.replace("GET", "POST")}Content-Length: 5\r\n\r\nx`],
  ] as const) {
    test(`${name}: 408`, async () => {
      const read = async (request: Request) => new Response(await request.text());
      const listener = await listenHttp(read, deps);
      try {
        const answers = await exchange(listener.address, bytes);
        isError(answers[0], 408, "REQUEST_TIMEOUT");
        assert.is(answers[0]?.headers.get("api-variant"), "B");
      } finally {
        listener.stop();
        await listener.closed();
      }
    });
  }
});
