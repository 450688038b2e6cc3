import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { programEnvironment } from "../../test/program.js";
import { type Api, createApi } from "../load/api-client.js";
import { type Child, startChild } from "./child.js";

export interface InfluxTarget {
  readonly url: string;
  readonly token: string;
  readonly org: string;
  readonly bucket: string;
}

export interface TidemarkOptions {
  /** Folder in which a data directory is made. */
  readonly dir: string;
  readonly influx?: InfluxTarget;
  /** Journal and acknowledge only: the series consumer stands still. */
  readonly holdSeries?: boolean;
  /** Settings beyond, or instead of, those of every bench. */
  readonly environment?: Readonly<Record<string, string>>;
  /** With every limit set, far above the load. */
  readonly limited?: boolean;
}

export interface Tidemark {
  readonly pid: () => number;
  /** Its DATA_DIR. */
  readonly dataDir: string;
  /** Its process as it runs now. */
  readonly child: () => Child;
  readonly mqttPort: () => number;
  /** The port of another listener, by its name in the line "listening"; it must be on. */
  readonly portOf: (listener: string) => number;
  readonly api: () => Api;
  readonly http: () => string;
  /** The header's value of the service's key. */
  readonly authorization: string;
  /** A gauge or counter of /metrics; labels as written there, e.g. `consumer="series"`. */
  metric(name: string, label?: string): Promise<number>;
  /** Resolves when the series consumer has nothing left to store. */
  stored(): Promise<void>;
  /** Stops the service and starts it again on the same data; `between` may change them. */
  restart(between?: (dataDir: string) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

const storedPollMs = 20;

/** Starts the built service in a data directory of its own, with HTTP and MQTT on free ports and nothing else. */
export async function startTidemark(options: TidemarkOptions): Promise<Tidemark> {
  const dataDir = await mkdtemp(join(options.dir, "tidemark-bench-"));
  const apiKey = `bench:${randomBytes(24).toString("hex")}`;
  const authorization = `Basic ${Buffer.from(apiKey).toString("base64")}`;
  let running = await start();

  async function start() {
    const child = startChild("../service/src/main.js", ["serve"], environment(options, dataDir, apiKey));
    const line = (await child.next("msg", "listening")) as Record<string, string> & {
      http: string;
      mqtt: string;
    };
    const portOf = (listener: string): number => Number(new URL(line[listener] ?? "").port);
    return { child, portOf, http: line.http, api: createApi(line.http, { authorization }) };
  }
  async function stop(): Promise<void> {
    running.api.close();
    await running.child.stop(60_000);
  }
  async function metric(name: string, label = ""): Promise<number> {
    const { text } = await running.api.call("GET", "/metrics");
    const found = text.split("\n").find((line) => line.startsWith(name) && line.includes(label));
    if (found === undefined) throw new Error(`cannot read metric ${name}{${label}}: it is not in /metrics`);
    return Number(found.slice(found.lastIndexOf(" ") + 1));
  }
  async function stored(): Promise<void> {
    while ((await metric("tidemark_journal_lag_messages", 'consumer="series"')) > 0) {
      await new Promise((resolve) => setTimeout(resolve, storedPollMs));
    }
  }
  return {
    pid: () => running.child.pid,
    dataDir,
    child: () => running.child,
    mqttPort: () => running.portOf("mqtt"),
    portOf: (listener) => running.portOf(listener),
    api: () => running.api,
    http: () => running.http,
    authorization,
    metric,
    stored,
    async restart(between) {
      await stop();
      await between?.(dataDir);
      running = await start();
    },
    async close() {
      await stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

const limits = {
  DEVICE_CONNECTIONS_MAX: "8",
  DEVICE_MESSAGES_PER_SECOND: "1000000",
  DEVICE_BYTES_PER_SECOND: "1000000000",
  TENANT_CONNECTIONS_MAX: "100000",
  TENANT_MESSAGES_PER_SECOND: "100000000",
  TENANT_BYTES_PER_SECOND: "100000000000",
};

function environment(options: TidemarkOptions, dataDir: string, apiKey: string): Record<string, string> {
  const { influx } = options;
  const off = ["HTTPS_PORT", "MQTTS_PORT", "MQTTSS_PORT", "WS_PORT", "WSS_PORT", "COAP_PORT", "COAPS_PORT"];
  return {
    ...programEnvironment,
    DATA_DIR: dataDir,
    HTTP_PORT: "0",
    MQTT_PORT: "0",
    API_KEY: apiKey,
    ...Object.fromEntries(off.map((name) => [name, "off"])),
    ...(options.limited ? limits : {}),
    ...(options.holdSeries ? { TIDEMARK_HOLD_SERIES: "1" } : {}),
    ...(influx === undefined
      ? {}
      : {
          INFLUX_URL: influx.url,
          INFLUX_TOKEN: influx.token,
          INFLUX_ORG: influx.org,
          INFLUX_BUCKET: influx.bucket,
        }),
    ...options.environment,
  };
}
