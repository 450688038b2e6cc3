/** Pages of large rows end at a whole row, whatever they list. */
import { pageAnswer } from "../../src/http/paging.js";
import { pageWithDevices } from "../../src/routes/shown-devices.js";
import { pageBytesMax } from "../../store/metadata/db/page-bytes.js";
import { makeDataPoint, makeDevice, makeProduct } from "../factories.js";
import { assert, suite } from "../suite.js";
import { type Rec, type Reply, worldSuite } from "../world.js";

const rows = 50;
const payload = (n: number) => JSON.stringify({ note: `${n} ${"x".repeat(200_000)}` });
/** As many of these as a page holds. */
const fitting = 39;

suite("pages of owners of many devices", (test) => {
  test("a thousand with a thousand ids each end by their bytes, and no more ids are read", async () => {
    for (const idLength of [7, 16]) {
      const first = 10 ** (idLength - 1);
      const owners = Array.from({ length: 1000 }, (_, n) => ({ id: 1000 - n }));
      let read = 0;
      let atOnce = 0;
      const page = await pageWithDevices(
        { items: owners, count: owners.length },
        async (some) => {
          read += some.length;
          atOnce = Math.max(atOnce, some.length);
          return some.map((owner) => ({
            ...owner,
            devices: Array.from({ length: 1000 }, (_, n) => first + n),
          }));
        },
        () => false,
      );
      assert.ok(read <= 600 && atOnce <= 50, `ids of ${read} owners read, ${atOnce} at once`);
      const request = { page: 1, limit: 1000, filters: [] } as never;
      const { body, headers } = await pageAnswer(page, request, (row) => row);
      const text = await new Response(body as ReadableStream<Uint8Array>).text();
      assert.ok(text.length <= pageBytesMax + 1000 && text.length > pageBytesMax / 2, `${text.length} bytes`);
      assert.is(headers?.Truncated, "true");
      const { items, meta } = JSON.parse(text) as {
        items: { id: number; devices: number[] }[];
        meta: object;
      };
      assert.equal(
        items.map(({ id }) => id),
        owners.slice(0, items.length).map(({ id }) => id),
      );
      assert.ok(
        items.every(({ devices }) => devices.length === 1000),
        "each row is whole",
      );
      assert.equal(meta, { count: 1000, limit: 1000, page: 1 });
    }
  });
});

worldSuite("pages of large rows", (test, world) => {
  const idsOf = ({ page }: Reply) => page.items.map(({ id }) => id);

  /** The list in pages of 1000 ends early and says so; in pages of 10 all of it is there. */
  async function endsEarly(path: string, count = rows): Promise<void> {
    const join = path.includes("?") ? "&" : "?";
    const whole = await world.call("GET", `${path}${join}_limit=1000`);
    assert.is(whole.status, 200, whole.text.slice(0, 300));
    assert.is(whole.headers.get("truncated"), "true", path);
    assert.ok(whole.text.length <= pageBytesMax + 1000, `${path}: ${whole.text.length} bytes`);
    assert.is(whole.page.items.length, fitting, path);
    assert.is(whole.page.meta.count, count, path);
    const ids: number[] = [];
    for (let page = 1; page <= count / 10; page++) {
      const part = await world.call("GET", `${path}${join}_limit=10&_page=${page}`);
      assert.is(part.headers.get("truncated"), null);
      ids.push(...idsOf(part));
    }
    assert.is(ids.length, count, path);
    assert.equal(idsOf(whole), ids.slice(0, fitting), path);
    assert.equal(
      [...ids].sort((a, b) => b - a),
      ids,
      "newest first",
    );
  }

  test("uplinks, filtered or not", async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp" });
    const device = await makeDevice(world, product);
    await world.publish(device, ...Array.from({ length: rows }, (_, n) => payload(n)));
    await endsEarly(`/api/v1/devices/${device.id}/events`);
    await endsEarly(`/api/v1/devices/${device.id}/events?topic=data`);
    await endsEarly(`/api/v1/device_events?deviceID=${device.deviceID}`);
    const one = await world.call("GET", `/api/v1/devices/${device.id}/events?topic=data&_limit=1`);
    assert.is(one.page.items[0]?.payload, payload(rows - 1));
  });

  test("commands and schedules", async () => {
    const product = await makeProduct(world);
    const device = await makeDevice(world, product);
    const text = "x".repeat(200_000);
    const send = (n: number) =>
      world.make("/api/v1/device_publish", { deviceIntID: device.id, payload: `${n} ${text}` });
    for (let n = 0; n < rows; n++) await send(n);
    await endsEarly(`/api/v1/devices/${device.id}/control_logs`);
    await endsEarly(`/api/v1/device_control_logs?publishStatus=0`);
    for (let n = 0; n < rows; n++) {
      await world.make("/api/v1/device_schedule_publish", {
        deviceIntID: device.id,
        payload: `${n} ${text}`,
        scheduleName: `s${n}`,
        scheduleType: 1,
        IntervalMinute: 60,
      });
    }
    await endsEarly(`/api/v1/devices/${device.id}/schedule_publish`);
  });

  test("newest values: of a gateway's devices and of a console", async () => {
    const product = await makeProduct(world);
    const text = "x".repeat(60_000);
    const names = Array.from({ length: 6 }, (_, n) => `note${n}`);
    const points: Rec[] = [];
    for (const dataPointID of names) {
      points.push(await makeDataPoint(world, product, { dataPointID, pointDataType: 3 }));
    }
    const gateway = await world.make("/api/v1/gateways", {
      gatewayName: "g",
      productID: product.productID,
      gatewayProtocol: 1,
      upLinkNetwork: 1,
    });
    const devices: Rec[] = [];
    for (let n = 0; n < 30; n++) {
      devices.push(await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id }));
    }
    for (const device of devices) {
      for (const half of [names.slice(0, 3), names.slice(3)]) {
        await world.publish(device, Object.fromEntries(half.map((name) => [name, text])));
      }
    }
    const path = `/api/v1/gateways/${gateway.id}/devices_data`;
    const whole = await world.call("GET", `${path}?_limit=1000`);
    assert.is(whole.headers.get("truncated"), "true");
    assert.ok(whole.text.length <= pageBytesMax + 400_000, `${whole.text.length} bytes`);
    const shown = whole.page.items.length;
    assert.ok(shown >= 20 && shown < 30, `${shown} devices`);
    assert.ok(whole.page.items.every(({ data }) => (data as unknown[]).length === 6));
    const rest = await world.call("GET", `${path}?_limit=10&_page=3`);
    assert.equal([rest.page.items.length, rest.headers.get("truncated")], [10, null]);

    const template = { templateType: 4, productID: product.productID, dataPointIntID: points[0]?.id };
    for (let n = 0; n < 150; n++) {
      await world.make("/api/v1/app_templates", { ...template, templateName: `t${n}` });
    }
    const console = await world.call("GET", `/api/v1/device_consoles/${devices[0]?.id}?_limit=1000`);
    assert.is(console.headers.get("truncated"), "true");
    assert.ok(console.page.items.length >= 120 && console.page.items.length < 150);
    assert.ok(console.page.items.every(({ value }) => value === text));
  });
});
