/** A deviceID between its deletion and the end of its points. */
import {
  deviceBody,
  gatewayBody,
  makeDataPoint,
  makeDevice,
  makeGateway,
  makeProduct,
  unique,
} from "../factories.js";
import { assert, until } from "../suite.js";
import { type Rec, type Reply, worldSuite, worldSuites } from "../world.js";

const rounds = 8;

worldSuites("a deviceID whose points are being removed", (test, world) => {
  test("is refused as such wherever a device is made, and free soon after", async () => {
    const product = await makeProduct(world);
    const point = await makeDataPoint(world, product);
    const b = { headers: { "Api-Variant": "B" } };
    const ways: Readonly<Record<string, (deviceID: string) => Promise<Reply>>> = {
      device: (deviceID) => world.call("POST", "/api/v1/devices", deviceBody(product, { deviceID })),
      "device of Variant B": (deviceID) =>
        world.call(
          "POST",
          "/api/v1/devices",
          { productID: product.productID, deviceName: unique("B"), deviceType: 0, authType: 1, deviceID },
          b,
        ),
      gateway: (deviceID) => world.call("POST", "/api/v1/gateways", gatewayBody(product, { deviceID })),
    };
    for (const [way, make] of Object.entries(ways)) {
      let seen = 0;
      for (let round = 0; round < rounds; round++) {
        const device = await makeDevice(world, product);
        await world.publish(device, { [String(point.dataPointID)]: round });
        await world.call("DELETE", `/api/v1/devices?ids=${device.id}`);
        const reply = await make(String(device.deviceID));
        // The background may have been as quick as we were.
        if (reply.status === 201) continue;
        seen++;
        assert.is(reply.status, 400, reply.text);
        assert.is(reply.failure.errorCode, "DATA_EXISTED");
        assert.equal(reply.failure.errors, { deviceID: "its points are being removed" });
        assert.ok(reply.failure.message.includes("its points are being removed"), reply.failure.message);
        await until(async () => (await make(String(device.deviceID))).status === 201, {
          what: "a free deviceID",
        });
      }
      assert.ok(seen > 0, way);
    }
  });

  test("has none of the points that its last device sent", async () => {
    const product = await makeProduct(world);
    const point = await makeDataPoint(world, product);
    const device = await makeDevice(world, product);
    await world.publish(device, { [String(point.dataPointID)]: 1 });
    await world.call("DELETE", `/api/v1/devices?ids=${device.id}`);
    const again = await until(
      async () => {
        const reply = await world.call(
          "POST",
          "/api/v1/devices",
          deviceBody(product, { deviceID: device.deviceID }),
        );
        return reply.status === 201 ? reply.record : undefined;
      },
      { what: "a free deviceID" },
    );
    const data = await world.call("GET", `/api/v1/original_data?deviceIntID=${again.id}`);
    assert.equal((data.list[0] as Rec & { originalData: object }).originalData, { time: [], value: [] });
  });
});

worldSuite("many deleted devices", (test, world) => {
  test("come free together, and the metrics tell how many", async () => {
    const product = await makeProduct(world);
    const made = await Promise.all(Array.from({ length: 300 }, () => makeDevice(world, product)));
    await makeGateway(world, product);
    const ids = made.map(({ id }) => id).join();
    assert.is((await world.call("DELETE", `/api/v1/devices?ids=${ids}`)).status, 204);
    const metrics = await until(
      async () => {
        const { text } = await world.call("GET", "/metrics");
        return /^tidemark_removals_total 300$/m.test(text) ? text : undefined;
      },
      { what: "300 removals" },
    );
    assert.ok(/^tidemark_removals_left 0$/m.test(metrics), metrics);
    const replies = await Promise.all(
      made.map(({ deviceID }) => world.call("POST", "/api/v1/devices", deviceBody(product, { deviceID }))),
    );
    assert.equal([...new Set(replies.map(({ status }) => status))], [201]);
  });
});
