/** The real process, started with an explicit environment, and a publisher that knows what was acknowledged. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { readConfig } from "../../src/config/config.js";
import { createLogger } from "../../src/observability/log.js";
import { serve } from "../../src/serve.js";
import { type Clock, systemClock } from "../../store/lib/clock.js";
import type { Place } from "../networks/networks.js";
import { program, programEnvironment } from "../program.js";
import { assert, until } from "../suite.js";
import { listenersOff, type Rec, withShards } from "../world.js";

export interface Reply {
  readonly status: number;
  readonly body: Record<string, unknown> & Rec & { readonly errors: Record<string, string> };
  readonly text: string;
}

/** A service in a process of its own or in this one. */
export interface AnyService {
  readonly mqtt: string;
  /** The log so far, a JSON object each. */
  readonly logged: readonly Readonly<Record<string, unknown>>[];
  call(method: string, path: string, body?: unknown): Promise<Reply>;
  make(path: string, body: object): Promise<Rec>;
  /** The sum of the samples of /metrics whose line begins so and has the label; 0 where there is none. */
  metric(name: string, label?: string): Promise<number>;
  /** Resolves once every point of what is committed is written. @throws if the service ends before */
  settled(timeoutMs?: number): Promise<void>;
  /** Ends it in order; a process must end by itself with code 0. */
  stop(): Promise<void>;
}

export interface RunningService extends AnyService {
  /** What the line "listening" says. */
  readonly addresses: Readonly<Record<string, string | null>>;
  signal(name: NodeJS.Signals): void;
  /** The exit code, once it has ended. */
  readonly ended: Promise<number | null>;
  kill(): Promise<void>;
}

/** Starts `serve` on free ports. The environment is these names and nothing else. `openFiles`: its limit of them. */
export function startService(
  dataDir: string,
  environment: Readonly<Record<string, string>> = {},
  openFiles: number | null = null,
): Promise<RunningService> {
  return start(program, dataDir, environment, openFiles === null ? [] : limitedTo(openFiles));
}

const limitedTo = (openFiles: number) => ["/bin/sh", "-c", `ulimit -n ${openFiles}; exec "$0" "$@"`];

