/** Finds, or builds once, a real InfluxDB 2, and runs it for tests and benchmarks. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../free-port.js";
import { guardServer } from "../guard.js";
import { cacheDir, isThere, makeOnce, runStep, which } from "../made-once.js";
import { repositoryRoot } from "../repository.js";

export interface InfluxServer {
  readonly url: string;
  readonly token: string;
  readonly org: string;
  readonly bucket: string;
  /** Undefined while stopped, and for the server at INFLUX_URL. */
  readonly pid: number | undefined;
  /** SIGTERM, and waits for the end; the data stay. */
  stop(): Promise<void>;
  /** SIGKILL, and waits for the end; the data stay as the kill left them. */
  kill(): Promise<void>;
  /** Again on the same folder and port; resolves when it serves. */
  start(): Promise<void>;
  /** Ends the server and removes its folder. */
  close(): Promise<void>;
}

type Found = { readonly path: string } | { readonly missing: string };

const version = "v2.9.1"; // the one that test/influxd/go.mod pins
const wrapper = "github.com/influxdata/pkg-config@v0.3.0"; // builds Flux's Rust core on behalf of cgo
const moduleDir = join(repositoryRoot(), "test/influxd");
const buildTools = { go: "Go", cargo: "cargo", gcc: "gcc", "pkg-config": "pkg-config" };
const readyTimeMs = 60_000;
const stopTimeMs = 30_000;

/**
 * The program: `influxd` on PATH if it is a version 2, else the cached build, else a build (minutes; progress on
 * stderr). `missing` says in one line why there is none. Under the runner: what the runner found.
 */
export async function findInfluxd(): Promise<Found> {
  const { TIDEMARK_TEST_INFLUXD: path, TIDEMARK_TEST_INFLUXD_MISSING: missing } = process.env;
  if (path) return { path };
  if (missing) return { missing };
  const onPath = await which("influxd");
  if (onPath && (await isVersion2(onPath))) return { path: onPath };
  const cached = join(cacheDir(), `influxd-${version}`);
  if (await isThere(cached)) return { path: cached };
  const absent: string[] = [];
  for (const [command, name] of Object.entries(buildTools)) if (!(await which(command))) absent.push(name);
  if (absent.length > 0)
    return { missing: `no influxd 2, and to build it there is no ${absent.join(", no ")}` };
  return buildOnce(cached);
}

/** A server of its own, set up, on a free port of this machine's address; with INFLUX_URL, the server there. */
export async function startInflux(host = "127.0.0.1"): Promise<InfluxServer> {
  if (process.env.INFLUX_URL) return externalServer(process.env.INFLUX_URL);
  const found = await findInfluxd();
  if ("missing" in found) throw new Error(`cannot start InfluxDB: ${found.missing}`);
  const dir = await mkdtemp(join(tmpdir(), "tidemark-influx-"));
  const url = `http://${host}:${await freePort()}`;
  const access = { token: randomBytes(24).toString("hex"), org: "tidemark", bucket: "telemetry" };
  let child: ChildProcess | undefined;

  const start = async () => {
    if (child) throw new Error("cannot start InfluxDB: it is running");
    child = launch(found.path, dir, url);
    try {
      await ready(child, dir, url);
    } catch (error) {
      await end("SIGKILL");
      throw error;
    }
  };
  const end = async (signal: NodeJS.Signals) => {
    const ending = child;
    child = undefined;
    if (ending) await terminate(ending, signal);
  };
  const server: InfluxServer = {
    url,
    ...access,
    get pid() {
      return child?.pid;
    },
    start,
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
    close: async () => {
      await end("SIGKILL");
      await rm(dir, { recursive: true, force: true, maxRetries: 3 });
    },
  };
  try {
    await start();
    await setUp(url, access);
    return server;
  } catch (error) {
    await server.close();
    throw error;
  }
}

function externalServer(url: string): InfluxServer {
  const setting = (name: string): string => {
    const value = process.env[name];
    if (!value) throw new Error(`cannot use the InfluxDB at INFLUX_URL: ${name} is not set`);
    return value;
  };
  const refuse = (verb: string) => async () => {
    throw new Error(
      `cannot ${verb} the InfluxDB at INFLUX_URL: it is not ours; unset INFLUX_URL for this test`,
    );
  };
  return {
    url: url.replace(/\/$/, ""),
    token: setting("INFLUX_TOKEN"),
    org: setting("INFLUX_ORG"),
    bucket: setting("INFLUX_BUCKET"),
    pid: undefined,
    stop: refuse("stop"),
    kill: refuse("kill"),
    start: refuse("start"),
    close: async () => {},
  };
}

