import { asDevice } from "../evil/as-device.js";
import { asUser } from "../evil/as-user.js";
import { type Attack, pause, type Target } from "../evil/attack.js";
import { heldBytes } from "../evil/held-bytes.js";
import { createMemoryLimit } from "../evil/memory-limit.js";
import type { Felt } from "../evil/neighbour.js";
import { withoutCredentials } from "../evil/without-credentials.js";
import { createApi } from "../load/api-client.js";
import { credentialOf, provision } from "../load/fleet.js";
import { type BenchOptions, wants } from "../options.js";
import { type Figure, progress } from "../report.js";
import { type Child, startChild } from "../subjects/child.js";
import { rssMB } from "../subjects/proc.js";
import { startTidemark, type Tidemark } from "../subjects/tidemark.js";

const attacks: readonly Attack[] = [...withoutCredentials, ...heldBytes, ...asDevice, ...asUser];
const limitBytes = 2 ** 30;
const attackSeconds = 30;
const rssMs = 100;

/**
 * What one client can do to others. Each attack has a fresh service within 1 GiB of memory, a tenant of its own, and a
 * neighbour of another tenant that publishes and asks `/readyz` all the while: what the neighbour feels before is the
 * baseline of what it feels during it. Afterwards everything must be answered, and every acknowledged point be there.
 */
export async function benchEvil(options: BenchOptions): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const attack of attacks) {
    if (!wants(options, attack.name.replaceAll(" ", "-"))) continue;
    progress(`evil: ${attack.name}: ${attack.what}`);
    const found = await measure(options, attack);
    progress(
      found.map(({ value, unit, detail = {} }) => `  ${value} ${unit} ${JSON.stringify(detail)}`).join("\n"),
    );
    figures.push(...found);
  }
  return figures;
}

async function measure(options: BenchOptions, attack: Attack): Promise<Figure[]> {
  const service = await startTidemark({
    dir: options.dir,
    ...(attack.environment === undefined ? {} : { environment: attack.environment }),
  });
  const limit = createMemoryLimit(`tidemark-evil-${process.pid}`, limitBytes);
  if (limit === null) progress("evil: no control group here, so that memory is only watched");
  limit?.add(service.pid());
  const honest = (await provision(service.api(), 1)).devices[0];
  if (honest === undefined) throw new Error("cannot measure: there is no honest device");
  const neighbour = startChild("evil/neighbour.js", [
    JSON.stringify({
      mqttPort: service.mqttPort(),
      http: service.http(),
      pid: service.pid(),
      credential: credentialOf(honest),
    }),
  ]);
  const watch = watchMemory(service);
  let ended: string | null = null;
  try {
    await neighbour.next("event", "ready");
    const target = await openTarget(service);
    await attack.prepare?.(target);
    await spanOf(neighbour);
    await pause(options.seconds * 1000);
    const before = await spanOf(neighbour);
    const rssBefore = watch.peak();
    watch.reset();
    const begun = performance.now();
    await attack.run({ ...target, until: begun + attackSeconds * 1000 });
    const seconds = (performance.now() - begun) / 1000;
    const during = await spanOf(neighbour);
    attack.release?.();
    await pause(1_000);
    const after = await spanOf(neighbour);
    const lost = Math.max(0, after.acked - (await storedOf(service, honest.id)));
    const again = await answersAgain(service);
    target.api.close();
    return figuresOf(attack, {
      before,
      during,
      after,
      seconds,
      lost,
      again,
      rssBefore,
      rssPeak: watch.peak(),
    });
  } catch (error) {
    ended = error instanceof Error ? error.message : String(error);
    return [{ name: `${attack.name}, ended`, value: 1, unit: "times", detail: { why: ended.slice(0, 200) } }];
  } finally {
    attack.release?.();
    watch.stop();
    await neighbour.stop(1_000);
    await service.close().catch(() => undefined);
    limit?.remove();
  }
}

/** A tenant of the attacker's own, with its ports. */
async function openTarget(service: Tidemark): Promise<Target> {
  const names = { tenantName: "evil", username: "mallory" };
  const { password } = await service.api().post<{ password: string }>("/api/v1/tenants", names);
  const login = { username: names.username, password };
  const { token } = await service.api().post<{ token: string }>("/api/v1/login", login);
  const authorization = `Bearer ${token}`;
  return {
    service,
    httpPort: Number(new URL(service.http()).port),
    mqttPort: service.mqttPort(),
    tlsPort: () => service.portOf("mqtts"),
    api: createApi(service.http(), { authorization }),
    authorization,
    until: Number.POSITIVE_INFINITY,
  };
}

async function spanOf(neighbour: Child): Promise<Felt> {
  const line = neighbour.next("event", "span");
  neighbour.write({});
  return (await line) as unknown as Felt;
}

function watchMemory(service: Tidemark) {
  let peak = 0;
  const timer = setInterval(() => {
    try {
      peak = Math.max(peak, rssMB(service.pid()));
    } catch {
      // The process has ended; the next request to it fails and reports that.
    }
  }, rssMs);
  return {
    peak: () => peak,
    reset: () => {
      peak = 0;
    },
    stop: () => clearInterval(timer),
  };
}

/** Points of the neighbour that can be read. */
async function storedOf(service: Tidemark, deviceIntID: number): Promise<number> {
  await service.stored();
  const path = `/api/v1/original_data?deviceIntID=${deviceIntID}&startTime=2000-01-01%2000:00:00&limit=100000`;
  const list = await service.api().get<{ originalData: { value: readonly unknown[] } }[]>(path);
  return Math.max(0, ...list.map(({ originalData }) => originalData.value.length));
}

/** Milliseconds until a newcomer's call is answered; an error where it is not. */
async function answersAgain(service: Tidemark): Promise<number> {
  const fresh = createApi(service.http(), { authorization: service.authorization });
  const begun = performance.now();
  await fresh.get("/api/v1/devices?_limit=1");
  fresh.close();
  return performance.now() - begun;
}

interface Seen {
  readonly before: Felt;
  readonly during: Felt;
  readonly after: Felt;
  readonly seconds: number;
  readonly lost: number;
  readonly again: number;
  readonly rssBefore: number;
  readonly rssPeak: number;
}

function figuresOf(attack: Attack, seen: Seen): Figure[] {
  const { before, during, after } = seen;
  return [
    { name: `${attack.name}, before`, value: before.pubackMax, unit: "ms PUBACK, worst" },
    {
      name: attack.name,
      value: during.pubackMax,
      unit: "ms PUBACK, worst",
      baseline: `${attack.name}, before`,
      detail: {
        "above ms": during.pubackMax - before.pubackMax,
        "of it own ms": during.ownPubackMax - before.ownPubackMax,
        "readyz above ms": during.readyzMax - before.readyzMax,
        "readyz own ms": during.ownReadyzMax - before.ownReadyzMax,
        "p50 ms": during.pubackP50,
        "RSS MB": seen.rssPeak,
        "RSS before MB": seen.rssBefore,
        lost: seen.lost,
        failures: during.failures + after.failures,
        "newcomer ms": seen.again,
        seconds: seen.seconds,
      },
    },
  ];
}
