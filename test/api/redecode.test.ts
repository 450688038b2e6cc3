import { makeDataPoint, makeDevice, makeProduct, makeStream } from "../factories.js";
import { assert } from "../suite.js";
import { type Rec, refused, worldSuites } from "../world.js";
import { pointsOf } from "./history.js";
import { ended } from "./transfer.js";

worldSuites("kept messages decoded again", (test, world) => {
  let product: Rec;
  let device: Rec;
  const since = { startTime: "2020-01-01 00:00:00" };
  test.before.each(async () => {
    product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp", dataPointName: "temp" });
    device = await makeDevice(world, product);
  });
  const redecode = async (body: object = since) =>
    (await ended(world, await world.call("POST", `/api/v1/devices/${device.deviceID}/redecode`, body))).msg;
  const values = async (name: string) => (await pointsOf(world, device))[name]?.map(([, value]) => value);
  const time = "2024-01-01T00:00:00Z";

  test("a data point defined later gets what the messages held for it, once", async () => {
    await world.publish(device, { time, temp: 1, hum: 5 }, { temp: 2, hum: 6 }, { time, hum: 7 }, "no JSON");
    assert.is(await values("hum"), undefined);
    await makeDataPoint(world, product, { dataPointID: "hum", dataPointName: "hum" });
    assert.equal(await redecode(), { messages_num: 4, points_num: 2 });
    assert.equal(await values("hum"), [7, 6]);
    assert.equal(await values("temp"), [1, 2]);
    assert.equal(await redecode(), { messages_num: 4, points_num: 0 });
  });

  test("what came after the definition, or was corrected, stays", async () => {
    await world.publish(device, { time, temp: 1, hum: 5 });
    await makeDataPoint(world, product, { dataPointID: "hum", dataPointName: "hum" });
    await world.publish(device, { time, temp: 3, hum: 9 });
    assert.equal(await redecode(), { messages_num: 2, points_num: 0 });
    assert.equal([await values("temp"), await values("hum")], [[3], [9]]);
  });

  test("a stream defined later counts as well; the range is that of the receipt", async () => {
    await world.publish(device, { time, temp: 1, hum: 5 });
    const hum = await makeDataPoint(world, product, { dataPointID: "hum", dataPointName: "hum" });
    await makeStream(world, product, { topic: "data", dataPoints: [hum.id] });
    assert.equal(await redecode({ ...since, endTime: "2020-01-02 00:00:00" }), {
      messages_num: 0,
      points_num: 0,
    });
    assert.equal(await redecode(), { messages_num: 1, points_num: 1 });
    assert.equal(await values("hum"), [5]);
  });

  test("thousands of messages, some of one time, end as the newest says", async () => {
    const many = Array.from({ length: 40 }, (_, i) =>
      Array.from({ length: 300 }, (_, j) => ({ time: 1.7e9 + ((i * 300 + j) % 5000), hum: i * 300 + j })),
    );
    await world.publish(device, ...many);
    await makeDataPoint(world, product, { dataPointID: "hum", dataPointName: "hum" });
    assert.equal(await redecode(), { messages_num: 40, points_num: 5000 });
    assert.equal(
      await values("hum"),
      Array.from({ length: 5000 }, (_, i) => (i < 2000 ? 10_000 + i : 5000 + i)),
    );
  });

  test("a dry run counts what would appear, what differs and what is refused, and stores nothing", async () => {
    const later = "2024-01-01T00:00:01Z";
    await world.publish(
      device,
      { time, temp: 1, hum: 5, "it's \u{1f600}": 1 },
      { time: later, temp: 2, hum: true },
      { time, hum: 8 },
      "no JSON",
    );
    await makeDataPoint(world, product, { dataPointID: "hum", dataPointName: "hum" });
    await world.publish(device, { time: later, temp: 3 });
    const dry = { ...since, dryRun: true };
    const counted = {
      messages_num: 5,
      points_num: 1,
      changed_num: 0,
      unchanged_num: 2,
      refused: { unknown: 1, type: 1, format: 1 },
    };
    assert.equal(await redecode(dry), counted);
    assert.equal(await redecode(dry), counted);
    assert.equal(await values("hum"), []);
    assert.equal(await redecode(), { messages_num: 5, points_num: 1 });
    assert.equal(await values("hum"), [8]);
    const corrected = `deviceID,dataPointID,time,value\n${device.deviceID},hum,${time},9\n`;
    const headers = { "Content-Type": "text/csv" };
    await ended(world, await world.call("POST", "/api/v1/original_data", corrected, { headers }));
    assert.equal(await redecode(dry), { ...counted, points_num: 0, changed_num: 1 });
    assert.equal(await values("hum"), [9]);
  });

  test("a dry run of thousands of messages, some of one time, counts what the run then stores", async () => {
    const many = Array.from({ length: 40 }, (_, i) =>
      Array.from({ length: 300 }, (_, j) => ({ time: 1.7e9 + ((i * 300 + j) % 5000), hum: i * 300 + j })),
    );
    await world.publish(device, ...many);
    await makeDataPoint(world, product, { dataPointID: "hum", dataPointName: "hum" });
    const told = (await redecode({ ...since, dryRun: true })) as { points_num: number };
    assert.is(told.points_num, 5000);
    assert.equal(await redecode(), { messages_num: 40, points_num: 5000 });
  });

  test("errors are reported", async () => {
    const path = `/api/v1/devices/${device.id}/redecode`;
    refused(await world.call("POST", path, {}), "PARAMETER_INVALID", "startTime");
    refused(await world.call("POST", path, { ...since, dryRun: "yes" }), "PARAMETER_INVALID", "dryRun");
    refused(await world.call("POST", path, { startTime: "yesterday" }), "PARAMETER_INVALID", "startTime");
    refused(
      await world.call("POST", path, { startTime: "2024-01-02 00:00:00", endTime: "2024-01-01 00:00:00" }),
      "PARAMETER_INVALID",
    );
    refused(await world.call("POST", "/api/v1/devices/none/redecode", since), "DATA_NOT_FOUND");
    refused(await world.call("POST", path, since, { key: await world.keyOf("viewer") }), "PERMISSION_DENIED");
  });
});