/** The same in a place of its own. */
export function startServiceAt(
  { host, command }: Place,
  dataDir: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningService> {
  return start(program, dataDir, { HOST: host, ...environment }, command);
}

/** The same with several shards in one process. */
export function startWithShards(
  count: number,
  dataDir: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningService> {
  const child = fileURLToPath(new URL("shards.child.js", import.meta.url));
  return start(child, dataDir, { ...environment, SHARDS: String(count) }, []);
}

async function start(
  script: string,
  dataDir: string,
  environment: Readonly<Record<string, string>>,
  within: readonly string[],
): Promise<RunningService> {
  const env = { ...environmentOf(dataDir), ...programEnvironment, ...environment };
  const serve = [process.execPath, "--enable-source-maps", script, "serve"];
  const [command = "", ...args] = [...within, ...serve];
  const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const killAtExit = (): void => void child.kill("SIGKILL");
  process.once("exit", killAtExit);
  child.once("exit", () => process.off("exit", killAtExit));
  const logged: Record<string, unknown>[] = [];
  const addresses = await listening(child, logged);
  const apiKey = environment.API_KEY ?? (await keyOfFirstStart(dataDir));

  return {
    mqtt: addresses.mqtt,
    addresses,
    logged,
    signal: (name) => void child.kill(name),
    ...callsTo(addresses.http, apiKey, () => hasExited(child)),
    ended: exited(child).then(() => child.exitCode),
    kill: async () => {
      child.kill("SIGKILL");
      await exited(child);
    },
    stop: async () => {
      child.kill("SIGTERM");
      await exited(child);
      assert.is(child.exitCode, 0);
    },
  };
}

/** How tests ask it. */
function callsTo(
  http: string,
  apiKey: string,
  hasEnded: () => boolean,
): Pick<AnyService, "call" | "metric" | "make" | "settled"> {
  async function call(method: string, path: string, body?: unknown): Promise<Reply> {
    const response = await fetch(http + path, {
      method,
      headers: { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
    return { status: response.status, text, body: (isJson ? JSON.parse(text) : {}) as Reply["body"] };
  }
  async function metric(name: string, label = ""): Promise<number> {
    const { text } = await call("GET", "/metrics");
    const lines = text.split("\n").filter((one) => one.startsWith(name) && one.includes(label));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
  }
  return {
    call,
    metric,
    make: async (path, body) => {
      const reply = await call("POST", path, body);
      assert.is(reply.status, 201, reply.text);
      return reply.body;
    },
    settled: async (timeoutMs = 60_000) => {
      const lag = async (): Promise<boolean> =>
        (await metric("tidemark_journal_lag_messages{")) === 0 &&
        (await metric("tidemark_journal_pending_bytes ")) === 0;
      await until(async () => hasEnded() || (await lag()), { what: "the points to be written", timeoutMs });
      if (hasEnded()) throw new Error("the service has ended");
    },
  };
}

/**
 * The service in this process, which costs a tenth of the CPU time of a process: for tests that neither kill it nor
 * look at how it ends, and that open a folder once.
 */
export async function openService(
  dataDir: string,
  environment: Readonly<Record<string, string>> = {},
  clock: Clock = systemClock,
): Promise<AnyService> {
  const logged: Record<string, unknown>[] = [];
  const config = withShards(readConfig({ ...environmentOf(dataDir), ...environment }));
  const log = createLogger(config.logLevel, (line) => logged.push(JSON.parse(line)), clock.now);
  const fatals: Error[] = [];
  const service = await serve(config, log, (error) => fatals.push(error), clock);
  const apiKey = environment.API_KEY ?? (await keyOfFirstStart(dataDir));
  return {
    mqtt: service.mqtt ?? "",
    logged,
    ...callsTo(service.http, apiKey, () => false),
    stop: async () => {
      await service.close();
      assert.equal(fatals, []);
    },
  };
}

const environmentOf = (dataDir: string) => ({
  DATA_DIR: dataDir,
  HTTP_PORT: "0",
  MQTT_PORT: "0",
  FREE_BYTES_MIN: "0",
  ...listenersOff,
});

async function keyOfFirstStart(dataDir: string): Promise<string> {
  const first = JSON.parse(await readFile(join(dataDir, "first-start.json"), "utf8")) as { apiKey: string };
  return first.apiKey;
}

const hasExited = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

async function exited(child: ChildProcess): Promise<void> {
  if (!hasExited(child)) await once(child, "exit");
}

function listening(
  child: ChildProcess,
  logged: Record<string, unknown>[],
): Promise<{ http: string; mqtt: string }> {
  return new Promise((resolve, reject) => {
    let errors = "";
    child.stderr?.on("data", (chunk) => {
      errors = (errors + chunk).slice(-4000);
    });
    child.once("exit", (code, signal) =>
      reject(new Error(`the service ended with ${signal ?? code}: ${errors}`)),
    );
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on("line", (line) => {
      const { msg, ...rest } = JSON.parse(line) as { msg: string; http: string; mqtt: string };
      logged.push({ msg, ...rest });
      if (msg === "listening") resolve(rest);
    });
  });
}

/** Kills from outside say nothing of the messages that were in work. */
export async function nothingSetAside(service: AnyService): Promise<void> {
  const { text } = await service.call("GET", "/metrics");
  const counts = text.split("\n").filter((line) => line.startsWith("tidemark_set_aside_messages{"));
  assert.equal(
    counts.map((line) => line.slice(line.lastIndexOf(" ") + 1)),
    ["0", "0", "0"],
    text,
  );
}

/** A product with the number `n`, and devices of it. `point`: more fields of its data point. */
export async function provision(service: AnyService, devices: number, point: object = {}): Promise<Rec[]> {
  const product = await service.make("/api/v1/products", { productName: "flow", cloudProtocol: 1 });
  await service.make("/api/v1/data_points", {
    dataPointName: "n",
    dataPointID: "n",
    productIntID: product.id,
    pointDataType: 1,
    dataTransType: 1,
    ...point,
  });
  const made: Rec[] = [];
  for (let i = 0; i < devices; i++) {
    made.push(
      await service.make("/api/v1/devices", {
        productID: product.productID,
        cloudProtocol: 1,
        deviceType: 1,
        upLinkSystem: 1,
        authType: 1,
        deviceName: `flow-${i}`,
        deviceID: `flow-${i}`,
      }),
    );
  }
  return made;
}

/** Payloads of a device's events, oldest first. */
export async function payloadsOf(service: AnyService, device: Rec): Promise<string[]> {
  const found: string[] = [];
  for (let page = 1; ; page++) {
    const { body, text } = await service.call(
      "GET",
      `/api/v1/devices/${device.id}/events?_page=${page}&_limit=1000`,
    );
    const items = body.items as { payload: string }[] | undefined;
    assert.ok(items, text);
    if (items === undefined || items.length === 0) return found.reverse();
    found.push(...items.map(({ payload }) => payload));
  }
}

/** Values of the device's only data point, oldest first. */
export async function valuesOf(service: AnyService, device: Rec): Promise<number[]> {
  const query = `deviceIntID=${device.id}&startTime=2001-01-01T00:00:00Z&limit=100000`;
  const { text } = await service.call("GET", `/api/v1/original_data?${query}`);
  const [only] = JSON.parse(text) as { originalData: { value: number[] } }[];
  assert.ok(only, text);
  return only?.originalData.value ?? [];
}

/** All logs of the device's commands. */
export async function controlLogsOf(service: AnyService, device: Rec): Promise<Rec[]> {
  const found: Rec[] = [];
  for (let page = 1; ; page++) {
    const path = `/api/v1/devices/${device.id}/control_logs?_page=${page}&_limit=1000`;
    const { body, text } = await service.call("GET", path);
    const items = body.items as Rec[] | undefined;
    assert.ok(items, text);
    if (items === undefined || items.length === 0) return found;
    found.push(...items);
  }
}
