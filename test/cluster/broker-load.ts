/** What devices publish at a broker, and which node of a cluster follows it. */
import { setTimeout as pause } from "node:timers/promises";
import { type AnyService, payloadsOf, type RunningService, valuesOf } from "../flow/support.js";
import type { Mosquitto } from "../ingest/transports/broker/mosquitto.js";
import { assert, until } from "../suite.js";
import type { Rec } from "../world.js";

/** Not acknowledged by the broker, which takes no more at QoS 2. */
const openMax = 20;
/** Between ten messages: a busy machine keeps up with that, also right after a node has gone. */
const pauseMs = 25;

/**
 * Publishes numbers for all devices in turn until it is told to stop, those of each at QoS 1 and 2 in turn. Resolves with
 * those of each device.
 */
export async function publishAtBroker(
  broker: Mosquitto,
  devices: readonly Rec[],
  isOver: () => boolean,
  first = 0,
): Promise<readonly (readonly number[])[]> {
  const client = await broker.connect({ protocolVersion: 5 });
  const acknowledged = devices.map((): number[] => []);
  let open = 0;
  for (let n = first; !isOver(); ) {
    if (open >= openMax) {
      await pause(5);
      continue;
    }
    const place = n % devices.length;
    const topic = `devices/${devices[place]?.deviceID}/up/data`;
    const qos = Math.floor(n / devices.length) % 2 === 0 ? 1 : 2;
    const value = n++;
    open++;
    void client.publishAsync(topic, `{"n":${value}}`, { qos }).then(() => {
      acknowledged[place]?.push(value);
      open--;
    });
    if (n % 10 === 0) await pause(pauseMs);
  }
  await until(() => open === 0, { what: "the broker's last acknowledgements" });
  await client.endAsync();
  return acknowledged.map((own) => own.sort((a, b) => a - b));
}

/** Each message that the broker has acknowledged is there, as an event and as a point, and none twice. */
export async function assertKeptFromBroker(
  service: () => AnyService,
  device: Rec,
  acknowledged: readonly number[],
): Promise<void> {
  const eventsNow = async () =>
    (await payloadsOf(service(), device)).map((text) => (JSON.parse(text) as { n: number }).n);
  await until(async () => (await eventsNow()).length >= acknowledged.length, {
    what: `the last messages of ${device.deviceID}`,
  });
  assert.equal(unlike(await eventsNow(), acknowledged), { missing: [], twice: [] });
  await until(async () => (await valuesOf(service(), device)).length >= acknowledged.length, {
    what: `the last points of ${device.deviceID}`,
  });
  assert.equal(unlike(await valuesOf(service(), device), acknowledged), { missing: [], twice: [] });
}

/** What is not there as often as it was acknowledged. */
function unlike(found: readonly number[], acknowledged: readonly number[]) {
  const seen = new Set(found);
  return {
    missing: acknowledged.filter((n) => !seen.has(n)),
    twice: found.filter((n, i) => found.indexOf(n) !== i),
  };
}

/** The place of the node that follows the broker, in its own eyes; of those that are asked, the only one. */
export async function followerOf(nodes: () => readonly RunningService[]): Promise<number> {
  let found: number[] = [];
  await until(
    async () => {
      const links = await Promise.all(nodes().map((node) => node.metric("tidemark_broker_connections ")));
      found = links.flatMap((count, place) => (count === 2 ? [place] : []));
      return found.length === 1;
    },
    { what: "one node to follow the broker" },
  );
  return found[0] as number;
}

/** Whichever node follows the broker is killed, frozen, or stopped, and comes back once another one follows it. */
export async function endFollower(
  nodes: () => readonly RunningService[],
  how: "kill" | "freeze" | "stop",
  start: (place: number) => Promise<unknown>,
): Promise<void> {
  const place = await followerOf(nodes);
  const node = nodes()[place] as RunningService;
  if (how === "freeze") node.signal("SIGSTOP");
  else await node[how]();
  await followerOf(() => nodes().filter((one) => one !== node));
  await pause(500);
  if (how === "freeze") node.signal("SIGCONT");
  else await start(place);
}
