/** Devices that post while the service is killed: each repeats what was not answered, and all of it is there once. */
import { basicOf } from "../ingest/transports/http/support.js";
import { assert, suite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import {
  nothingSetAside,
  payloadsOf,
  provision,
  type RunningService,
  startService,
  valuesOf,
} from "./support.js";

const rounds = 4;
const answeredPerRound = 40;
const killedWithinMs = 400;
const batchLines = 25;

/** One device that posts numbers, from 0 on; what is not answered it posts again under the same id. */
interface Poster {
  readonly device: Rec;
  /** How many numbers have been answered. */
  readonly answered: () => number;
  /** Posts until the service is gone, or `stop`. */
  run(http: string): Promise<void>;
  stop(): void;
}

interface Kind {
  readonly name: string;
  /** Numbers of one request. */
  readonly each: number;
  request(from: number): {
    readonly path: string;
    readonly headers: Record<string, string>;
    readonly body: string;
  };
}

const kinds: readonly Kind[] = [
  {
    name: "one by one",
    each: 1,
    request: (n) => ({
      path: "/api/v1/uplinks/data",
      headers: { "Message-Id": `m${n}`, "Content-Type": "application/json" },
      body: `{"n":${n}}`,
    }),
  },
  {
    name: "in batches",
    each: batchLines,
    request: (from) => ({
      path: "/api/v1/uplinks",
      headers: { "Batch-Id": `b${from}` },
      body: Array.from(
        { length: batchLines },
        (_, i) => `{"topic":"data","payload":{"n":${from + i}}}\n`,
      ).join(""),
    }),
  },
];

function createPoster(kind: Kind, device: Rec): Poster {
  let answered = 0;
  let stopped = false;
  return {
    device,
    answered: () => answered,
    stop: () => {
      stopped = true;
    },
    run: async (http) => {
      stopped = false;
      while (!stopped) {
        const { path, headers, body } = kind.request(answered);
        const Authorization = basicOf(device);
        const response = await fetch(http + path, {
          method: "POST",
          headers: { ...headers, Authorization },
          body,
        }).catch(() => null);
        if (response === null) return;
        const text = await response.text().catch(() => "");
        if (response.status < 300) answered += kind.each;
        else assert.is(response.status, 503, text);
      }
    },
  };
}

async function check(service: RunningService, { device, answered }: Poster, name: string): Promise<void> {
  const numbers = (await payloadsOf(service, device)).map(
    (payload) => (JSON.parse(payload) as { n: number }).n,
  );
  assert.equal(
    numbers.slice(0, answered()),
    Array.from({ length: answered() }, (_, n) => n),
    `${name}: what was answered, once and in order`,
  );
  assert.is(new Set(numbers).size, numbers.length, `${name}: nothing twice`);
  const values = await valuesOf(service, device);
  assert.is(values.length, numbers.length, `${name}: a point each`);
}

suite("HTTP, killed", (test) => {
  test(
    `${rounds} kills under load lose nothing that was answered, and a repeated request is no second one`,
    () =>
      withTempDir(async (dir) => {
        let service = await startService(dir);
        const devices = await provision(service, kinds.length);
        const posters = kinds.map((kind, i) => createPoster(kind, devices[i] as Rec));
        for (let round = 0; round < rounds; round++) {
          const http = String(service.addresses.http);
          const running = posters.map((poster) => poster.run(http));
          const wanted = posters.map(({ answered }) => answered() + answeredPerRound);
          await until(() => posters.every(({ answered }, i) => answered() >= (wanted[i] as number)), {
            what: "answers",
          });
          await new Promise((resolve) => setTimeout(resolve, Math.random() * killedWithinMs));
          await service.kill();
          await Promise.all(running);
          service = await startService(dir);
          await service.settled();
          for (const [i, poster] of posters.entries()) await check(service, poster, kinds[i]?.name ?? "");
          await nothingSetAside(service);
        }
        const http = String(service.addresses.http);
        const running = posters.map((poster) => poster.run(http));
        await until(() => posters.every(({ answered }) => answered() > 0), { what: "answers" });
        await new Promise((resolve) => setTimeout(resolve, 300));
        for (const poster of posters) poster.stop();
        await Promise.all(running);
        await service.settled();
        for (const [i, poster] of posters.entries()) await check(service, poster, kinds[i]?.name ?? "");
        await service.stop();
      }),
    { timeoutMs: 300_000 },
  );
});
