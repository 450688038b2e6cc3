/** What one connection, or one address, can take of the HTTP listener: over raw sockets. */
import { connect, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { createMeter } from "../../ingest/meter.js";
import { apiRoutes } from "../../src/api/routes.js";
import { createRequestBudget, type RequestBudget } from "../../src/http/request-budget.js";
import { createLogger } from "../../src/observability/log.js";
import { inertDeps } from "../../src/reference/stub-dependencies.js";
import { HttpConnection } from "../../src/server/http-connection.js";
import { findPeer } from "../../src/server/http-peers.js";
import { type HttpListener, type HttpListenerDeps, listenHttp } from "../../src/server/http-server.js";
import { requestLane } from "../../src/server/request-scheduler.js";
import { assert, suite, type Test, until } from "../suite.js";
import { worldSuite } from "../world.js";

const log = createLogger(
  "error",
  () => undefined,
  () => 0,
);
const patient = {
  firstMs: 60_000,
  headersMs: 60_000,
  publicBodyMs: 60_000,
  body: { everyMs: 60_000, bytesMin: 60_000 },
  idleMs: 60_000,
  unreadMs: 60_000,
};

interface Edge {
  readonly listener: HttpListener;
  readonly meter: ReturnType<typeof createMeter>;
  /** Connects, and counts what comes. */
  open(from?: string): Promise<Client>;
}

interface Client {
  readonly socket: Socket;
  text: string;
  closed: boolean;
}

type Fetch = Parameters<typeof listenHttp>[0];

/** A listener for one test, its handler and its bounds. */
async function withEdge(
  fetch: Fetch,
  bounds: Partial<HttpListenerDeps>,
  work: (edge: Edge) => Promise<void>,
): Promise<void> {
  const meter = createMeter();
  const config = {
    host: "127.0.0.1",
    httpPort: 0,
    apiVariant: "A",
    trustedProxies: [],
    basePath: "",
  } as const;
  const monotonic = () => performance.now();
  const deps = {
    config,
    log,
    meter,
    monotonic,
    requests: createRequestBudget(),
    connectionsMax: 1000,
    times: patient,
    checkMs: 10,
  };
  const listener = await listenHttp(fetch, { ...deps, ...bounds });
  const clients: Client[] = [];
  const open = async (from = "127.0.0.1"): Promise<Client> => {
    const socket = connect({
      port: Number(new URL(listener.address).port),
      host: "127.0.0.1",
      localAddress: from,
    });
    const client: Client = { socket, text: "", closed: false };
    clients.push(client);
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      client.text += text;
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      client.closed = true;
    });
    await new Promise((resolve) => socket.once("connect", resolve).once("close", resolve));
    return client;
  };
  try {
    await work({ listener, meter, open });
  } finally {
    for (const { socket } of clients) socket.destroy();
    listener.stop();
    await listener.closed();
  }
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const answersOf = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
/** What shows that a caller is known, as the frame of the routes does. */
const prove = (env: unknown, tenant = 1) => findPeer((env as { incoming: object }).incoming)?.prove(tenant);
const never = () => new Promise<Response>(() => undefined);

