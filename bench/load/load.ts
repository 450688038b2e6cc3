/**
 * The load generator, a process of its own: `node dist/bench/load/load.js '<LoadOptions>'`.
 * It connects every publisher, prints `{"event":"connected"}`, then runs one round for each line of standard
 * input (RoundOptions as JSON) and prints its result. The end of input ends it.
 */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { openFramePublisher } from "./frame-publisher.js";
import { openHttpPublisher, type RequestKind } from "./http-publisher.js";
import type { Credential } from "./packets.js";
import { openPublisher, type Publisher } from "./publisher.js";
import { createRound, type RoundOptions } from "./round.js";

export interface LoadOptions {
  readonly host?: string;
  readonly port: number;
  /** A JSON array of {username, password}; absent: anonymous. Connections beyond its length share entries. */
  readonly credentialsFile?: string;
  readonly connections: number;
  /** Messages in flight on each connection. */
  readonly inflight: number;
  /** Instead of refilling each connection: one message each in turn, so many in flight over all. */
  readonly windowMessages?: number;
  readonly topic?: string;
  /** By which they send; absent: MQTT. */
  readonly protocol?: "http" | "ws";
  /** Only for HTTP: what the requests carry, and their path. */
  readonly requests?: { readonly kind: RequestKind; readonly path: string };
  /** Each message carries its own time in microseconds. */
  readonly clientTimes?: boolean;
}

const connectingMax = 100;

async function main(): Promise<void> {
  const options = JSON.parse(process.argv[2] ?? "{}") as LoadOptions;
  let round: ReturnType<typeof createRound> | null = null;
  const events = {
    latency: (ms: number) => round?.latency(ms),
    acked: (publisher: Publisher, count: number) => round?.acked(publisher, count),
    lost: (reason: string, unanswered: number) => {
      round?.lost(unanswered);
      process.stderr.write(`connection lost: ${reason}\n`);
    },
  };
  const started = performance.now();
  const publishers = await connectAll(options, events);
  print({
    event: "connected",
    connections: publishers.length,
    seconds: (performance.now() - started) / 1000,
  });

  const fleet = { publishers, inflight: options.inflight, windowMessages: options.windowMessages ?? null };
  for await (const line of createInterface({ input: process.stdin })) {
    round = createRound(fleet, JSON.parse(line) as RoundOptions);
    print({ event: "round", ...(await round.run()) });
  }
  for (const publisher of publishers) publisher.close();
}

async function connectAll(options: LoadOptions, events: Parameters<typeof openPublisher>[1]) {
  const credentials = readCredentials(options.credentialsFile);
  const publishers: Publisher[] = [];
  let next = 0;
  async function connectInTurn(): Promise<void> {
    while (next < options.connections) {
      const index = next++;
      const own = {
        host: options.host ?? "127.0.0.1",
        port: options.port,
        clientId: `load-${process.pid}-${index}`,
        credential: credentials[index % credentials.length] ?? null,
        inflight: options.inflight,
      };
      publishers.push(await openOne(options, own, events));
    }
  }
  await Promise.all(Array.from({ length: connectingMax }, connectInTurn));
  return publishers;
}

type Own = Pick<
  Parameters<typeof openPublisher>[0],
  "host" | "port" | "clientId" | "credential" | "inflight"
>;

function openOne(
  { protocol, requests, topic = "telemetry", clientTimes = false }: LoadOptions,
  own: Own,
  events: Parameters<typeof openPublisher>[1],
): Promise<Publisher> {
  if (protocol === "ws") return openFramePublisher(own, events);
  if (protocol === undefined) return openPublisher({ ...own, topic, clientTimes }, events);
  const { kind = "uplink", path = `/api/v1/uplinks/${topic}` } = requests ?? {};
  return openHttpPublisher({ ...own, kind, path }, events);
}

function readCredentials(file: string | undefined): Credential[] {
  return file === undefined ? [] : (JSON.parse(readFileSync(file, "utf8")) as Credential[]);
}

function print(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

await main();
