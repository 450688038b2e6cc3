import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { Hono } from "hono";
import { conditionalAnswer } from "../../src/http/conditional-response.js";
import { ApiError } from "../../src/http/errors.js";
import { mountRoutes } from "../../src/http/frame.js";
import { OwnerLost, RemoteShard } from "../../src/http/remote-shard.js";
import { createRequestBudget } from "../../src/http/request-budget.js";
import { createResponseBudget } from "../../src/http/response-budget.js";
import { route } from "../../src/http/route.js";
import { createSessionCookies } from "../../src/http/session-cookie.js";
import { createWritings } from "../../src/http/writing.js";
import { inertDeps } from "../../src/reference/stub-dependencies.js";
import { makeDevice, makeProduct, productBody } from "../factories.js";
import { assert, suite } from "../suite.js";
import { refused, type World, worldSuite } from "../world.js";
import { badValues, deepJson } from "./resource.js";

const products = "/api/v1/products";

/** What routes are framed by, in a process that is alone, for a caller who may do everything. */
function frameOf(deps: Partial<Parameters<typeof mountRoutes>[2]> = {}): Parameters<typeof mountRoutes>[2] {
  const { authenticator, shares, log } = inertDeps();
  const caller = { tenant: 1, userIntID: 1, username: "u", role: "admin" } as never;
  return {
    authenticator: { ...authenticator, caller: async () => caller },
    shares,
    log,
    variant: "A",
    requestID: () => "1",
    addressOf: () => "",
    cookies: createSessionCookies("frame"),
    isSecure: () => false,
    askNode: () => Promise.reject(new Error("alone")),
    untilPlaced: () => Promise.reject(new Error("alone")),
    hangUp: () => undefined,
    onCaller: () => undefined,
    writingOf: createWritings(String),
    room: createResponseBudget(2 ** 20, { answerBytes: 0, answersRefused: 0 }),
    onSent: (_, then) => then(),
    requests: createRequestBudget(),
    sourceOf: ({ req }) => Readable.fromWeb((req.raw.body ?? new Blob([]).stream()) as never),
    ...deps,
  };
}

suite("HEAD", (test) => {
  test("nothing of the answer is written, and what it has opened is closed", async () => {
    let written = 0;
    let closed = 0;
    const rows = Array.from({ length: 3 }, () => ({
      get id() {
        written++;
        return 1;
      },
    }));
    const opened = () => new ReadableStream<Uint8Array>({ cancel: () => void closed++ });
    const told = { access: "public", tag: "t", summary: "s", answer: { status: 200 } } as const;
    const app = new Hono();
    const { authenticator, answers } = inertDeps();
    mountRoutes(
      app,
      [
        route({ method: "get", path: "/list", ...told, handle: () => ({ status: 200, body: rows }) }),
        route({
          method: "get",
          path: "/file",
          ...told,
          handle: () => ({
            status: 200,
            body: opened(),
            type: "text/csv",
            headers: { "Content-Length": "7" },
          }),
        }),
      ],
      frameOf({ authenticator, room: answers }),
    );
    const head = async (path: string) => {
      const { status, headers, body } = await app.request(path, { method: "HEAD" });
      return [status, headers.get("content-type"), headers.get("content-length"), body];
    };
    assert.equal(await head("/list"), [200, "application/json; charset=utf-8", null, null]);
    assert.is(written, 0);
    assert.equal(await head("/file"), [200, "text/csv", "7", null]);
    assert.is(closed, 1);
    assert.equal(await (await app.request("/list")).json(), [{ id: 1 }, { id: 1 }, { id: 1 }]);
  });
});