suite("connections of HTTP", (test) => {
  test("a body is read however many headers came before its length", async () => {
    const read = async (request: Request) => new Response(await request.text());
    await withEdge(read, {}, async ({ open }) => {
      const client = await open();
      // Some versions of Node show a request's first 2,000 only, others refuse it.
      const many = Array.from({ length: 2100 }, (_, n) => `a${n}: b`).join("\r\n");
      client.socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${many}\r\nContent-Length: 5\r\n\r\nabcde`);
      const isRefused = () => client.text.startsWith("HTTP/1.1 431");
      await until(() => client.text.endsWith("abcde") || isRefused(), { what: "its body said back, or 431" });
    });
  });

  test("no route takes an upload of one who has shown nothing", () => {
    const routes = apiRoutes(inertDeps());
    assert.ok(routes.filter(({ spec }) => spec.upload !== undefined).length >= 2);
    assert.equal(
      routes.filter(({ spec }) => spec.access === "public" && spec.upload !== undefined),
      [],
    );
    // Whose bodies are read before anybody is known: bounded by publicBodyBytesMax.
    assert.equal(
      routes.filter(({ spec }) => spec.access === "public" && spec.shape?.body).map(({ spec }) => spec.path),
      ["/api/v1/login"],
    );
  });

  test("a health check has its own lane, with the prefix of a proxy and without it", () => {
    for (const [basePath, target, isProbe] of [
      ["", "/readyz", true],
      ["/tidemark", "/readyz", true],
      ["/tidemark", "/tidemark/readyz", true],
      ["/tidemark", "/tidemark/healthz", true],
      ["/tidemark", "/tidemark/healthz2", false],
      ["/tidemark", "/tidemarks/readyz", false],
      ["/tidemark", "/tidemark/api/v1/products", false],
    ] as const) {
      const lanes: string[] = [];
      const socket = new PassThrough();
      const connection = new HttpConnection(socket as never, {
        monotonic: () => 0,
        requests: createRequestBudget(),
        onUnheld: () => undefined,
        onProven: () => undefined,
        onGivenWay: () => undefined,
        onBegun: () => undefined,
        turns: { waiting: 0, begin: (lane) => void lanes.push(lane) },
        basePath,
      });
      socket.emit("data", Buffer.from(get(target)));
      assert.equal(lanes, [requestLane(connection.client, isProbe ? "/readyz" : target)], target);
      assert.is(lanes[0] !== connection.client, isProbe, target);
      connection.destroy();
    }
  });

  oneAtATime(test);
  heldBytes(test);
  bodies(test);
  places(test);
});

function oneAtATime(test: Test): void {
  test("requests that come together are worked off one after the other, in order", async () => {
    let running = 0;
    let most = 0;
    const asked: string[] = [];
    const fetch = async (request: Request) => {
      most = Math.max(most, ++running);
      asked.push(new URL(request.url).pathname);
      await new Promise((resolve) => setTimeout(resolve, asked.length % 50 === 0 ? 5 : 0));
      running--;
      return new Response(`<${asked.at(-1)}>`);
    };
    await withEdge(fetch, {}, async ({ open }) => {
      const client = await open();
      const paths = Array.from({ length: 500 }, (_, i) => `/${i}`);
      client.socket.write(paths.map(get).join(""));
      await until(() => answersOf(client.text).length === 500, { what: "the answers" });
      assert.is(most, 1);
      assert.equal(asked, paths);
      assert.equal(
        [...client.text.matchAll(/<(\/\d+)>/g)].map(([, path]) => path),
        paths,
      );
    });
  });

  test("whoever does not read is not answered on: requests wait unread, and hold little", async () => {
    let asked = 0;
    const large = Buffer.alloc(400_000, "x");
    const fetch = () => {
      asked++;
      return new Response(large);
    };
    await withEdge(fetch, {}, async ({ open, listener }) => {
      const client = await open();
      client.socket.pause();
      const before = process.memoryUsage();
      client.socket.write(get("/").repeat(1600));
      await until(() => asked > 0, { what: "the first request" });
      const settled = async () => {
        const seen = asked;
        await new Promise((resolve) => setTimeout(resolve, 200));
        return seen === asked;
      };
      await until(settled, { what: "the socket to be full" });
      // What fits the buffers of both kernels, and one more.
      assert.ok(asked < 50, `${asked} answered`);
      const { external, heapUsed } = process.memoryUsage();
      const grown = external - before.external + (heapUsed - before.heapUsed);
      assert.ok(grown < 20e6, `${grown} bytes more`);
      const reply = await ask(listener);
      assert.is(reply.status, 200, "others are answered");
    });
  });

  test("one write of requests is parsed in pieces, each in a turn of its own", async () => {
    const turns: number[] = [];
    let now = 0;
    const fetch = () => {
      if (now === 0) {
        setImmediate(() => {
          turns.push(now);
          now = 0;
        });
      }
      now++;
      return new Response("ok");
    };
    await withEdge(fetch, {}, async ({ open }) => {
      const client = await open();
      client.socket.write(get("/").repeat(300));
      await until(() => answersOf(client.text).length === 300, { what: "the answers" });
      assert.ok(Math.max(...turns, 1) <= 2, turns.join(" "));
    });
  });

  test("heads that never end are bounded by address, those of others are read", async () => {
    await withEdge(
      () => new Response("ok"),
      {},
      async ({ open, meter }) => {
        const clients = await Promise.all(Array.from({ length: 600 }, () => open()));
        const head = `GET / HTTP/1.1\r\nHost: x\r\n${`X: ${"x".repeat(1000)}\r\n`.repeat(59)}`;
        for (const { socket } of clients) socket.write(head);
        await until(() => (meter.httpEnded.get("held_bytes") ?? 0) > 0, { what: "the bound" });
        await until(() => clients.filter(({ closed }) => closed).length > 0, { what: "some to be closed" });
        const stillOpen = clients.filter(({ closed }) => !closed).length;
        assert.ok(stillOpen * head.length < 36 * 2 ** 20, `${stillOpen} are open`);
        for (const from of ["127.0.0.1", "127.0.0.2"]) {
          const other = await open(from);
          other.socket.write(get("/"));
          await until(() => answersOf(other.text).length === 1, { what: `an answer to ${from}` });
        }
      },
    );
  });
}

const longHead = `GET /known HTTP/1.1\r\nHost: x\r\n${`X: ${"x".repeat(1000)}\r\n`.repeat(50)}`;
/** Lets the callers of `/known` in, and those of `/other` for another tenant. */
const letIn = ((request: Request, env?: unknown) => {
  const { pathname } = new URL(request.url);
  if (pathname !== "/") prove(env, pathname === "/known" ? 1 : 2);
  return new Response("ok");
}) as Fetch;

function heldBytes(test: Test): void {
  const answered = async (client: Client, what: string): Promise<void> => {
    client.socket.write(what);
    await until(() => client.text.endsWith("ok"), { what: "an answer" });
  };

  async function fill({ open, meter }: Edge, from: (n: number) => string, first: string): Promise<void> {
    for (let n = 0; (meter.httpEnded.get("held_bytes") ?? 0) < 20; n++) {
      const client = await open(from(n));
      if (first !== "") await answered(client, first);
      client.socket.write(longHead);
      if (n % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
  test("what unauthenticated clients leave unfinished, from however many addresses, takes nothing of the callers' part", async () => {
    await withEdge(letIn, { connectionsMax: 4000 }, async (edge) => {
      const caller = await edge.open();
      await answered(caller, get("/known"));
      await fill(edge, (n) => `127.0.0.${1 + (n % 40)}`, "");
      caller.socket.write(`${longHead}\r\n`);
      await until(() => answersOf(caller.text).length === 2 || caller.closed, { what: "the second answer" });
      assert.equal(answersOf(caller.text), ["200", "200"]);
    });
  });

  test("what a tenant's callers leave unfinished takes nothing of another's, nor of unauthenticated clients", async () => {
    await withEdge(letIn, { connectionsMax: 4000 }, async (edge) => {
      const other = await edge.open();
      await answered(other, get("/other"));
      await fill(edge, () => "127.0.0.1", get("/known"));
      const anonymous = await edge.open();
      for (const { socket } of [other, anonymous]) socket.write(`${longHead.replace("/known", "/")}\r\n`);
      await until(() => answersOf(anonymous.text).length === 1, {
        what: "the unauthenticated client's answer",
      });
      await until(() => answersOf(other.text).length === 2, { what: "the other tenant's answer" });
    });
  });

  const manyHeaders = Array.from({ length: 990 }, (_, n) => `${n.toString(36)}:\r\n`).join("");
  const padding = `X: ${"x".repeat(1000)}\r\n`.repeat(58);
  for (const [kind, headers, bytesMin] of [
    ["heads of 60 KiB", padding, 1.8 * padding.length],
    ["heads of 990 headers", manyHeaders, 990 * 70],
  ] as const) {
    test(`${kind} are counted until their requests are answered, whose bodies do not end`, async () => {
      const held: number[] = [];
      const budget = createRequestBudget();
      const requests: RequestBudget = {
        open: (holder) => {
          const at = held.push(0) - 1;
          const one = budget.open(holder);
          return {
            ...one,
            get amount() {
              return one.amount;
            },
            resize: (bytes) => {
              const fits = one.resize(bytes);
              held[at] = one.amount;
              return fits;
            },
          };
        },
      };
      const read = async (request: Request) => new Response(await request.text());
      await withEdge(read, { requests }, async ({ open }) => {
        const client = await open();
        client.socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: 9\r\n\r\nx`);
        await until(() => held.some((bytes) => bytes > bytesMin), { what: "the head to be counted" });
        await new Promise((resolve) => setTimeout(resolve, 50));
        assert.ok(Math.max(...held) > bytesMin, `${held}`);
        client.socket.write("y".repeat(8));
        await until(() => client.text.endsWith("xyyyyyyyy"), { what: "the answer" });
        await until(() => Math.max(...held) === 0, { what: "the head to be released" });
      });
    });
  }

  test("long heads of one address, whose bodies do not end, leave others their part of the budget", async () => {
    const read = async (request: Request) => new Response(await request.text());
    await withEdge(read, {}, async ({ open, meter }) => {
      const start = `POST / HTTP/1.1\r\nHost: x\r\n${padding}Content-Length: 10000\r\n\r\nx`;
      const clients = await Promise.all(Array.from({ length: 300 }, () => open()));
      for (const { socket } of clients) socket.write(start);
      await until(() => (meter.httpEnded.get("held_bytes") ?? 0) > 100, { what: "the bound" });
      const other = await open("127.0.0.2");
      other.socket.write(`${start}${"y".repeat(9999)}`);
      await until(() => other.text.endsWith("y"), { what: "another's answer" });
    });
  });

  test("what comes after the last that is said is thrown away, and counts for nobody", async () => {
    await withEdge(letIn, {}, async ({ open, meter }) => {
      const clients = await Promise.all(Array.from({ length: 20 }, () => open()));
      for (const { socket } of clients) {
        socket.write("nonsense\r\n\r\n");
        socket.write(Buffer.alloc(2_000_000, "x"));
      }
      await until(() => clients.every(({ closed }) => closed), { what: "their ends" });
      assert.equal([...new Set(clients.flatMap(({ text }) => answersOf(text)))], ["400"]);
      assert.is(meter.httpEnded.get("held_bytes"), undefined);
    });
  });
}

