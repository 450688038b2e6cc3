/** Kafka clusters for tests and benchmarks: brokers that are killed, frozen and started again. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../free-port.js";
import { guardServer } from "../guard.js";
import { findKafka } from "./find-kafka.js";
import {
  type Detour,
  type NodePorts,
  nodeProperties,
  type SecureListener,
  scramArguments,
} from "./node-properties.js";

interface Broker {
  /** Its number in the cluster, from 1. */
  readonly id: number;
  readonly port: number;
  /** Of the listener over TLS, if the cluster has one. */
  readonly securePort: number;
  /** Of the listener behind a way of its own, if the cluster has one. */
  readonly detour: Detour;
  /** Undefined while it is not running. */
  readonly pid: number | undefined;
  /** SIGKILL, and waits for the end; the data stay as the kill left them. */
  kill(): Promise<void>;
  /** SIGSTOP: it holds its connections and answers nothing. */
  freeze(): void;
  /** SIGCONT. */
  thaw(): void;
  /** Again on the same folder and ports; resolves when its port is open. Rejects while it is running. */
  start(): Promise<void>;
}

export interface Brokers {
  /** `127.0.0.1:PORT` of each. */
  readonly addresses: readonly string[];
  readonly nodes: readonly Broker[];
  /** The node of that number. */
  node(id: number): Broker;
  /** Ends all of them and removes the folder. */
  close(): Promise<void>;
}

const readyTimeMs = 60_000;
/** Short of memory and quick to start: they carry little. */
const javaFlags = ["-Xms96m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"];

/**
 * A cluster of `count` nodes, each of them broker and controller, on free ports of 127.0.0.1; resolves when all serve.
 * Its folder is made in `parent`. `secure`, or a detour: a second listener of each.
 */
export async function startBrokers(
  count: number,
  parent = tmpdir(),
  secure: SecureListener | null = null,
  hasDetour = false,
): Promise<Brokers> {
  const found = await findKafka();
  if ("missing" in found) throw new Error(`cannot start Kafka: ${found.missing}`);
  const dir = await mkdtemp(join(parent, "tidemark-kafka-"));
  const nodes: ReturnType<typeof createNode>[] = [];
  const close = async () => {
    await Promise.all(nodes.map((node) => node.kill()));
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  };
  try {
    const clusterID = randomBytes(16).toString("base64url");
    const ports: NodePorts[] = [];
    while (ports.length < count) {
      ports.push(await nodePorts(ports));
    }
    for (const [i, own] of ports.entries()) {
      const home = join(dir, `node-${i + 1}`);
      await mkdir(home);
      const place = { dataDir: join(home, "data"), keystore: join(home, "keystore.pem") };
      if (secure !== null) await writeFile(place.keystore, secure.key + secure.cert);
      await writeFile(
        join(home, "node.properties"),
        nodeProperties(i + 1, ports, place, { secure, hasDetour }),
      );
      nodes.push(createNode(i + 1, own, { lib: found.lib, home, dir }));
    }
    const users = secure === null ? [] : scramArguments(secure);
    await Promise.all(nodes.map((node) => node.format(clusterID, users)));
    await Promise.all(nodes.map((node) => node.start()));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    addresses: nodes.map(({ port }) => `127.0.0.1:${port}`),
    nodes,
    node: (id) => {
      const node = nodes[id - 1];
      if (!node) throw new Error(`no node ${id}`);
      return node;
    },
    close,
  };
}

/** Ports that no other node has. */
async function nodePorts(others: readonly NodePorts[]): Promise<NodePorts> {
  const used = others.flatMap(({ broker, controller, secure, detour }) => [
    broker,
    controller,
    secure,
    detour.listens,
    detour.advertised,
  ]);
  const next = async (): Promise<number> => {
    const port = await portBeside(used);
    used.push(port);
    return port;
  };
  const [broker, controller, secure] = [await next(), await next(), await next()];
  return { broker, controller, secure, detour: { listens: await next(), advertised: await next() } };
}

async function portBeside(used: readonly number[]): Promise<number> {
  for (;;) {
    const port = await freePort();
    if (!used.includes(port)) return port;
  }
}

/** @param place `dir` is the folder of the cluster, which goes if this process dies; `home` that of the node */
function createNode(id: number, ports: NodePorts, place: { lib: string; home: string; dir: string }) {
  const { lib, home, dir } = place;
  const port = ports.broker;
  const program = ["-cp", join(lib, "*")];
  const properties = join(home, "node.properties");
  let child: ChildProcess | undefined;
  const signal = (name: NodeJS.Signals) => {
    if (!child?.kill(name)) throw new Error(`cannot send ${name} to Kafka's node ${id}: it is not running`);
  };
  const node = {
    id,
    port,
    securePort: ports.secure,
    detour: ports.detour,
    get pid() {
      return child?.pid;
    },
    format: async (clusterID: string, users: readonly string[]) => {
      // One word, since an id may begin with a hyphen.
      const args = ["format", `--cluster-id=${clusterID}`, "-c", properties, ...users];
      const tool = [...javaFlags, ...program, "kafka.tools.StorageTool"];
      await promisify(execFile)("java", [...tool, ...args], { timeout: readyTimeMs });
    },
    start: async () => {
      if (child) throw new Error(`cannot start Kafka's node ${id}: it is running`);
      const log = openSync(join(home, "kafka.log"), "a");
      child = spawn("java", [...javaFlags, ...program, "kafka.Kafka", properties], {
        stdio: ["ignore", log, log],
        cwd: home,
      });
      closeSync(log);
      child.on("error", () => {}); // `ready` reports it
      if (child.pid !== undefined) guardServer(child, child.pid, dir);
      try {
        await ready(child, port, join(home, "kafka.log"));
      } catch (error) {
        await node.kill();
        throw error;
      }
    },
    kill: async () => {
      const ending = child;
      child = undefined;
      if (ending?.pid === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
      const ended = new Promise<void>((resolve) => ending.once("exit", () => resolve()));
      ending.kill("SIGKILL");
      await ended;
    },
    freeze: () => signal("SIGSTOP"),
    thaw: () => signal("SIGCONT"),
  };
  return node;
}

/** A broker opens its port once it has caught up with the cluster. */
async function ready(child: ChildProcess, port: number, logPath: string): Promise<void> {
  const deadline = performance.now() + readyTimeMs;
  const logged = () => readFileSync(logPath, "utf8").slice(-2000);
  while (performance.now() < deadline) {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`cannot start Kafka: it ended with ${child.exitCode ?? child.signalCode}\n${logged()}`);
    }
    if (await isOpen(port)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`cannot start Kafka: port ${port} is not open after ${readyTimeMs} ms\n${logged()}`);
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = (open: boolean) => {
      socket.destroy();
      resolve(open);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}
