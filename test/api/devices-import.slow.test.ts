/** devices_import: what is checked, what is refused, and that nothing is stored unless all is. */
import { once } from "node:events";
import { readdir, readlink } from "node:fs/promises";
import { connect } from "node:net";
import { deviceBody, makeDevice, makeProduct, modbus, unique } from "../factories.js";
import { bookParts, zipOf } from "../import-export/devices/workbooks.js";
import { assert, until } from "../suite.js";
import { refused, worldSuite } from "../world.js";
import {
  csvOf,
  deviceNamed,
  download,
  ended,
  exported,
  formOf,
  formType,
  importFile,
  taskStatus,
} from "./transfer.js";

worldSuite("devices_import", (test, world) => {
  const errorsOf = async (records: readonly object[]) => {
    const status = await ended(world, await importFile(world, csvOf(records)));
    assert.is(status.state, "FAILURE", JSON.stringify(status));
    const text = await (await download(world, String(status.excelPath))).text();
    return { msg: String(status.msg), lines: text.replace("\uFEFF", "").trim().split("\r\n").slice(1) };
  };

  test("wrong cells are named by row and column, all of them in the file, and nothing is stored", async () => {
    const product = await makeProduct(world);
    const good = deviceBody(product);
    const { msg, lines } = await errorsOf([
      good,
      deviceBody(product, { deviceType: 9 }),
      deviceBody(product, { deviceID: "a b", latitude: 91 }),
      deviceBody(product, { upLinkSystem: 2 }),
      deviceBody(product, { productID: "nosuch" }),
      deviceBody(product, { cloudProtocol: 2 }),
      deviceBody(product, { metaData: "{" }),
      deviceBody(product, { gateway: "nosuch", upLinkSystem: 2 }),
      deviceBody(product, { parentDevice: "nosuch", upLinkSystem: 3 }),
      deviceBody(product, { deviceName: "" }),
    ]);
    assert.match(msg, /^row 3, column deviceType: must be one of 1, 3; 10 errors in all$/);
    const places = lines.map((line) => line.split(",").slice(0, 2).join(" "));
    assert.equal(places, [
      "3 deviceType",
      "4 deviceID",
      "4 latitude",
      "5 gateway",
      "6 productID",
      "7 cloudProtocol",
      "8 metaData",
      "9 gateway",
      "10 parentDevice",
      "11 deviceName",
    ]);
    assert.is(await deviceNamed(world, good.deviceID), undefined);
  });

  test("an integer is digits with a minus at most, in files, queries and bodies alike", async () => {
    const product = await makeProduct(world);
    const wrong = [" 1 ", "1e0", "+1", "1.0", "0x1", "１", "01", "1_0", "9007199254740993"];
    const { lines } = await errorsOf(wrong.map((deviceType) => deviceBody(product, { deviceType })));
    assert.equal(
      lines.map((line) => line.split(",").slice(0, 2).join()),
      wrong.map((_, i) => `${i + 2},deviceType`),
    );
    for (const text of wrong) {
      const query = await world.call("GET", `/api/v1/devices?deviceType=${encodeURIComponent(text)}`);
      refused(query, "PARAMETER_INVALID", "deviceType");
      const like = `/api/v1/devices?deviceType_like=${encodeURIComponent(text)}`;
      refused(await world.call("GET", like), "PARAMETER_INVALID", "deviceType_like");
      for (const [path, name] of [
        ["metrics_data?deviceID=x", "metricIntID"],
        ["original_data?deviceID=x", "limit"],
        ["device_track?deviceID=x", "deviceIntID"],
        ["products?", "_page"],
        ["products?", "_limit"],
        ["products?", "id"],
        ["changes?", "recordID"],
        ["device_control_logs?", "deviceIntID"],
      ] as const) {
        const asked = await world.call("GET", `/api/v1/${path}&${name}=${encodeURIComponent(text)}`);
        refused(asked, "PARAMETER_INVALID", name);
      }
      const body = deviceBody(product, { deviceType: text });
      refused(await world.call("POST", "/api/v1/devices", body), "PARAMETER_INVALID", "deviceType");
    }
    const right = await makeDevice(world, product, { deviceType: "1", longitude: "1.25e1" });
    assert.equal([right.deviceType, right.longitude], [1, 12.5]);
  });

  test("a number is decimal, as people write it, in files, queries and bodies alike", async () => {
    const product = await makeProduct(world);
    const wrong = ["0x10", ".", "1e", "1e999", "Infinity", "NaN", "1,5", "1_0", "1 0", "--1"];
    const { lines } = await errorsOf(wrong.map((longitude) => deviceBody(product, { longitude })));
    assert.equal(
      lines.map((line) => line.split(",").slice(0, 2).join()),
      wrong.map((_, i) => `${i + 2},longitude`),
    );
    for (const text of wrong) {
      const query = await world.call("GET", `/api/v1/devices?longitude=${encodeURIComponent(text)}`);
      refused(query, "PARAMETER_INVALID", "longitude");
      const body = deviceBody(product, { longitude: text });
      refused(await world.call("POST", "/api/v1/devices", body), "PARAMETER_INVALID", "longitude");
    }
    for (const [text, longitude] of [
      ["-1.5e-7", -1.5e-7],
      ["16", 16],
      ["1.6E+1", 16],
      ["0.10", 0.1],
    ] as const) {
      const { id } = await makeDevice(world, product, { longitude: text });
      const query = `/api/v1/devices?productID=${product.productID}&longitude=${encodeURIComponent(text)}`;
      const { items } = (await world.call("GET", query)).page;
      assert.ok(
        items.some((one) => one.id === id && one.longitude === longitude),
        text,
      );
      assert.ok(
        items.every((one) => one.longitude === longitude),
        text,
      );
    }
  });

  test("what is taken in the file or in the store is named, field by field", async () => {
    const product = await makeProduct(world);
    const there = await makeDevice(world, product);
    const deviceUsername = unique("user");
    const first = deviceBody(product, { deviceUsername });
    const { lines } = await errorsOf([
      first,
      deviceBody(product, { deviceID: first.deviceID }),
      deviceBody(product, { deviceUsername }),
      deviceBody(product, { deviceName: first.deviceName }),
      deviceBody(product, { deviceID: there.deviceID }),
      deviceBody(product, { deviceUsername: there.deviceUsername }),
      deviceBody(product, { deviceName: there.deviceName }),
    ]);
    assert.equal(lines, [
      "3,deviceID,exists already",
      "4,deviceUsername,exists already",
      "5,deviceName,exists already",
      "6,deviceID,exists already",
      "7,deviceUsername,exists already",
      "8,deviceName,exists already",
    ]);
  });

  test("modBusIndex is unique among siblings, in the file and in the store", async () => {
    const product = await makeProduct(world, { cloudProtocol: modbus });
    const parent = await makeDevice(world, product, { modBusIndex: 1 });
    await makeDevice(world, product, { modBusIndex: 7, upLinkSystem: 3, parentDevice: parent.id });
    const fresh = deviceBody(product, { modBusIndex: 2 });
    const below = (parentDevice: unknown, modBusIndex: number) =>
      deviceBody(product, { upLinkSystem: 3, parentDevice, modBusIndex });
    const { lines } = await errorsOf([
      fresh,
      deviceBody(product, { modBusIndex: 1 }),
      deviceBody(product, { modBusIndex: 2 }),
      below(parent.deviceID, 7),
      below(parent.deviceID, 1),
      below(fresh.deviceID, 1),
      below(fresh.deviceID, 1),
      deviceBody(product),
    ]);
    assert.equal(lines, [
      "3,modBusIndex,exists already",
      "4,modBusIndex,exists already",
      "5,modBusIndex,exists already",
      "8,modBusIndex,exists already",
      "9,modBusIndex,is required",
    ]);
    const { state } = await ended(
      world,
      await importFile(world, csvOf([fresh, below(fresh.deviceID, 1), below(parent.deviceID, 1)])),
    );
    assert.is(state, "SUCCESS");
  });

  test("parents stand anywhere in the file; circles are refused", async () => {
    const product = await makeProduct(world);
    const parent = deviceBody(product);
    const child = deviceBody(product, { upLinkSystem: 3, parentDevice: parent.deviceID });
    const grandchild = deviceBody(product, { upLinkSystem: 3, parentDevice: child.deviceID });
    const { state } = await ended(world, await importFile(world, csvOf([grandchild, child, parent])));
    assert.is(state, "SUCCESS");
    const stored = await Promise.all(
      [parent, child, grandchild].map((one) => deviceNamed(world, one.deviceID)),
    );
    assert.is(stored[1]?.parentDevice, stored[0]?.id);
    assert.is(stored[2]?.parentDevice, stored[1]?.id);
    const a = unique("ring");
    const b = unique("ring");
    const ring = (deviceID: string, parentDevice: string) =>
      deviceBody(product, { deviceID, upLinkSystem: 3, parentDevice });
    const { lines } = await errorsOf([ring(a, b), ring(b, a), ring(unique("self"), a)]);
    assert.equal(
      lines.map((line) => line.slice(0, 14)),
      ["2,parentDevice", "3,parentDevice"],
    );
  });

  test("a gateway is named by its deviceID", async () => {
    const product = await makeProduct(world);
    const gateway = await world.make("/api/v1/gateways", {
      gatewayName: unique("Gateway"),
      productID: product.productID,
      gatewayProtocol: 1,
      upLinkNetwork: 4,
    });
    const record = deviceBody(product, { upLinkSystem: 2, gateway: gateway.deviceID });
    assert.is((await ended(world, await importFile(world, csvOf([record])))).state, "SUCCESS");
    assert.is((await deviceNamed(world, record.deviceID))?.gateway, gateway.id);
  });

  test("what is absent takes the defaults of a create", async () => {
    const product = await makeProduct(world);
    const body = deviceBody(product);
    const twin = deviceBody(product);
    const created = await world.make("/api/v1/devices", twin);
    assert.is((await ended(world, await importFile(world, csvOf([body])))).state, "SUCCESS");
    const imported = (
      await world.call("GET", `/api/v1/devices/${(await deviceNamed(world, body.deviceID))?.id}`)
    ).record;
    const differs = new Set(["id", "deviceID", "deviceName", "deviceUsername", "token", "createAt"]);
    for (const [key, value] of Object.entries(created))
      if (!differs.has(key)) assert.equal(imported[key], value, key);
    assert.match(String(imported.deviceUsername), /^[0-9a-f-]{36}$/);
    assert.match(String(imported.token), /^[0-9a-f-]{36}$/);
    const client = await world.connect(imported);
    await client.endAsync();
  });

  test("a workbook of another program: shared strings, numbers and booleans where texts are meant", async () => {
    const product = await makeProduct(world);
    const deviceID = String(9_000_000 + Math.floor(Math.random() * 1e6));
    const strings = [
      "deviceID",
      "deviceName",
      "deviceType",
      "productID",
      "cloudProtocol",
      "upLinkSystem",
      "authType",
      "blocked",
      "serialNumber",
      product.productID,
      "表 one",
    ];
    const at = (text: unknown) => `t="s"><v>${strings.indexOf(String(text))}</v></c>`;
    const header = strings
      .slice(0, 9)
      .map((text) => `<c ${at(text)}`)
      .join("");
    const row = `<c><v>${deviceID}</v></c><c ${at("表 one")}<c><v>1</v></c><c ${at(product.productID)}<c><v>1</v></c><c t="str"><v>1</v></c><c><v>1</v></c><c t="b"><v>1</v></c><c s="1"><v>45296</v></c>`;
    const parts = bookParts(
      `<row>${header}</row><row>${row}</row>`,
      strings.map((text) => `<si><t>${text}</t></si>`).join(""),
    );
    const status = await ended(world, await importFile(world, await zipOf(parts)));
    assert.equal(status.msg, { import_success_num: 1 });
    const device = await deviceNamed(world, deviceID);
    assert.is(device?.deviceName, "表 one");
    assert.is(device?.blocked, 1);
    assert.is(device?.serialNumber, "2024-01-05");
  });

  test("two imports of one file at once: one is stored, the other names its rows", async () => {
    const product = await makeProduct(world);
    const file = csvOf(Array.from({ length: 50 }, () => deviceBody(product)));
    const replies = await Promise.all([importFile(world, file), importFile(world, file)]);
    const ends = await Promise.all(replies.map((reply) => ended(world, reply)));
    assert.equal(ends.map((end) => end.state).sort(), ["FAILURE", "SUCCESS"]);
    assert.match(
      String(ends.find((end) => end.state === "FAILURE")?.msg),
      /^row 2, column deviceID: exists already; 100 errors/,
    );
  });

  test("creates go on beside an import, and a clash with one leaves nothing half done", async () => {
    const product = await makeProduct(world);
    const bodies = Array.from({ length: 2000 }, () => deviceBody(product));
    const importing = importFile(world, csvOf(bodies));
    const others = await Promise.all(
      Array.from({ length: 40 }, () => world.call("POST", "/api/v1/devices", deviceBody(product))),
    );
    assert.ok(others.every((reply) => reply.status === 201));
    const status = await ended(world, await importing);
    assert.equal(status.msg, { import_success_num: 2000 });
    const { page } = await world.call("GET", `/api/v1/devices?productID=${product.productID}&_limit=1`);
    assert.is(page.meta.count, 2040);
  });

  test("what is no such upload is refused at once", async () => {
    const post = (body: string | Uint8Array | undefined, type: string) =>
      world.call("POST", "/api/v1/devices_import", body, { headers: { "Content-Type": type } });
    refused(await post("{}", "application/json"), "UNSUPPORTED_MEDIA_TYPE");
    refused(await post("x", "multipart/form-data"), "BAD_REQUEST");
    refused(await post("x", formType), "BAD_REQUEST");
    refused(await post(formOf("a", "other"), formType), "PARAMETER_INVALID", "file");
    refused(await post(formOf("a").subarray(0, 150), formType), "BAD_REQUEST");
    for (const file of [
      "",
      "deviceID,deviceName",
      "deviceID,deviceID,deviceName,deviceType,productID,cloudProtocol",
      "a,b,c\r\n1,2,3",
      Buffer.from([0x89, 0x50, 0xff]),
      "PK\u0003\u0004broken",
      await zipOf({ a: "b" }),
    ]) {
      const reply = await importFile(world, file);
      assert.is(reply.status, 422, reply.text);
      assert.is(reply.failure.errorCode, "FORMAT_INVALID");
      assert.ok(reply.failure.errors.file);
    }
    const large = await importFile(world, Buffer.alloc(64 * 1024 * 1024 + 1, "a"));
    refused(large, "PAYLOAD_TOO_LARGE");
  });

  test("a form of more parts than it may have is refused at the first beyond, though more would come", async () => {
    const { hostname, port } = new URL(world.http);
    const field = (disposition: string) =>
      `--tidemark-test-boundary\r\nContent-Disposition: form-data; ${disposition}\r\n\r\nx\r\n`;
    const cases = [
      ["/api/v1/devices_import", field('name="a"').repeat(112)],
      ["/api/v1/devices_import", field('name="a"; filename="a"').repeat(12)],
      ["/api/v1/original_data", field('name="a"').repeat(112)],
    ] as const;
    for (const [path, parts] of cases) {
      const socket = connect(Number(port), hostname);
      const head = [
        ...[`POST ${path} HTTP/1.1`, "Host: x", `Authorization: Bearer ${world.first.apiKey}`],
        ...[`Content-Type: ${formType}`, "Content-Length: 60000000", "", ""],
      ].join("\r\n");
      // The body is read in pieces of 16 KiB: the last part fills the first of them.
      socket.write(head + parts + "x".repeat(16 * 1024));
      const [answer] = (await once(socket, "data")) as [Buffer];
      assert.match(answer.toString(), /^HTTP\/1\.1 400 [\s\S]*more than 110 parts or 10 files/, path);
      socket.destroy();
    }
  });

  test("an upload that breaks off leaves no file, and none open", async () => {
    const { hostname, port } = new URL(world.http);
    const head = [
      ...["POST /api/v1/devices_import HTTP/1.1", "Host: x", `Authorization: Bearer ${world.first.apiKey}`],
      ...[`Content-Type: ${formType}`, "Content-Length: 1000000", "", ""],
    ].join("\r\n");
    const form = formOf("a".repeat(300_000)).subarray(0, -20);
    const uploads = async () => {
      const open = await readdir("/proc/self/fd");
      const paths = await Promise.all(open.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")));
      return paths.filter((path) => path.includes("/upload-")).length;
    };
    const socket = connect(Number(port), hostname);
    socket.write(Buffer.concat([Buffer.from(head), form]));
    await until(async () => (await uploads()) === 1, { what: "the upload to begin" });
    socket.destroy();
    await until(async () => (await uploads()) === 0, { what: "the upload to be closed" });
  });

  test("rows as large as they may be are stored", async () => {
    const product = await makeProduct(world);
    const metaData = Array(5000).fill([]);
    const bodies = Array.from({ length: 300 }, () => deviceBody(product, { metaData }));
    const status = await ended(world, await importFile(world, csvOf(bodies)));
    assert.equal(status.msg, { import_success_num: 300 });
    assert.equal((await deviceNamed(world, String(bodies[299]?.deviceID)))?.metaData, metaData);
    const file = await exported(world, `format=csv&productID=${product.productID}`);
    assert.is(file.toString().trim().split("\r\n").length, 301);
  });

  test("a workbook whose header is wrong fails as a task", async () => {
    const file = await zipOf(bookParts('<row><c t="inlineStr"><is><t>nonsense</t></is></c></row>'));
    const status = await ended(world, await importFile(world, file));
    assert.equal(status, {
      state: "FAILURE",
      current: status.current,
      msg:
        'sheet "S", row 1: columns are missing: deviceID, deviceName, deviceType, productID, cloudProtocol; ' +
        "devices are read from the first visible sheet",
      excelPath: null,
    });
  });

  test("a tenant's tasks are its own", async () => {
    const reply = await importFile(world, csvOf([deviceBody(await makeProduct(world))]));
    const url = String(reply.record.statusUrl);
    refused(await world.call("GET", url, undefined, { key: await world.otherTenant() }), "DATA_NOT_FOUND");
    refused(await world.call("GET", `/api/v1${url}`, undefined, { key: null }), "AUTH_FAILED");
    await ended(world, reply);
    assert.is((await taskStatus(world, `/api/v1${url}`)).state, "SUCCESS");
  });
});