function launch(program: string, dir: string, url: string): ChildProcess {
  const log = openSync(join(dir, "influxd.log"), "a");
  const files = ["bolt-path", "influxd.bolt", "sqlite-path", "influxd.sqlite", "engine-path", "engine"];
  const paths = files.map((word, i) => (i % 2 === 0 ? `--${word}` : join(dir, word)));
  const address = new URL(url).host;
  const args = [...paths, "--http-bind-address", address, "--reporting-disabled"];
  // Its CLI configuration and the caller's INFLUXD_* settings must not leak into tests.
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("INFLUXD_"));
  const child = spawn(program, args, {
    stdio: ["ignore", log, log],
    cwd: dir,
    env: Object.fromEntries(own),
  });
  closeSync(log);
  child.on("error", () => {}); // `ready` reports it
  if (child.pid !== undefined) guardServer(child, child.pid, dir);
  return child;
}

async function ready(child: ChildProcess, dir: string, url: string): Promise<void> {
  const deadline = performance.now() + readyTimeMs;
  while (performance.now() < deadline) {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) {
      const log = readFileSync(join(dir, "influxd.log"), "utf8").slice(-2000);
      throw new Error(
        `cannot start InfluxDB: influxd ended with ${child.exitCode ?? child.signalCode}\n${log}`,
      );
    }
    const health = await fetch(`${url}/health`).catch(() => undefined);
    const body = (await health?.json().catch(() => undefined)) as { status?: string } | undefined;
    if (body?.status === "pass") return;
    await pause(50);
  }
  throw new Error(`cannot start InfluxDB: not healthy after ${readyTimeMs} ms`);
}

async function setUp(url: string, access: { token: string; org: string; bucket: string }): Promise<void> {
  const answer = await fetch(`${url}/api/v2/setup`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ username: "tidemark", password: randomBytes(12).toString("hex"), ...access }),
  });
  if (!answer.ok) throw new Error(`cannot set up InfluxDB: ${answer.status} ${await answer.text()}`);
}

async function terminate(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const timer = setTimeout(() => child.kill("SIGKILL"), stopTimeMs);
  child.kill(signal);
  if (signal === "SIGTERM") child.kill("SIGCONT"); // a test may have frozen it
  await ended;
  clearTimeout(timer);
}

async function buildOnce(target: string): Promise<Found> {
  try {
    await makeOnce(target, () => build(target), say);
    return { path: target };
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    say(`cannot build: ${cause}`);
    return { missing: `the build of influxd ${version} failed: ${cause.split("\n").at(-1)}` };
  }
}

async function build(target: string): Promise<void> {
  const bin = join(cacheDir(), "bin");
  const draft = `${target}.${process.pid}`;
  const env = { ...process.env, GOFLAGS: "-mod=readonly -buildvcs=false" };
  say("not found; building it once, which takes some minutes (Go downloads, then Flux's Rust core, then Go)");
  try {
    say("1 of 2: the pkg-config that builds Flux's core");
    await runStep(["go", "install", "-v", wrapper], { env: { ...env, GOFLAGS: "", GOBIN: bin } }, say);
    say("2 of 2: downloading and compiling the server");
    const flags = ["-v", "-ldflags", `-X main.version=${version}`, "-o", draft] as const;
    const environment = {
      ...env,
      CGO_ENABLED: "1",
      PATH: bin + delimiter + (process.env.PATH ?? ""),
      PKG_CONFIG: join(bin, "pkg-config"),
      // Flux pins an old Rust; a newer one has lints that would stop its build.
      RUSTUP_TOOLCHAIN: "stable",
      RUSTFLAGS: "--cap-lints warn",
    };
    await runStep(
      ["go", "build", ...flags, "github.com/influxdata/influxdb/v2/cmd/influxd"],
      { cwd: moduleDir, env: environment },
      say,
    );
    await rename(draft, target);
    say(`built ${target}`);
  } finally {
    await rm(draft, { force: true });
  }
}

function say(text: string): void {
  process.stderr.write(`influxd ${version}: ${text}\n`);
}

async function isVersion2(path: string): Promise<boolean> {
  const answer = await promisify(execFile)(path, ["version"], { timeout: 10_000 }).catch(() => undefined);
  return /^InfluxDB v?2\./.test(answer?.stdout ?? "");
}

function pause(timeMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, timeMs));
}
