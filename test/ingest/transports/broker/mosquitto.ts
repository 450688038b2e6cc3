/**
 * Mosquitto as the broker that is already there: a process of its own on a port that stays the same. Debian's, or the
 * one that MOSQUITTO names: the README beside this file says how to build a newer one.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { connectAsync, type IClientOptions, type MqttClient } from "mqtt";
import { freePort } from "../../../free-port.js";
import { until } from "../../../suite.js";

const named = process.env.MOSQUITTO;
/** Debian puts it where only root looks. */
const program = named ?? "/usr/sbin/mosquitto";
const debianPlugin = "/usr/lib/x86_64-linux-gnu/mosquitto_dynamic_security.so";
/** Folders of the plugin, relative to a program that was built by make or cmake, or installed. */
const besideProgram = ["../plugins/dynamic-security", "../lib", "../lib64", "../lib/x86_64-linux-gnu"];

/** Why it cannot be used here, or null. @throws where MOSQUITTO names none, or one without the plugin */
export function brokerMissing(): string | null {
  const { error } = spawnSync(program, ["-h"]);
  if (error === undefined) return null;
  if (named !== undefined) throw new Error(`MOSQUITTO names no program: ${error.message}`);
  return "mosquitto is not installed: apt-get install mosquitto, or name one by MOSQUITTO";
}

/** The dynamic security plugin of the program that is used. */
export function securityPlugin(): string {
  if (named === undefined) return debianPlugin;
  const found = besideProgram
    .map((folder) => join(dirname(named), folder, "mosquitto_dynamic_security.so"))
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error(`there is no mosquitto_dynamic_security.so beside ${named}`);
  return found;
}

export interface Mosquitto {
  readonly port: number;
  readonly url: string;
  /** 0 while it is stopped. */
  readonly pid: () => number;
  /** What it has said so far. */
  readonly output: () => string;
  start(): Promise<void>;
  /** SIGTERM: it saves its sessions. */
  stop(): Promise<void>;
  connect(options?: IClientOptions): Promise<MqttClient>;
}

interface MosquittoOptions {
  /** Where its configuration and its sessions lie. */
  readonly dir: string;
  /** Lines beyond those of every test; the listener is there. */
  readonly lines?: readonly string[];
  /** The configuration, in place of that of every test; it listens on `port`. */
  readonly whole?: string;
  /** Where it is to listen; absent: any free port. */
  readonly port?: number;
}

export async function startMosquitto(options: MosquittoOptions): Promise<Mosquitto> {
  const { dir, lines = [] } = options;
  const port = options.port ?? (await freePort());
  const config = join(dir, "mosquitto.conf");
  // As root it becomes a user of its own, who must get at its folder.
  await chmod(dir, 0o777);
  const ours = [
    ...[`listener ${port} 127.0.0.1`, "allow_anonymous true", "set_tcp_nodelay true"],
    ...["persistence true", `persistence_location ${dir}/`, "max_queued_messages 100000000"],
  ];
  const all = [
    ...(options.whole === undefined ? ours : [options.whole]),
    ...(process.getuid?.() === 0 ? ["user root"] : []),
    ...lines,
  ];
  await writeFile(config, `${all.join("\n")}\n`);
  let child: ChildProcess | null = null;
  let output = "";
  const killAtExit = (): void => void child?.kill("SIGKILL");
  process.on("exit", killAtExit);

  const broker: Mosquitto = {
    port,
    url: `mqtt://127.0.0.1:${port}`,
    pid: () => child?.pid ?? 0,
    output: () => output,
    start: async () => {
      const started = spawn(program, ["-c", config], { stdio: ["ignore", "pipe", "pipe"] });
      child = started;
      for (const stream of [started.stdout, started.stderr]) {
        stream.on("data", (chunk) => {
          output = (output + String(chunk)).slice(-20_000);
        });
      }
      await until(
        () => {
          if (started.exitCode !== null) throw new Error(`mosquitto ended: ${output}`);
          return (
            / mosquitto version \S+ running\n/.test(output) &&
            broker
              .connect()
              .then((one) => one.endAsync(), isDenied)
              .then(() => true)
          );
        },
        { what: "mosquitto to listen" },
      );
    },
    stop: async () => {
      const ending = child;
      child = null;
      output = "";
      if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return;
      ending.kill("SIGTERM");
      await once(ending, "exit");
    },
    connect: (options = {}) =>
      connectAsync(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 0, connectTimeout: 5000, ...options }),
  };
  await broker.start();
  return broker;
}

/** It listens: that is all that was asked. */
function isDenied(error: Error & { readonly code?: unknown }): void {
  if (typeof error.code !== "number") throw error;
}
