/** A whole service for one suite: a new data folder, free ports, real HTTP and real MQTT. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connectAsync, type MqttClient } from "mqtt";
import { type Config, readConfig } from "../src/config/config.js";
import { createLogger } from "../src/observability/log.js";
import { type Service, serve } from "../src/serve.js";
import { createSetClock, type SetClock } from "./clock.js";
import { checkAnswer } from "./conformance/answers.js";
import { assert, influxSuite, openTempDir, suite, type Test, until } from "./suite.js";

/** A record of the interface. */
export interface Rec {
  readonly id: number;
  readonly [field: string]: unknown;
}

export interface Failure {
  readonly errorCode: string;
  readonly message: string;
  readonly errors: Readonly<Record<string, string>>;
}

/** One answer; `record`, `page`, `list` and `failure` are the same body, by what the caller expects of it. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly record: Rec;
  readonly page: {
    readonly items: readonly Rec[];
    readonly meta: { readonly count: number; readonly limit: number; readonly page: number };
  };
  readonly list: readonly Rec[];
  readonly failure: Failure;
}

export interface CallOptions {
  /** `appID:appSecret` or a session token; absent: the admin key of the first start; null: none. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface World {
  readonly http: string;
  readonly mqtt: string;
  /** The addresses of every listener, and what signals would ask of the process. */
  readonly service: Service;
  readonly dataDir: string;
  /** The service's clock, which the suite may set. */
  readonly clock: SetClock;
  /** The credentials of the first start. */
  readonly first: { readonly username: string; readonly password: string; readonly apiKey: string };
  /** A text or binary body goes as it is, anything else as JSON. */
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Reply>;
  /** POST that must answer 201. */
  make(path: string, body: object, options?: CallOptions): Promise<Rec>;
  /** An API key of that role in the first tenant. */
  keyOf(role: "admin" | "operator" | "viewer"): Promise<string>;
  /** An admin's session in another tenant, the same one each time. */
  otherTenant(): Promise<string>;
  connect(device: Rec): Promise<MqttClient>;
  /** Publishes each payload with QoS 1 and waits until its points can be read. */
  publish(device: Rec, ...payloads: readonly (object | string)[]): Promise<void>;
  /** Resolves once what has been acknowledged can be read. */
  settled(): Promise<void>;
  /** Resolves once what has been acknowledged has had its effect on alerts, places and counters. */
  alertsSettled(): Promise<void>;
}

/** A suite with a service of its own. It fails in the end if the service met an error that it had not foreseen. */
export function worldSuite(
  name: string,
  define: (test: Test, world: World) => void,
  environment: Readonly<Record<string, string>> = {},
): void {
  if (isOnInflux) return;
  suite(name, (test) => defineWorld(test, define, async () => environment));
}

/** Whether this process shows on InfluxDB what the plain files show on the embedded engine. */
let isOnInflux = false;

/** Loads plain files, of which then only the suites of `worldSuites` run: on InfluxDB. */
export async function loadOnInflux(urls: readonly URL[]): Promise<void> {
  isOnInflux = true;
  for (const { href } of urls) await import(href);
}

/** The same suite on each engine for the points: on the embedded one in its own file, on InfluxDB by `loadOnInflux`. */
export function worldSuites(name: string, define: (test: Test, world: World) => void): void {
  if (!isOnInflux) {
    worldSuite(`${name}, embedded`, define);
    return;
  }
  influxSuite(`${name}, InfluxDB`, (test, influx) =>
    defineWorld(test, define, async () => {
      const { url, token, org, bucket } = await influx();
      return { INFLUX_URL: url, INFLUX_TOKEN: token, INFLUX_ORG: org, INFLUX_BUCKET: bucket };
    }),
  );
}

function defineWorld(
  test: Test,
  define: (test: Test, world: World) => void,
  environment: () => Promise<Readonly<Record<string, string>>>,
): void {
  let opened: Opened | undefined;
  const service = (): Opened => {
    if (opened === undefined) throw new Error("the service is not open");
    return opened;
  };
  test.before(async () => {
    opened = await open(await environment());
  });
  test.after(async () => opened?.close());
  define(test, createWorld(service));
}

