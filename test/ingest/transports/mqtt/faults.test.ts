/** What cannot be encoded, or brings about an error of ours, costs its message or its connection and nothing else. */
import { type AddressInfo, createServer } from "node:net";
import type { DeviceEntry } from "../../../../ingest/directory/entries.js";
import { createMeter } from "../../../../ingest/meter.js";
import { createChanges } from "../../../../ingest/sessions/changes.js";
import { createSessionRegistry } from "../../../../ingest/sessions/session-registry.js";
import { createSessionState, type Outgoing, type SessionMessage } from "../../../../ingest/sessions/state.js";
import { createPublishEncoder } from "../../../../ingest/transports/mqtt/codec/publish-packet.js";
import { createMqttDeliveries } from "../../../../ingest/transports/mqtt/connection/deliveries.js";
import {
  createEndpoint,
  type EndpointContext,
} from "../../../../ingest/transports/mqtt/listeners/endpoint.js";
import { shardsOf } from "../../../shards.js";
import { assert, until } from "../../../suite.js";
import { ack, connected, connectPacket, openClient, publish, publishing, subscribed } from "./raw-client.js";
import { mqttSuite } from "./versions.js";

const longest = 0xffff_ffff;
/** More than the four bytes of a Message Expiry Interval hold. */
const beyond = longest + 1;

