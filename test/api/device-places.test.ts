import { makeDevice, makeGateway, makeProduct, unique } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, refused, worldSuite } from "../world.js";

const path = "/api/v1/device_places";

interface Cluster extends Readonly<Record<string, unknown>> {
  readonly count: number;
}

worldSuite("places of devices on a map", (test, world) => {
  const ask = (query: string, options: object = {}) =>
    world.call("GET", `${path}?${query}`, undefined, options);
  const clusters = async (query: string, options: object = {}): Promise<readonly Cluster[]> => {
    const reply = await ask(query, options);
    assert.is(reply.status, 200, reply.text);
    hasKeys(reply.record, ["clusters", "total", "isTruncated"]);
    return reply.record.clusters as Cluster[];
  };
  const place = async (device: Rec, longitude: number, latitude: number) => {
    const reply = await world.call("PUT", `/api/v1/devices/${device.id}/location`, { longitude, latitude });
    assert.is(reply.status, 200, reply.text);
  };

  test("one device is named, several are counted at their mean; filters, kinds and variants", async () => {
    const product = await makeProduct(world);
    const name = `"; drop table device; -- 🚜 ${unique("x")}`;
    const one = await makeDevice(world, product, { deviceName: name, deviceID: "d".repeat(64) });
    const [two, three] = [
      await makeDevice(world, product),
      await makeDevice(world, await makeProduct(world)),
    ];
    const gateway = await makeGateway(world, product);
    await makeDevice(world, product);
    await place(one, 8.5, 47.4);
    await place(two, 8.52, 47.41);
    await place(three, 9.9, 47.4);
    await place(gateway, 9.95, 47.9);
    const box = "bbox=8,47,10,48";
    const near = await clusters("bbox=8.4,47.3,8.6,47.5&zoom=22");
    assert.is(near.length, 2);
    const own = near.find(({ deviceIntID }) => deviceIntID === one.id);
    hasKeys(own, [
      ...["longitude", "latitude", "count", "deviceIntID", "deviceName", "deviceStatus", "worstSeverity"],
    ]);
    assert.equal(own, {
      ...{ longitude: 8.5, latitude: 47.4, count: 1, deviceIntID: one.id },
      ...{ deviceName: name, deviceStatus: 0, worstSeverity: null },
    });
    const [far] = await clusters(`${box}&zoom=3`);
    assert.equal([far?.count, far?.deviceIntID, far?.deviceName, far?.deviceStatus], [3, null, null, null]);
    assert.ok(Math.abs(Number(far?.longitude) - (8.5 + 8.52 + 9.9) / 3) < 1e-9);
    const counts = async (query: string, options = {}) =>
      (await clusters(`${box}&zoom=22${query}`, options)).map(({ count }) => count).sort();
    assert.equal(await counts(""), [1, 2]);
    assert.equal(await counts("", { headers: { "Api-Variant": "B" } }), [1, 1, 2]);
    assert.equal(await counts(`&productIntID=${product.id}`), [2]);
    const group = await world.make("/api/v1/groups", {
      groupName: unique("G"),
      productID: product.productID,
    });
    await world.call("POST", `/api/v1/groups/${group.id}/devices`, { ids: [two.id] });
    const ofGroup = await clusters(`${box}&zoom=22&groupIntID=${group.id}`);
    assert.equal(
      ofGroup.map(({ deviceIntID }) => deviceIntID),
      [two.id],
    );
    assert.equal(await clusters(`${box}&zoom=22&groupIntID=${Number(group.id) + 999}`), []);
    const asB = { headers: { "Api-Variant": "B" } };
    const alone = async (id: number, of = box, options = {}) =>
      (await clusters(`${of}&zoom=22&deviceIntID=${id}`, options)).map((found) => [
        found.deviceIntID,
        found.longitude,
        found.latitude,
      ]);
    assert.equal(await alone(two.id), [[two.id, 8.52, 47.41]]);
    assert.equal(await alone(gateway.id, box, asB), [[gateway.id, 9.95, 47.9]]);
    assert.equal(await alone(gateway.id), [], "Variant A has no gateways on its map");
    assert.equal(await alone(two.id, "bbox=8,47.42,10,48"), [], "it stands outside the box");
    assert.equal(await alone(Number(gateway.id) + 999), []);
  });

  test("the worst current alert shows; the antimeridian is crossed; a viewer may look", async () => {
    const product = await makeProduct(world);
    await world.make("/api/v1/data_points", {
      ...{
        productIntID: product.id,
        dataPointID: "t",
        dataPointName: "T",
        pointDataType: 1,
        dataTransType: 1,
      },
      upperLimit: 40,
    });
    const [west, east] = [await makeDevice(world, product), await makeDevice(world, product)];
    await place(west, 179.5, -17);
    await place(east, -179.5, -17);
    await world.publish(east, { t: 50 });
    await world.alertsSettled();
    const key = await world.keyOf("viewer");
    const across = await clusters("bbox=179,-18,-179,-16&zoom=10", { key });
    const seen = across.map(({ deviceIntID, worstSeverity }) => [deviceIntID, worstSeverity]);
    assert.equal(
      new Map(seen as [number, unknown][]),
      new Map<number, unknown>([
        [west.id, null],
        [east.id, 2],
      ]),
    );
    assert.is((await clusters("bbox=-179.9,-18,-179,-16&zoom=10")).length, 1);
  });

  test("another tenant's devices are not there, whatever it names", async () => {
    const product = await makeProduct(world);
    const device = await makeDevice(world, product);
    await place(device, 1, 1);
    const key = await world.otherTenant();
    assert.equal(await clusters("bbox=-180,-90,180,90&zoom=22", { key }), []);
    assert.equal(await clusters(`bbox=-180,-90,180,90&zoom=22&productIntID=${product.id}`, { key }), []);
    assert.equal(await clusters(`bbox=-180,-90,180,90&zoom=22&deviceIntID=${device.id}`, { key }), []);
  });

  test("boxes and zooms that are none are refused by name", async () => {
    const boxes = [
      ...["", "1,2,3", "1,2,3,4,5", "a,0,1,1", "0,1,1,0", "0,0,1,0", "5,0,5,1", "-181,0,1,1", "0,-91,1,1"],
      ...["0,0,1,90.1", "0,0,,1", "NaN,0,1,1", "0,0,1e999,1", ",".repeat(1000)],
    ];
    for (const bbox of boxes) refused(await ask(`bbox=${bbox}&zoom=1`), "PARAMETER_INVALID", "bbox");
    for (const zoom of ["", "-1", "23", "1.5", "x"]) {
      refused(await ask(`bbox=0,0,1,1&zoom=${zoom}`), "PARAMETER_INVALID", "zoom");
    }
    refused(
      await ask("zoom=x&productIntID=x&groupIntID=0&deviceIntID=-1"),
      "PARAMETER_INVALID",
      "bbox",
      "zoom",
      "productIntID",
      "groupIntID",
      "deviceIntID",
    );
  });
});
