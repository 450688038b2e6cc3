/** Tasks, files in and out, and how the service does, in a real browser. Flow 25 of the console: what goes out comes in. */
import { File } from "node:buffer";
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import {
  createPreview,
  csvRows,
  missingForDevices,
  missingForPoints,
  readBeginning,
} from "../../src/console/app/system/preview.js";
import { makeDataPoint, makeDevice, makeProduct, unique } from "../factories.js";
import { assert, suite, until } from "../suite.js";
import type { Rec } from "../world.js";
import { consoleSuite, download, downloadedText } from "./browser.js";

suite("console: previews of files", (test) => {
  test("cells are parted as in RFC 4180, whatever is quoted", () => {
    assert.equal(csvRows('a,b\r\n"x,1","say ""hi""\nthere"\n,\n', ",", 9), [
      ["a", "b"],
      ["x,1", 'say "hi"\nthere'],
      ["", ""],
    ]);
    assert.equal(csvRows("a;b\n1;2\n3;4", ";", 2), [
      ["a", "b"],
      ["1", "2"],
    ]);
    assert.equal(csvRows("", ",", 2), []);
  });

  test("a header is that of the long or of the wide layout, or lacks something", () => {
    assert.equal(missingForPoints(["value", "time", "dataPointID", "deviceID"]), []);
    assert.equal(missingForPoints(["deviceID", "time", "temp"]), []);
    assert.equal(missingForPoints(["deviceID", "temp"]), ["time"]);
    assert.equal(missingForPoints(["deviceID", "time"]), ["dataPointID", "value"]);
    assert.equal(missingForPoints(["dataPointID", "value", "time"]), ["deviceID"]);
    assert.equal(missingForDevices(["DEVICEID", "devicename", "DeviceType", "productid"]), ["cloudProtocol"]);
  });

  test("a file is read in the encoding that its mark names, packed or not", async () => {
    const text = "deviceID;time;größer 设备\n";
    const wide = Buffer.from(`\uFEFF${text}`, "utf16le");
    for (const [name, bytes] of [
      ["utf-8.csv", Buffer.from(`\uFEFF${text}`)],
      ["le.csv", wide],
      ["be.csv", Buffer.from(wide).swap16()],
      ["packed.csv.gz", gzipSync(text)],
    ] as const) {
      const beginning = await readBeginning(new File([Uint8Array.from(bytes)], name) as never);
      assert.is(beginning, text, name);
    }
  });

  test("CSV of any delimiter and NDJSON are shown as columns; what is neither is not", () => {
    assert.equal(createPreview("\ufeffdeviceID;time;temp\ngh;1;2\n"), {
      columns: ["deviceID", "time", "temp"],
      rows: [["gh", "1", "2"]],
    });
    assert.equal(createPreview('{"deviceID":"gh","temp":1.5}\n{"deviceID":"gh","hum":null}\n{"cut'), {
      columns: ["deviceID", "temp", "hum"],
      rows: [
        ["gh", "1.5", ""],
        ["gh", "", "null"],
      ],
    });
    assert.is(createPreview(""), null);
    const table = { columns: ["deviceID", "time", "temp, °C"], rows: [["gh", "1", "2,5"]] };
    assert.equal(createPreview('sep=;\r\ndeviceID;time;"temp, °C"\r\ngh;1;2,5\r\n'), table);
    assert.equal(createPreview("deviceID;time;temp, °C\ngh;1;2,5\n"), table);
  });
});

