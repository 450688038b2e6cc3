import { gunzipSync } from "node:zlib";
import {
  dataPointBody,
  deviceBody,
  makeDataPoint,
  makeDevice,
  makeGroup,
  makeMetric,
  makeProduct,
  productBody,
} from "../factories.js";
import { assert, until } from "../suite.js";
import { type Rec, refused, worldSuite } from "../world.js";
import { exportedText, imported, ndjsonType, pointsOf } from "./history.js";

const range = "startTime=2024-06-01T00:00:00Z&endTime=2024-06-01T01:00:00Z";
const texts = ["plain", 'a "b", c\r\nd', "", "=1+1", "'=1", "\ufeffmark", "\u0000nul", "  "];

worldSuite("export of history", (test, world) => {
  let product: Rec;
  let device: Rec;
  let metric: Rec;

  test.before(async () => {
    product = await makeProduct(world);
    const types = { temp: 1, on: 5, note: 3, place: 6, at: 24, "-odd": 1 };
    const points = [];
    for (const [dataPointID, pointDataType] of Object.entries(types)) {
      points.push(
        await makeDataPoint(world, product, { dataPointID, dataPointName: dataPointID, pointDataType }),
      );
    }
    metric = await makeMetric(world, points[0] as Rec);
    device = await makeDevice(world, product);
    await world.publish(
      device,
      {
        time: "2024-06-01T00:00:00Z",
        temp: 1.5,
        on: true,
        note: texts[0],
        place: [1, 2.5],
        at: 5000,
        "-odd": -1,
      },
      { time: "2024-06-01T00:00:00.000001Z", temp: -0, on: false },
      { time: "1969-12-31T23:59:59.5Z", temp: 0.1 + 0.2 },
      ...texts.slice(1).map((note, i) => ({ time: 1717200000 + i + 1, note })),
    );
    // JSON.stringify drops the sign of the zero.
    await world.publish(device, '{"time": "2024-06-01T00:00:00.000001Z", "temp": -0}');
  });

  const deviceQuery = () => `deviceID=${device.deviceID}`;

  test("the long layout has a row a point, of any range, in order", async () => {
    const text = await exportedText(world, deviceQuery());
    const id = String(device.deviceID);
    const lines = text.split("\r\n");
    assert.equal(lines.slice(0, 6), [
      "deviceID,dataPointID,time,value",
      `${id},temp,1969-12-31T23:59:59.500000Z,0.30000000000000004`,
      `${id},temp,2024-06-01T00:00:00.000000Z,1.5`,
      `${id},temp,2024-06-01T00:00:00.000001Z,-0`,
      `${id},on,2024-06-01T00:00:00.000000Z,true`,
      `${id},on,2024-06-01T00:00:00.000001Z,false`,
    ]);
    assert.ok(text.includes(`${id},note,2024-06-01T00:00:01.000000Z,"a ""b"", c\r\nd"\r\n`));
    assert.ok(text.includes(`${id},note,2024-06-01T00:00:03.000000Z,"'=1+1"\r\n`));
    assert.ok(text.includes(`${id},place,2024-06-01T00:00:00.000000Z,"[1,2.5]"\r\n`));
    assert.ok(text.includes(`${id},'-odd,2024-06-01T00:00:00.000000Z,-1\r\n`));
    const json = await exportedText(world, `${deviceQuery()}&${range}`, "application/x-ndjson");
    assert.equal(JSON.parse(json.split("\n")[0] ?? ""), {
      deviceID: id,
      dataPointID: "temp",
      time: "2024-06-01T00:00:00.000000Z",
      value: 1.5,
    });
    assert.ok(!json.includes("1969"));
  });

  test("the wide layout has a row a time and a column a data point", async () => {
    const id = String(device.deviceID);
    const text = await exportedText(world, `${deviceQuery()}&${range}&layout=wide`);
    assert.equal(text.split("\r\n").slice(0, 3), [
      "deviceID,time,temp,on,note,place,at,'-odd",
      `${id},2024-06-01T00:00:00.000000Z,1.5,true,"plain","[1,2.5]",5000,-1`.replace("5000", "5000000"),
      `${id},2024-06-01T00:00:00.000001Z,-0,false,,,,`,
    ]);
    const json = await exportedText(world, `${deviceQuery()}&${range}&layout=wide`, "application/x-ndjson");
    assert.is(
      json.split("\n")[1],
      `{"deviceID":"${id}","time":"2024-06-01T00:00:00.000001Z","temp":-0,"on":false}`,
    );
  });

  test("what is exported imports to the same points, whatever the form", async () => {
    const before = await pointsOf(world, device);
    assert.equal(
      before.note?.map(([, value]) => value),
      texts,
    );
    for (const layout of ["long", "wide"]) {
      for (const accept of ["text/csv", "application/x-ndjson"] as const) {
        const copy = await makeDevice(world, product);
        const text = await exportedText(world, `${deviceQuery()}&layout=${layout}`, accept);
        const moved = text.replaceAll(String(device.deviceID), String(copy.deviceID));
        const { import_failure_num, errors } = await imported(world, moved, { "Content-Type": accept });
        assert.equal(errors, []);
        assert.is(import_failure_num, 0);
        assert.equal(await pointsOf(world, copy), before, `${layout} ${accept}`);
        const again = await exportedText(world, `deviceID=${copy.deviceID}&layout=${layout}`, accept);
        assert.is(again, moved);
      }
    }
  });

  test("packed when asked for, a few devices, a group, one metric's points", async () => {
    const other = await makeDevice(world, product);
    await imported(
      world,
      JSON.stringify({ deviceID: other.deviceID, time: "2024-06-01T00:00:00Z", temp: 7 }),
      ndjsonType,
    );
    const group = await makeGroup(world, product);
    await world.call("POST", `/api/v1/groups/${group.id}/devices`, { ids: [device.id, other.id] });
    const both = await exportedText(
      world,
      `deviceID=${other.deviceID},${device.deviceID}&metricIntID=${metric.id}`,
    );
    assert.equal(
      both.split("\r\n").map((line) => line.split(",")[3] ?? ""),
      ["value", "7", "0.30000000000000004", "1.5", "-0", ""],
    );
    const ofGroup = await exportedText(world, `groupID=${group.groupID}&metricIntID=${metric.id}`);
    const inOrder = await exportedText(
      world,
      `deviceID=${device.deviceID},${other.deviceID}&metricIntID=${metric.id}`,
    );
    assert.is(ofGroup, inOrder, "by id, as the JSON answer");
    const response = await fetch(`${world.http}/api/v1/original_data?${deviceQuery()}`, {
      headers: {
        Authorization: `Bearer ${world.first.apiKey}`,
        Accept: "text/csv",
        "Accept-Encoding": "gzip",
      },
    });
    assert.is(response.headers.get("content-encoding"), "gzip");
    assert.is(await response.text(), await exportedText(world, deviceQuery()));
    assert.ok(gunzipSync !== undefined);
  });

  test("JSON stays the answer unless rows are preferred; errors are reported", async () => {
    const get = (query: string, Accept: string) =>
      world.call("GET", `/api/v1/original_data?${query}`, undefined, { headers: { Accept } });
    for (const accept of ["*/*", "application/json", "text/csv;q=0.5, application/json"]) {
      assert.match(String((await get(deviceQuery(), accept)).headers.get("content-type")), /json/);
    }
    assert.match(
      String((await get(deviceQuery(), "application/json;q=0.1, text/csv")).headers.get("content-type")),
      /csv/,
    );
    refused(await get("layout=long", "text/csv"), "PARAMETER_INVALID", "deviceID");
    refused(await get(`${deviceQuery()}&layout=broad`, "text/csv"), "PARAMETER_INVALID", "layout");
    refused(await get("deviceID=nobody", "text/csv"), "DATA_NOT_FOUND", "deviceID");
    const group = await makeGroup(world, product);
    const id = device.deviceID;
    for (const [query, field] of [
      [`groupID=${group.groupID}&deviceID=${id}`, "groupID"],
      [`deviceID=${id},,${id}`, "deviceID"],
      [`${deviceQuery()}&metricType=abc`, "metricType"],
      [`${deviceQuery()}&metricIntID=0`, "metricIntID"],
      [`${deviceQuery()}&limit=x`, "limit"],
      [`${deviceQuery()}&fill=x`, "fill"],
      [`${deviceQuery()}&layout=broad`, "layout"],
    ] as const) {
      for (const accept of ["text/csv", "application/x-ndjson", "application/json"]) {
        refused(await get(query, accept), "PARAMETER_INVALID", field);
      }
    }
    refused(await get("groupID=nobody", "text/csv"), "DATA_NOT_FOUND", "groupID");
    refused(
      await get(`${deviceQuery()}&startTime=2024-06-02T00:00:00Z&endTime=2024-06-01T00:00:00Z`, "text/csv"),
      "PARAMETER_INVALID",
    );
    refused(await get(deviceQuery(), "image/png"), "NOT_ACCEPTABLE");
    const foreign = await world.otherTenant();
    const theirs = await world.call("GET", `/api/v1/original_data?${deviceQuery()}`, undefined, {
      headers: { Accept: "text/csv" },
      key: foreign,
    });
    refused(theirs, "DATA_NOT_FOUND");
  });

  test("a HEAD opens no stream, and one tenant's unread streams leave a place to others", async () => {
    const large = await makeDevice(world, product);
    const note = "x".repeat(60_000);
    const rows = Array.from({ length: 500 }, (_, i) => `${large.deviceID},${1.6e9 + i},${note}`);
    await imported(world, `deviceID,time,note\n${rows.join("\n")}`);
    const path = `/api/v1/original_data?deviceID=${large.deviceID}`;
    const csv = { headers: { Accept: "text/csv" } };
    for (let i = 0; i < 20; i++) {
      const head = await world.call("HEAD", path, undefined, csv);
      assert.equal([head.status, head.headers.get("content-type")], [200, "text/csv; charset=utf-8"]);
    }
    const giveUp = new AbortController();
    const headers = {
      Authorization: `Bearer ${world.first.apiKey}`,
      Accept: "text/csv",
      "Accept-Encoding": "identity",
    };
    const unread: Response[] = [];
    for (let i = 0; i < 9; i++) {
      unread.push(await fetch(world.http + path, { headers, signal: giveUp.signal }));
    }
    const statuses = unread.map(({ status }) => status);
    assert.equal(statuses, [200, 200, 200, 200, 200, 200, 200, 429, 429]);
    const foreign = await world.otherTenant();
    const own = await world.make("/api/v1/products", productBody(), { key: foreign });
    await world.make("/api/v1/data_points", dataPointBody(own), { key: foreign });
    const theirs = await world.make("/api/v1/devices", deviceBody(own), { key: foreign });
    const asked = { ...csv, key: foreign };
    const reply = await world.call(
      "GET",
      `/api/v1/original_data?deviceID=${theirs.deviceID}`,
      undefined,
      asked,
    );
    assert.is(reply.status, 200, reply.text);
    giveUp.abort();
    await until(
      async () =>
        (
          await world.call(
            "GET",
            `${path}&startTime=2020-01-01T00:00:00Z&endTime=2020-01-02T00:00:00Z`,
            undefined,
            csv,
          )
        ).status === 200,
      { what: "a place" },
    );
  });

  test("a stream that is given up ends, and the next ones are served", async () => {
    const rows = Array.from({ length: 200_000 }, (_, i) => `${device.deviceID},${1.6e9 + i},${i}`);
    await imported(world, `deviceID,time,temp\n${rows.join("\n")}`);
    const headers = { Authorization: `Bearer ${world.first.apiKey}`, Accept: "text/csv" };
    for (let i = 0; i < 20; i++) {
      const giveUp = new AbortController();
      const response = await fetch(`${world.http}/api/v1/original_data?${deviceQuery()}`, {
        headers,
        signal: giveUp.signal,
      });
      if (response.status === 429) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        continue;
      }
      await response.body?.getReader().read();
      giveUp.abort();
    }
    const text = await exportedText(
      world,
      `${deviceQuery()}&endTime=2024-01-01T00:00:00Z&startTime=2020-01-01T00:00:00Z`,
    );
    assert.is(text.split("\r\n").length, 200_002);
  });
});