/** A suite that needs one of them asks for port 0. */
export const listenersOff = {
  HTTPS_PORT: "off",
  MQTTS_PORT: "off",
  MQTTSS_PORT: "off",
  WS_PORT: "off",
  WSS_PORT: "off",
} as const;

interface Opened {
  readonly http: string;
  readonly mqtt: string;
  readonly service: Service;
  readonly dataDir: string;
  readonly clock: SetClock;
  readonly first: World["first"];
  /** Whether the server may still end connections whose idle time the suite let pass. */
  endsIdle(): boolean;
  close(): Promise<void>;
}

/** Real milliseconds in which the server has looked for idle connections. */
const idleCheckMs = 5000;

/** How many shards a service in the test has, so that the whole suite can be run over several: TEST_SHARDS=4. */
const shards =
  process.env.TEST_SHARDS === undefined
    ? null
    : Array.from({ length: Number(process.env.TEST_SHARDS) }, (_, i) => i);

/** The settings of a service in the test, with the shards that the run asks for. */
export const withShards = (config: Config): Config =>
  shards === null ? config : { ...config, shards, ownShards: shards };

/** Where the files of the shard of a device are that is below no other, seen from the data folder. */
export const shardFolderOf = (device: number): string =>
  shards === null ? "." : join("shards", String(device % shards.length));

async function open(environment: Readonly<Record<string, string>>): Promise<Opened> {
  const dir = await openTempDir();
  const troubles: unknown[] = [];
  const clock = createSetClock();
  let passedAt = Number.NEGATIVE_INFINITY;
  const pass = (ms: number): void => {
    passedAt = performance.now();
    clock.pass(ms);
  };
  const ports = { HTTP_PORT: "0", MQTT_PORT: "0", ...listenersOff, FREE_BYTES_MIN: "0" };
  const config = readConfig({ DATA_DIR: dir.path, ...ports, ...environment });
  const log = createLogger("error", (line) => troubles.push(line), clock.now);
  const fatal = (error: Error): void => void troubles.push(error);
  const service: Service = await serve(withShards(config), log, fatal, clock);
  const first = JSON.parse(await readFile(join(dir.path, "first-start.json"), "utf8")) as World["first"];
  return {
    http: service.http,
    mqtt: service.mqtt ?? "",
    service,
    dataDir: dir.path,
    clock: { ...clock, pass },
    first,
    endsIdle: () => performance.now() - passedAt < idleCheckMs,
    close: async () => {
      await service.close();
      await dir.close();
      if (troubles.length > 0) throw new Error(`the service failed: ${troubles.join("\n")}`);
    },
  };
}

function createWorld(service: () => Opened): World {
  let strange: Promise<string> | undefined;
  const world: World = {
    get http() {
      return service().http;
    },
    get mqtt() {
      return service().mqtt;
    },
    get service() {
      return service().service;
    },
    get dataDir() {
      return service().dataDir;
    },
    get clock() {
      return service().clock;
    },
    get first() {
      return service().first;
    },
    call: (method, path, body, options = {}) => send(service(), method, path, body, options),
    make: async (path, body, options) => {
      const reply = await world.call("POST", path, body, options);
      assert.is(reply.status, 201, `POST ${path}: ${reply.text}`);
      return reply.record;
    },
    keyOf: async (role) => {
      const { appID, appSecret } = await world.make("/api/v1/api_keys", { role });
      return `${appID}:${appSecret}`;
    },
    otherTenant: () => {
      strange ??= loginElsewhere(world);
      return strange;
    },
    connect: (device) =>
      connectAsync(world.mqtt, {
        username: String(device.deviceUsername),
        password: String(device.token),
        reconnectPeriod: 0,
      }),
    publish: async (device, ...payloads) => {
      const client = await world.connect(device);
      for (const payload of payloads) {
        const text = typeof payload === "string" ? payload : JSON.stringify(payload);
        await client.publishAsync("data", text, { qos: 1 });
      }
      await client.endAsync();
      await world.settled();
    },
    settled: async () => {
      const lag = async () => (await world.call("GET", "/metrics")).text;
      const none = /^tidemark_journal_lag_messages\{consumer="series"\} 0$/m;
      await until(async () => none.test(await lag()), { what: "the points to be written" });
    },
    alertsSettled: async () => {
      const lag = async () => (await world.call("GET", "/metrics")).text;
      const none = /^tidemark_journal_lag_messages\{consumer="alerts"\} 0$/m;
      await until(async () => none.test(await lag()), { what: "the effects of messages to be written" });
    },
  };
  return world;
}

