/** devices_export, devices_template and what comes back through devices_import. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { csvFile } from "../../src/import-export/devices/csv-file.js";
import { columnNames } from "../../src/import-export/devices/device-columns.js";
import { xlsxFile } from "../../src/import-export/devices/xlsx-file.js";
import { deviceBody, makeDevice, makeProduct, unique } from "../factories.js";
import { assert, until, withTempDir } from "../suite.js";
import { type Rec, refused, worldSuite } from "../world.js";
import { csvOf, ended, exported, importFile } from "./transfer.js";

const formats = { csv: csvFile, xlsx: xlsxFile } as const;

async function rowsOf(file: Uint8Array, format: keyof typeof formats) {
  return withTempDir(async (dir) => {
    const path = join(dir, "file");
    await writeFile(path, file);
    const rows = [];
    for await (const { cells } of formats[format].read(path)) rows.push(cells);
    return rows;
  });
}

/** What an import makes anew. */
const fresh = new Set(["id", "createAt", "updateAt", "userIntID", "productIntID", "gateway", "parentDevice"]);

worldSuite("devices_export", (test, world) => {
  const everything = (product: Rec) => ({
    deviceName: "=cmd|' /C calc'!A0",
    manufacturer: "+49 'x",
    serialNumber: "00123",
    softVersion: "-1",
    hardwareVersion: "@sum",
    description: 'two\r\nlines, "quoted" _x0041_ 😀 设备',
    latitude: -12.25,
    longitude: 7.1,
    carrier: 3,
    physicalNetwork: 5,
    IMEI: "356938035643809",
    IMSI: "001",
    blocked: 1,
    deviceConsolePort: 2222,
    deviceConsoleIP: "10.0.0.1",
    deviceConsoleUsername: "root",
    location: { floor: 3, text: "=x" },
    metaData: ["a", 1, null, { b: true }],
    scopes: [{ scopeType: 1, scopeName: "yard", center: [7, -12], radius: 50 }],
    deviceUsername: unique("user"),
    token: "=secret'",
    productID: product.productID,
  });

  for (const format of ["csv", "xlsx"] as const) {
    test(`${format}: what was exported comes back equal once it is gone`, async () => {
      const product = await makeProduct(world);
      const parent = await makeDevice(world, product, everything(product));
      const child = await makeDevice(world, product, {
        upLinkSystem: 3,
        parentDevice: parent.id,
        location: "Hall 3",
      });
      const phone = await makeDevice(world, product, { deviceType: 3, upLinkSystem: null, location: "17" });
      const before = [parent, child, phone];
      const details = async () =>
        Promise.all(
          before.map(async ({ deviceID }) => {
            const { page } = await world.call("GET", `/api/v1/devices?deviceID=${deviceID}`);
            return (await world.call("GET", `/api/v1/devices/${page.items[0]?.id}`)).record;
          }),
        );
      const old = await details();
      const file = await exported(world, `format=${format}&productID=${product.productID}`);
      assert.is((await rowsOf(file, format)).length, 4);
      for (const one of [child, parent, phone]) {
        assert.is((await world.call("DELETE", `/api/v1/devices?ids=${one.id}`)).status, 204);
      }
      // A deleted deviceID is free again once its points are gone, in the background.
      const status = await until(
        async () => {
          const end = await ended(world, await importFile(world, file));
          return /deviceID: its points are being removed/.test(String(end.msg)) ? undefined : end;
        },
        { what: "the deleted devices to be gone", timeoutMs: 30_000 },
      );
      assert.equal(status, {
        state: "SUCCESS",
        current: 100,
        msg: { import_success_num: 3 },
        excelPath: null,
      });
      const now = await details();
      for (const [i, record] of now.entries()) {
        for (const [key, value] of Object.entries(record))
          if (!fresh.has(key)) assert.equal(value, old[i]?.[key], key);
      }
      assert.is(now[1]?.parentDevice, now[0]?.id);
      assert.is(now[1]?.parentDeviceName, now[0]?.deviceName);
      const { page } = await world.call(
        "GET",
        `/api/v1/changes?entity=device&action=create&recordID=${now[2]?.id}`,
      );
      assert.is(page.meta.count, 1);
      assert.not.match(JSON.stringify(page.items), /secret/);
    });
  }

  test("the list's filters apply, in either variant; gateways are left out", async () => {
    const product = await makeProduct(world);
    const one = await makeDevice(world, product, { serialNumber: "A-1" });
    await makeDevice(world, product, { serialNumber: "B-1" });
    const phone = await makeDevice(world, product, { deviceType: 3, upLinkSystem: null });
    const ids = async (query: string, headers = {}) => {
      const file = await exported(world, `format=csv&productID=${product.productID}&${query}`, { headers });
      return (await rowsOf(file, "csv")).slice(1).map((cells) => cells[0]);
    };
    assert.equal(await ids("serialNumber_like=a-"), [one.deviceID]);
    assert.equal(await ids("deviceType=3"), [phone.deviceID]);
    assert.equal(await ids("deviceType=2", { "Api-Variant": "B" }), [phone.deviceID]);
    assert.equal(await ids(`id=${one.id}`), [one.deviceID]);
    assert.equal(await ids("deviceID=nothing"), []);
    refused(
      await world.call("GET", "/api/v1/devices_export?deviceType=x"),
      "PARAMETER_INVALID",
      "deviceType",
    );
    refused(await world.call("GET", "/api/v1/devices_export?format=pdf"), "PARAMETER_INVALID", "format");
  });

  test("the answer is the same in both variants, and an answer of the interface", async () => {
    for (const variant of ["A", "B"]) {
      const reply = await world.call("GET", "/api/v1/devices_export?productID=none", undefined, {
        headers: { "Api-Variant": variant },
      });
      assert.equal(Object.keys(reply.record), ["statusUrl"]);
      assert.is((await ended(world, reply)).state, "SUCCESS");
    }
  });

  test("tokens are for those who may write", async () => {
    const viewer = await world.keyOf("viewer");
    refused(
      await world.call("GET", "/api/v1/devices_export", undefined, { key: viewer }),
      "PERMISSION_DENIED",
    );
    refused(await importFile(world, "x", { key: viewer }), "PERMISSION_DENIED");
    refused(await world.call("GET", "/api/v1/devices_export", undefined, { key: null }), "AUTH_FAILED");
    const operator = await world.keyOf("operator");
    assert.is(
      (
        await ended(
          world,
          await world.call("GET", "/api/v1/devices_export?productID=none", undefined, { key: operator }),
        )
      ).state,
      "SUCCESS",
    );
  });

  test("another tenant's devices are not in the file", async () => {
    const product = await makeProduct(world);
    await makeDevice(world, product);
    const file = await exported(world, "format=csv", { key: await world.otherTenant() });
    assert.is((await rowsOf(file, "csv")).length, 1);
  });

  test("a file moves to another tenant whose product has the same protocol", async () => {
    const key = await world.otherTenant();
    const product = await world.make(
      "/api/v1/products",
      { productName: unique("Product"), cloudProtocol: 1 },
      { key },
    );
    const { productID: _, ...fields } = everything(product);
    const record = { ...deviceBody(product, fields), deviceUsername: unique("user") };
    const status = await ended(world, await importFile(world, csvOf([record]), { key }), { key });
    assert.equal(status.msg, { import_success_num: 1 });
    refused(await world.call("GET", `/api/v1/devices/${record.deviceID}`), "DATA_NOT_FOUND");
    const { page } = await world.call("GET", `/api/v1/devices?deviceID=${record.deviceID}`, undefined, {
      key,
    });
    assert.is(page.items[0]?.token, "=secret'");
    assert.is(page.items[0]?.createUser, undefined);
  });

  test("the template is the empty file, at once", async () => {
    const reply = await fetch(`${world.http}/api/v1/devices_template`, {
      headers: { Authorization: `Bearer ${world.first.apiKey}` },
    });
    assert.is(reply.status, 200);
    assert.is(reply.headers.get("content-type"), xlsxFile.type);
    assert.is(reply.headers.get("content-disposition"), 'attachment; filename="devices_template.xlsx"');
    assert.equal(await rowsOf(new Uint8Array(await reply.arrayBuffer()), "xlsx"), [[...columnNames]]);
    const csv = await world.call("GET", "/api/v1/devices_template?format=csv", undefined, {
      headers: { Accept: "text/csv" },
    });
    assert.is(csv.headers.get("content-type"), "text/csv; charset=utf-8");
    assert.is(csv.text.replace("\uFEFF", ""), `${columnNames.join(",")}\r\n`);
    refused(await world.call("GET", "/api/v1/devices_template", undefined, { key: null }), "AUTH_FAILED");
    const empty = await ended(world, await importFile(world, csv.text));
    assert.equal(empty.msg, { import_success_num: 0 });
  });
});
