/** What messages mean beside their points: alerts, places, the device's own record, counters. */
import {
  makeDataPoint,
  makeDevice,
  makeGateway,
  makeProduct,
  makeProductResource,
  makeStream,
  unique,
} from "../factories.js";
import { assert, until } from "../suite.js";
import { type Rec, refused, worldSuite } from "../world.js";

const current = "/api/v1/current_alerts";
const history = "/api/v1/history_alerts";
const fault = 4;
const place = 6;

worldSuite("alerts, places and counters from messages", (test, world) => {
  const alertsOf = async (path: string, device: Rec) =>
    (await world.call("GET", `${path}?deviceIntID=${device.id}&_limit=1000`)).page.items;
  const briefly = (alerts: readonly Rec[]) =>
    alerts.map(({ alertName, alertContent, alertSeverity, alertTimes, alertDetail }) => [
      ...[alertName, alertContent, alertSeverity, alertTimes, alertDetail],
    ]);
  const send = async (device: Rec, ...payloads: readonly (object | string)[]) => {
    await world.publish(device, ...payloads);
    await world.alertsSettled();
  };
  const status = async (device: Rec) =>
    (await world.call("GET", `/api/v1/devices/${device.id}/ingest_status`)).record;

  test("limits raise, count, refresh and end an alert", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, {
      dataPointID: "temp",
      dataPointName: "温度",
      upperLimit: 50,
      lowerLimit: 0,
    });
    const device = await makeDevice(world, product);
    await send(device, { temp: 50 }, { temp: 51 }, { temp: 52 }, { temp: 53 });
    assert.equal(briefly(await alertsOf(current, device)), [
      ["温度超上限", "温度超上限：51 > 50", 2, 3, { temp: 53 }],
    ]);
    await send(device, { temp: 50 }, { temp: -1 });
    assert.equal(briefly(await alertsOf(current, device)), [
      ["温度低于下限", "温度低于下限：-1 < 0", 2, 1, { temp: -1 }],
    ]);
    const [ended] = await alertsOf(history, device);
    assert.equal([ended?.alertName, ended?.alertTimes, ended?.updateAt], ["温度超上限", 3, null]);
  });

  test("one message counts once, its points in the order of their times", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp", upperLimit: 50, dataPointName: "T" });
    const device = await makeDevice(world, product);
    const now = Math.floor(Date.now() / 1000);
    await send(device, [
      { temp: 60, time: now - 1 },
      { temp: 40, time: now - 2 },
      { temp: 70, time: now - 3 },
      { temp: 71, time: now - 4 },
    ]);
    assert.equal(
      (await alertsOf(current, device)).map((one) => one.alertTimes),
      [1],
    );
    assert.equal(
      (await alertsOf(history, device)).map((one) => one.alertTimes),
      [1],
    );
  });

  test("a burst on many connections counts each message once; a deleted alert begins anew", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp", upperLimit: 50, dataPointName: "T" });
    const device = await makeDevice(world, product);
    const burst = Array.from({ length: 250 }, (_, i) => ({ temp: 51 + i }));
    await Promise.all([1, 2, 3, 4].map(() => world.publish(device, ...burst)));
    await world.alertsSettled();
    const [alert, ...others] = await alertsOf(current, device);
    assert.equal([alert?.alertTimes, alert?.updateAt, others], [1000, null, []]);
    assert.is((await status(device)).points, 1000);
    assert.is((await world.call("DELETE", `${current}?ids=${alert?.id}`)).status, 204);
    const [ended] = await alertsOf(history, device);
    assert.equal([ended?.id, ended?.alertTimes, typeof ended?.endTime], [alert?.id, 1000, "string"]);
    await send(device, { temp: 60 }, { temp: 61 });
    const [again] = await alertsOf(current, device);
    assert.equal([again?.id !== alert?.id, again?.alertTimes, again?.alertDetail], [true, 2, { temp: 61 }]);
  });

  test("what was counted before an alert was deleted, or its rule, brings none back", async () => {
    const product = await makeProduct(world);
    const point = await makeDataPoint(world, product, {
      dataPointID: "temp",
      upperLimit: 50,
      dataPointName: "T",
    });
    const rule = await world.make("/api/v1/alert_rules", {
      alertName: unique("rule"),
      dataPointIntID: point.id,
      condition: "dataPoint > 0",
    });
    const device = await makeDevice(world, product);
    await send(device, { temp: 60 });
    await until(async () => (await alertsOf(current, device)).length === 2, { what: "the alerts" });
    const client = await world.connect(device);
    const settledCount = async () => (await status(device)).messages;
    for (let i = 0; i < 20; i++) await client.publishAsync("data", '{"temp":61}', { qos: 1 });
    await client.endAsync();
    // Evaluated, and mostly not written yet.
    await until(async () => (await settledCount()) === 21, { what: "the messages" });
    const limit = (await alertsOf(current, device)).find((one) => one.alertName === "T超上限");
    assert.is((await world.call("DELETE", `${current}?ids=${limit?.id}`)).status, 204);
    assert.is((await world.call("DELETE", `/api/v1/alert_rules?ids=${rule.id}`)).status, 204);
    await world.alertsSettled();
    assert.equal(await alertsOf(current, device), []);
    assert.equal(
      (await alertsOf(history, device)).map((one) => one.alertTimes),
      [21, 21],
    );
  });

  test("a limit that is taken away ends its alert with the next message", async () => {
    const product = await makeProduct(world);
    const point = await makeDataPoint(world, product, {
      dataPointID: "temp",
      upperLimit: 50,
      dataPointName: "T",
    });
    const device = await makeDevice(world, product);
    await send(device, { temp: 60 });
    assert.is((await alertsOf(current, device)).length, 1);
    const edited = await world.call("PUT", `/api/v1/data_points/${point.id}`, { upperLimit: null });
    assert.is(edited.status, 200);
    await send(device, { temp: 61 });
    assert.equal(await alertsOf(current, device), []);
    assert.is((await alertsOf(history, device)).length, 1);
  });

  test("late points are stored and change no alert", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp", upperLimit: 50, dataPointName: "T" });
    const device = await makeDevice(world, product);
    const now = Date.now();
    await send(
      device,
      { temp: 60, time: now },
      { temp: 10, time: now - 60_000 },
      { temp: 99, time: now - 50_000 },
    );
    assert.equal(
      (await alertsOf(current, device)).map((one) => [one.alertTimes, one.alertDetail]),
      [[1, { temp: 60 }]],
    );
    assert.equal((await status(device)).points, 3);
  });

  test("a fault raises an alert of the first severity; isDiscard keeps its message out of the series", async () => {
    const product = await makeProduct(world);
    const temp = await makeDataPoint(world, product, {
      dataPointID: "temp",
      dataPointName: "T",
      upperLimit: 5,
    });
    await makeDataPoint(world, product, {
      dataPointID: "state",
      dataPointName: "泵",
      pointDataType: fault,
      faultValue: "7",
      isDiscard: 1,
    });
    const device = await makeDevice(world, product);
    await send(device, { temp: 1, state: "0" }, { temp: 99, state: 7 });
    assert.equal(briefly(await alertsOf(current, device)), [
      ["泵故障", "泵故障：7", 1, 1, { temp: 99, state: "7" }],
    ]);
    const data = await world.call("GET", `/api/v1/original_data?deviceID=${device.deviceID}&time_unit=real`);
    const of = data.list.find((one) => one.dataPointIntID === temp.id)?.originalData as { value: number[] };
    assert.equal(of.value, [1]);
    await send(device, { state: "0" });
    assert.equal(await alertsOf(current, device), []);
    const { lastAt: _, ...counts } = await status(device);
    assert.equal(counts, { messages: 3, points: 3, refused: { discarded: 2 } });
  });

  test("a place moves the device and is checked against its fences, also over the 180th meridian", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "at", pointDataType: place });
    const scopes = [
      {
        scopeType: 1,
        scopeName: "港区",
        points: [
          [179, -1],
          [-179, -1],
          [-179, 1],
          [179, 1],
        ],
      },
      { scopeType: 2, scopeName: "禁区", center: [180, 0], radius: 1000 },
    ];
    const device = await makeDevice(world, product);
    assert.is((await world.call("PUT", `/api/v1/devices/${device.id}`, { scopes })).status, 200);
    await send(device, { at: [-179.5, 0.5] });
    assert.equal(await alertsOf(current, device), []);
    await send(device, { at: [-179.9999, 0] });
    assert.equal(briefly(await alertsOf(current, device)), [
      ["禁区", "禁区：进入禁止区域 [-179.9999, 0]", 3, 1, { at: [-179.9999, 0] }],
    ]);
    await send(device, { at: { longitude: 178, latitude: 0 } }, { at: [178, 0.5] });
    assert.equal(
      (await alertsOf(current, device)).map((one) => [one.alertName, one.alertTimes]),
      [["港区", 2]],
    );
    const shown = (await world.call("GET", `/api/v1/devices/${device.id}`)).record;
    assert.equal([shown.longitude, shown.latitude, shown.updateAt !== null], [178, 0.5, true]);
    const track = (await world.call("GET", `/api/v1/device_track?deviceIntID=${device.id}`)).list;
    assert.equal(
      track.map((one) => one.lnglat),
      [
        [-179.5, 0.5],
        [-179.9999, 0],
        [178, 0],
        [178, 0.5],
      ],
    );
    await world.call("PUT", `/api/v1/devices/${device.id}`, { scopes: [] });
    await send(device, { at: [178, 0.6] });
    assert.equal(await alertsOf(current, device), []);
  });

  test("longitude and latitude apart count as of each other", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "lng", locationType: 1 });
    await makeDataPoint(world, product, { dataPointID: "lat", locationType: 2 });
    const device = await makeDevice(world, product);
    await send(device, { lng: 8 });
    const where = async () => {
      const { longitude, latitude } = (await world.call("GET", `/api/v1/devices/${device.id}`)).record;
      return [longitude, latitude];
    };
    assert.equal(await where(), [null, null]);
    await send(device, { lat: 47 });
    assert.equal(await where(), [8, 47]);
    await send(device, { lat: 470 }, { lng: 9, lat: 46 });
    assert.equal(await where(), [9, 46]);
  });

  test("product resources copy the newest value into the device", async () => {
    const product = await makeProduct(world);
    const serial = await makeDataPoint(world, product, { dataPointID: "sn", pointDataType: 3 });
    const version = await makeDataPoint(world, product, { dataPointID: "version" });
    await makeProductResource(world, serial, { codeValue: "serialNumber" });
    await makeProductResource(world, version, { codeValue: "softVersion" });
    const device = await makeDevice(world, product);
    await send(
      device,
      { sn: "A-1", version: 2.5, time: Date.now() },
      { sn: "old", time: Date.now() - 60_000 },
    );
    const { serialNumber, softVersion, updateAt } = (await world.call("GET", `/api/v1/devices/${device.id}`))
      .record;
    assert.equal([serialNumber, softVersion, updateAt], ["A-1", "2.5", null]);
  });

  test("rules raise while their condition is true, over several points, with lastValue and a duration", async () => {
    const product = await makeProduct(world);
    const temp = await makeDataPoint(world, product, { dataPointID: "temp" });
    await makeDataPoint(world, product, { dataPointID: "pump", pointDataType: 5 });
    const rule = (fields: object) =>
      world.make("/api/v1/alert_rules", { alertName: unique("rule"), dataPointIntID: temp.id, ...fields });
    await rule({
      alertName: "hot",
      condition: "dataPoint > 50 and pump == 1",
      alertContent: "too hot",
      alertSeverity: 1,
    });
    await rule({ alertName: "jump", condition: "dataPoint - lastValue > 10" });
    await rule({ alertName: "long", condition: "dataPoint > 20", duration: 60 });
    const device = await makeDevice(world, product);
    const start = Date.now() - 300_000;
    const names = async () =>
      (await alertsOf(current, device)).map((one) => [one.alertName, one.alertTimes]).sort();
    await send(device, { temp: 60, time: start });
    assert.equal(await names(), []);
    await send(device, { pump: true, time: start + 1000 });
    assert.equal(await names(), [["hot", 1]]);
    await send(device, { temp: 75, time: start + 2000 }, { temp: 76, time: start + 61_000 });
    assert.equal(await names(), [
      ["hot", 3],
      ["long", 1],
    ]);
    assert.equal(
      (await alertsOf(history, device)).map((one) => one.alertName),
      ["jump"],
    );
    await send(device, { pump: 0, temp: 10, time: start + 62_000 });
    assert.equal(await names(), []);
  });

  test("an envelope's entries keep the digits of numbers that no double holds, and what is lost is counted", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp" });
    const gateway = await makeGateway(world, product);
    const below = await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id });
    const entry = '"TimeStamp":1700000000,"temp":9007199254740993,"other":[-12345678901234567891]';
    await send(gateway, `{"Telemetry":[{"DeviceID":"${below.deviceID}",${entry}}]}`);
    await until(async () => (await status(below)).messages === 1, { what: "the entry" });
    await world.settled();
    await world.alertsSettled();
    const { items } = (await world.call("GET", `/api/v1/devices/${below.id}/events`)).page;
    assert.equal(
      items.map((one) => one.payload),
      [`{${entry}}`],
    );
    assert.equal((await status(below)).refused, { rounded: 1, unknown: 1 });
  });

  test("an envelope's entries are events and points of the devices that the sender carries", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp", upperLimit: 50, dataPointName: "T" });
    const gateway = await makeGateway(world, product);
    const below = await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id });
    const further = await makeDevice(world, product, { upLinkSystem: 3, parentDevice: below.id });
    const unrelated = await makeDevice(world, product);
    const time = Math.floor(Date.now() / 1000) - 10;
    const entries = [
      { DeviceID: below.deviceID, TimeStamp: time, temp: 60 },
      { DeviceID: unrelated.deviceID, temp: 1 },
      { DeviceID: further.deviceID, temp: { value: 2, time: time + 1 }, what: 1 },
      { DeviceID: "nobody", temp: 1 },
      7,
    ];
    await send(gateway, { Telemetry: entries });
    await until(async () => (await status(below)).messages === 1, { what: "the entries" });
    await world.settled();
    await world.alertsSettled();
    const events = async (of: Rec) =>
      (await world.call("GET", `/api/v1/devices/${of.id}/events`)).page.items.map((one) => [
        one.topic,
        one.payload,
      ]);
    assert.equal(await events(below), [["data", JSON.stringify({ TimeStamp: time, temp: 60 })]]);
    assert.is((await events(further)).length, 1);
    assert.equal(await events(unrelated), []);
    assert.is((await events(gateway)).length, 1);
    const data = await world.call(
      "GET",
      `/api/v1/original_data?deviceID=${below.deviceID}&time_unit=real&timeFormat=ms`,
    );
    assert.equal(
      data.list.map((one) => one.originalData),
      [{ time: [time * 1000], value: [60] }],
    );
    assert.equal((await status(gateway)).refused, { child: 3 });
    assert.equal((await status(further)).refused, { unknown: 1 });
    assert.equal((await alertsOf(current, below)).length, 1);
  });

  test("nobody speaks for a child that is blocked", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp" });
    const gateway = await makeGateway(world, product);
    const child = await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id });
    const block = async (blocked: number) =>
      assert.is((await world.call("PUT", `/api/v1/devices/${child.id}`, { blocked })).status, 200);
    const report = async () => {
      await send(gateway, { Telemetry: [{ DeviceID: child.deviceID, temp: 1 }] });
      await world.settled();
      await world.alertsSettled();
      return [(await status(child)).messages, (await status(gateway)).refused];
    };
    assert.equal(await report(), [1, {}]);
    await block(1);
    assert.equal(await report(), [1, { child: 1 }]);
    await block(0);
    await report();
    await until(async () => (await status(child)).messages === 2, { what: "the entry" });
    assert.equal((await status(gateway)).refused, { child: 1 });
  });

  test("a child is online from its first entry until its gateway goes", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp" });
    const gateway = await makeGateway(world, product);
    const child = await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id });
    const online = async (of: Rec) =>
      (await world.call("GET", `/api/v1/devices/${of.id}`)).record.deviceStatus === 1;
    const client = await world.connect(gateway);
    assert.is(await online(child), false);
    const envelope = { Telemetry: [{ DeviceID: child.deviceID, temp: 1 }] };
    await client.publishAsync("data", JSON.stringify(envelope), { qos: 1 });
    await until(() => online(child), { what: "the child", timeoutMs: 10_000 });
    await client.endAsync();
    await until(async () => !(await online(child)), { what: "the child's end", timeoutMs: 10_000 });
    await until(async () => (await status(child)).messages === 1, { what: "the entry to be counted" });
  });

  test("a parent device reports for its children; entries beyond all bounds are refused", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp" });
    const parent = await makeDevice(world, product);
    const child = await makeDevice(world, product, { upLinkSystem: 3, parentDevice: parent.id });
    const own = {
      temp: 5,
      Telemetry: [{ DeviceID: child.deviceID, temp: 6 }, { DeviceID: parent.deviceID }],
    };
    await send(parent, own);
    await until(async () => (await status(child)).messages === 1, { what: "the entry" });
    assert.equal((await status(parent)).refused, { child: 1 });
    const numbers = Array.from({ length: 70_000 }, () => 7);
    await send(parent, { Telemetry: [{ DeviceID: child.deviceID, temp: 7 }, ...numbers] });
    await until(async () => (await status(child)).messages === 2, { what: "the second entry" });
    await world.alertsSettled();
    assert.equal((await status(parent)).refused, { child: 1 + 65_535 });
    await send(parent, { Telemetry: [...numbers, { DeviceID: child.deviceID, temp: 8 }] }, { temp: 9 });
    await until(async () => (await status(parent)).messages === 4, { what: "the last message" });
    assert.is((await status(child)).messages, 2);
  });

  test("entries too deep or too large to be events are refused once, and the others are written once", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp" });
    const gateway = await makeGateway(world, product);
    const child = await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id });
    const entry = (temp: string) => `{"DeviceID":"${child.deviceID}","temp":${temp}}`;
    const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    const large = `[${Array.from({ length: 50_000 }, () => "1e20").join()}]`;
    for (const temp of [deep, large]) {
      await send(gateway, `{"Telemetry":[${entry("1")},${entry(temp)},${entry("2")}]}`);
    }
    await until(async () => (await status(child)).messages === 4, { what: "the entries" });
    await world.alertsSettled();
    assert.equal([(await status(child)).messages, (await status(gateway)).refused], [4, { child: 2 }]);
    // What comes after is looked at, of whatever tenant it is.
    await send(child, { temp: 3 });
    assert.is((await status(child)).messages, 5);
  });

  test("binary streams are read, and what they lose is counted", async () => {
    const product = await makeProduct(world);
    const one = await makeDataPoint(world, product, { dataPointID: "one", pointDataType: 16, binarySize: 2 });
    const two = await makeDataPoint(world, product, { dataPointID: "two", pointDataType: 12 });
    await makeStream(world, product, { topic: "raw", streamDataType: 2, dataPoints: [one.id, two.id] });
    const device = await makeDevice(world, product);
    const client = await world.connect(device);
    for (const payload of [[1, 2, 0, 2, 0x68, 0x69], [1, 2, 0], []]) {
      await client.publishAsync("raw", Buffer.from(payload), { qos: 1 });
    }
    await client.endAsync();
    await world.settled();
    await world.alertsSettled();
    const data = await world.call("GET", `/api/v1/original_data?deviceID=${device.deviceID}&time_unit=real`);
    assert.equal(
      data.list.map((item) => (item.originalData as { value: unknown[] }).value),
      [[258], ["hi"]],
    );
    const { messages, points, refused: lost, lastAt } = await status(device);
    assert.equal([messages, points, lost, typeof lastAt], [3, 2, { length: 2 }, "string"]);
  });

  test("a device that has sent nothing has counted nothing; another tenant's is not there", async () => {
    const device = await makeDevice(world, await makeProduct(world));
    assert.equal(await status(device), { messages: 0, points: 0, refused: {}, lastAt: null } as never);
    const path = `/api/v1/devices/${device.id}/ingest_status`;
    refused(await world.call("GET", path, undefined, { key: await world.otherTenant() }), "DATA_NOT_FOUND");
  });

  test("fences that are no fences are refused by name", async () => {
    const device = await makeDevice(world, await makeProduct(world));
    const put = (points: unknown) =>
      world.call("PUT", `/api/v1/devices/${device.id}`, {
        scopes: [{ scopeType: 1, scopeName: "x", points }],
      });
    const wrong = [
      [],
      [
        [0, 0],
        [1, 1],
      ],
      [
        [0, 0],
        [1, 1],
        [0, 0],
        [1, 1],
        [0, 0],
      ],
      [
        [0, 0],
        [2, 2],
        [2, 0],
        [0, 2],
      ],
      [
        [0, 0],
        [200, 0],
        [0, 1],
      ],
    ];
    for (const points of wrong)
      assert.is((await put(points)).status, 400, JSON.stringify(points).slice(0, 100));
    const messageOf = async (points: unknown) => {
      const answer = await put(points);
      refused(answer, "PARAMETER_INVALID");
      return answer.failure.errors["scopes.0.points"];
    };
    const crossed = [
      [0, 0],
      [2, 2],
      [2, 0],
      [0, 2],
    ];
    assert.is(await messageOf(crossed), "crosses itself: edges 1 and 3 meet");
    for (const [count, point] of [
      [1001, [1, 2]] as const,
      [33_000, [1, 2]] as const,
      [33_000, [999, 9]] as const,
    ]) {
      assert.match(String(await messageOf(Array.from({ length: count }, () => point))), "1000");
    }
    // Three values each: more than a body may have, and with the last more bytes too.
    for (const [count, point] of [
      [34_000, [1, 2]] as const,
      [170_000, [1, 2]] as const,
      [100_000, [999, 9]] as const,
      [1_000_000, [1, 2]] as const,
    ]) {
      refused(await put(Array.from({ length: count }, () => point)), "PAYLOAD_TOO_LARGE");
    }
    assert.is(
      (
        await put([
          [0, 0],
          [2, 0],
          [2, 2],
          [0, 2],
          [0, 0],
        ])
      ).status,
      200,
    );
  });
});
