/**
 * Each packet that a client may send stands in a list here: twenty thousand of it in one write, on a connection that
 * reads nothing, neither hold up a neighbour nor end more than that connection.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import mqttPacket, { type Packet } from "mqtt-packet";
import { makeDevice, makeProduct } from "../factories.js";
import { publishPacket, type RawClient, rawConnected } from "../ingest/support.js";
import { repositoryRoot } from "../repository.js";
import { assert, until } from "../suite.js";
import { type Rec, worldSuite } from "../world.js";

type Kind = Packet["cmd"];

interface Flood {
  packet(n: number): Packet;
  /** What is answered to each once the client reads; null: the connection ends, or there is no answer. */
  readonly answer: Kind | null;
}

const id = (n: number): number => 1 + (n % 60_000);
const acknowledgement = (cmd: "puback" | "pubrec" | "pubrel" | "pubcomp", answer: Kind | null): Flood => ({
  packet: (n) => ({ cmd, messageId: id(n), qos: cmd === "pubrel" ? 1 : 0 }) as Packet,
  answer,
});

const floods: Readonly<Record<string, Flood>> = {
  publish: { packet: (n) => publishPacket("1", { messageId: id(n) }), answer: "puback" },
  puback: acknowledgement("puback", null),
  // It acknowledges what we never sent. MQTT 3.1.1 has no code for that, so it is answered as if it had been lost.
  pubrec: acknowledgement("pubrec", null),
  pubrel: acknowledgement("pubrel", "pubcomp"),
  pubcomp: acknowledgement("pubcomp", null),
  subscribe: {
    packet: (n) => ({
      cmd: "subscribe",
      messageId: id(n),
      dup: false,
      qos: 1,
      retain: false,
      subscriptions: [{ topic: `a/${n % 50}/#`, qos: 1 }],
    }),
    answer: "suback",
  },
  unsubscribe: {
    packet: (n) => ({
      cmd: "unsubscribe",
      messageId: id(n),
      dup: false,
      qos: 1,
      retain: false,
      unsubscriptions: [`a/${n % 50}/#`],
    }),
    answer: "unsuback",
  },
  pingreq: { packet: () => ({ cmd: "pingreq" }), answer: "pingresp" },
  disconnect: { packet: () => ({ cmd: "disconnect" }), answer: null },
};

const packetsInOneWrite = 20_000;
/** Generous: the machine may be busy with other suites. */
const neighbourMs = 15_000;

worldSuite("every packet", (test, world) => {
  let product: Rec;
  let neighbour: RawClient;
  test.before(async () => {
    product = await makeProduct(world);
    neighbour = await rawConnected(world.mqtt, await makeDevice(world, product), { clientId: "neighbour" });
  });

  test("that the codec knows is in this list", () => {
    const source = readFileSync(join(repositoryRoot(), "ingest/transports/mqtt/codec/packets.ts"), "utf8");
    const known = [...source.matchAll(/readonly cmd: ([^;}]+)/g)].flatMap(([, kinds = ""]) =>
      [...kinds.matchAll(/"(\w+)"/g)].map(([, kind]) => kind),
    );
    assert.equal(Object.keys(floods).sort(), known.sort());
  });

  for (const [kind, { packet, answer }] of Object.entries(floods)) {
    test(`${kind}: a flood that nobody reads costs a neighbour nothing`, async () => {
      const device = await makeDevice(world, product);
      const raw = await rawConnected(world.mqtt, device, { clientId: kind });
      raw.socket.pause();
      const bytes = Array.from({ length: packetsInOneWrite }, (_, n) => mqttPacket.generate(packet(n)));
      raw.socket.write(Buffer.concat(bytes));
      let worst = 0;
      for (let n = 0; n < 20; n++) {
        const before = performance.now();
        neighbour.send(publishPacket("1", { messageId: n + 1 }));
        await neighbour.next("puback");
        worst = Math.max(worst, performance.now() - before);
      }
      assert.ok(worst < neighbourMs, `${worst} ms`);
      raw.socket.resume();
      if (answer !== null) {
        const done = () =>
          raw.closed || raw.packets.filter(({ cmd }) => cmd === answer).length === packetsInOneWrite;
        await until(done, { what: `${packetsInOneWrite} × ${answer}`, timeoutMs: 60_000 });
      }
      await raw.cut();
      assert.not(neighbour.closed);
    });
  }
});
