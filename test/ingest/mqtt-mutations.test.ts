/** Real packets with bytes changed, cut, doubled and swapped: the process lives and another client goes on. */
import mqttPacket, { type Packet } from "mqtt-packet";
import { makeDevice, makeProduct } from "../factories.js";
import { assert } from "../suite.js";
import { type Rec, worldSuite } from "../world.js";
import { connectPacket, publishPacket, pubrel, rawClient, rawConnected } from "./support.js";

const mutations = 100_000;
const packetsPerConnection = 25;
const connectionsAtOnce = 8;

/** Repeatable: a failure names its round. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

type Random = ReturnType<typeof createRandom>;

const change: readonly ((bytes: Buffer, random: Random) => Buffer)[] = [
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
  // What follows the fixed header only: the stream keeps its frames, so that what comes behind is read too.
  (bytes, random) => {
    const changed = Buffer.from(bytes);
    if (changed.length > 2) changed[2 + random(changed.length - 2)] = random(256);
    return changed;
  },
  (bytes, random) => {
    const changed = Buffer.from(bytes);
    changed[0] = random(256);
    return changed;
  },
];

function samples(device: Rec): Buffer[] {
  const packets: Packet[] = [
    connectPacket(device, { clientId: "x" }),
    publishPacket('{"temp":21.5}'),
    publishPacket('{"temp":21.5}', { qos: 0 }),
    publishPacket('{"temp":21.5}', { dup: true, messageId: 5 }),
    publishPacket("x", { qos: 2, messageId: 9 }),
    pubrel(9),
    {
      cmd: "subscribe",
      messageId: 3,
      subscriptions: [
        { topic: "a/#", qos: 2 },
        { topic: "+", qos: 1 },
      ],
    },
    { cmd: "unsubscribe", messageId: 4, unsubscriptions: ["a/#"] },
    { cmd: "puback", messageId: 1 },
    { cmd: "pubrec", messageId: 1 },
    { cmd: "pubcomp", messageId: 1 },
    { cmd: "pingreq" },
    { cmd: "disconnect" },
  ];
  return packets.map((packet) => mqttPacket.generate(packet));
}

worldSuite("MQTT, mutated packets", (test, world) => {
  test(
    `${mutations} mutations end no process and hold up nobody`,
    async () => {
      const product = await makeProduct(world);
      const [device, good] = [await makeDevice(world, product), await makeDevice(world, product)];
      const seeds = samples(device);
      const connect = mqttPacket.generate(connectPacket(device, { clientId: "mutant" }));
      let sent = 0;

      async function mutant(worker: number): Promise<void> {
        const random = createRandom(worker + 1);
        while (sent < mutations) {
          const raw = await rawClient(world.mqtt);
          const some = Array.from({ length: packetsPerConnection }, () => {
            const seed = seeds[random(seeds.length)] as Buffer;
            return (change[random(change.length)] as (typeof change)[number])(seed, random);
          });
          sent += some.length;
          raw.socket.end(Buffer.concat(random(10) === 0 ? some : [connect, ...some]));
          await new Promise((resolve) => raw.socket.once("close", resolve));
        }
      }

      const other = await rawConnected(world.mqtt, good, { clientId: "good" });
      let running = true;
      let published = 0;
      let slowestMs = 0;
      const going = (async () => {
        while (running) {
          const startedAt = performance.now();
          other.send(publishPacket(`{"n":${published}}`, { messageId: (published % 65_535) + 1 }));
          await other.next("puback");
          slowestMs = Math.max(slowestMs, performance.now() - startedAt);
          published++;
        }
      })();
      await Promise.all(Array.from({ length: connectionsAtOnce }, (_, worker) => mutant(worker)));
      running = false;
      await going;
      assert.not.ok(other.closed);
      assert.ok(slowestMs < 3000, `${slowestMs} ms`);
      await world.settled();
      const events = await world.call("GET", `/api/v1/devices/${good.id}/events?_limit=1`);
      assert.is(events.page.meta.count, published);
      assert.is((await world.call("GET", "/readyz")).status, 200);
    },
    { timeoutMs: 100_000 },
  );
});
