import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** A running Tidemark. */
export interface DemoService {
  readonly http: string;
  readonly mqtt: string;
  /** appID:appSecret */
  readonly key: string;
  /** Null for a service that was already running. */
  readonly own: { readonly pid: number; readonly dir: string } | null;
  /** Lets a service of our own outlive this process. */
  keep(): void;
  /** Stops a service of our own and removes its folder. */
  close(): Promise<void>;
}

const startMs = 60_000;
const pollMs = 20;
const program = fileURLToPath(new URL("../main.js", import.meta.url));

/** Starts the built service in a new temporary folder on free ports, with InfluxDB if INFLUX_… name one. */
export async function startDemoService(environment: NodeJS.ProcessEnv): Promise<DemoService> {
  const dir = mkdtempSync(join(tmpdir(), "tidemark-demo-"));
  const key = `demo:${randomBytes(16).toString("hex")}`;
  const logFile = join(dir, "service.log");
  const log = openSync(logFile, "a");
  const influx = Object.entries(environment).filter(([name]) => name.startsWith("INFLUX_"));
  const child = spawn(process.execPath, [program, "serve"], {
    // In a process group of its own: an interrupt at the keyboard ends the demo, and the demo ends the service.
    detached: true,
    stdio: ["ignore", log, log],
    env: {
      ...Object.fromEntries(influx),
      DATA_DIR: join(dir, "data"),
      API_KEY: key,
      HTTP_PORT: "0",
      HTTPS_PORT: "off",
      MQTT_PORT: "0",
      MQTTS_PORT: "off",
      MQTTSS_PORT: "off",
      WS_PORT: "off",
      WSS_PORT: "off",
    },
  });
  const kill = (): void => {
    child.kill("SIGKILL");
    rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
  };
  process.once("exit", kill);

  async function close(): Promise<void> {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    }
    process.off("exit", kill);
    rmSync(dir, { recursive: true, force: true });
  }

  const { http, mqtt } = await listening(logFile, () => child.exitCode ?? child.signalCode);
  return {
    http,
    mqtt,
    key,
    own: { pid: child.pid ?? 0, dir },
    keep: () => {
      process.off("exit", kill);
      child.unref();
    },
    close,
  };
}

/** The service at TIDEMARK_URL, with TIDEMARK_MQTT_URL and TIDEMARK_API_KEY; null if none is named. */
export function givenService(environment: NodeJS.ProcessEnv): DemoService | null {
  const { TIDEMARK_URL: http, TIDEMARK_MQTT_URL: mqtt, TIDEMARK_API_KEY: key } = environment;
  if (!http) return null;
  if (!mqtt || !key) throw new Error("TIDEMARK_URL needs TIDEMARK_MQTT_URL and TIDEMARK_API_KEY beside it");
  return { http, mqtt, key, own: null, keep: () => {}, close: () => Promise.resolve() };
}

/** The addresses in the log line "listening". */
async function listening(
  logFile: string,
  ended: () => number | string | null,
): Promise<{ http: string; mqtt: string }> {
  for (const deadline = performance.now() + startMs; ; ) {
    const log = readFileSync(logFile, "utf8");
    const line = log.split("\n").find((one) => one.includes('"msg":"listening"') && one.endsWith("}"));
    if (line !== undefined) return JSON.parse(line) as { http: string; mqtt: string };
    if (ended() !== null || performance.now() > deadline) {
      throw new Error(`cannot start the service (${ended() ?? "too slow"}): ${log.slice(-2000)}`);
    }
    await delay(pollMs);
  }
}
