import { deviceBody, makeDataPoint, makeDevice, makeProduct } from "../factories.js";
import { assert, until } from "../suite.js";
import { type Rec, worldSuite } from "../world.js";

/** What goes on beside the requests, while devices never stop sending. */
worldSuite("background work under load", (test, world) => {
  test("a deleted device's id becomes free though others keep sending", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp" });
    const sender = await makeDevice(world, product);
    const gone = await makeDevice(world, product);
    await world.publish(gone, { temp: 1 });
    const client = await world.connect(sender);
    let sending = true;
    const load = (async () => {
      while (sending) await client.publishAsync("data", '{"temp":1}', { qos: 1 });
    })();
    assert.is((await world.call("DELETE", `/api/v1/devices?ids=${gone.id}`)).status, 204);
    const again = deviceBody(product, { deviceID: gone.deviceID });
    await until(async () => (await world.call("POST", "/api/v1/devices", again)).status === 201, {
      what: "the deviceID to be free again",
    });
    sending = false;
    await load;
    await client.endAsync();
    const { list } = await world.call("GET", `/api/v1/original_data?deviceID=${gone.deviceID}`);
    assert.equal(
      list.map((one) => (one.originalData as { value: unknown[] }).value),
      [[]],
    );
  });

  test("resettle changes nothing that is there, and gives a successor nothing of its namesake", async () => {
    const product = await makeProduct(world);
    const first = await makeDataPoint(world, product, { dataPointID: "level" });
    await makeDataPoint(world, product, { dataPointID: "kept" });
    const device = await makeDevice(world, product);
    const time = Date.now() - 60_000;
    await world.publish(device, { time, level: 1, kept: 1 }, { time, kept: 2 });
    assert.is((await world.call("DELETE", `/api/v1/data_points?ids=${first.id}`)).status, 204);
    await makeDataPoint(world, product, { dataPointID: "level" });
    const values = async (): Promise<Record<string, unknown>> => {
      const { list } = await world.call("GET", `/api/v1/original_data?deviceID=${device.deviceID}`);
      return Object.fromEntries(
        list.map((one: Rec, i) => [i, (one.originalData as { value: unknown[] }).value]),
      );
    };
    assert.equal(await values(), { 0: [2], 1: [] });
    const reply = await world.call("POST", "/api/v1/resettle", { startTime: "2020-01-01 00:00:00" });
    assert.is(reply.status, 200);
    assert.equal(await values(), { 0: [2], 1: [] });
  });
});
