/** What devices publish at a broker, and which node of a cluster follows it. */
import { setTimeout as pause } from "node:timers/promises";
import type { MqttClient } from "mqtt";
import { type AnyService, payloadsOf, type RunningService, valuesOf } from "../flow/support.js";
import type { Mosquitto } from "../ingest/transports/broker/mosquitto.js";
import { assert, until } from "../suite.js";
import type { Rec } from "../world.js";
import { freeze } from "./freeze.js";
import type { Cluster } from "./three-nodes.js";

/** Not acknowledged by the broker, which takes no more at QoS 2. */
const openMax = 20;
/** Published in one go, and the time before the next: less than a cluster on two cores takes. */
const [burst, burstMs] = [10, 20];
/** Numbers that an error names. */
const namedMax = 20;

/**
 * Publishes numbers for all devices in turn while something is done, those of each at QoS 1 and 2 in turn. Resolves with
 * those of each device, all of which the broker has acknowledged. A node must have followed the broker before, which
 * keeps messages for a session that it knows.
 */
export async function publishDuring(
  broker: Mosquitto,
  devices: readonly Rec[],
  first: number,
  action: () => Promise<unknown>,
): Promise<readonly (readonly number[])[]> {
  const client = await broker.connect({ protocolVersion: 5 });
  let isOver = false;
  const publishing = publishUntil(client, devices, first, () => isOver);
  try {
    await action();
  } finally {
    isOver = true;
    await publishing;
    await client.endAsync();
  }
  return publishing;
}

async function publishUntil(
  client: MqttClient,
  devices: readonly Rec[],
  first: number,
  isOver: () => boolean,
): Promise<number[][]> {
  const acknowledged = devices.map((): number[] => []);
  let open = 0;
  for (let n = first; !isOver(); ) {
    await pause(burstMs);
    for (let i = 0; i < burst && open < openMax; i++) {
      const place = n % devices.length;
      const topic = `devices/${devices[place]?.deviceID}/up/data`;
      const qos = Math.floor(n / devices.length) % 2 === 0 ? 1 : 2;
      const value = n++;
      open++;
      void client.publishAsync(topic, `{"n":${value}}`, { qos }).then(() => {
        acknowledged[place]?.push(value);
        open--;
      });
    }
  }
  await until(() => open === 0, { what: "the broker's last acknowledgements" });
  return acknowledged;
}

/** Each message that the broker has acknowledged is there, as an event and as a point, and none twice. */
export async function assertKeptFromBroker(
  service: () => AnyService,
  device: Rec,
  acknowledged: readonly number[],
): Promise<void> {
  await assertAllOnce(`the last messages of ${device.deviceID}`, acknowledged, async () =>
    (await payloadsOf(service(), device)).map((text) => (JSON.parse(text) as { n: number }).n),
  );
  await assertAllOnce(`the last points of ${device.deviceID}`, acknowledged, () =>
    valuesOf(service(), device),
  );
}

/** Nothing that was acknowledged is missing after a while; and then, that nothing comes any more, nothing is there twice. */
async function assertAllOnce(
  what: string,
  acknowledged: readonly number[],
  find: () => Promise<readonly number[]>,
): Promise<void> {
  await until(
    async () => {
      const seen = new Set(await find());
      assertNone(
        "missing",
        acknowledged.filter((n) => !seen.has(n)),
      );
      return true;
    },
    { what },
  );
  const found = await find();
  assertNone(
    "twice",
    found.filter((n, i) => found.indexOf(n) !== i),
  );
  assert.is(found.length, acknowledged.length);
}

function assertNone(what: string, found: readonly number[]): void {
  assert.equal({ what, count: found.length, first: found.slice(0, namedMax) }, { what, count: 0, first: [] });
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
  { nodes, dir }: Pick<Cluster, "nodes" | "dir">,
  how: "kill" | "freeze" | "stop",
  start: (place: number) => Promise<unknown>,
): Promise<void> {
  const place = await followerOf(() => nodes);
  const node = nodes[place] as RunningService;
  if (how === "freeze") await freeze(node, dir);
  else await node[how]();
  await followerOf(() => nodes.filter((one) => one !== node));
  await pause(500);
  if (how === "freeze") node.signal("SIGCONT");
  else await start(place);
}
