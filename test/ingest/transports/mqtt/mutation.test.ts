/**
 * Real packets of every type and version with bytes changed, cut, doubled and swapped: the process lives, its memory
 * stays bounded, and another client notices nothing. MUTATIONS=1000000 in the environment makes it a long run.
 */
import mqttPacket, { type Packet } from "mqtt-packet";
import { makeDevice, makeProduct } from "../../../factories.js";
import { assert } from "../../../suite.js";
import { type Rec, worldSuite } from "../../../world.js";
import {
  ack,
  bytesOf,
  connected,
  connectPacket,
  hex,
  openClient,
  publishing,
  subscribing,
  type Version,
} from "./raw-client.js";

const mutations = Number(process.env.MUTATIONS ?? 20_000);
const packetsPerConnection = 25;
const connectionsAtOnce = 8;
const growthBytesMax = 250e6;

type Random = (below: number) => number;

/** Repeatable: a failure names its seed. */
function createRandom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const pick = <T>(from: readonly T[], random: Random): T => from[random(from.length)] as T;

const changes: readonly ((bytes: Buffer, random: Random) => Buffer)[] = [
  (bytes, random) => {
    const changed = Buffer.from(bytes);
    changed[random(changed.length)] = random(256);
    return changed;
  },
  (bytes, random) => {
    const changed = Buffer.from(bytes);
    const at = random(changed.length);
    changed[at] = (changed[at] as number) ^ (1 << random(8));
    return changed;
  },
  (bytes, random) => bytes.subarray(0, random(bytes.length)),
  (bytes, random) => Buffer.concat([bytes, bytes.subarray(random(bytes.length))]),
  (bytes, random) => {
    const at = random(bytes.length);
    return Buffer.concat([bytes.subarray(0, at), Buffer.from([random(256)]), bytes.subarray(at)]);
  },
  (bytes, random) => {
    const [from, to] = [random(bytes.length), random(bytes.length)];
    const changed = Buffer.from(bytes);
    changed.copyWithin(to, from, Math.min(bytes.length, from + 4));
    return changed;
  },
  // What follows the fixed header only: the stream keeps its frames, so that what comes after is read too.
  (bytes, random) => {
    const changed = Buffer.from(bytes);
    if (changed.length > 2) changed[2 + random(changed.length - 2)] = random(256);
    return changed;
  },
  // The same with a corrected length, so that only the fields are wrong.
  (bytes, random) => {
    const body = bytes.subarray(2);
    const at = random(body.length + 1);
    const more = [body.subarray(0, at), Buffer.from([random(256)]), body.subarray(at)];
    return bytes.length > 120 ? bytes : bytesOf(bytes[0] as number, ...more);
  },
  (bytes, random) => {
    const changed = Buffer.from(bytes);
    changed[0] = random(256);
    return changed;
  },
];

const properties = {
  payloadFormatIndicator: true,
  messageExpiryInterval: 9,
  contentType: "t",
  responseTopic: "r",
  correlationData: Buffer.from("c"),
  userProperties: { a: ["1", "2"], b: "3" },
};
const will = { topic: "will", payload: Buffer.from("w"), qos: 1 as const, retain: true };

/** Every packet that a client may send, and those that only a server may. */
function samples(device: Rec, version: Version): Buffer[] {
  const five = version === 5;
  const packets: Packet[] = [
    connectPacket(device, version, { clientId: "x" }),
    connectPacket(device, version, {
      clientId: "y",
      clean: false,
      keepalive: 60,
      will: five ? { ...will, properties: { ...properties, willDelayInterval: 1 } } : will,
      ...(five ? { properties: { sessionExpiryInterval: 1, receiveMaximum: 5, topicAliasMaximum: 3 } } : {}),
    }),
    publishing("data", { payload: '{"temp":21.5}' }),
    publishing("data", { payload: '{"temp":21.5}', qos: 0, retain: true }),
    publishing("data", { payload: "x", dup: true, messageId: 5 }),
    publishing("data", { payload: "x", qos: 2, messageId: 9 }),
    ...(five
      ? [
          publishing("data", { payload: "x", properties }),
          publishing("data", { qos: 0, properties: { topicAlias: 3 } }),
          publishing("", { qos: 0, properties: { topicAlias: 3 } }),
        ]
      : []),
    ack("pubrel", 9),
    subscribing(["a/#", "+", "data"], five ? { identifier: 300, nl: true, rh: 1 } : {}),
    { cmd: "unsubscribe", messageId: 4, unsubscriptions: ["a/#", "b"] },
    ...(["puback", "pubrec", "pubcomp"] as const).map((cmd) => ack(cmd, 1, five ? 0 : 0)),
    { cmd: "pingreq" },
    { cmd: "disconnect", ...(five ? { reasonCode: 4, properties: { sessionExpiryInterval: 5 } } : {}) },
  ];
  const raw = [
    "20020000",
    "9003000100",
    "b0020001",
    "d000",
    "f000",
    "f0021800",
    "40040001 87 00",
    "62030001 92",
  ];
  return [
    ...packets.map((packet) => mqttPacket.generate(packet, { protocolVersion: version })),
    ...raw.map(hex),
  ];
}

worldSuite("MQTT, mutated packets", (test, world) => {
  test(
    `${mutations} mutations end no process and hold up nobody`,
    async () => {
      const product = await makeProduct(world);
      const [device, good] = [await makeDevice(world, product), await makeDevice(world, product)];
      const versions = ([3, 4, 5] as const).map((version) => ({
        seeds: samples(device, version),
        connect: mqttPacket.generate(connectPacket(device, version, { clientId: `mutant ${version}` })),
      }));
      const rss = process.memoryUsage.rss();
      let grown = 0;
      let sent = 0;

      async function mutant(worker: number): Promise<void> {
        const random = createRandom(worker + 1);
        while (sent < mutations) {
          const { seeds, connect } = pick(versions, random);
          const raw = await openClient(world.mqtt, 4);
          const some = Array.from({ length: packetsPerConnection }, () =>
            random(8) === 0 ? pick(seeds, random) : pick(changes, random)(pick(seeds, random), random),
          );
          sent += some.length;
          raw.socket.end(Buffer.concat(random(10) === 0 ? some : [connect, ...some]));
          await new Promise((resolve) => raw.socket.once("close", resolve));
          grown = Math.max(grown, process.memoryUsage.rss() - rss);
        }
      }

      const other = await connected(world, good, 5, { clientId: "good" });
      let running = true;
      let published = 0;
      let slowestMs = 0;
      const going = (async () => {
        while (running) {
          const startedAt = performance.now();
          other.send(
            publishing("data", { payload: `{"n":${published}}`, messageId: (published % 65_535) + 1 }),
          );
          await other.next("puback");
          slowestMs = Math.max(slowestMs, performance.now() - startedAt);
          published++;
        }
      })();
      await Promise.all(Array.from({ length: connectionsAtOnce }, (_, worker) => mutant(worker)));
      running = false;
      await going;
      assert.not.ok(other.closed);
      assert.ok(published > 0 && slowestMs < 15_000, `${slowestMs} ms`);
      assert.ok(grown < growthBytesMax, `${Math.round(grown / 1e6)} MB more`);
      await world.settled();
      const events = await world.call("GET", `/api/v1/devices/${good.id}/events?_limit=1`);
      assert.is(events.page.meta.count, published);
      assert.is((await world.call("GET", "/readyz")).status, 200);
      await other.leave();
    },
    { timeoutMs: 60_000 + mutations },
  );
});