const ask = (listener: HttpListener) => fetch(`${listener.address}/`);
const post = (length: number) => `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;

function bodies(test: Test): void {
  const read = async (request: Request) => new Response(String((await request.arrayBuffer()).byteLength));
  const known = (request: Request, env?: unknown) => {
    prove(env);
    return read(request);
  };

  test("a body of one who has shown nothing is waited for as a whole, and not for long", async () => {
    const times = { ...patient, publicBodyMs: 150 };
    await withEdge(read, { times }, async ({ open, meter }) => {
      const client = await open();
      client.socket.write(post(1000));
      const drip = setInterval(() => client.socket.write("x"), 10);
      await until(() => client.closed, { what: "the end" });
      clearInterval(drip);
      assert.equal(answersOf(client.text), ["408"]);
      assert.is(meter.httpEnded.get("timeout"), 1);
    });
  });

  test("a caller's body takes as long as it takes, at the least rate", async () => {
    const times = { ...patient, publicBodyMs: 30, body: { everyMs: 400, bytesMin: 10 } };
    await withEdge(known as Fetch, { times }, async ({ open }) => {
      const [steady, slow] = [await open(), await open()];
      steady.socket.write(post(200));
      slow.socket.write(`${post(200)}x`);
      let sent = 0;
      const drip = setInterval(() => {
        if (sent++ < 200) steady.socket.write("x");
      }, 4);
      await until(() => slow.closed, { what: "the slow one's end" });
      assert.equal(answersOf(slow.text), ["408"]);
      await until(() => steady.text.endsWith("\r\n200"), { what: "the other's answer" });
      clearInterval(drip);
      assert.equal(answersOf(steady.text), ["200"]);
    });
  });

  test("a body that its reader leaves waiting is not slow", async () => {
    const times = { ...patient, body: { everyMs: 50, bytesMin: 10_000 } };
    let go: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => {
      go = resolve;
    });
    const busy = async (request: Request, env?: unknown) => {
      prove(env);
      await opened;
      return read(request);
    };
    await withEdge(busy as Fetch, { times }, async ({ open }) => {
      const client = await open();
      client.socket.write(post(400_000));
      client.socket.write("x".repeat(400_000));
      await new Promise((resolve) => setTimeout(resolve, 400));
      go();
      await until(() => client.text.endsWith("\r\n400000"), { what: "the answer" });
    });
  });
}

function places(test: Test): void {
  test("sockets that ask nothing end, those between two requests later", async () => {
    const times = { ...patient, firstMs: 500, idleMs: 4000 };
    await withEdge(
      () => new Response("ok"),
      { times },
      async ({ open }) => {
        const [silent, asking] = [await open(), await open()];
        asking.socket.write(get("/"));
        await until(() => silent.closed, { what: "the silent one's end" });
        assert.is(silent.text, "");
        await until(() => asking.text.endsWith("ok"), { what: "an answer" });
        assert.not.ok(asking.closed);
        asking.socket.write(get("/"));
        await until(() => answersOf(asking.text).length === 2, { what: "another answer" });
        await until(() => asking.closed, { what: "its end" });
      },
    );
  });

  test("one that is reset before its first byte, within a head, or after an upgrade ends alone", async () => {
    await withEdge(
      () => new Response("ok"),
      { times: patient },
      async ({ open }) => {
        const upgrade = `GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
        for (const said of ["", "GET / HT", upgrade]) {
          const { socket } = await open();
          if (said !== "") await new Promise((resolve) => socket.write(said, resolve));
          socket.on("error", () => undefined);
          socket.resetAndDestroy();
        }
        const asking = await open();
        asking.socket.write(get("/"));
        await until(() => asking.text.endsWith("ok"), { what: "an answer to another" });
      },
    );
  });

  test("an answer that nobody takes ends with its connection", async () => {
    const times = { ...patient, unreadMs: 100 };
    const large = Buffer.alloc(40_000_000, "x");
    await withEdge(
      () => new Response(large),
      { times },
      async ({ open, meter }) => {
        const client = await open();
        client.socket.pause();
        client.socket.write(get("/"));
        await until(() => meter.httpEnded.get("timeout") === 1, { what: "the end" });
      },
    );
  });

  test("with every place taken, whoever comes displaces an unauthenticated client of the most frequent address", async () => {
    const fetch = (request: Request, env?: unknown) => {
      if (new URL(request.url).pathname === "/known") prove(env);
      return new Response("ok");
    };
    await withEdge(fetch as Fetch, { connectionsMax: 8 }, async ({ open, meter }) => {
      const caller = await open();
      caller.socket.write(get("/known"));
      await until(() => caller.text.endsWith("ok"), { what: "the caller's answer" });
      const flood: Client[] = [];
      for (let i = 0; i < 20; i++) flood.push(await open());
      await until(() => flood.filter(({ closed }) => closed).length === 13, { what: "the flood's ends" });
      assert.equal(
        flood.map(({ closed }) => closed),
        Array.from({ length: 20 }, (_, i) => i < 13),
      );
      const other = await open("127.0.0.2");
      other.socket.write(get("/"));
      await until(() => other.text.endsWith("ok"), { what: "the other's answer" });
      caller.socket.write(get("/known"));
      await until(() => answersOf(caller.text).length === 2, { what: "the caller's second answer" });
      assert.is(meter.httpEnded.get("gave_way"), 14);
      assert.is(meter.httpConnections, 8);
    });
  });

  test("one that leaves while its request is worked on is noticed", async () => {
    let aborted = false;
    const fetch = (request: Request) => {
      request.signal.addEventListener("abort", () => {
        aborted = true;
      });
      return never();
    };
    await withEdge(fetch, {}, async ({ open, meter }) => {
      const client = await open();
      client.socket.write(get("/"));
      await until(() => meter.httpConnections === 1, { what: "the connection" });
      await new Promise((resolve) => setTimeout(resolve, 50));
      client.socket.end();
      await until(() => aborted, { what: "the abort" });
    });
  });
}

worldSuite("bodies before anybody is known", (test, world) => {
  test("a login's body is small, a caller's is not", async () => {
    const login = { username: "nobody", password: "\u0001".repeat(1024) };
    const reply = await world.call("POST", "/api/v1/login", login, { key: null });
    assert.is(reply.status, 401, "each character as an escape");
    const large = await world.call(
      "POST",
      "/api/v1/login",
      { ...login, x: "x".repeat(16_000) },
      { key: null },
    );
    assert.is(large.status, 413);
  });

  test("what is not let in has no body read", async () => {
    const key = "x:wrong-wrong-wrong";
    const body = "x".repeat(300_000);
    const replies = await Promise.all(
      ["/api/v1/original_data", "/api/v1/products"].map((path) => world.call("POST", path, body, { key })),
    );
    assert.equal(
      replies.map(({ status }) => status),
      [401, 401],
    );
  });

  test("the reference's answers share their bytes", async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => world.call("GET", "/openapi.json", undefined, { key: null })),
    );
    assert.is(new Set(replies.map(({ text }) => text)).size, 1);
  });
});
