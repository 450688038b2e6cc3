/** Load, SIGKILL at a random moment, start again: what was acknowledged is there, and nothing twice. */
import { assert, type Test, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { createPublisher, type Publisher } from "./publisher.js";
import {
  nothingSetAside,
  payloadsOf,
  provision,
  type RunningService,
  startService,
  valuesOf,
} from "./support.js";

const rounds = 5;
/** Each publisher has so many acknowledged before a kill may come. */
const acknowledgedPerRound = 60;
const killedWithinMs = 700;

const started = Math.floor(Date.now() / 1000) - 86_400;
const kinds = [
  {
    clientID: "qos 1, own times",
    qos: 1,
    payload: (n: number) => JSON.stringify({ n, time: started * 1000 + n }),
  },
  { clientID: "qos 1, server's times", qos: 1, payload: (n: number) => JSON.stringify({ n }) },
  { clientID: "qos 2", qos: 2, payload: (n: number) => JSON.stringify({ n }) },
] as const;

interface Load {
  readonly kind: (typeof kinds)[number];
  readonly device: Rec;
  readonly publisher: Publisher;
}

const numberOf = (payload: string): number => (JSON.parse(payload) as { n: number }).n;

/** Every acknowledged number is there; returns how many are there more than once. */
function repeated(found: readonly number[], { kind, publisher }: Load, what: string): number {
  const seen = new Set(found);
  const missing = [...publisher.acknowledged].filter((n) => !seen.has(n));
  assert.equal(
    missing.slice(0, 10),
    [],
    `${kind.clientID}: ${missing.length} ${what} missing of ${publisher.acknowledged.size}`,
  );
  for (const n of seen) assert.ok(n >= 0 && n < publisher.sent, `${kind.clientID}: ${n} was never sent`);
  return found.length - seen.size;
}

/** Waits until so many more messages of each publisher are acknowledged. */
function acknowledged(loads: readonly Load[], count: number): Promise<boolean> {
  const wanted = loads.map(({ publisher }) => publisher.acknowledged.size + count);
  const isThere = ({ publisher }: Load, i: number): boolean =>
    publisher.acknowledged.size >= (wanted[i] ?? 0);
  return until(() => loads.every(isThere), { what: `${count} acknowledged of each publisher` });
}

async function check(service: RunningService, load: Load): Promise<void> {
  const { kind, device } = load;
  const events = repeated((await payloadsOf(service, device)).map(numberOf), load, "events");
  const points = repeated(await valuesOf(service, device), load, "points");
  // Redelivery is recognised, and this publisher keeps within the window in which it must be.
  assert.equal({ events, points }, { events: 0, points: 0 }, `${kind.clientID}: twice`);
}

export function defineKillTest(
  test: Test,
  environment: () => Promise<Readonly<Record<string, string>>>,
  start: typeof startService = startService,
): void {
  test(
    `${rounds} kills under load lose nothing that was acknowledged, and repeat nothing`,
    () =>
      withTempDir(async (dir) => {
        const env = await environment();
        let service = await start(dir, env);
        const devices = await provision(service, kinds.length);
        const loads = kinds.map((kind, i): Load => {
          const device = devices[i] as Rec;
          return {
            kind,
            device,
            publisher: createPublisher({ ...kind, device, mostInFlight: 60, pauseMs: 2 }),
          };
        });
        for (let round = 0; round < rounds; round++) {
          const running = loads.map(({ publisher }) => publisher.run(service.mqtt).catch(() => undefined));
          await acknowledged(loads, acknowledgedPerRound);
          await new Promise((resolve) => setTimeout(resolve, Math.random() * killedWithinMs));
          await service.kill();
          await Promise.all(running);
          service = await start(dir, env);
          // Before anything is sent again, what was acknowledged before the kill is there.
          await service.settled();
          for (const load of loads) await check(service, load);
          await nothingSetAside(service);
        }
        for (const { publisher } of loads) void publisher.run(service.mqtt);
        await acknowledged(loads, acknowledgedPerRound);
        await Promise.all(loads.map(({ publisher }) => publisher.stop()));
        await service.settled();
        for (const load of loads) {
          await check(service, load);
          assert.is(load.publisher.acknowledged.size, load.publisher.sent);
        }
        await service.stop();
      }),
    { timeoutMs: 600_000 },
  );
}
