/**
 * What a waiting request itself takes: a bare node:http server that answers none, a process of its own:
 * `node dist/bench/baselines/bare-held.js serve`. Prints `{"event":"listening","port"}` and `{"event":"held"}` once
 * as many requests as argv says are waiting; the end of input ends it.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Child, startChild } from "../subjects/child.js";
import { probed } from "../subjects/memory.js";

interface BareHeld {
  readonly child: Child;
  readonly port: number;
  /** Resolves once so many requests wait. */
  held(): Promise<void>;
}

export async function startBareHeld(requests: number): Promise<BareHeld> {
  const child = startChild("baselines/bare-held.js", ["serve", String(requests)], { ...probed });
  const { port } = (await child.next("event", "listening")) as { port: number };
  const all = child.next("event", "held");
  return {
    child,
    port,
    held: async () => {
      await all;
    },
  };
}

function main(requests: number): void {
  const waiting = new Set<object>();
  const server = createServer((_, response) => {
    waiting.add(response);
    response.once("close", () => waiting.delete(response));
    if (waiting.size === requests) print({ event: "held" });
  });
  server.listen(0, "127.0.0.1", () =>
    print({ event: "listening", port: (server.address() as AddressInfo).port }),
  );
  process.stdin.on("end", () => process.exit(0)).resume();
}

function print(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

if (process.argv[2] === "serve" && process.argv[1]?.endsWith("bare-held.js")) main(Number(process.argv[3]));
