/** Sends cases for a time and holds the service to what no client may break. */
import { connectPacket, openClient, publishing } from "../ingest/transports/mqtt/raw-client.js";
import { until } from "../suite.js";
import { type Case, caseOf, type Grammar } from "./cases.js";
import type { Held, Target } from "./target.js";

interface Outcome {
  readonly cases: number;
  /** Empty, or what broke a promise, with the cases that were under way. */
  readonly faults: readonly string[];
  readonly waits: Waits;
  /** 99.9 % of the turns of the service's loop were shorter; seconds. */
  readonly loopDelay: number;
  readonly before: Held;
  readonly after: Held;
}

/** The neighbour's worst waits, beyond what the machine kept this process and the service waiting; milliseconds. */
interface Waits {
  /** Its disk and those that share it are in it. */
  readonly pubackMs: number;
  readonly readyzMs: number;
}

const lanes = 4;
const refreshEvery = 150;
const recentMax = 24;
const settleMs = 15_000;

/** `next` gives the cases' seeds until it has no more. */
export async function fuzz(
  target: Target,
  next: () => { grammar: Grammar; seed: number } | null,
): Promise<Outcome> {
  const { service, known } = target;
  const faults: string[] = [];
  const recent: string[] = [];
  let cases = 0;
  let ended = false;
  void service.ended.then(() => {
    ended = true;
  });
  const fault = (what: string): void => {
    faults.push(`${what}; last cases: ${recent.join(" ")}`);
  };
  const neighbour = await openNeighbour(target);
  const before = await target.held();
  const logged = service.logged.length;

  async function lane(): Promise<void> {
    for (let drawn = next(); drawn !== null && !ended; drawn = next()) {
      const one: Case = caseOf(drawn.grammar, drawn.seed, known);
      recent.push(`${one.grammar}:${one.seed}`);
      if (recent.length > recentMax) recent.shift();
      const statuses = await target.send(one);
      if (statuses.includes(500)) fault(`${one.grammar}:${one.seed} was answered 500`);
      if (++cases % refreshEvery === 0 && !ended) await target.refresh();
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane)).catch((error: Error) => fault(error.message));
  const waits = await neighbour.stop();
  if (ended) fault("the process has ended");
  if (neighbour.lost()) fault("the neighbour has lost its connection");
  for (const line of service.logged.slice(logged)) {
    if (line.level === "error") fault(`an error was logged: ${JSON.stringify(line).slice(0, 2000)}`);
  }
  const isBack = async () => {
    const { connections, descriptors } = await target.held();
    return connections <= before.connections && descriptors <= target.descriptorsAtStart + descriptorsMore;
  };
  if (!ended) {
    await until(isBack, { what: "what cases had opened to be closed", timeoutMs: settleMs }).catch(
      (error: Error) => fault(error.message),
    );
  }
  const after = ended ? before : await target.held();
  const loopDelay = ended ? 0 : await service.metric("tidemark_event_loop_delay_seconds", 'quantile="0.999"');
  return { cases, faults, waits, loopDelay, before, after };
}

/** Databases and segments that may be opened during the run. */
const descriptorsMore = 40;

interface Neighbour {
  lost(): boolean;
  stop(): Promise<Waits>;
}

/** A device of another tenant that publishes all the time, and somebody who asks /readyz. */
async function openNeighbour({ service, starvedMs }: Target): Promise<Neighbour> {
  const product = await service.make("/api/v1/products", { productName: `n${Date.now()}`, cloudProtocol: 1 });
  const device = await service.make("/api/v1/devices", {
    productID: product.productID,
    cloudProtocol: 1,
    deviceName: "Neighbour",
    deviceID: `n${Date.now()}`,
    deviceType: 1,
    upLinkSystem: 1,
    authType: 1,
  });
  const client = await openClient(service.mqtt, 4);
  client.send(connectPacket(device, 4, { clientId: "neighbour" }));
  await client.next("connack");
  let running = true;
  const worst = { pubackMs: 0, readyzMs: 0 };
  let lateMs = 0;
  let tickedAt = performance.now();
  const control = setInterval(() => {
    const now = performance.now();
    lateMs = Math.max(lateMs, now - tickedAt - tickMs);
    tickedAt = now;
  }, tickMs);
  /** Measures how long an action takes, without the time when this process was late or the service had no processor. */
  async function felt(kind: keyof Waits, action: () => Promise<unknown>): Promise<void> {
    lateMs = 0;
    const [startedAt, starved] = [performance.now(), starvedMs()];
    await action();
    const took = performance.now() - startedAt - lateMs - (starvedMs() - starved);
    worst[kind] = Math.max(worst[kind], took);
  }
  let messageId = 0;
  const publish = async () => {
    messageId = (messageId % 65_535) + 1;
    const before = client.packets.length;
    client.send(publishing("data", { payload: `{"n":${messageId}}`, messageId }));
    while (client.packets.length === before && !client.closed)
      await new Promise((done) => setTimeout(done, 2));
  };
  const ready = () => fetch(`${service.addresses.http}/readyz`).then((answer) => answer.text());
  const going = (async () => {
    while (running && !client.closed) {
      await felt("pubackMs", publish);
      await felt("readyzMs", ready).catch(() => undefined);
      await new Promise((done) => setTimeout(done, 10));
    }
  })();
  return {
    lost: () => client.closed && running,
    stop: async () => {
      const closed = client.closed;
      running = closed;
      await going;
      clearInterval(control);
      if (!closed) await client.leave();
      return worst;
    },
  };
}

const tickMs = 5;

/** Seeds from one, spread over all that there are. */
export function seedsFrom(base: number): (i: number) => number {
  return (i) => (base + Math.imul(i + 1, 0x9e3779b1)) >>> 0;
}