suite("a device that no node keeps", (test) => {
  /** A call for a device of shard 3, which `steps` say where to find, one after the other: null, nowhere. */
  async function ask(method: "get" | "post", ...steps: readonly (number | null | "here")[]) {
    const told = { tag: "t", summary: "s", answer: { status: 200 } } as const;
    const happened: string[] = [];
    const places = [...steps];
    const app = new Hono();
    mountRoutes(
      app,
      [
        route({
          method,
          path: "/one",
          access: "read",
          ...told,
          handle: () => {
            const place = places.shift() ?? null;
            if (place !== "here") throw new RemoteShard(place, 3);
            return { status: 200, body: { here: true } };
          },
        }),
      ],
      frameOf({
        askNode: async (_, node) => {
          happened.push(`asked ${node}`);
          return { status: 200, body: { node } };
        },
        untilPlaced: async (shard) => {
          happened.push(`waited for ${shard}`);
        },
      }),
    );
    const answer = await app.request("/one", { method: method.toUpperCase() });
    return [...happened, await answer.json()];
  }

  test("is asked for again, once, after a while: here, at the node that has it then, or at none", async () => {
    for (const method of ["get", "post"] as const) {
      assert.equal(await ask(method, "here"), [{ here: true }]);
      assert.equal(await ask(method, 2), ["asked 2", { node: 2 }]);
      assert.equal(await ask(method, null, "here"), ["waited for 3", { here: true }]);
      assert.equal(await ask(method, null, 2), ["waited for 3", "asked 2", { node: 2 }]);
      assert.equal(await ask(method, null, null), ["waited for 3", "asked null", { node: null }]);
    }
  });

  test("is asked for again, once, if its node is lost before it answers, and it is a read", async () => {
    const told = { tag: "t", summary: "s", answer: { status: 200 } } as const;
    async function ask(method: "get" | "post", places: readonly (number | "here")[], lost: Error) {
      const asked: (number | null)[] = [];
      const left = [...places];
      const app = new Hono();
      const handle = () => {
        const place = left.shift() ?? "here";
        if (place !== "here") throw new RemoteShard(place, 3);
        return { status: 200, body: { here: true } } as const;
      };
      mountRoutes(
        app,
        [route({ method, path: "/one", access: "read", ...told, handle })],
        frameOf({
          askNode: (_, node) => {
            asked.push(node);
            return node === 2 ? Promise.reject(lost) : Promise.resolve({ status: 200, body: { node } });
          },
        }),
      );
      const { status } = await app.request("/one", { method: method.toUpperCase() });
      return [status, ...asked];
    }
    const lost = new OwnerLost("socket hang up");
    assert.equal(await ask("get", [2, 3], lost), [200, 2, 3]);
    assert.equal(await ask("get", [2, "here"], lost), [200, 2]);
    assert.equal(await ask("get", [2, 2, 3], lost), [503, 2, 2]);
    assert.equal(await ask("post", [2, 3], lost), [503, 2], "it may have done it");
    assert.equal(await ask("get", [2, 3], new ApiError("SERVICE_UNAVAILABLE", "refused")), [503, 2]);
  });

  test("does not hold one of the places in which answers are made while it is waited for", async () => {
    const told = { tag: "t", summary: "s", answer: { status: 200 } } as const;
    let isPlaced = (): void => undefined;
    const placed = new Promise<void>((resolve) => {
      isPlaced = resolve;
    });
    let isHere = false;
    const app = new Hono();
    const one = (path: string, handle: () => { status: 200; body: object }) =>
      route({ method: "get", path, access: "read", ...told, handle });
    mountRoutes(
      app,
      [
        one("/away", () => {
          if (!isHere) throw new RemoteShard(null, 3);
          return { status: 200, body: { here: true } };
        }),
        one("/here", () => ({ status: 200, body: { other: true } })),
      ],
      frameOf({ untilPlaced: () => placed }),
    );
    const waiting = Array.from({ length: 100 }, () => app.request("/away"));
    assert.equal(await (await app.request("/here")).json(), { other: true });
    isHere = true;
    isPlaced();
    for (const answer of waiting) assert.equal(await (await answer).json(), { here: true });
  });
});

