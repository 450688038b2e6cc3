/** Plain frames of devices: what goes up is on disk when it is acknowledged, what comes down waits for its receipt. */
import { connect } from "node:net";
import { decode, encode } from "cborg";
import { WebSocket } from "ws";
import { makeDataPoint, makeDevice, makeProduct } from "../../../factories.js";
import { assert, until } from "../../../suite.js";
import { type Rec, worldSuite } from "../../../world.js";
import { eventsOf, valuesOf } from "../../support.js";
import { asDevice, basicOf } from "../http/support.js";

type Frame = Readonly<Record<string, unknown>>;

interface Client {
  readonly socket: WebSocket;
  readonly got: Frame[];
  send(frame: Frame): void;
  /** Resolves with the frame after those that were waited for. */
  next(): Promise<Frame>;
  /** With the code of its end. */
  readonly ended: Promise<number>;
}

worldSuite(
  "WebSocket, plain frames",
  (test, world) => {
    let product: Rec;
    let device: Rec;
    const clients: WebSocket[] = [];
    test.before(async () => {
      product = await makeProduct(world, { cloudProtocol: 6 });
      await makeDataPoint(world, product, { dataPointID: "temp", pointDataType: 1 });
    });
    test.before.each(async () => {
      device = await makeDevice(world, product);
    });
    test.after.each(() => {
      for (const client of clients.splice(0)) client.terminate();
    });

    function open(query = "", headers: object = { Authorization: basicOf(device) }, cbor = false): Client {
      const socket = new WebSocket(`${world.http.replace("http", "ws")}/ws${query}`, {
        headers: { ...headers },
      });
      clients.push(socket);
      const got: Frame[] = [];
      let taken = 0;
      socket.on("message", (data: Buffer, isBinary: boolean) =>
        got.push((isBinary ? decode(data) : JSON.parse(data.toString())) as Frame),
      );
      socket.on("error", () => undefined);
      const opened = new Promise<void>((resolve) => socket.once("open", () => resolve()));
      return {
        socket,
        got,
        send: (frame) => void opened.then(() => socket.send(cbor ? encode(frame) : JSON.stringify(frame))),
        next: async () => {
          const at = taken++;
          return (await until(() => got[at], { what: `frame ${at}` })) as Frame;
        },
        ended: new Promise((resolve) => socket.once("close", resolve)),
      };
    }
    const payloads = async (of = device) =>
      (await eventsOf(world, of)).map(({ payload }) => payload).reverse();
    const command = (fields: object) =>
      world.call("POST", "/api/v1/device_publish", { deviceID: device.deviceID, ...fields });
    const statusOf = async () =>
      (await world.call("GET", `/api/v1/devices/${device.id}/control_logs`)).page.items[0]?.publishStatus;

    test("frames are messages, acknowledged in their order once they are on disk", async () => {
      const client = open();
      client.send({ id: 1, topic: "data", payload: { temp: 21.5 } });
      client.send({ id: "two", topic: "raw", payload: "text" });
      client.send({ id: 3, topic: "raw", base64: "/wA=" });
      client.send({ topic: "data", payload: [{ temp: 22 }], time: "2026-11-01T00:00:00Z" });
      client.send({ id: 5, topic: "data", payload: 7 });
      assert.equal(
        [await client.next(), await client.next(), await client.next(), await client.next()],
        [{ ack: 1 }, { ack: "two" }, { ack: 3 }, { ack: 5 }],
      );
      const found = await payloads();
      assert.equal([found[0], found[1], found[3], found[4]], ['{"temp":21.5}', "text", '[{"temp":22}]', "7"]);
      await world.settled();
      assert.equal((await valuesOf(world, device))[0]?.length, 2);
    });

    test("in CBOR it is the same", async () => {
      const client = open("", undefined, true);
      client.send({ id: 1, topic: "data", payload: { list: [1, "x"], temp: 1.5 } });
      client.send({ id: 2, topic: "raw", payload: Buffer.from("bytes") });
      assert.equal([await client.next(), await client.next()], [{ ack: 1 }, { ack: 2 }]);
      assert.equal(await payloads(), ['{"list":[1,"x"],"temp":1.5}', "bytes"]);
      await command({ payload: "go" });
      const { id, topic, payload } = await client.next();
      assert.equal([topic, Buffer.from(payload as Uint8Array).toString()], ["inbox", "go"]);
      client.send({ ack: id });
      await until(async () => (await statusOf()) === 2, { what: "the receipt" });
    });

    const bad: readonly (readonly [Frame, number])[] = [
      [{ id: 9 }, 400],
      [{ id: 9, topic: "data" }, 400],
      [{ id: 9, topic: 5, payload: 1 }, 400],
      [{ id: 9, topic: "a/#", payload: 1 }, 400],
      [{ id: 9, topic: "data", payload: 1, time: "soon" }, 400],
      [{ id: 9, topic: "data", payload: 1, base64: "" }, 400],
      [{ id: 9, topic: "data", base64: "?" }, 400],
      [{ id: 9, topic: "data", payload: 1, key: "" }, 400],
      [{ id: 9, topic: "data", payload: "x".repeat(262_145) }, 413],
      [{ id: 9, ack: {} }, 400],
      [{ id: 9, username: 5 }, 400],
    ];
    test("a frame that cannot be taken is refused, and the connection goes on", async () => {
      const client = open();
      for (const [frame, status] of bad) {
        client.send(frame);
        const { refused, status: told, error } = await client.next();
        assert.equal(
          [refused, told, typeof error],
          [9, status, "string"],
          JSON.stringify(frame).slice(0, 80),
        );
      }
      client.send({ id: [1] });
      assert.equal((await client.next()).refused, null);
      client.socket.send("not json");
      assert.equal((await client.next()).status, 400);
      client.socket.send(Buffer.from([0xff]));
      assert.equal((await client.next()).status, 400);
      client.socket.send(JSON.stringify({ id: 1, topic: "data", payload: {} }));
      assert.equal(await client.next(), { ack: 1 });
      assert.equal(await payloads(), ["{}"]);
    });

    test("who has no header says who it is in the first frame; nothing is taken before", async () => {
      const client = open("", {});
      client.send({ id: 0, username: device.deviceUsername, token: device.token });
      client.send({ id: 1, topic: "data", payload: {} });
      assert.equal([await client.next(), await client.next()], [{ ack: 0 }, { ack: 1 }]);
      const wrong = open("", {});
      wrong.send({ id: 0, username: device.deviceUsername, token: "wrong" });
      assert.equal((await wrong.next()).status, 401);
      assert.is(await wrong.ended, 1008);
      const hasty = open("", {});
      hasty.send({ id: 1, topic: "data", payload: {} });
      assert.is(await hasty.ended, 1008);
      assert.equal(await payloads(), ["{}"]);
      const refused = open("", { Authorization: basicOf({ ...device, token: "wrong" }) });
      assert.is(await refused.ended, 1006);
    });

    test("who has not said who it is may send a first frame, and no more than that holds", async () => {
      const client = open("", {});
      client.send({ id: 0, username: device.deviceUsername, token: device.token, more: "x".repeat(20_000) });
      assert.is(await client.ended, 1006);
      const known = open();
      known.send({ id: 1, topic: "data", payload: "x".repeat(100_000) });
      assert.equal(await known.next(), { ack: 1 });
    });

    test("who says nothing is not kept", async () => {
      const client = open("", {});
      await new Promise((resolve) => client.socket.once("open", resolve));
      world.clock.pass(11_000);
      assert.is(await client.ended, 1008);
    });

    test("a message with a key is taken once, also on another connection", async () => {
      const first = open();
      first.send({ id: 1, topic: "data", payload: { n: 1 }, key: "k1" });
      assert.equal(await first.next(), { ack: 1 });
      first.socket.terminate();
      const second = open();
      second.send({ id: 1, topic: "data", payload: { n: 1 }, key: "k1" });
      second.send({ id: 2, topic: "data", payload: { n: 2 }, key: "k2" });
      assert.equal([await second.next(), await second.next()], [{ ack: 1 }, { ack: 2 }]);
      assert.equal(await payloads(), ['{"n":1}', '{"n":2}']);
    });

    test("a message with a key is taken once, whichever of the device's clients brings it", async () => {
      const [a, b] = [open("?clientID=a"), open("?clientID=b")];
      const post = (key: string) =>
        asDevice(world.http, device, "POST", "/api/v1/uplinks/data", "{}", { "Message-Id": key });
      for (const key of ["k1", "k2"]) {
        for (const client of [a, b]) {
          client.send({ id: key, topic: "data", payload: {}, key });
          assert.equal(await client.next(), { ack: key });
        }
        assert.is((await post(key)).status, 204);
      }
      a.socket.terminate();
      await a.ended;
      assert.is((await post("k2")).status, 204);
      assert.is((await payloads()).length, 2);
    });

    test("a command comes down, and is confirmed by its ack", async () => {
      const client = open();
      client.send({ id: 1, topic: "data", payload: {} });
      await client.next();
      assert.is((await command({ payload: '{"on":true}' })).record.publishStatus, "successful");
      const frame = await client.next();
      assert.equal([frame.topic, frame.payload], ["inbox", { on: true }]);
      assert.is(await statusOf(), 1);
      client.send({ ack: "9-zzz" });
      client.send({ ack: frame.id });
      await until(async () => (await statusOf()) === 2, { what: "the receipt" });
      await command({ payload: Buffer.from([0xff, 0]).toString("latin1"), qos: 0 });
      assert.not((await client.next()).id);
    });

    test("a session that is asked for waits for its client; another of the same id ends the first", async () => {
      const query = "?clientID=panel&sessionExpiry=3600";
      const first = open(query);
      first.send({ id: 1, topic: "data", payload: {} });
      await first.next();
      const second = open(query);
      assert.is(await first.ended, 1008);
      second.send({ id: 1, topic: "data", payload: {} });
      await second.next();
      second.socket.close();
      await second.ended;
      await until(
        async () => (await world.call("GET", `/api/v1/devices/${device.id}`)).record.deviceStatus === 0,
        { what: "the device to be offline" },
      );
      for (let n = 0; n < 150; n++) await command({ payload: `c${n}` });
      const third = open(query);
      for (let n = 0; n < 150; n++) {
        const { id, payload } = await third.next();
        assert.is(payload, `c${n}`);
        third.send({ ack: id });
      }
      assert.is(await open("?clientID=").ended, 1006);
      assert.is(await open("?sessionExpiry=-1").ended, 1006);
    });

    test("a device that is blocked is thrown out", async () => {
      const client = open();
      client.send({ id: 1, topic: "data", payload: {} });
      await client.next();
      await world.call("PUT", `/api/v1/devices/${device.id}`, { blocked: 1 });
      assert.is(await client.ended, 1008);
    });

    test("a frame that is too large ends the connection; so does one who does not answer pings", async () => {
      const large = open();
      large.send({ id: 1, topic: "data", payload: "x".repeat(700_000) });
      assert.is(await large.ended, 1009);
      const deaf = open();
      deaf.send({ id: 1, topic: "data", payload: {} });
      await deaf.next();
      deaf.socket.pause();
      for (let n = 0; n < 4; n++) {
        world.clock.pass(31_000);
        await new Promise((resolve) => setTimeout(resolve, 1100));
      }
      await until(
        async () => (await world.call("GET", `/api/v1/devices/${device.id}`)).record.deviceStatus === 0,
        { what: "the deaf one to be gone" },
      );
    });

    test("a refused upgrade is closed, though its client leaves it open", async () => {
      const { port, hostname } = new URL(world.http);
      const key = "dGhlIHNhbXBsZSBub25jZQ==";
      const head = ["GET /ws?sessionExpiry=x HTTP/1.1", `Host: ${hostname}`, "Upgrade: websocket"];
      head.push("Connection: Upgrade", "Sec-WebSocket-Version: 13", `Sec-WebSocket-Key: ${key}`);
      const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
      let [text, isOver] = ["", false];
      socket.on("data", (bytes) => {
        text += bytes;
      });
      socket.on("error", () => {
        isOver = true;
      });
      socket.write(`${head.join("\r\n")}\r\n\r\n`);
      await until(() => text.startsWith("HTTP/1.1 400"), { what: "the refusal" });
      // What is written to a connection that the other side has closed is answered by a reset.
      const isReset = () => {
        if (!isOver) socket.write("x");
        return isOver;
      };
      await until(isReset, { what: "the end", timeoutMs: 10_000 });
      socket.destroy();
    });

    test("other upgrades are no upgrades, and other paths no WebSockets", async () => {
      const upgrade = {
        Connection: "Upgrade, HTTP2-Settings",
        Upgrade: "h2c",
        "HTTP2-Settings": "AAMAAABkAAQAAP__",
      };
      const { request } = await import("node:http");
      const status = await new Promise((resolve, reject) => {
        request(`${world.http}/healthz`, { headers: upgrade }, (response) =>
          resolve(response.resume().statusCode),
        )
          .on("error", reject)
          .end();
      });
      assert.is(status, 200);
      const elsewhere = new WebSocket(`${world.http.replace("http", "ws")}/elsewhere`);
      const refused = await new Promise((resolve) => {
        elsewhere.on("error", () => undefined);
        elsewhere.on("unexpected-response", (_, response) => resolve(response.statusCode));
      });
      assert.is(refused, 404);
    });
  },
  { HTTPS_PORT: "0" },
);
