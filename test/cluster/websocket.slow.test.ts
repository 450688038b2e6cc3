/** Plain frames over WebSocket reach their device's node through each of a cluster's. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { get } from "node:http";
import { decode, encode } from "cborg";
import { WebSocket } from "ws";
import { payloadsOf, provision } from "../flow/support.js";
import { assert, influxSuite, openTempDir, until } from "../suite.js";
import type { Rec } from "../world.js";
import { type Cluster, numbers, placesOf, startCluster } from "./three-nodes.js";

type Frame = Readonly<Record<string, unknown>>;

interface Client {
  readonly socket: WebSocket;
  readonly got: Frame[];
  /** With code and reason. */
  readonly ended: Promise<readonly [number, string]>;
  send(...frames: readonly Frame[]): void;
}

influxSuite("a cluster, plain frames over WebSocket", (test, influx) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let cluster: Cluster;
  let devices: Rec[];
  test.before(async () => {
    dir = await openTempDir();
    cluster = await startCluster(dir.path, await influx(), { TRUSTED_PROXIES: "127.0.0.1" });
    devices = await provision(nodeAt(0), 3);
  });
  test.after(async () => {
    await cluster.stop();
    await dir.close();
  });

  const { nodeAt, keeperPlace, keptAt } = placesOf(
    () => cluster,
    () => devices,
  );
  const basicOf = ({ deviceUsername, token }: Rec) => ({
    Authorization: `Basic ${Buffer.from(`${deviceUsername}:${token}`).toString("base64")}`,
  });
  const loginOf = ({ deviceUsername, token }: Rec, id: number | null = 0): Frame => ({
    ...(id === null ? {} : { id }),
    username: deviceUsername,
    token,
  });
  const kept = async (device: Rec): Promise<number> =>
    (await payloadsOf(nodeAt(keeperPlace(device)), device)).length;

  /** Frames go out once it is open. */
  function open(
    place: number,
    { headers = {}, query = "", cbor = false }: { headers?: object; query?: string; cbor?: boolean } = {},
  ): Client {
    const url = `${String(nodeAt(place).addresses.http).replace("http", "ws")}/ws${query}`;
    const socket = new WebSocket(url, { headers: { ...headers } });
    const got: Frame[] = [];
    socket.on("message", (data: Buffer, isBinary: boolean) =>
      got.push((isBinary ? decode(data) : JSON.parse(String(data))) as Frame),
    );
    socket.on("error", () => undefined);
    const isOpen = once(socket, "open").catch(() => undefined);
    const ended = once(socket, "close").then(([code, reason]) => [code, String(reason)] as const);
    return {
      socket,
      got,
      ended,
      send: (...frames) =>
        void isOpen.then(() => {
          for (const one of frames) socket.send(cbor ? encode(one) : JSON.stringify(one));
        }),
    };
  }
  const gets = async (client: Client, count: number): Promise<readonly Frame[]> => {
    await until(() => client.got.length >= count, { what: `${count} frames` });
    return client.got;
  };
  /** In the first frame, or in the request. */
  async function enter(place: number, device: Rec, inRequest = false, query = ""): Promise<Client> {
    const client = open(place, { query, headers: inRequest ? basicOf(device) : {} });
    const first = inRequest ? { id: 0, topic: "data", payload: "{}" } : loginOf(device);
    client.send(first);
    assert.equal(await gets(client, 1), [{ ack: 0 }]);
    client.got.length = 0;
    return client;
  }
  const command = (device: Rec, fields: object) =>
    nodeAt(0).call("POST", "/api/v1/device_publish", { deviceIntID: device.id, ...fields });

  test("credentials in the first frame, or in the request, are taken at each node", async () => {
    for (const device of devices) {
      const before = await kept(device);
      for (const place of numbers.keys()) {
        const client = open(place, { query: "?clientID=first" });
        client.send(loginOf(device), { id: 1, topic: "data", payload: { n: place } });
        assert.equal(await gets(client, 2), [{ ack: 0 }, { ack: 1 }]);
        client.socket.close();
        const other = open(place, { headers: basicOf(device), query: "?clientID=second" });
        other.send({ id: "x", topic: "data", payload: { n: place } });
        assert.equal(await gets(other, 1), [{ ack: "x" }]);
        other.socket.close();
      }
      assert.is(await kept(device), before + 2 * numbers.length);
    }
  });

  test("frames that follow at once keep their order, and a client that asks for no answers is let in", async () => {
    const device = keptAt(1);
    const before = await kept(device);
    const client = open(0);
    const payloads = Array.from({ length: 40 }, (_, n) => `{"order":${n}}`);
    client.send(
      { nothing: true },
      loginOf(device, null),
      ...payloads.map((payload) => ({ topic: "data", payload })),
    );
    await until(async () => (await kept(device)) === before + payloads.length, { what: "the messages" });
    assert.equal((await payloadsOf(nodeAt(1), device)).slice(-payloads.length), payloads);
    // More than a client may send that has not been let in.
    for (let n = 0; n < 10; n++) client.send({ topic: "data", payload: "x".repeat(50_000) });
    client.send({ id: "end", topic: "data", payload: "{}" });
    const answers = await gets(client, 2);
    assert.equal([answers[0]?.status, answers[1]], [400, { ack: "end" }], "the first frame was none");
    client.socket.close();
  });

  test("a client that says much before it is let in is read on", async () => {
    const client = open(0, { query: "?clientID=hasty" });
    const nothing: readonly Frame[] = Array.from({ length: 1500 }, () => ({}));
    client.send(loginOf(keptAt(1)), ...nothing);
    await gets(client, 1 + nothing.length);
    client.send({ id: "end", topic: "data", payload: "{}" });
    assert.equal((await gets(client, 2 + nothing.length)).at(-1), { ack: "end" });
    client.socket.close();
  });

  test("a request for another WebSocket, with right credentials, leaves nothing at the owner", async () => {
    const device = keptAt(1);
    const lost = () => nodeAt(1).metric("tidemark_connections_ended_total", 'reason="lost"');
    const connected = async () => {
      const { text } = await nodeAt(1).call("GET", "/metrics");
      return Number(/^tidemark_connections (\d+)$/m.exec(text)?.[1]);
    };
    // Those of the tests before must not be counted here.
    await until(async () => (await connected()) === 0, { what: "the end of others" });
    const before = await lost();
    const headers = { ...basicOf(device), Connection: "Upgrade", Upgrade: "websocket" };
    const request = get(`${nodeAt(0).addresses.http}/ws`, {
      headers: { ...headers, "Sec-WebSocket-Version": "12", "Sec-WebSocket-Key": "none" },
    });
    const [answer] = await once(request, "response");
    answer.resume();
    assert.is(answer.statusCode, 400);
    await until(async () => (await lost()) === before + 1, { what: "its end at the owner" });
    assert.is(await connected(), 0);
  });

  test("in CBOR it is the same, and a command comes down in the form of the first frame", async () => {
    const device = keptAt(2);
    const client = open(0, { cbor: true, query: "?clientID=cbor" });
    client.send(loginOf(device));
    assert.equal(await gets(client, 1), [{ ack: 0 }]);
    await command(device, { payload: "go", ttl: 60 });
    const { id, payload } = (await gets(client, 2))[1] as Frame;
    assert.is(Buffer.from(payload as Uint8Array).toString(), "go");
    client.send({ ack: id });
    await until(
      async () => {
        const { body } = await nodeAt(1).call("GET", `/api/v1/devices/${device.id}/control_logs`);
        return (body.items as Rec[])[0]?.publishStatus === 2;
      },
      { what: "the receipt" },
    );
    client.socket.close();
  });

  test("large frames pass whole, both ways", async () => {
    const device = keptAt(2);
    const client = await enter(1, device, false, "?clientID=large");
    const text = randomBytes(90_000).toString("hex");
    client.send({ id: 1, topic: "data", payload: text });
    assert.equal(await gets(client, 1), [{ ack: 1 }]);
    assert.is((await payloadsOf(nodeAt(2), device)).at(-1), text);
    await command(device, { payload: text, qos: 0 });
    assert.is((await gets(client, 2))[1]?.payload, text);
    client.send({ id: 2, topic: "data", payload: "x".repeat(700_000) });
    assert.is((await client.ended)[0], 1009);
  });

  test("the owner refuses, with the same code and reason as to its own, and counts it", async () => {
    const device = keptAt(1);
    const refusals = (place: number): Promise<number> =>
      nodeAt(place).metric("tidemark_connections_ended_total", 'reason="credentials"');
    const before = [await refusals(0), await refusals(1)] as const;
    const ends = [];
    for (const place of [1, 0]) {
      const client = open(place);
      client.send(loginOf({ ...device, token: "wrong" }));
      ends.push([await client.ended, client.got]);
    }
    assert.equal(ends[1], ends[0]);
    assert.equal(ends[0]?.[0], [1008, "credentials"]);
    assert.equal([await refusals(0), await refusals(1)], [before[0], before[1] + 2]);
    const inRequest = open(0, { headers: basicOf({ ...device, token: "wrong" }) });
    const [, answer] = await once(inRequest.socket, "unexpected-response");
    assert.equal([answer.statusCode, answer.headers["www-authenticate"] !== undefined], [401, true]);
    answer.resume();
    const unknown = open(0);
    unknown.send(loginOf({ ...device, deviceUsername: "nobody" }));
    assert.equal(await unknown.ended, [1008, "credentials"]);
    const blocked = await enter(0, device);
    await nodeAt(2).call("PUT", `/api/v1/devices/${device.id}`, { blocked: 1 });
    assert.is((await blocked.ended)[0], 1008);
    await nodeAt(2).call("PUT", `/api/v1/devices/${device.id}`, { blocked: 0 });
  });

  test("the owner knows the client's address, and how it has ended", async () => {
    const device = keptAt(2);
    const client = open(0, { headers: { "X-Forwarded-For": "203.0.113.9" }, query: "?clientID=far" });
    client.send(loginOf(device));
    await gets(client, 1);
    client.socket.close(1000);
    await client.ended;
    const logs = async (): Promise<Rec[]> =>
      (await nodeAt(1).call("GET", `/api/v1/devices/${device.id}/connect_logs`)).body.items as Rec[];
    const ofClient = async () => (await logs()).filter(({ IP }) => IP === "203.0.113.9");
    await until(async () => (await ofClient()).length === 2, { what: "its connection and its end" });
    const next = await enter(0, device, false, "?clientID=near");
    const gone = await nodeAt(2).metric("tidemark_connections_ended_total", 'reason="lost"');
    next.socket.terminate();
    await until(
      async () => (await nodeAt(2).metric("tidemark_connections_ended_total", 'reason="lost"')) === gone + 1,
      { what: "its loss" },
    );
  });

  test("a client that does not read holds up its own node, not the one between, and goes on where it was", async () => {
    const device = keptAt(1);
    const client = await enter(0, device, false, "?clientID=slow");
    client.socket.pause();
    const dropped = () => nodeAt(1).metric("tidemark_deliveries_dropped_total", 'reason="slow_reader"');
    const before = await dropped();
    const text = "y".repeat(250_000);
    let sent = 0;
    // The node between buffers little, so the owner notices that the client is slow.
    while ((await dropped()) === before) {
      assert.ok(++sent < 200, "the node between holds it all");
      await command(device, { payload: text, qos: 0 });
    }
    client.socket.resume();
    await until(() => client.got.length >= sent - 1, { what: "what was not dropped" });
    for (const { payload } of client.got) assert.is(payload, text);
    client.send({ id: 9, topic: "data", payload: "{}" });
    assert.equal((await gets(client, sent)).at(-1), { ack: 9 });
    client.socket.close();
  });

  test("pings are answered, and the node's own reach the client", async () => {
    const client = await enter(0, keptAt(1), false, "?clientID=pings");
    client.socket.ping("are you there");
    const [data] = (await once(client.socket, "pong")) as [Buffer];
    assert.is(String(data), "are you there");
    client.socket.close();
  });

  test("a node that stops closes all of its WebSockets at once: its own, passed-on ones, unknown ones", async () => {
    const clients = [
      await enter(0, keptAt(0)),
      await enter(0, keptAt(1), false, "?clientID=a"),
      await enter(0, keptAt(1), true, "?clientID=b"),
    ];
    const unknown = open(0);
    await once(unknown.socket, "open");
    const orderly = () => nodeAt(1).metric("tidemark_connections_ended_total", 'reason="disconnect"');
    const before = await orderly();
    await nodeAt(0).stop();
    for (const { ended } of [...clients, unknown]) assert.equal(await ended, [1001, "shutdown"]);
    await until(async () => (await orderly()) === before + 2, { what: "the end at the owner" });
    await cluster.start(0);
  });

  test("an owner that stops closes those that come through others", async () => {
    const clients = [
      await enter(0, keptAt(1), false, "?clientID=a"),
      await enter(2, keptAt(1), true, "?clientID=b"),
    ];
    await nodeAt(1).stop();
    for (const { ended } of clients) assert.equal(await ended, [1001, "shutdown"]);
    await cluster.start(1);
  });

  test("while the owner is away its devices are refused, and the connected ones are closed with a reason", async () => {
    const there = await enter(0, keptAt(1));
    await nodeAt(1).kill();
    assert.is((await there.ended)[0], 1001);
    const client = open(0);
    client.send(loginOf(keptAt(1)));
    assert.equal(await client.ended, [1008, "unavailable"]);
    const inRequest = open(0, { headers: basicOf(keptAt(1)) });
    const [, answer] = await once(inRequest.socket, "unexpected-response");
    assert.is(answer.statusCode, 503);
    answer.resume();
    (await enter(0, keptAt(2))).socket.close();
    await cluster.start(1);
    (await enter(0, keptAt(1))).socket.close();
  });
});
