import { makeDataPoint, makeDevice, makeProduct, unique } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, refused, stampPattern, worldSuite } from "../world.js";
import { unknownIDs } from "./resource.js";

worldSuite("gateway data", (test, world) => {
  const makeGateway = ({ productID }: Rec) =>
    world.make("/api/v1/gateways", {
      gatewayName: unique("Gateway"),
      productID,
      gatewayProtocol: 1,
      upLinkNetwork: 4,
    });
  const path = (id: unknown) => `/api/v1/gateways/${id}/devices_data`;
  const dataOf = async (gateway: Rec, query = "") =>
    (await world.call("GET", `${path(gateway.id)}${query}`)).page;

  test("children of the gateway's devices are left out, whatever they have sent", async () => {
    const product = await makeProduct(world);
    const gateway = await makeGateway(product);
    await makeDataPoint(world, product, { dataPointID: "temp" });
    const device = await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id });
    const child = await makeDevice(world, product, { upLinkSystem: 3, parentDevice: device.id });
    await world.publish(child, { temp: 1 });
    assert.equal(
      (await dataOf(gateway)).items.map(({ deviceIntID }) => deviceIntID),
      [device.id],
    );
  });

  test("the newest value of each reported point of the gateway's devices", async () => {
    const product = await makeProduct(world);
    const gateway = await makeGateway(product);
    const points = [];
    for (const [dataPointID, pointDataType] of Object.entries({ temp: 1, on: 5, note: 3, place: 6 })) {
      points.push(await makeDataPoint(world, product, { dataPointID, pointDataType }));
    }
    await makeDataPoint(world, product, { dataTransType: 2 });
    const below = { upLinkSystem: 2, gateway: gateway.id };
    const other = await makeProduct(world);
    await makeDevice(world, product);
    const [one, two] = [await makeDevice(world, product, below), await makeDevice(world, other, below)];
    const time = "2026-01-02 03:04:05";
    await world.publish(one, { time, temp: 21.5, on: true, place: [121.4, 31.2, 7] }, { time, temp: 22 });
    const { items, meta } = await dataOf(gateway);
    assert.equal(meta, { count: 2, limit: 10, page: 1 });
    const value = { temp: 22, on: true, note: null, place: [121.4, 31.2, 7] };
    const shown = points.map(({ id, dataPointID, dataPointName }) => ({
      dataPointIntID: id,
      dataPointID,
      dataPointName,
      time: dataPointID === "note" ? null : time,
      value: value[dataPointID as keyof typeof value],
    }));
    assert.equal(items, [
      { deviceIntID: two.id, deviceID: two.deviceID, deviceName: two.deviceName, data: [] },
      { deviceIntID: one.id, deviceID: one.deviceID, deviceName: one.deviceName, data: shown },
    ] as never);
    for (const item of items) hasKeys(item, ["deviceIntID", "deviceID", "deviceName", "data"]);
    await world.publish(one, { note: "始" });
    const [newest] = (await dataOf(gateway, `?deviceID=${one.deviceID}`)).items;
    const data = newest?.data as { dataPointID: string; time: string; value: unknown }[] | undefined;
    const note = data?.[2];
    assert.match(note?.time ?? "", stampPattern);
    assert.equal([note?.dataPointID, note?.value], ["note", "始"]);
    assert.equal((await dataOf(gateway, "?_limit=1&_page=2")).items[0]?.deviceIntID, one.id);
  });

  test("an answer that would hold too many values is refused by name", async () => {
    const product = await makeProduct(world);
    const gateway = await makeGateway(product);
    for (let i = 0; i < 101; i++) await makeDataPoint(world, product);
    for (let i = 0; i < 100; i++) await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id });
    const reply = await world.call("GET", `${path(gateway.id)}?_limit=100`);
    refused(reply, "PARAMETER_INVALID", "_limit");
    assert.is((await dataOf(gateway, "?_limit=99")).items.length, 99);
  });

  test("what is no gateway of the tenant is 404", async () => {
    const product = await makeProduct(world);
    const [gateway, device] = [await makeGateway(product), await makeDevice(world, product)];
    assert.equal((await dataOf(gateway)).items, []);
    const key = await world.stranger();
    refused(await world.call("GET", path(gateway.id), undefined, { key }), "DATA_NOT_FOUND");
    refused(await world.call("GET", path(device.id)), "DATA_NOT_FOUND");
    for (const id of unknownIDs) refused(await world.call("GET", path(id)), "DATA_NOT_FOUND");
  });
});
