import { makeDataPoint, makeDevice, makeGateway, makeProduct } from "../factories.js";
import { assert } from "../suite.js";
import { type Rec, refused, stampPattern, worldSuite } from "../world.js";

const track = "/api/v1/device_track";
const noon = Date.UTC(2026, 2, 1, 12) / 1000;

worldSuite("places of devices", (test, world) => {
  const positions = async (query: string) => {
    const reply = await world.call("GET", `${track}?${query}`);
    assert.is(reply.status, 200, reply.text);
    return {
      truncated: reply.headers.get("Truncated"),
      list: reply.list.map(({ time, lnglat }) => [time, lnglat]),
    };
  };

  test("a device is moved by its record id or deviceID, and answers its stored form", async () => {
    const device = await makeDevice(world, await makeProduct(world));
    const place = { longitude: "121.4737", latitude: 31.2304, location: { city: "上海" } };
    const moved = await world.call("PUT", `/api/v1/devices/${device.deviceID}/location`, place);
    assert.is(moved.status, 200, moved.text);
    assert.match(String(moved.record.updateAt), stampPattern);
    const wanted = { ...device, ...place, longitude: 121.4737, updateAt: null };
    assert.equal({ ...moved.record, updateAt: null }, wanted);
    const half = (await world.call("PUT", `/api/v1/devices/${device.id}/location`, { latitude: null }))
      .record;
    assert.equal([half.longitude, half.latitude, half.location], [121.4737, null, place.location]);
    const wrong = { longitude: 181, latitude: "north" };
    const reply = await world.call("PUT", `/api/v1/devices/${device.id}/location`, wrong);
    refused(reply, "PARAMETER_INVALID", "longitude", "latitude");
    const none = await world.call("PUT", "/api/v1/devices/none/location", {});
    refused(none, "DATA_NOT_FOUND");
    const key = await world.otherTenant();
    const theirs = await world.call("PUT", `/api/v1/devices/${device.id}/location`, {}, { key });
    refused(theirs, "DATA_NOT_FOUND");
  });

  test("a gateway is moved too; Variant B's place is a text", async () => {
    const product = await makeProduct(world);
    const gateway = await makeGateway(world, product);
    const moved = await world.call("PUT", `/api/v1/devices/${gateway.id}/location`, { location: ["B", 2] });
    assert.equal({ ...moved.record, updateAt: null }, { ...gateway, location: ["B", 2] });
    const device = await makeDevice(world, product);
    const asB = { headers: { "Api-Variant": "B" } };
    const url = `/api/v1/devices/${device.id}/location`;
    assert.is((await world.call("PUT", url, { location: "roof" }, asB)).record.location, "roof");
    refused(await world.call("PUT", url, { location: {} }, asB), "PARAMETER_INVALID", "location");
  });

  test("the track of a longitude and a latitude: together, apart, before the range, in any zone", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "lng", locationType: 1 });
    await makeDataPoint(world, product, { dataPointID: "lat", locationType: 2 });
    await makeDataPoint(world, product, { dataPointID: "alt", locationType: 3 });
    const device = await makeDevice(world, product);
    await world.publish(
      device,
      { time: noon, lng: 10, lat: 50, alt: 7 },
      { time: noon + 60, lng: 11 },
      { time: noon + 120, lat: 51 },
      { time: noon + 180, lat: 95 },
    );
    const query = `deviceIntID=${device.id}`;
    assert.equal((await positions(query)).list, [
      ["2026-03-01 12:00:00", [10, 50]],
      ["2026-03-01 12:01:00", [11, 50]],
      ["2026-03-01 12:02:00", [11, 51]],
    ]);
    const start = encodeURIComponent("2026-03-01 12:01:00");
    const end = encodeURIComponent("2026-03-01 12:02:00");
    const ranged = await positions(`deviceID=${device.deviceID}&startTime=${start}&endTime=${end}`);
    assert.equal([ranged.list, ranged.truncated], [[["2026-03-01 12:01:00", [11, 50]]], null]);
    const there = await positions(`${query}&timezone=Asia/Shanghai&startTime=${noon * 1000 + 120_000}`);
    assert.is(there.list[0]?.[0], "2026-03-01 20:02:00");
    const exact = await positions(`${query}&timeFormat=ms&endTime=${noon * 1000 + 1}`);
    assert.equal(exact.list, [[noon * 1000, [10, 50]]]);
  });

  test("the track of places, without their altitude", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "place", pointDataType: 6 });
    const device = await makeDevice(world, product);
    await world.publish(
      device,
      { time: noon + 60, place: [-0.5, 51.5, 30] },
      { time: noon, place: { longitude: "-0.6", latitude: 51.4 } },
    );
    assert.equal((await positions(`deviceID=${device.deviceID}`)).list, [
      ["2026-03-01 12:00:00", [-0.6, 51.4]],
      ["2026-03-01 12:01:00", [-0.5, 51.5]],
    ]);
  });

  test("a track holds the newest 10,000 positions and says when there are more", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "lng", locationType: 1 });
    await makeDataPoint(world, product, { dataPointID: "lat", locationType: 2 });
    const device = await makeDevice(world, product);
    const at = (i: number) => ({ time: noon + i, lng: i / 100, lat: 1 });
    const payload = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => at(from + i));
    await world.publish(device, payload(0, 5000), payload(5000, 10_000));
    const whole = await positions(`deviceIntID=${device.id}`);
    assert.equal([whole.list.length, whole.truncated], [10_000, null]);
    await world.publish(device, at(10_000));
    const cut = await positions(`deviceIntID=${device.id}`);
    assert.equal([cut.list.length, cut.truncated], [10_000, "true"]);
    assert.equal(
      [cut.list[0]?.[1], cut.list.at(-1)?.[1]],
      [
        [0.01, 1],
        [100, 1],
      ],
    );
  });

  test("a device without locations has no track; a request without a device is refused", async () => {
    const product = await makeProduct(world);
    const device: Rec = await makeDevice(world, product);
    assert.equal((await positions(`deviceIntID=${device.id}`)).list, []);
    const gateway = await makeGateway(world, product);
    assert.equal((await positions(`deviceID=${gateway.deviceID}`)).list, []);
    const call = (query: string) => world.call("GET", `${track}?${query}`);
    refused(await call(""), "PARAMETER_INVALID", "deviceID");
    refused(await call("deviceIntID=x"), "PARAMETER_INVALID", "deviceIntID");
    refused(await call("deviceIntID=99999"), "DATA_NOT_FOUND", "deviceIntID");
    refused(await call(`deviceID=${device.id}`), "DATA_NOT_FOUND", "deviceID");
    refused(await call(`deviceIntID=${device.id}&startTime=soon`), "PARAMETER_INVALID", "startTime");
    const backwards = "startTime=1772366460000&endTime=1772366400000";
    refused(await call(`deviceIntID=${device.id}&${backwards}`), "PARAMETER_INVALID", "endTime");
    const key = await world.otherTenant();
    const theirs = await world.call("GET", `${track}?deviceIntID=${device.id}`, undefined, { key });
    refused(theirs, "DATA_NOT_FOUND");
  });
});
