/** Brokers that refuse, hang up, say nothing or talk nonsense: counted, with pauses that grow; the service goes on. */
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import mqttPacket, { type Packet } from "mqtt-packet";
import { readConfig } from "../../../../src/config/config.js";
import { type AnyService, openService, payloadsOf, startService } from "../../../flow/support.js";
import { assert, suite, until, withTempDir } from "../../../suite.js";
import { makeDevice, pointOf } from "./support.js";

interface FakeBroker {
  readonly url: string;
  /** Connections so far. */
  readonly connections: () => number;
  /** Packet ids that were acknowledged. */
  readonly acknowledged: number[];
  close(): Promise<void>;
}

const version = { protocolVersion: 5 } as const;
const bytesOf = (packet: Packet): Buffer => mqttPacket.generate(packet, version);
const connack = (reasonCode: number, sessionPresent = false) =>
  bytesOf({ cmd: "connack", reasonCode, sessionPresent } as Packet);
const suback = (messageId: number, granted: number) =>
  bytesOf({ cmd: "suback", messageId, granted: [granted] });

/** What a broker does with each packet of its client. */
type Behaviour = (socket: Socket, packet: Packet) => void;

async function startFake(behave: Behaviour, greet?: (socket: Socket) => void): Promise<FakeBroker> {
  let connections = 0;
  const acknowledged: number[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    greet?.(socket);
    const parser = mqttPacket.parser(version);
    parser.on("packet", (packet) => {
      if (packet.cmd === "puback") acknowledged.push(packet.messageId ?? 0);
      if (packet.cmd === "pingreq") socket.write(bytesOf({ cmd: "pingresp" }));
      behave(socket, packet);
    });
    socket.on("data", (chunk) => parser.parse(chunk));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `mqtt://127.0.0.1:${port}`,
    connections: () => connections,
    acknowledged,
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Lets the client in and hands it what `after` sends. */
const welcoming =
  (after: (socket: Socket) => void): Behaviour =>
  (socket, packet) => {
    if (packet.cmd === "connect") socket.write(connack(0));
    if (packet.cmd !== "subscribe") return;
    socket.write(suback(packet.messageId ?? 0, 1));
    after(socket);
  };

/** PUBLISH with any bytes for its topic and its properties. */
function delivery(
  messageID: number,
  topic: Buffer | string,
  payload: string,
  properties = Buffer.from([0]),
  flags = 2,
): Buffer {
  const name = Buffer.from(topic);
  const body = Buffer.concat([
    Buffer.from([name.length >> 8, name.length & 255]),
    name,
    Buffer.from([messageID >> 8, messageID & 255]),
    properties,
    Buffer.from(payload),
  ]);
  return Buffer.concat([Buffer.from([0x30 | flags, body.length]), body]);
}

suite("a broker in trouble", (test) => {
  async function withService(broker: FakeBroker, use: (service: AnyService) => Promise<void>): Promise<void> {
    await withTempDir(async (dir) => {
      const service = await openService(dir, { BROKER_URL: broker.url });
      await use(service);
      await service.stop();
    });
    await broker.close();
  }
  const ended = (service: AnyService, reason: string) =>
    service.metric("tidemark_broker_connections_ended_total", `reason="${reason}"`);

  const kinds: readonly (readonly [reason: string, what: string, behave: Behaviour, said: RegExp])[] = [
    [
      ...(["refused", "refuses every CONNECT"] as const),
      (socket, { cmd }) => void (cmd === "connect" && socket.end(connack(0x87))),
      /refuses the connection: 0x87/,
    ],
    [
      ...(["subscription", "refuses the subscription"] as const),
      (socket, packet) => {
        if (packet.cmd === "connect") socket.write(connack(0));
        if (packet.cmd === "subscribe") socket.write(suback(packet.messageId ?? 0, 0x87));
      },
      /refuses the subscription \$share\/tidemark/,
    ],
    [
      ...(["disconnected", "disconnects as soon as all is well"] as const),
      welcoming((socket) => void socket.end(bytesOf({ cmd: "disconnect", reasonCode: 0x89 } as Packet))),
      /disconnects: 0x89/,
    ],
    [
      ...(["taken_over", "has another client with our id"] as const),
      welcoming((socket) => void socket.end(bytesOf({ cmd: "disconnect", reasonCode: 0x8e } as Packet))),
      /NODE_NUMBER/,
    ],
    ["lost", "hangs up at CONNECT", (socket) => socket.destroy(), /lost|ECONNRESET/],
    [
      "protocol",
      "talks nonsense",
      (socket) => void socket.write("HTTP/1.1 400 Bad Request\r\n\r\n"),
      /not understood/,
    ],
  ];
  for (const [reason, what, behave, said] of kinds) {
    test(`one that ${what}: counted, asked again with growing pauses, named by /readyz`, async () => {
      const broker = await startFake(behave);
      await withService(broker, async (service) => {
        await until(async () => (await ended(service, reason)) >= 3, {
          what: "three attempts",
          timeoutMs: 20_000,
        });
        const asked = broker.connections();
        assert.ok(asked <= 8, `${asked} attempts`);
        const lines = service.logged.filter(({ msg }) => said.test(String(msg)));
        assert.is(lines.length, 1, "said once");
        const ready = await service.call("GET", "/readyz");
        assert.is(ready.status, 200, ready.text);
      });
    });
  }

  test("messages that are none are counted and acknowledged; the connection stays", async () => {
    const good = (id: number, n: number) => delivery(id, "devices/good/up/data", JSON.stringify({ n }));
    const bad = [
      delivery(2, Buffer.from([0xff, 0xfe]), "x"),
      delivery(3, Buffer.from("devices/good/up/\0"), "x"),
      delivery(4, "", "x"),
      delivery(5, "devices/good/up/", "x"),
      delivery(6, "devices/good/down/data", "x"),
      delivery(7, "devices/good/up/data", "x", Buffer.from([2, 0x7f, 1])),
      delivery(8, "devices/good/up/data", "x", Buffer.from([100])),
    ];
    const open: Socket[] = [];
    const broker = await startFake(welcoming((socket) => void open.push(socket)));
    await withService(broker, async (service) => {
      const product = await service.make("/api/v1/products", { productName: "good", cloudProtocol: 1 });
      await service.make("/api/v1/data_points", pointOf(product));
      const device = await makeDevice(service, product, { deviceID: "good" });
      await until(() => open.length === 1, { what: "the service" });
      open[0]?.write(Buffer.concat([good(1, 1), ...bad, good(9, 2)]));
      await until(() => broker.acknowledged.length === 9, { what: "acknowledgements" });
      assert.equal(broker.acknowledged, [1, 2, 3, 4, 5, 6, 7, 8, 9], "in their order");
      assert.equal(await payloadsOf(service, device), ['{"n":1}', '{"n":2}']);
      const refused = (reason: string) =>
        service.metric("tidemark_broker_refused_total", `reason="${reason}"`);
      assert.equal([await refused("topic"), await refused("malformed")], [5, 2]);
      assert.is(broker.connections(), 1);
    });
  });

  test("what is sent again with DUP on the next connection is one event; a new session begins anew", async () => {
    const sent = (dup: boolean) =>
      [1, 2, 3].map((id) =>
        delivery(id, "devices/again/up/data", `{"n":${id}}`, Buffer.from([0]), dup ? 10 : 2),
      );
    let round = 0;
    const broker = await startFake((socket, packet) => {
      // The third time the broker has forgotten us.
      if (packet.cmd === "connect") socket.write(connack(0, round === 1));
      if (packet.cmd !== "subscribe") return;
      socket.write(suback(packet.messageId ?? 0, 1));
      socket.write(Buffer.concat(sent(round > 0)));
      round++;
    });
    await withTempDir(async (dir) => {
      const service = await startService(dir);
      const product = await service.make("/api/v1/products", { productName: "again", cloudProtocol: 1 });
      await service.make("/api/v1/data_points", pointOf(product));
      const device = await makeDevice(service, product, { deviceID: "again" });
      await service.stop();
      let running = await startService(dir, { BROKER_URL: broker.url });
      await until(() => broker.acknowledged.length === 3, { what: "the first round" });
      // As if the acknowledgements had been lost with the process.
      await running.kill();
      running = await startService(dir, { BROKER_URL: broker.url });
      await until(() => broker.acknowledged.length === 6, { what: "the second round" });
      assert.is((await payloadsOf(running, device)).length, 3);
      await running.kill();
      running = await startService(dir, { BROKER_URL: broker.url });
      await until(() => broker.acknowledged.length === 9, { what: "the third round" });
      await until(async () => (await payloadsOf(running, device)).length === 6, { what: "new events" });
      await running.stop();
    });
    await broker.close();
  });

  test("commands: refused is 0; lost with the connection it is 0 and goes nowhere again; killed before the receipt it is 0", async () => {
    const got: string[] = [];
    let round = 0;
    const broker = await startFake((socket, packet) => {
      if (packet.cmd === "connect") socket.write(connack(0, round++ > 0));
      if (packet.cmd === "subscribe") socket.write(suback(packet.messageId ?? 0, 1));
      if (packet.cmd !== "publish") return;
      const text = String(packet.payload);
      got.push(`${text}${packet.dup ? " again" : ""}`);
      const answer = (reasonCode: number) =>
        socket.write(bytesOf({ cmd: "puback", messageId: packet.messageId ?? 0, reasonCode } as Packet));
      if (text === "forbidden") answer(0x87);
      if (text === "lost") socket.destroy();
      if (text === "taken") answer(0);
    });
    await withTempDir(async (dir) => {
      let service = await startService(dir, { BROKER_URL: broker.url });
      const product = await service.make("/api/v1/products", { productName: "commands", cloudProtocol: 1 });
      const device = await makeDevice(service, product);
      const isUp = () => service.metric("tidemark_broker_connections ");
      const status = async () =>
        (
          (await service.call("GET", `/api/v1/devices/${device.id}/control_logs`)).body.items as {
            publishStatus: number;
          }[]
        )[0]?.publishStatus;
      const publish = async (payload: string) => {
        await until(async () => (await isUp()) === 1, { what: "the broker" });
        const command = { deviceID: device.deviceID, payload };
        const { body } = await service.call("POST", "/api/v1/device_publish", command);
        assert.is(body.publishStatus, "successful");
      };
      const becomes = (expected: number) =>
        until(async () => (await status()) === expected, { what: `status ${expected}` });
      await publish("forbidden");
      await becomes(0);
      await publish("lost");
      await becomes(0);
      await publish("taken");
      await becomes(2);
      await publish("unanswered");
      await until(() => got.includes("unanswered"), { what: "the command" });
      assert.is(await status(), 1);
      await service.kill();
      service = await startService(dir, { BROKER_URL: broker.url });
      await becomes(0);
      await until(async () => (await isUp()) === 1, { what: "the broker" });
      await service.stop();
    });
    assert.equal(got, ["forbidden", "lost", "taken", "unanswered"]);
    await broker.close();
  });

  test("no broker at all, and one that never answers", async () => {
    const silent = await startFake(() => undefined);
    await withService(silent, async (service) => {
      await until(async () => (await ended(service, "timeout")) === 1, {
        what: "the wait",
        timeoutMs: 20_000,
      });
    });
    await withTempDir(async (dir) => {
      const service = await openService(dir, { BROKER_URL: "mqtt://127.0.0.1:9" });
      await until(async () => (await ended(service, "unreachable")) >= 2, { what: "attempts" });
      assert.match((await service.call("GET", "/readyz")).text, /ECONNREFUSED/);
      await service.stop();
    });
  });

  test("settings that make no sense stop the start", async () => {
    const wrong: readonly [Record<string, string>, RegExp][] = [
      [{ BROKER_URL: "http://x" }, /BROKER_URL: must be/],
      [{ BROKER_URL: "mqtt://user:secret@x" }, /BROKER_URL: must be/],
      [{ BROKER_URL: "mqtt://x/path" }, /BROKER_URL: must be/],
      [{ BROKER_PASSWORD: "x" }, /BROKER_PASSWORD: needs/],
      [{ BROKER_URL: "mqtt://x", BROKER_CA: "ca.pem" }, /BROKER_CA: needs/],
      [{ BROKER_URL: "mqtts://x", BROKER_CERT: "c.pem" }, /BROKER_CERT, BROKER_KEY/],
      [{ BROKER_URL: "mqtt://x", BROKER_SHARED: "maybe" }, /BROKER_SHARED/],
    ];
    for (const [environment, said] of wrong) {
      assert.throws(
        () => readConfig({ DATA_DIR: "data", ...environment }),
        (error: Error) => said.test(error.message),
      );
    }
    await withTempDir(async (dir) => {
      const environment = { BROKER_URL: "mqtts://x", BROKER_CA: "/nowhere/ca.pem" };
      const error = await startService(dir, environment).then(
        () => null,
        (reason: Error) => reason,
      );
      assert.match(error?.message ?? "it started", /BROKER_CA: cannot read .* ENOENT/);
    });
  });
});
