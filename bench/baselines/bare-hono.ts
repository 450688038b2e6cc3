/**
 * What HTTP itself costs with the server that the service uses, a process of its own: `node dist/bench/baselines/bare-hono.js`.
 * Prints `{"event":"listening"}`; each line of standard input `{"name","status","text"}` makes /<name> answer that
 * text, and is printed back as `{"event":"ready"}`. The end of input ends it.
 */
import { createInterface } from "node:readline";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { startChild } from "../subjects/child.js";

interface BareAnswer {
  readonly name: string;
  readonly status: number;
  readonly text: string;
}

export interface BareHono {
  readonly http: string;
  answer(answer: BareAnswer): Promise<void>;
  close(): Promise<void>;
}

export async function startBareHono(): Promise<BareHono> {
  const child = startChild("baselines/bare-hono.js", ["serve"]);
  const { http } = (await child.next("event", "listening")) as { http: string };
  return {
    http,
    async answer(answer) {
      const ready = child.next("event", "ready");
      child.write(answer);
      await ready;
    },
    close: () => child.stop(),
  };
}

async function main(): Promise<void> {
  const answers = new Map<string, BareAnswer>();
  const app = new Hono();
  app.all("/:name", async (context) => {
    const answer = answers.get(context.req.param("name"));
    if (answer === undefined) return context.notFound();
    if (context.req.method !== "GET") await context.req.json();
    if (answer.status === 204) return context.body(null, 204);
    return new Response(answer.text, {
      status: answer.status,
      headers: { "Content-Type": "application/json; charset=utf-8" },
    });
  });
  const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) =>
    print({ event: "listening", http: `http://127.0.0.1:${port}` }),
  );
  for await (const line of createInterface({ input: process.stdin })) {
    const answer = JSON.parse(line) as BareAnswer;
    answers.set(answer.name, answer);
    print({ event: "ready" });
  }
  server.close();
  process.exit(0);
}

function print(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

if (process.argv[2] === "serve" && process.argv[1]?.endsWith("bare-hono.js")) void main();
