/** Sessions of a device: what each shows, and that one that is ended is gone with all that waited in it. */
import { connectAsync } from "mqtt";
import { WebSocket } from "ws";
import { listedTexts } from "../../src/http/text-list.js";
import { makeDevice, makeGateway, makeProduct } from "../factories.js";
import { connectPacket, endedBy, type RawClient, rawClient, rawConnected } from "../ingest/support.js";
import { asDevice, basicOf } from "../ingest/transports/http/support.js";
import { assert, suite, until } from "../suite.js";
import { hasKeys, type Rec, type Reply, refused, stampPattern, worldSuite } from "../world.js";

const hostile = [
  "a,b",
  'it\'s "x"; drop',
  "50% + 1/2?&#=",
  "设备 🌡",
  "c".repeat(64),
  "..%2F",
  "__proto__",
] as const;

worldSuite("sessions of devices", (test, world) => {
  let product: Rec;
  test.before(async () => {
    product = await makeProduct(world);
  });

  const sessionsOf = async (of: Rec, query = "", key?: string) => {
    const reply = await world.call(
      "GET",
      `/api/v1/devices/${of.id}/sessions${query}`,
      undefined,
      key ? { key } : {},
    );
    assert.is(reply.status, 200, reply.text);
    return reply.page.items as readonly (Rec & { clientID: string; isConnected: boolean })[];
  };
  const end = (of: Rec, clientIDs: readonly string[], key?: string): Promise<Reply> =>
    world.call(
      "DELETE",
      `/api/v1/devices/${of.id}/sessions?clientIDs=${clientIDs.map(encodeURIComponent).join(",")}`,
      undefined,
      key === undefined ? {} : { key },
    );
  const idsOf = async (of: Rec) => (await sessionsOf(of)).map(({ clientID }) => clientID);
  async function leave(device: Rec, clientId: string): Promise<void> {
    const raw = await rawConnected(world.mqtt, device, { clientId, clean: false });
    raw.send({ cmd: "disconnect" });
    await raw.ended();
    await until(
      async () => (await sessionsOf(device)).some((one) => one.clientID === clientId && !one.isConnected),
      {
        what: "the session to be left",
      },
    );
  }
  const publish = async (device: Rec, payload: string) => {
    const body = { deviceID: device.deviceID, payload };
    return (await world.make("/api/v1/device_publish", body)).publishStatus;
  };
  const logs = async (of: Rec) =>
    (await world.call("GET", `/api/v1/devices/${of.id}/control_logs`)).page.items.map(
      (log) => log.publishStatus,
    );

  test("each shows its client, how it is connected, and what waits", async () => {
    const device = await makeDevice(world, product);
    assert.equal(await sessionsOf(device), []);
    const raw = await rawConnected(world.mqtt, device, { clientId: "reader", clean: false, keepalive: 60 });
    raw.send({
      cmd: "subscribe",
      messageId: 1,
      subscriptions: [
        { topic: "a/#", qos: 1 },
        { topic: "b", qos: 0 },
      ],
    });
    await raw.next("suback");
    await publish(device, "one");
    await raw.next("publish");
    const [one] = await sessionsOf(device);
    hasKeys(one, [
      "clientID",
      "protocol",
      "isConnected",
      "IP",
      "connectedAt",
      "keepAlive",
      "sessionExpiry",
      "subscriptionCount",
      "queuedMessages",
      "queuedBytes",
      "inflight",
    ]);
    const { queuedBytes, connectedAt, ...rest } = one as Rec;
    assert.equal(rest, {
      clientID: "reader",
      protocol: "mqtt4",
      isConnected: true,
      IP: "127.0.0.1",
      keepAlive: 60,
      sessionExpiry: 90 * 86_400,
      subscriptionCount: 2,
      queuedMessages: 1,
      inflight: 1,
    });
    assert.match(String(connectedAt), stampPattern);
    assert.ok(Number(queuedBytes) > 3);
    await raw.cut();
    await until(async () => (await sessionsOf(device))[0]?.isConnected === false, { what: "the end" });
    await publish(device, "two");
    const [away] = await sessionsOf(device);
    assert.equal(
      [away?.protocol, away?.connectedAt, away?.IP, away?.queuedMessages, away?.inflight],
      [null, null, "127.0.0.1", 2, 0],
    );
  });

  test("protocols are listed, the connected ones first; gateways have sessions too", async () => {
    const gateway = await makeGateway(world, product);
    await leave(gateway, "a-left");
    const five = await connectAsync(world.mqtt, {
      protocolVersion: 5,
      clientId: "z-five",
      username: String(gateway.deviceUsername),
      password: String(gateway.token),
      properties: { sessionExpiryInterval: 77 },
      clean: true,
    });
    const old = await rawClient(world.mqtt, 3);
    old.send({
      ...connectPacket(gateway, { clientId: "old" }),
      protocolId: "MQIsdp",
      protocolVersion: 3,
    } as never);
    await old.next("connack");
    const socket = new WebSocket(`${world.http.replace("http", "ws")}/ws?clientID=frames`, {
      headers: { Authorization: basicOf(gateway) },
    });
    await until(() => socket.readyState === WebSocket.OPEN, { what: "the WebSocket" });
    assert.is((await asDevice(world.http, gateway, "POST", "/api/v1/uplinks/data", "{}")).status, 204);
    const found = await until(
      async () => {
        const all = await sessionsOf(gateway);
        return all.length === 5 ? all : undefined;
      },
      { what: "five sessions" },
    );
    assert.equal(
      found.map(({ clientID, protocol, isConnected, sessionExpiry }) => [
        clientID,
        protocol,
        isConnected,
        sessionExpiry,
      ]),
      [
        ["frames", "websocket", true, 0],
        ["http", "http", true, 90 * 86_400],
        ["old", "mqtt3", true, 0],
        ["z-five", "mqtt5", true, 77],
        ["a-left", null, false, 90 * 86_400],
      ],
    );
    const second = await world.call("GET", `/api/v1/devices/${gateway.id}/sessions?_page=2&_limit=3`);
    assert.equal(second.page.meta, { count: 5, limit: 3, page: 2 });
    assert.equal(
      second.page.items.map((one) => one.clientID),
      ["z-five", "a-left"],
    );
    refused(
      await world.call("GET", `/api/v1/devices/${gateway.id}/sessions?protocol=http`),
      "PARAMETER_INVALID",
      "protocol",
    );

    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    const told = new Promise<unknown>((resolve) => five.once("disconnect", resolve));
    assert.is((await end(gateway, ["frames", "http", "old", "z-five"])).status, 204);
    await Promise.all([closed, old.ended()]);
    const { reasonCode, properties } = (await told) as {
      reasonCode: number;
      properties: { reasonString: string };
    };
    assert.is(reasonCode, 0x98);
    assert.match(properties.reasonString, /session/);
    assert.equal(await idsOf(gateway), ["a-left"]);
    // The next request begins anew.
    assert.is((await asDevice(world.http, gateway, "POST", "/api/v1/uplinks/data", "{}")).status, 204);
    assert.equal(await idsOf(gateway), ["http", "a-left"]);
    five.end(true);
  });

  test("what waits goes with the session: commands fail, the client begins anew", async () => {
    const device = await makeDevice(world, product);
    await leave(device, "kept");
    assert.equal([await publish(device, "1"), await publish(device, "2")], ["successful", "successful"]);
    const before = await endedBy(world, "thrown_out")();
    assert.is((await end(device, ["kept"])).status, 204);
    await until(async () => String(await logs(device)) === "0,0", { what: "the commands to have failed" });
    assert.equal(await sessionsOf(device), []);
    assert.is(await endedBy(world, "thrown_out")(), before, "nobody was connected");
    assert.is(await publish(device, "3"), "failed", "no session takes it");
    const again = await rawClient(world.mqtt);
    again.send(connectPacket(device, { clientId: "kept", clean: false }));
    assert.is((await again.next("connack")).sessionPresent, false);
    await again.cut();
  });

  test("a command that waits in another session too is not failed by the end of one", async () => {
    const device = await makeDevice(world, product);
    await leave(device, "one");
    await leave(device, "two");
    await publish(device, "x");
    assert.is((await end(device, ["one"])).status, 204);
    const raw = await rawConnected(world.mqtt, device, { clientId: "two", clean: false });
    const { messageId } = await raw.next("publish");
    assert.equal(await logs(device), [1]);
    raw.send({ cmd: "puback", messageId: messageId ?? 0 });
    await until(async () => String(await logs(device)) === "2", { what: "the receipt" });
    await raw.cut();
  });

  test("a connection ends as one that was forced: its will is published, delayed or not", async () => {
    const device = await makeDevice(world, product);
    const client = await connectAsync(world.mqtt, {
      protocolVersion: 5,
      clientId: "willing",
      username: String(device.deviceUsername),
      password: String(device.token),
      properties: { sessionExpiryInterval: 3600 },
      reconnectPeriod: 0,
      will: {
        topic: "gone",
        payload: Buffer.from("1"),
        qos: 1,
        retain: false,
        properties: { willDelayInterval: 3000 },
      },
    });
    const before = await endedBy(world, "thrown_out")();
    assert.is((await end(device, ["willing"])).status, 204);
    await until(() => !client.connected, { what: "the connection to end" });
    assert.is(await endedBy(world, "thrown_out")(), before + 1);
    await until(
      async () =>
        (await world.call("GET", `/api/v1/devices/${device.id}/events?topic=gone`)).page.meta.count === 1,
      { what: "the will" },
    );
    await until(
      async () => (await world.call("GET", `/api/v1/devices/${device.id}`)).record.deviceStatus === 0,
      {
        what: "the device to be offline",
      },
    );
    client.end(true);
  });

  test("any client id can be named; of an unknown one nothing is ended", async () => {
    const device = await makeDevice(world, product);
    const raws: RawClient[] = [];
    for (const clientId of hostile) raws.push(await rawConnected(world.mqtt, device, { clientId }));
    assert.equal((await idsOf(device)).sort(), [...hostile].sort());
    const reply = await end(device, [...hostile.slice(0, 3), 'no "such" client 🌡']);
    refused(reply, "DATA_NOT_FOUND", "clientIDs");
    assert.is((await idsOf(device)).length, hostile.length);
    assert.ok(raws.every(({ closed }) => !closed));
    assert.is((await end(device, [...hostile, ...hostile])).status, 204);
    await Promise.all(raws.map((raw) => raw.ended()));
    assert.equal(await sessionsOf(device), []);
  });

  test("what is refused: none, too many, no percent-encoding, others' devices, viewers", async () => {
    const device = await makeDevice(world, product);
    await leave(device, "kept");
    const path = `/api/v1/devices/${device.id}/sessions`;
    for (const query of [
      "",
      "?clientIDs=",
      "?clientIDs=a,,b",
      "?clientIDs=%ff",
      "?clientIDs=%",
      "?clientIDs=a&clientIDs=b",
    ]) {
      refused(await world.call("DELETE", path + query), "PARAMETER_INVALID", "clientIDs");
    }
    refused(
      await end(
        device,
        Array.from({ length: 101 }, (_, i) => `c${i}`),
      ),
      "PARAMETER_INVALID",
      "clientIDs",
    );
    refused(
      await end(
        device,
        Array.from({ length: 100 }, (_, i) => `c${i}`),
      ),
      "DATA_NOT_FOUND",
    );
    const key = await world.otherTenant();
    refused(await end(device, ["kept"], key), "DATA_NOT_FOUND");
    refused(await world.call("GET", path, undefined, { key }), "DATA_NOT_FOUND");
    const viewer = await world.keyOf("viewer");
    refused(await end(device, ["kept"], viewer), "PERMISSION_DENIED");
    assert.is((await sessionsOf(device, "", viewer)).length, 1);
    assert.is((await end(device, ["kept"], await world.keyOf("operator"))).status, 204);
    refused(await end(device, ["kept"]), "DATA_NOT_FOUND");
    refused(await world.call("GET", "/api/v1/devices/nobody/sessions"), "DATA_NOT_FOUND");
  });
});

suite("texts listed in an address", (test) => {
  test("commas separate as they stand; each text comes back as it was encoded, once", () => {
    const texts = [...hostile, " ", "\u0000", "a+b", "=", "&"];
    const url = `/x?y=1&ids=${texts.map(encodeURIComponent).join(",")}&ids2=z#ids=no`;
    assert.equal(listedTexts(url, "ids", texts.length), texts);
    assert.equal(listedTexts("/x?ids=a+b,a%20b,a%2Cb", "ids", 2), ["a b", "a,b"]);
    assert.throws(() => listedTexts("/x?ids=a,b,c", "ids", 2), /ids/);
    assert.throws(() => listedTexts("/x?ids", "ids", 2), /ids/);
  });
});
