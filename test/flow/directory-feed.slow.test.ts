/** What is changed on one process acts on the other, which looks for changes twice a second. */
import { connectAsync, type MqttClient } from "mqtt";
import { makeDevice, pointOf } from "../ingest/transports/broker/support.js";
import { assert, openTempDir, suite, until } from "../suite.js";
import type { Rec } from "../world.js";
import type { RunningService } from "./support.js";
import { createPair } from "./two-processes.js";

suite("two processes, one directory", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let first: RunningService;
  let second: RunningService;
  let product: Rec;
  test.before(async () => {
    dir = await openTempDir();
    const pair = createPair(dir.path);
    first = await pair.start(0);
    second = await pair.start(1);
    product = await first.make("/api/v1/products", { productName: "pair", cloudProtocol: 1 });
    await first.make("/api/v1/data_points", pointOf(product));
  });
  test.after(async () => {
    await first.stop();
    await second.stop();
    await dir.close();
  });

  const connect = (device: Rec): Promise<MqttClient> =>
    connectAsync(second.mqtt, {
      username: String(device.deviceUsername),
      password: String(device.token),
      reconnectPeriod: 0,
      protocolVersion: 5,
    });
  /** Call the result after the change: fails unless the other process ends the connection by itself. */
  const closesByItself = (client: MqttClient): (() => Promise<boolean>) => {
    let isClosed = false;
    client.once("close", () => {
      isClosed = true;
    });
    return () => until(() => isClosed, { what: "the other process to end the connection" });
  };

  test("blocked and deleted on one, thrown out of the other", async () => {
    for (const act of [
      (id: number) => first.call("PUT", `/api/v1/devices/${id}`, { blocked: 1 }),
      (id: number) => first.call("DELETE", `/api/v1/devices?ids=${id}`),
    ]) {
      const device = await makeDevice(first, product);
      const client = await connect(device);
      const ends = closesByItself(client);
      const reply = await act(device.id);
      assert.ok(reply.status < 300, reply.text);
      await ends();
      await client.endAsync(true).catch(() => undefined);
    }
  });

  test("a policy bound, edited and unbound on one decides what the other takes", async () => {
    const device = await makeDevice(first, product);
    const client = await connect(device);
    const passes = () =>
      client.publishAsync("secret", "x", { qos: 1 }).then(
        () => true,
        () => false,
      );
    const becomes = (expected: boolean) =>
      until(async () => (await passes()) === expected, { what: `the other process to answer ${expected}` });
    assert.is(await passes(), true);
    const policy = await first.make("/api/v1/policies", {
      name: "pair",
      topic: "secret",
      access: 0,
      allow: 0,
    });
    const bound = await first.call("POST", `/api/v1/devices/${device.id}/policies`, { ids: [policy.id] });
    assert.is(bound.status, 201, bound.text);
    await becomes(false);
    assert.is((await first.call("PUT", `/api/v1/policies/${policy.id}`, { topic: "other" })).status, 200);
    await becomes(true);
    assert.is((await first.call("PUT", `/api/v1/policies/${policy.id}`, { topic: "#" })).status, 200);
    await becomes(false);
    const unbound = await first.call("DELETE", `/api/v1/devices/${device.id}/policies?ids=${policy.id}`);
    assert.ok(unbound.status < 300, unbound.text);
    await becomes(true);
    await client.endAsync();
  });

  test("a device made on one connects to the other, and a changed token ends its connection", async () => {
    const device = await makeDevice(first, product);
    const client = await connect(device);
    const ends = closesByItself(client);
    const reply = await first.call("PUT", `/api/v1/devices/${device.id}`, { token: "another-token-of-it" });
    assert.is(reply.status, 200, reply.text);
    await ends();
  });
});
