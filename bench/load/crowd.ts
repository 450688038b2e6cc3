/**
 * Devices that wait, in a process of their own: `node dist/bench/load/crowd.js '<CrowdOptions>'`. It connects them all,
 * prints `{"event":"connected"}`, and counts what comes down. A line of standard input names a count of messages
 * since the beginning; `{"event":"received"}` follows once they are there. The end of input ends it.
 */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Credential } from "./packets.js";
import { type Layer, openSubscriber } from "./subscriber.js";

export interface CrowdOptions {
  readonly port: number;
  readonly layer: Layer;
  readonly connections: number;
  /** A JSON array of {username, password}, one a connection; absent: anonymous. */
  readonly credentialsFile?: string;
  /** Each subscribes to this with its number for `%n`; absent: to nothing. */
  readonly filter?: string;
}

const connectingMax = 200;

async function main(options: CrowdOptions): Promise<void> {
  let count = 0;
  let total = Number.POSITIVE_INFINITY;
  let lastAt = 0;
  function look(): void {
    if (count < total) return;
    total = Number.POSITIVE_INFINITY;
    print({ event: "received", at: performance.timeOrigin + lastAt });
  }
  const events = {
    received(more: number): void {
      count += more;
      lastAt = performance.now();
      look();
    },
    lost(reason: string): void {
      process.stderr.write(`connection lost: ${reason}\n`);
      process.exit(1);
    },
  };
  const started = performance.now();
  await connectAll(options, events);
  print({ event: "connected", seconds: (performance.now() - started) / 1000 });
  for await (const line of createInterface({ input: process.stdin })) {
    total = (JSON.parse(line) as { total: number }).total;
    look();
  }
  process.exit(0);
}

async function connectAll(
  { port, layer, connections, credentialsFile, filter }: CrowdOptions,
  events: Parameters<typeof openSubscriber>[1],
): Promise<void> {
  const file = credentialsFile;
  const credentials = file === undefined ? [] : (JSON.parse(readFileSync(file, "utf8")) as Credential[]);
  let next = 0;
  async function connectInTurn(): Promise<void> {
    while (next < connections) {
      const index = next++;
      const clientId = `crowd-${index}`;
      const credential = credentials[index] ?? null;
      const wanted = filter?.replace("%n", String(index)) ?? null;
      await openSubscriber({ port, layer, clientId, credential, filter: wanted }, events);
    }
  }
  await Promise.all(Array.from({ length: connectingMax }, connectInTurn));
}

function print(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

await main(JSON.parse(process.argv[2] ?? "{}") as CrowdOptions);
