/** What a device may do over HTTP and WebSocket: the limits of MQTT, and as many clients as may connect. */
import { request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { makeDevice, makeProduct } from "../../../factories.js";
import { assert, until } from "../../../suite.js";
import { type Rec, worldSuite } from "../../../world.js";
import { eventsOf } from "../../support.js";
import { asDevice, basicOf } from "./support.js";

const json = { "Content-Type": "application/json" };
const placesMax = 8;

worldSuite(
  "HTTP, limits",
  (test, world) => {
    let product: Rec;
    test.before(async () => {
      product = await makeProduct(world, { cloudProtocol: 5 });
    });
    const post = (device: Rec, n: number) =>
      asDevice(world.http, device, "POST", "/api/v1/uplinks/data", `{"n":${n}}`, json);
    const statusOf = async (device: Rec) =>
      (await world.call("GET", `/api/v1/devices/${device.id}`)).record.deviceStatus;

    test("a device over its limit is answered late, and far over it is asked to wait", async () => {
      const device = await makeDevice(world, product);
      const begun = performance.now();
      const replies = await Promise.all(Array.from({ length: 40 }, (_, n) => post(device, n)));
      const byStatus = (status: number) => replies.filter((reply) => reply.status === status);
      assert.is(byStatus(204).length + byStatus(429).length, 40);
      assert.ok(byStatus(204).length >= 10, `${byStatus(204).length} taken`);
      assert.ok(byStatus(429).length > 0, "some would have waited for more than 10 s");
      for (const { headers } of byStatus(429)) assert.ok(Number(headers.get("retry-after")) > 0);
      assert.ok(performance.now() - begun > 2000, "they were slowed down");
      assert.is((await eventsOf(world, device)).length, byStatus(204).length, "what was refused is not kept");
    });

    test("line protocol waits for all of its lines together, or is refused before any of it is kept", async () => {
      const device = await makeDevice(world, product);
      const write = (from: number, count: number) => {
        const lines = Array.from(
          { length: count },
          (_, n) => `data n=${from + n}i ${1_767_225_600 + from + n}`,
        );
        return asDevice(world.http, device, "POST", "/api/v2/write?precision=s", lines.join("\n"));
      };
      assert.is((await write(0, 15)).status, 204);
      const late = await write(100, 21);
      assert.is(late.status, 429);
      assert.ok(Number(late.headers.get("retry-after")) > 0);
      assert.is((await eventsOf(world, device)).length, 15);
    });

    test("a batch waits as long as one message may; sent again it goes on where it was", async () => {
      const device = await makeDevice(world, product);
      const body = Array.from({ length: 30 }, (_, n) => `{"topic":"data","payload":{"n":${n}}}`).join("\n");
      const batch = (signal?: AbortSignal) =>
        fetch(`${world.http}/api/v1/uplinks`, {
          method: "POST",
          headers: { Authorization: basicOf(device), "Batch-Id": "b" },
          body,
          ...(signal === undefined ? {} : { signal }),
        }).then(({ status }) => status);
      const leaving = new AbortController();
      const left = batch(leaving.signal).catch(() => 0);
      await until(async () => (await eventsOf(world, device)).length > 2, { what: "some lines" });
      leaving.abort();
      assert.is(await left, 0);
      const statuses = [await batch()];
      while (statuses.at(-1) === 429 && statuses.length < 5) statuses.push(await batch());
      assert.is(statuses[0], 429);
      assert.is(statuses.at(-1), 200);
      const payloads = (await eventsOf(world, device)).map(({ payload }) => payload).reverse();
      assert.equal(
        payloads,
        Array.from({ length: 30 }, (_, n) => `{"n":${n}}`),
      );
    });

    test("more devices than there are places take turns; none of them is shut out", async () => {
      const devices: Rec[] = [];
      for (let n = 0; n < placesMax + 4; n++) devices.push(await makeDevice(world, product));
      for (const [n, device] of devices.entries()) assert.is((await post(device, n)).status, 204);
      const online = async () =>
        (await Promise.all(devices.map(statusOf))).filter((status) => status === 1).length;
      await until(async () => (await online()) < devices.length, { what: "some to have given way" });
      assert.ok((await online()) > 0);
      assert.is((await post(devices[0] as Rec, 99)).status, 204, "the first may come again");
    });

    test("whose body is still coming keeps its place while others come", async () => {
      const [slow, ...others] = await Promise.all(
        Array.from({ length: placesMax + 4 }, () => makeDevice(world, product)),
      );
      const headers = { Authorization: basicOf(slow as Rec), ...json, "Content-Length": "7" };
      const asked = request(`${world.http}/api/v1/uplinks/data`, { method: "POST", headers });
      const status = new Promise((resolve) => {
        asked.once("response", (response) => resolve(response.resume().statusCode));
      });
      asked.flushHeaders();
      await until(async () => (await statusOf(slow as Rec)) === 1, { what: "the slow one" });
      for (const [n, other] of others.entries()) assert.is((await post(other, n)).status, 204);
      asked.end('{"n":1}');
      assert.is(await status, 204);
      assert.is((await eventsOf(world, slow as Rec)).length, 1);
    });

    test("a waiting poll keeps its place, and ends when its client leaves", async () => {
      const device = await makeDevice(world, product);
      const leaving = new AbortController();
      const url = `${world.http}/api/v1/inbox?wait=50`;
      const login = Buffer.from(`${device.deviceUsername}:${device.token}`).toString("base64");
      const polled = fetch(url, {
        headers: { Authorization: `Basic ${login}` },
        signal: leaving.signal,
      }).catch(() => null);
      await until(async () => (await statusOf(device)) === 1, { what: "the poll" });
      leaving.abort();
      assert.is(await polled, null);
      await pause(100);
      const reply = await world.call("POST", "/api/v1/device_publish", {
        deviceID: device.deviceID,
        payload: "x",
      });
      assert.is(reply.record.publishStatus, "successful");
      const again = await asDevice(world.http, device, "GET", "/api/v1/inbox");
      assert.is(again.text, "x", "nobody who had left took it");
    });
  },
  { DEVICE_MESSAGES_PER_SECOND: "2", MQTT_CONNECTIONS_MAX: String(placesMax) },
);
