/**
 * Every route of the reference stands in a list here that says what bounds its answer, and is asked what every route
 * must answer: nothing without credentials, no page beyond the largest, no body beyond its bound.
 */
import { connect } from "node:net";
import { assert } from "../suite.js";
import { type World, worldSuite } from "../world.js";

interface Described {
  readonly security?: readonly object[];
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
}

interface Operation {
  /** `GET /api/v1/devices`. */
  readonly name: string;
  readonly method: string;
  /** With ids that no record has. */
  readonly path: string;
  readonly described: Described;
}

/** Who needs no credentials, and why that costs nothing. */
const open: Readonly<Record<string, string>> = {
  "GET /healthz": "a constant",
  "GET /readyz": "what is known in memory",
  "GET /openapi.json": "a file, read once",
  "GET /reference": "a file, read once",
  "POST /api/v1/login": "guarded against guessing, hashing queued by address",
  "GET /api/v1/download": "the link carries a token that is looked up by its hash",
};

/** What bounds the answers of the reads that have no pages. */
const bounded: Readonly<Record<string, string>> = {
  "GET /metrics": "one line a figure",
  "GET /api/v1/time": "a constant",
  "GET /api/v1/timezones": "a constant",
  "GET /api/v1/timezones/{name}": "two changes a year up to 2100",
  "GET /api/v1/overview": "counts, and two figures for each second of ten minutes",
  "GET /api/v1/inbox": "one message",
  "GET /api/v1/me": "one record",
  "GET /api/v1/tenants": "the deployment's administrator alone",
  "GET /api/v1/metrics_data": "1,000,000 values",
  "GET /api/v1/original_data": "1,000,000 values, or a stream",
  "GET /api/v1/devices/{id}/live": "a stream",
  "GET /api/v1/live": "a stream",
  "GET /api/v1/device_track": "100,000 points",
  "GET /api/v1/device_places": "2,000 clusters",
  "GET /api/v1/map_tiles/{z}/{x}/{y}": "a tile of 512 KiB",
  "GET /api/v1/platform_select/devices/{id}/not_joined_certs": "the tenant's certificates, bounded",
  "GET /api/v1/platform_select/dict_code": "a constant",
  "GET /api/v1/broker_info": "a constant",
  "GET /api/v1/broker/mosquitto": "the deployment's administrator alone",
  "GET /api/v1/dashboards/{id}/revisions/{version}": "one record",
  "GET /api/v1/shared": "one record",
  "GET /api/v1/shared/panels/{panelID}/data": "1,000,000 values, 2,000 clusters, or 100 alerts",
  "GET /task_status/{id}": "one record",
  "GET /api/v1/task_status/{id}": "one record",
  "GET /api/v1/download": "a stream",
  "GET /api/v1/devices_template": "a constant",
  "GET /api/v1/devices/{id}/ingest_status": "one record",
  "GET /api/v1/set_aside": "what has ended the service, a bounded list",
  "GET /healthz": "a constant",
  "GET /readyz": "a line for each part",
  "GET /openapi.json": "a constant",
  "GET /reference": "a constant",
};

/** A detail is one record. */
const isDetail = (name: string): boolean => /^GET \/api\/v1\/\w+\/\{id\}$/.test(name);
const pageRowsMax = 1000;
const jsonBytesMax = 1024 * 1024;

async function operationsOf(world: World): Promise<Operation[]> {
  const { text } = await world.call("GET", "/openapi.json", undefined, { key: null });
  const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, Described>> };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path: path.replaceAll(/\{\w+\}/g, "987654321"),
      described,
    })),
  );
}

/** The status of the answer to a head whose body never comes; null where none comes within two seconds. */
function statusBeforeBody(http: string, head: readonly string[]): Promise<number | null> {
  const { hostname, port } = new URL(http);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    const timer = setTimeout(() => done(null), 2000);
    const done = (status: number | null): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(status);
    };
    socket.once("data", (chunk) => done(Number(String(chunk).split(" ")[1])));
    socket.once("error", () => done(null));
    socket.write([...head, "Host: x", "\r\n"].join("\r\n"));
  });
}

worldSuite("every route", (test, world) => {
  let operations: readonly Operation[] = [];
  test.before(async () => {
    operations = await operationsOf(world);
    assert.ok(operations.length > 100);
  });
  const named = (keep: (operation: Operation) => boolean) => operations.filter(keep).map(({ name }) => name);
  const hasPages = ({ described }: Operation) =>
    (described.parameters ?? []).some((parameter) => parameter.name === "_limit");
  const takesJson = ({ described }: Operation) =>
    described.requestBody?.content["application/json"] !== undefined;

  test("the open ones are listed here, with why that costs nothing", () => {
    assert.equal(named(({ described }) => described.security?.length === 0).sort(), Object.keys(open).sort());
  });

  test("each read has pages, is one record, or says here what bounds its answer", () => {
    const unpaged = operations.filter(({ method }) => method === "GET").filter((one) => !hasPages(one));
    const unlisted = unpaged.map(({ name }) => name).filter((name) => !isDetail(name) && !bounded[name]);
    assert.equal(unlisted, [], "say in this file what bounds the answer");
    const gone = Object.keys(bounded).filter((name) => !unpaged.some((one) => one.name === name));
    assert.equal(gone, []);
  });

  test("without credentials each is refused, before any of its body has come", async () => {
    const wrong: string[] = [];
    for (const { name, method, path } of operations) {
      if (open[name] !== undefined) continue;
      const lines = [
        `${method} ${path} HTTP/1.1`,
        "Content-Type: application/json",
        "Content-Length: 900000",
      ];
      const status = await statusBeforeBody(world.http, method === "GET" ? lines.slice(0, 1) : lines);
      if (status !== 401) wrong.push(`${name}: ${status}`);
    }
    assert.equal(wrong, []);
  });

  test("no page is larger than 1,000 rows", async () => {
    const lists = operations.filter((one) => one.method === "GET" && hasPages(one));
    assert.ok(lists.length > 20);
    for (const { name, method, path } of lists) {
      const { status, failure } = await world.call(method, `${path}?_limit=${pageRowsMax + 1}`);
      assert.is(status, 400, name);
      assert.ok(failure.errors._limit, name);
    }
  });

  test("a body beyond its bound is refused by its length, before it comes", async () => {
    const wrong: string[] = [];
    const [appID, secret] = world.first.apiKey.split(":");
    const basic = Buffer.from(`${appID}:${secret}`).toString("base64");
    const ofCallers = operations.filter((one) => takesJson(one) && !one.path.startsWith("/api/v1/uplinks"));
    for (const { name, method, path } of ofCallers) {
      const head = [
        `${method} ${path} HTTP/1.1`,
        `Authorization: Basic ${basic}`,
        "Content-Type: application/json",
        `Content-Length: ${jsonBytesMax + 1}`,
      ];
      const status = await statusBeforeBody(world.http, head);
      // What the path or the query says may be wrong first.
      if (status !== 413 && status !== 400 && status !== 404) wrong.push(`${name}: ${status}`);
    }
    assert.equal(wrong, []);
  });
});