suite("answers of routes", (test) => {
  test("a short one is walked through once, to find that it is, and written once", async () => {
    let read = 0;
    const body = {
      get id() {
        read++;
        return 1;
      },
    };
    const told = { tag: "t", summary: "s", answer: { status: 200 } } as const;
    const app = new Hono();
    mountRoutes(
      app,
      (["get", "post"] as const).map((method) =>
        route({ method, path: "/one", access: "read", ...told, handle: () => ({ status: 200, body }) }),
      ),
      frameOf(),
    );
    for (const method of ["GET", "POST"]) {
      read = 0;
      const answer = await app.request("/one", { method });
      assert.equal(await answer.json(), { id: 1 });
      assert.is(answer.headers.get("content-type"), "application/json; charset=utf-8");
      assert.is(read, 2, "looked at, then written");
    }
  });

  test("a packed one is counted by its bytes until it has been sent, like a text", async () => {
    const meter = { answerBytes: 0, answersRefused: 0 };
    const sent: (() => void)[] = [];
    // Short enough to be packed at once, of texts that pack to no less than half.
    const rows = Array.from({ length: 400 }, () => randomBytes(30).toString("base64"));
    const app = new Hono();
    mountRoutes(
      app,
      [
        route({
          method: "get",
          path: "/one",
          access: "read",
          tag: "t",
          summary: "s",
          answer: { status: 200 },
          handle: ({ request }) => conditionalAnswer(request, rows, {}, "text"),
        }),
      ],
      frameOf({ room: createResponseBudget(2 ** 20, meter), onSent: (_, then) => void sent.push(then) }),
    );
    const bytesOf = async (coding: string) => {
      const answer = await app.request("/one", { headers: { "Accept-Encoding": coding } });
      assert.is(answer.headers.get("content-encoding"), coding === "gzip" ? coding : null);
      return (await answer.arrayBuffer()).byteLength;
    };
    const packed = await bytesOf("gzip");
    assert.ok(packed > 10_000, `${packed} bytes`);
    assert.is(meter.answerBytes, packed);
    const text = await bytesOf("identity");
    assert.ok(meter.answerBytes >= packed + text, `${meter.answerBytes} of ${packed + text}`);
    for (const then of sent) then();
    assert.is(meter.answerBytes, 0);
  });
});