consoleSuite("console: the system", (test, world, web) => {
  let device: Rec;
  let copy: Rec;
  test.before(async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp", dataPointName: "Temperature" });
    await makeDataPoint(world, product, { dataPointID: "note", dataPointName: "Note", pointDataType: 3 });
    device = await makeDevice(world, product, { deviceID: "out-1" });
    copy = await makeDevice(world, product, { deviceID: "out-2" });
  });

  const importing = (page: Page) => page.locator("section.transfer", { hasText: "Import points" });
  const choose = (page: Page, name: string, text: string) =>
    importing(page)
      .locator("input[type=file]")
      .setInputFiles({ name, mimeType: "text/csv", buffer: Buffer.from(text) });
  const send = (page: Page) => importing(page).getByRole("button", { name: "Import" }).click();

  test("a file is shown before it is sent; its bad row is reported by its line, the others are taken", async () => {
    const { page } = await web.openIn("/system?tab=transfer");
    await choose(page, "rows.csv", "deviceID,temp\nout-1,1\n");
    await importing(page).getByText("Columns are missing: time").waitFor();
    assert.ok(await importing(page).getByRole("button", { name: "Import" }).isDisabled());
    await choose(
      page,
      "rows.csv",
      "deviceID,time,temp\nout-1,2026-11-20T00:00:00Z,18.5\nnobody,2026-11-20T00:00:00Z,1\nout-1,2026-11-20T01:00:00Z,19.25\n",
    );
    await importing(page).getByRole("cell", { name: "nobody" }).waitFor();
    await send(page);
    await importing(page).getByRole("row", { name: "3 deviceID there is no such device" }).waitFor();
    assert.match(await importing(page).locator(".figures").innerText(), /taken\s*2\s*refused\s*1/);
    const link = importing(page).getByRole("link", { name: "Download the list of errors" });
    const list = await downloadedText(page, link);
    assert.match(list, /3.*deviceID.*there is no such device/);
  });

  for (const { format, layout } of [
    { format: "csv", layout: "long" },
    { format: "ndjson", layout: "wide" },
  ]) {
    test(`what is exported as ${format}, ${layout}, comes in as identical points`, async () => {
      await world.publish(
        device,
        { time: 1_764_000_000_000.25, temp: 0.1, note: '=1+"x",\n<b>' },
        { time: 1_764_000_060_000, temp: -1.7976931348623157e308 },
        { time: 1_764_000_120_000, note: "温度" },
      );
      const { page } = await web.openIn("/system?tab=transfer");
      const exporting = page.locator("section.transfer", { hasText: "Export points" });
      await exporting.getByLabel("Device").fill("out-1");
      await exporting.getByLabel("Format", { exact: true }).selectOption(format);
      await exporting.getByLabel("Layout").selectOption(layout);
      const file = await download(page, exporting.getByRole("button", { name: "Download" }));
      assert.is(file.suggestedFilename(), `out-1.${format}`);
      const text = await readFile(await file.path(), "utf8");
      await choose(page, `copy.${format}`, text.replaceAll("out-1", "out-2"));
      await send(page);
      await importing(page).getByText("done", { exact: true }).waitFor();
      const points = async (of: Rec) => {
        const path = `/api/v1/original_data?deviceID=${of.deviceID}&limit=1000&timeFormat=iso&startTime=2020-01-01%2000:00:00`;
        return (await world.call("GET", path)).list.map(({ dataPointName, originalData }) => ({
          dataPointName,
          originalData,
        }));
      };
      const before = await points(device);
      assert.ok(JSON.stringify(before).includes("温度"));
      assert.equal(await points(copy), before);
    });
  }

  test("tasks are listed with what came of them, filtered by the address, opened and closed", async () => {
    const { page } = await web.openIn("/system?tab=transfer");
    await page.getByRole("button", { name: "As csv" }).click();
    const link = page.getByRole("link", { name: "Download the file" });
    assert.match(await downloadedText(page, link), /out-1/);
    await page.getByRole("link", { name: "Tasks" }).click();
    await page.getByLabel("Kind").selectOption("devices_export");
    const row = page.getByRole("row").filter({ hasText: "export of devices" });
    await row.getByText("2 rows written").waitFor();
    await until(async () => (await page.getByRole("row").count()) === 2, { what: "the other kinds to go" });
    assert.match(page.url(), /tab=tasks&kind=devices_export$/);
    await row.getByRole("link").click();
    await page.getByRole("link", { name: "Download the file" }).waitFor();
    await page.goBack();
    await page.getByRole("link", { name: "Download the file" }).waitFor({ state: "detached" });
    await page.getByLabel("State").selectOption("FAILURE");
    await page.getByText("Nothing matches.").waitFor();
  });

  test("the operator of the deployment sees its health; a viewer neither that nor imports", async () => {
    const { page } = await web.openIn("/system");
    await page.getByText("Onto the disk").waitFor();
    await page.getByRole("heading", { name: "Connections", exact: true }).waitFor();
    await page.getByRole("link", { name: "Backups" }).click();
    await page.getByText("tidemark backup /mnt/backups", { exact: true }).waitFor();
    const user = { username: unique("viewing"), password: "correct horse battery" };
    await world.make("/api/v1/users", { ...user, role: "viewer" });
    const viewer = await web.openIn("/system", { user });
    await viewer.page.getByText("Onto the disk").waitFor();
    assert.is(await viewer.page.getByRole("heading", { name: "Connections", exact: true }).count(), 0);
    assert.is(await viewer.page.getByRole("link", { name: "Backups" }).count(), 0);
    await viewer.page.goto(`${world.http}/console/system?tab=transfer`);
    await viewer.page.getByRole("heading", { name: "Export points" }).waitFor();
    assert.is(await viewer.page.getByRole("heading", { name: /^Import|devices$/ }).count(), 0);
  });

  test("on a phone nothing scrolls sideways, and what is about oneself opens from one button", async () => {
    const { page } = await web.openIn("/system", {
      viewport: { width: 360, height: 740 },
      isMobile: true,
      hasTouch: true,
    });
    for (const path of [
      "/system",
      "/system?tab=tasks",
      "/system?tab=transfer",
      "/system?tab=backups",
      "/devices",
    ]) {
      await page.goto(`${world.http}/console${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
      if (path === "/devices") await page.getByRole("row").getByLabel(String(device.deviceName)).check();
      const width = await page.evaluate<number>("document.documentElement.scrollWidth");
      assert.ok(width <= 360, `${path}: ${width}`);
    }
    assert.ok(!(await page.getByLabel("Language").isVisible()));
    await page.getByRole("button", { name: world.first.username }).click();
    await page.getByLabel("Language").selectOption("zh");
    await page.getByRole("heading", { name: "设备" }).waitFor();
  });

  test("a session is ended from the device's page; a certificate's files are downloaded", async () => {
    const client = await world.connect(device);
    const { page } = await web.openIn(`/devices/${device.id}?tab=access`);
    const row = page.getByRole("row").filter({ hasText: "mqtt" });
    await row.getByRole("button", { name: "End" }).click();
    const closed = new Promise((resolve) => client.on("close", () => resolve(null)));
    await row.getByRole("button", { name: "End" }).click();
    await row.waitFor({ state: "detached" });
    await closed;

    const cert = await world.make("/api/v1/certs", { name: "house 1", enable: 1 });
    await page.goto(`${world.http}/console/access?tab=certs`);
    await page.getByRole("link", { name: "house 1" }).click();
    const button = page
      .locator("figure", { hasText: "Private key" })
      .getByRole("button", { name: "Download" });
    assert.is(await downloadedText(page, button), String(cert.key));
    assert.not.match(await page.content(), "PRIVATE KEY");
  });
});