async function send(
  { http, first, endsIdle }: Opened,
  method: string,
  path: string,
  body: unknown,
  { key = first.apiKey, headers = {} }: CallOptions,
): Promise<Reply> {
  const request = () => ask(http, method, path, body, { key, headers });
  return request().catch((error: unknown) => {
    // It took a connection that the server was about to end (RFC 9112 §9.3.1): nothing of it was handled.
    if (error instanceof TypeError && endsIdle()) return request();
    throw error;
  });
}

/** Asks the service at that address, and holds its answer against the reference. */
export async function ask(
  http: string,
  method: string,
  path: string,
  body: unknown,
  { key, headers }: Required<CallOptions>,
): Promise<Reply> {
  const raw = typeof body === "string" || body instanceof Uint8Array;
  const response = await fetch(http + path, {
    method,
    headers: {
      ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: raw ? Buffer.from(body) : JSON.stringify(body) }),
  });
  const text = await response.text();
  const type = response.headers.get("content-type");
  checkAnswer({ method, path, status: response.status, type, text });
  const isJson = type?.startsWith("application/json") === true;
  const json = (isJson && text !== "" ? JSON.parse(text) : {}) as never;
  const views = { record: json, page: json, list: json, failure: json };
  return { status: response.status, headers: response.headers, text, ...views };
}

async function loginElsewhere(world: World): Promise<string> {
  const tenant = await world.make("/api/v1/tenants", { tenantName: "elsewhere", username: "other-admin" });
  const { username, password } = tenant;
  return String((await world.make("/api/v1/login", { username, password }, { key: null })).token);
}

/** Fails unless the answer is this error, naming at least these fields. */
export function refused(reply: Reply, errorCode: string, ...fields: readonly string[]): void {
  const { failure } = reply;
  const told = `${reply.status} ${reply.text.slice(0, 500)}`;
  assert.is(failure.errorCode, errorCode, `expected ${errorCode}, got ${told}`);
  assert.is(reply.status, statusOf[errorCode], told);
  assert.equal(Object.keys(failure).sort(), ["errorCode", "errors", "message"]);
  for (const field of fields) assert.ok(failure.errors[field], `no errors.${field}: ${told}`);
}

const statusOf: Readonly<Record<string, number>> = {
  BAD_REQUEST: 400,
  PARAMETER_INVALID: 400,
  DATA_EXISTED: 400,
  REFERENCED_ERROR: 400,
  AUTH_FAILED: 401,
  LOGIN_REQUIRED: 401,
  PERMISSION_DENIED: 403,
  DATA_NOT_FOUND: 404,
  RESOURCE_LIMITED: 403,
  METHOD_NOT_ALLOWED: 405,
  VERSION_CONFLICT: 409,
  IN_PROGRESS: 409,
  NOT_ACCEPTABLE: 406,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  TOO_MANY_REQUESTS: 429,
  SERVICE_UNAVAILABLE: 503,
  BAD_GATEWAY: 502,
  GATEWAY_TIMEOUT: 504,
};

/** Fails unless the record has exactly these keys. */
export function hasKeys(record: object | undefined, keys: readonly string[]): void {
  assert.equal(Object.keys(record ?? {}).sort(), [...keys].sort());
}

/** Timestamps of the interface. */
export const stampPattern = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;