worldSuite("frame", (test, world) => {
  test("every answer carries a request id of its own and the variant", async () => {
    const replies = [
      await world.call("GET", products),
      await world.call("GET", `${products}/0`),
      await world.call("GET", "/nowhere", undefined, { key: null }),
      await world.call("PATCH", products),
      await world.call("POST", products, "{"),
      await world.call("GET", products, undefined, { key: "wrong" }),
    ];
    const ids = replies.map((reply) => reply.headers.get("x-request-id") ?? "");
    for (const id of ids) assert.match(id, /^[0-9a-f-]{36}$/);
    assert.is(new Set(ids).size, ids.length);
    assert.equal(new Set(replies.map((reply) => reply.headers.get("api-variant"))), new Set(["A"]));
    for (const { headers } of replies) assert.match(headers.get("content-type") ?? "", /^application\/json/);
  });

  test("the header chooses the variant, every answer carries it, and there are no others", async () => {
    const asked = (variant: string, path = products) =>
      world.call("GET", path, undefined, { headers: { "Api-Variant": variant } });
    for (const variant of ["A", "B"]) {
      const reply = await asked(variant);
      assert.equal([reply.status, reply.headers.get("api-variant")], [200, variant]);
      assert.is((await asked(variant, "/nowhere")).headers.get("api-variant"), variant);
    }
    for (const variant of ["C", "a", "AB", ""]) {
      refused(await asked(variant), "PARAMETER_INVALID", "Api-Variant");
    }
  });

  test("a path that is none is 404 and says so", async () => {
    for (const path of [
      "/",
      "/api/v1",
      "/api/v2/products",
      "/api/v1/products/1/x",
      "/api/v1/%E0%A4%A",
      "/api/v1/../x",
    ]) {
      refused(await world.call("GET", path), "DATA_NOT_FOUND", "url");
    }
  });

  test("a method that a path does not take is 405 with those that it does", async () => {
    const cases: readonly (readonly [string, string, readonly string[]])[] = [
      ["PATCH", products, ["DELETE", "GET", "POST"]],
      ["PUT", products, ["DELETE", "GET", "POST"]],
      ["POST", `${products}/1`, ["GET", "PUT"]],
      ["DELETE", `${products}/1`, ["GET", "PUT"]],
      ["OPTIONS", "/api/v1/metrics_data", ["GET"]],
      ["POST", "/api/v1/changes", ["GET"]],
      ["GET", "/api/v1/login", ["POST"]],
    ];
    for (const [method, path, allowed] of cases) {
      const reply = await world.call(method, path);
      refused(reply, "METHOD_NOT_ALLOWED");
      assert.equal(reply.headers.get("allow")?.split(", ").sort(), allowed, `${method} ${path}`);
    }
  });

  test("a known parameter that is given twice is refused, in either variant, whatever its values", async () => {
    for (const variant of ["A", "B"]) {
      const asked = (query: string) =>
        world.call("GET", `${products}?${query}`, undefined, { headers: { "Api-Variant": variant } });
      refused(await asked("_limit=1&_limit=2"), "PARAMETER_INVALID", "_limit");
      refused(await asked("_limit=1&_limit=1&_page=1&_page="), "PARAMETER_INVALID", "_limit", "_page");
      refused(
        await asked("pruductName_like=a&_%70age=1&_page=2&pruductName_like=b"),
        "PARAMETER_INVALID",
        "_page",
        "pruductName_like",
      );
      assert.is((await asked("unknown=1&unknown=2&_limit=1")).status, 200);
      refused(await world.call("DELETE", `${products}?ids=1&ids=2`), "PARAMETER_INVALID", "ids");
    }
    refused(
      await world.call("GET", "/api/v1/original_data?deviceID=a&deviceID=b"),
      "PARAMETER_INVALID",
      "deviceID",
    );
  });

  test("HEAD answers as GET without a body", async () => {
    const reply = await world.call("HEAD", products);
    assert.equal([reply.status, reply.text], [200, ""]);
  });

  test("an answer that the caller does not accept is 406", async () => {
    const asked = (Accept: string) => world.call("GET", products, undefined, { headers: { Accept } });
    for (const type of ["text/html", "text/*", "image/png, text/csv"])
      refused(await asked(type), "NOT_ACCEPTABLE");
    for (const type of ["*/*", "application/*", "text/html, application/json;q=0.5", "APPLICATION/JSON"]) {
      assert.is((await asked(type)).status, 200, type);
    }
  });

  test("a body that is not JSON by its type is 415", async () => {
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "",
    ]) {
      const headers = { "Content-Type": type };
      refused(await world.call("POST", products, "{}", { headers }), "UNSUPPORTED_MEDIA_TYPE");
    }
    for (const type of ["application/json; charset=utf-8", "Application/JSON"]) {
      const reply = await world.call("POST", products, productBody(), { headers: { "Content-Type": type } });
      assert.is(reply.status, 201, type);
    }
  });

  test("broken JSON, bad UTF-8 and bodies that are no object are BAD_REQUEST", async () => {
    const broken = [
      "",
      "{",
      "{]",
      "nul",
      "{'a':1}",
      "[1,",
      Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d),
      "[]",
      "[{}]",
      "1",
      '"x"',
      "null",
      "true",
      deepJson,
    ];
    const paths = [
      "products",
      "devices",
      "data_points",
      "data_streams",
      "metrics",
      "users",
      "api_keys",
      "tenants",
      "login",
      "resettle",
    ];
    for (const path of paths) {
      await Promise.all(
        broken.map(async (body) => {
          // A client that logs in is not authenticated yet, and may send less.
          const code = path === "login" && body === deepJson ? "PAYLOAD_TOO_LARGE" : "BAD_REQUEST";
          refused(await world.call("POST", `/api/v1/${path}`, body), code);
        }),
      );
    }
    const { id } = await world.make(products, productBody());
    for (const body of broken) refused(await world.call("PUT", `${products}/${id}`, body), "BAD_REQUEST");
  });

  test("JSON that is nested deeper than 64 levels is 400, and names the field", async () => {
    const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
    const bodies = [
      ["devices", "metaData"],
      ["devices", "lora"],
      ["devices", "scopes"],
      ["data_points", "enum"],
      ["contact_points", "settings"],
      ["dashboards", "document"],
      ["alert_rules", "condition"],
      ["device_publish", "payload"],
    ] as const;
    for (const [path, field] of bodies) {
      for (const levels of [64, 3750, 9000]) {
        const reply = await world.call("POST", `/api/v1/${path}`, `{"${field}":${nested(levels)}}`);
        refused(reply, "PARAMETER_INVALID");
        const errors = reply.record.errors as Readonly<Record<string, string>>;
        assert.is(errors[field], "must not be nested deeper than 64 levels", `${path} ${levels}`);
      }
    }
    const product = await makeProduct(world);
    const metaData = JSON.parse(nested(63)) as unknown;
    assert.equal((await makeDevice(world, product, { metaData })).metaData, metaData);
  });

  test("a body over 1 MiB is 413, with and without its length said", async () => {
    const large = JSON.stringify({ ...productBody(), description: "x".repeat(1024 * 1024) });
    refused(await world.call("POST", products, large), "PAYLOAD_TOO_LARGE");
    const pieces = async function* () {
      for (let at = 0; at < large.length; at += 65_536) yield Buffer.from(large.slice(at, at + 65_536));
    };
    const chunked = await fetch(world.http + products, {
      method: "POST",
      headers: { Authorization: `Bearer ${world.first.apiKey}`, "Content-Type": "application/json" },
      body: ReadableStream.from(pieces()),
      duplex: "half",
    } as RequestInit);
    assert.is(chunked.status, 413, await chunked.text());
    assert.is((await world.call("GET", products)).status, 200, "and the service goes on");
  });

  test("a thousand ids of 36 characters fit the headers", async () => {
    const ids = Array.from({ length: 1000 }, (_, i) => `${i}`.padStart(36, "a")).join(",");
    refused(await world.call("DELETE", `/api/v1/devices?ids=${ids}`), "DATA_NOT_FOUND");
  });

  test("no value of a query parameter makes a read fail inside", async () => {
    const reference = (await world.call("GET", "/openapi.json")).record as unknown as Reference;
    const values = [
      "0",
      "-1",
      "1.5",
      "9007199254740993",
      "99999999999999999999",
      "1e400",
      "%00",
      "%E0%A4%A",
      "'--",
      "🦉",
      "x".repeat(10_240),
    ];
    for (const [path, methods] of Object.entries(reference.paths)) {
      const names = (methods.get?.parameters ?? [])
        .filter((one) => one.in === "query")
        .map((one) => one.name);
      await Promise.all(
        names.flatMap((name) =>
          values.map((value) => isAnswered(world, `${path.replace("{id}", "1")}?${name}=${value}`)),
        ),
      );
    }
  });

  test("no body of any route makes it fail inside", async () => {
    const reference = (await world.call("GET", "/openapi.json")).record as unknown as Reference;
    const bodies: Readonly<Record<string, object>> = {
      "/api/v1/users": { username: "u", password: "short", role: "viewer" },
      "/api/v1/api_keys": { name: "k", role: "viewer", expiresAt: "2999-01-01 00:00:00" },
      "/api/v1/tenants": { tenantName: "", username: "" },
      "/api/v1/login": { username: "u" },
      "/api/v1/resettle": { startTime: "" },
    };
    for (const [path, valid] of Object.entries(bodies)) {
      assert.ok(path in reference.paths, path);
      const calls = Object.keys(valid).flatMap((field) =>
        badValues.map((value) => ({ ...valid, [field]: value })),
      );
      for (const body of calls) {
        const { status, text } = await world.call("POST", path, body);
        assert.ok([200, 201, 400].includes(status), `${path} ${JSON.stringify(body)}: ${status} ${text}`);
      }
    }
  });
});

interface Reference {
  readonly paths: Record<
    string,
    { readonly get?: { readonly parameters?: readonly { in: string; name: string }[] } }
  >;
}

async function isAnswered(world: World, path: string): Promise<void> {
  const { status, text } = await world.call("GET", path);
  // Which statuses below 500 are right, the reference says, and every answer is held against it.
  assert.ok(status < 500, `${path.slice(0, 200)}: ${status} ${text.slice(0, 200)}`);
}

worldSuite(
  "frame of a deployment in Variant B",
  (test, world) => {
    test("the deployment's variant holds where a request names none", async () => {
      const { record } = await world.call("POST", products, { productName: "B", description: "b" });
      assert.equal(Object.keys(record).includes("cloudProtocol"), false);
      const reply = await world.call("GET", `${products}/${record.id}`);
      assert.equal([reply.headers.get("api-variant"), reply.record.devices], ["B", []]);
      const headers = { "Api-Variant": "A" };
      const other = await world.call("GET", `${products}/${record.id}`, undefined, { headers });
      assert.equal([other.headers.get("api-variant"), other.record.cloudProtocol], ["A", 1]);
    });
  },
  { API_VARIANT: "B" },
);
