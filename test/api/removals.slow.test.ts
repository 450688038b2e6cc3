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
import { csvOf, ended, importFile } from "./transfer.js";

worldSuites("a deviceID whose points are being removed", (test, world) => {
  type Make = (product: Rec, deviceID: string) => Promise<Pick<Reply, "status" | "text" | "failure">>;
  const ways: Readonly<Record<string, Make>> = {
    device: (product, deviceID) => world.call("POST", "/api/v1/devices", deviceBody(product, { deviceID })),
    "device of Variant B": ({ productID }, deviceID) => {
      const body = { productID, deviceName: unique("B"), deviceType: 0, authType: 1, deviceID };
      return world.call("POST", "/api/v1/devices", body, { headers: { "Api-Variant": "B" } });
    },
    gateway: (product, deviceID) =>
      world.call("POST", "/api/v1/gateways", gatewayBody(product, { deviceID })),
    "gateway of Variant B": ({ productID }, deviceID) => {
      const body = { productID, deviceName: unique("B"), deviceType: 1, authType: 1, deviceID };
      return world.call("POST", "/api/v1/devices", body, { headers: { "Api-Variant": "B" } });
    },
  };
  const importOf = async (product: Rec, ...ids: readonly string[]) =>
    ended(world, await importFile(world, csvOf(ids.map((deviceID) => deviceBody(product, { deviceID })))));
  /** While it holds, nothing is removed. */
  const hold = (seconds: number) => world.call("POST", "/api/v1/backup_hold", { seconds });
  const deleted = async (product: Rec, dataPointID: unknown): Promise<string> => {
    const device = await makeDevice(world, product);
    await world.publish(device, { [String(dataPointID)]: 1 });
    assert.is((await world.call("DELETE", `/api/v1/devices?ids=${device.id}`)).status, 204);
    return String(device.deviceID);
  };

  test("is waited for wherever a device is made, also from a file", async () => {
    const product = await makeProduct(world);
    const { dataPointID } = await makeDataPoint(world, product);
    for (const [way, make] of Object.entries(ways)) {
      const reply = await make(product, await deleted(product, dataPointID));
      assert.is(reply.status, 201, `${way}: ${reply.text}`);
    }
    const ids = [await deleted(product, dataPointID), await deleted(product, dataPointID), unique("new")];
    assert.equal((await importOf(product, ...ids)).msg, { import_success_num: 3 });
  });

  test("is refused as such after five seconds, and free once the points are gone", async () => {
    const product = await makeProduct(world);
    const { dataPointID } = await makeDataPoint(world, product);
    await hold(60);
    try {
      const all = await Promise.all(
        Object.entries(ways).map(async ([way, make]) => {
          const id = await deleted(product, dataPointID);
          const began = performance.now();
          const reply = await make(product, id);
          assert.ok(performance.now() - began >= 4900, way);
          assert.is(reply.status, 400, `${way}: ${reply.text}`);
          assert.is(reply.failure.errorCode, "DATA_EXISTED");
          assert.equal(reply.failure.errors, { deviceID: "its points are being removed" });
          assert.ok(reply.failure.message.includes("its points are being removed"), reply.failure.message);
          return [make, id] as const;
        }),
      );
      // Five seconds in all, however many rows there are.
      const ids = [await deleted(product, dataPointID), await deleted(product, dataPointID)];
      const began = performance.now();
      const status = await importOf(product, ...ids);
      assert.ok(performance.now() - began < 9000, "for each row");
      assert.is(status.msg, "row 2, column deviceID: its points are being removed; 2 errors in all");
      const waiting = all.map(([make, id]) => make(product, id));
      await hold(0);
      for (const reply of await Promise.all(waiting)) assert.is(reply.status, 201, reply.text);
      assert.equal((await importOf(product, ...ids)).msg, { import_success_num: 2 });
    } finally {
      await hold(0);
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
  test("come free together, and the metrics show how many", async () => {
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