mqttSuite("MQTT, faults", ({ five }, world, test) => {
  five("the longest Message Expiry Interval outlives a clock that is set back", async (device) => {
    const expiring = { messageExpiryInterval: longest };
    const kept = { clientId: "kept", clean: false, properties: { sessionExpiryInterval: 86_400 } };
    const away = await connected(world, device, 5, kept);
    await subscribed(away, ["queued"], { qos: 1 });
    await away.leave();
    const sender = await connected(world, device, 5);
    await publish(sender, "queued", { properties: expiring });
    await publish(sender, "retained", { retain: true, properties: expiring, messageId: 2 });
    for (const ms of [-10_000, -3_600_000, 3_610_000]) {
      world.clock.step(ms);
      const back = await connected(world, device, 5, kept);
      const live = await connected(world, device, 5, { clientId: "live" });
      await subscribed(live, ["retained"], { qos: 1, messageId: 3 });
      for (const [client, topic] of [
        [back, "queued"],
        [live, "retained"],
      ] as const) {
        const got = await client.next("publish");
        const left = got.properties?.messageExpiryInterval ?? 0;
        assert.is(got.topic, topic);
        assert.ok(left <= longest && left > longest - 60, `${left} s left after a step of ${ms} ms`);
      }
      await back.cut();
      await live.leave();
    }
    await sender.leave();
  });

  const message = (topic: string, fields: Partial<SessionMessage> = {}): SessionMessage => ({
    topic,
    payload: Buffer.from("m"),
    qos: 0,
    retain: false,
    properties: null,
    identifiers: [],
    at: 0,
    ...fields,
  });
  const bad = { properties: { messageExpiryInterval: beyond } };

  test("a message that cannot be encoded is given up alone, counted, and its place in the window is free", () => {
    const meter = createMeter();
    const faults: string[] = [];
    const pushed: string[] = [];
    const delivered: [number, boolean][] = [];
    const outgoing = new Map<number, Outgoing>();
    const terms = {
      ...({ version: 5, receiveMaximum: 1, topicAliasMax: 8, problemInformation: true } as const),
      packetBytesMax: 1e6,
    };
    const deliveries = createMqttDeliveries(
      { outgoing },
      {
        writeBuffer: {
          acknowledge: () => undefined,
          push: (bytes) => void pushed.push(Buffer.from(bytes).toString("latin1")),
          flush: () => undefined,
          waitingBytes: 0,
        },
        encoder: createPublishEncoder(terms),
        meter,
        records: {
          delivered: (messageID, acknowledged) => void delivered.push([messageID, acknowledged]),
          received: () => undefined,
        },
        isDue: () => true,
        isClosed: () => false,
        markDirty: () => undefined,
        onHandOver: () => undefined,
        onFault: (error) => void faults.push(error.message),
        now: () => 0,
      },
    );
    const queued = (messageID: number, fields: Partial<SessionMessage> = {}): Outgoing => {
      const one: Outgoing = {
        ...message("topic", fields),
        qos: 1,
        messageID,
        sent: false,
        received: false,
        receipt: null,
        settled: undefined,
      };
      outgoing.set(messageID, one);
      return one;
    };
    assert.is(deliveries.deliver(message("topic", bad)), false);
    assert.is(deliveries.deliver(message("topic")), true);
    // The topic stands in the first packet that has gone: its alias was not given to the one that failed.
    assert.ok(pushed[0]?.includes("topic"));
    deliveries.send(queued(1, bad));
    deliveries.send(queued(2));
    deliveries.send(queued(3, bad));
    deliveries.send(queued(4));
    deliveries.acknowledged(2, 0);
    assert.equal(delivered, [
      [1, false],
      [2, true],
      [3, false],
    ]);
    assert.is(pushed.length, 3);
    assert.equal([meter.dropped.get("encoding"), faults.length], [3, 3]);
  });

  test("an error at one packet ends that connection, before and after CONNACK; others go on", async () => {
    const meter = createMeter();
    const registry = createSessionRegistry(createChanges(), meter);
    const faults: string[] = [];
    const entry = {
      id: 1,
      access: null,
      rules: [],
      subscriptions: [],
      device: { id: 1, deviceID: "d", deviceUsername: "u", tenant: 1, authType: 1, blocked: 0, token: "t" },
    } as unknown as DeviceEntry;
    const nothing = (): undefined => undefined;
    const context = {
      meter,
      registry,
      now: Date.now,
      monotonic: () => performance.now(),
      limits: null,
      keepAliveMax: null,
      accept: {
        full: false,
        stopped: null,
        deny: nothing,
        allKept: async () => undefined,
        uplink: (_origin: unknown, { topic }: { topic: string }, _refused: boolean, done: () => void) => {
          if (topic === "fault") throw new RangeError("the writer fails");
          done();
        },
      },
      records: {
        connect: (
          _: unknown,
          { clientID }: { clientID: string },
          done: (state: unknown, is: boolean) => void,
        ) => {
          if (clientID === "fault") throw new RangeError("the writer fails");
          done(createSessionState(1, 1, clientID, 1), false);
          return 1;
        },
        disconnect: nothing,
        subscribeByPlatform: nothing,
      },
      connections: { open: () => true, close: nothing },
      topics: { bytesMax: 1024, levelsMax: 32 },
      packetBytesMax: 300_000,
      presence: { connected: nothing, disconnected: nothing },
      authenticate: async () => entry,
      platformSubscriptions: () => [],
      neighbours: null,
      denials: { add: nothing },
      hold: nothing,
      release: nothing,
      onFault: (error: Error) => void faults.push(error.message),
    } as unknown as EndpointContext;
    const shards = shardsOf([context], { get: nothing, peek: nothing } as never);
    const endpoint = createEndpoint(context, shards, 100);
    const server = createServer((socket) => {
      const incoming = endpoint.admit(socket);
      if (incoming !== null) endpoint.take(socket, incoming, null);
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const address = `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const device = { id: 1, deviceUsername: "u", token: "t" };
    const opened = async (clientId: string) => {
      const client = await openClient(address, 5);
      client.send(connectPacket(device, 5, { clientId }));
      return client;
    };
    const good = await opened("good");
    await good.next("connack");
    const failing = await opened("failing");
    await failing.next("connack");
    failing.send(
      publishing("before"),
      publishing("fault", { messageId: 2 }),
      publishing("behind", { messageId: 3 }),
    );
    await failing.endedWith(0x80);
    assert.equal(
      failing.packets.filter(({ cmd }) => cmd === "puback").map(({ messageId }) => messageId),
      [1],
    );
    const never = await opened("fault");
    await never.ended();
    good.send(publishing("on"), ack("puback", 99));
    await good.next("puback");
    assert.is(meter.ended.get("fault"), 1);
    assert.equal(faults, ["the writer fails"]);
    await good.leave();
    endpoint.close();
    server.close();
    await until(() => meter.connections === 0, { what: "every end" });
  });
});
