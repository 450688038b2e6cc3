/** Dashboards as they are looked at, edited by several, and shared. Flows 22 to 25 of the console. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Locator, Page } from "playwright-core";
import { layout } from "../dashboards/documents.js";
import { makeDataPoint, makeDevice, makeProduct, unique } from "../factories.js";
import { assert, until } from "../suite.js";
import type { Rec } from "../world.js";
import { consoleSuite, downloadedText } from "./browser.js";

const hostile = `<img src=x onerror=alert(1)>`;

async function addPanel(page: Page, kind: string): Promise<void> {
  await page.getByRole("button", { name: "Add a panel" }).click();
  await page.locator(".adding").getByRole("button", { name: kind, exact: true }).click();
}

consoleSuite("console: dashboards", (test, world, web) => {
  let product: Rec;
  let device: Rec;
  let point: Rec;
  const at = Date.now() - 3_600_000;

  test.before(async () => {
    product = await makeProduct(world);
    point = await makeDataPoint(world, product, { dataPointID: "temp", unitSymbol: "°C", upperLimit: 30 });
    device = await makeDevice(world, product);
    const values = Array.from({ length: 60 }, (_, i) => ({ time: at + i * 60_000 + 0.25, temp: 20 + i / 4 }));
    await world.publish(device, values);
    await world.call("PUT", `/api/v1/devices/${device.id}/location`, { longitude: 8.5, latitude: 47.4 });
  });

  const make = (panels: readonly object[], document: object = {}): Promise<Rec> =>
    world.make("/api/v1/dashboards", {
      name: unique("Board"),
      document: {
        variables: [],
        range: { start: "-6h", end: "now" },
        timezone: "UTC",
        refreshSeconds: 5,
        panels,
        ...document,
      },
    });
  const chart = (more: object = {}) => ({
    id: "c",
    type: "chart",
    title: "Climate",
    layout,
    unit: "real",
    series: [{ deviceID: device.deviceID, dataPointIntID: point.id }],
    ...more,
  });
  const text = (title: string, more: object = {}) => ({
    id: "t",
    type: "text",
    title,
    markdown: "",
    layout: { x: 6, y: 0, w: 3, h: 4 },
    ...more,
  });
  const panelOf = (page: Page, name: string): Locator => page.getByRole("region", { name, exact: true });
  const stored = async (id: unknown): Promise<Rec> =>
    (await world.call("GET", `/api/v1/dashboards/${id}`)).record;
  const panelsOf = (dashboard: Rec) => (dashboard.document as { panels: Rec[] }).panels;

  test("panels of every type show what the API has, and hostile texts stay texts", async () => {
    const value = {
      ...chart({ id: "v", type: "value", title: "Now", limits: true }),
      layout: { x: 6, y: 0, w: 3, h: 4 },
    };
    const table = chart({ id: "tb", type: "table", title: "Rows", layout: { x: 0, y: 4, w: 6, h: 6 } });
    const markdown = `# Head\n\n**bold** ${hostile}\n\n[evil](javascript:alert(1)) [good](https://example.com) ![i](https://example.com/x.png)\n\n<script>alert(1)</script>`;
    const dashboard = await make([
      chart(),
      value,
      table,
      text(hostile, { markdown, layout: { x: 9, y: 0, w: 3, h: 4 } }),
      {
        id: "a",
        type: "alerts",
        title: "Alerts",
        layout: { x: 6, y: 4, w: 3, h: 4 },
        filters: { state: "current", deviceID: "nobody" },
      },
      {
        id: "m",
        type: "map",
        title: "Map",
        layout: { x: 9, y: 4, w: 3, h: 6 },
        deviceIDs: [device.deviceID],
      },
      {
        id: "cmd",
        type: "command",
        title: "Vent",
        layout: { x: 6, y: 8, w: 3, h: 3 },
        deviceID: device.deviceID,
        payload: "{}",
        confirm: true,
        label: "Open",
      },
    ]);
    const { page } = await web.openIn(`/dashboards/${dashboard.id}`);
    await panelOf(page, "Climate").getByText("34.75").waitFor();
    // Each panel asks for itself, so that one has its values says nothing about the others.
    await panelOf(page, "Now").getByText("34.75").first().waitFor();
    await panelOf(page, "Rows").getByRole("row").nth(60).waitFor();
    assert.match(await panelOf(page, "Now").innerText(), /34\.75\s+°C/);
    assert.match(await panelOf(page, "Now").innerText(), /above its limit/);
    const rows = await panelOf(page, "Rows").getByRole("row").allInnerTexts();
    assert.is(rows.length, 61);
    assert.match(rows[1] ?? "", /34\.75$/);
    assert.match(rows[60] ?? "", /20$/);
    const notes = panelOf(page, hostile);
    await notes.getByRole("heading", { name: "Head" }).waitFor();
    assert.match(await notes.innerText(), /<img src=x onerror=alert\(1\)>/);
    assert.match(await notes.innerText(), /<script>/);
    assert.equal(
      await notes.getByRole("link").evaluateAll((links) => links.map((link) => link.getAttribute("href"))),
      ["https://example.com", "https://example.com/x.png"],
    );
    assert.is(await page.locator("img").count(), 0);
    await panelOf(page, "Alerts").getByText("no alerts").waitFor();
    await panelOf(page, "Map")
      .getByRole("button", { name: `${String(device.deviceName)}: offline` })
      .waitFor();
    const vent = panelOf(page, "Vent");
    await vent.getByRole("button", { name: "Open" }).click();
    assert.match(await vent.innerText(), new RegExp(`${device.deviceID} \\{\\}`));
    await vent.getByRole("button", { name: "Really: Open" }).click();
    await vent.getByText("nobody is there to take it").waitFor();
  });

  test("a variable chosen on the page changes what is shown, and the address has it", async () => {
    const other = await makeDevice(world, product);
    await world.publish(other, [{ time: Date.now() - 60_000, temp: 7.125 }]);
    const series = [{ deviceID: "$house", dataPointIntID: point.id }];
    const variables = [{ name: "house", label: "House", type: "device", value: device.deviceID }];
    const dashboard = await make([chart({ type: "value", title: "Of $house", series })], { variables });
    const { page } = await web.openIn(`/dashboards/${dashboard.id}`);
    await panelOf(page, `Of ${device.deviceID}`).getByText("34.75").waitFor();
    const house = page.getByLabel("House");
    await house.fill(String(other.deviceID));
    await house.press("Enter");
    await panelOf(page, `Of ${other.deviceID}`).getByText("7.125").waitFor();
    assert.match(page.url(), new RegExp(`v\\.house=${other.deviceID}`));
    await page.reload();
    await panelOf(page, `Of ${other.deviceID}`).getByText("7.125").waitFor();
    await page.goBack();
    await panelOf(page, `Of ${device.deviceID}`).getByText("34.75").waitFor();
  });

  test("new points appear by themselves, also where the dashboard is never asked again", async () => {
    const own = await makeDevice(world, product);
    const series = [{ deviceID: own.deviceID, dataPointIntID: point.id }];
    const dashboard = await make([chart({ type: "value", title: "Now", series })], { refreshSeconds: 0 });
    const { page } = await web.openIn(`/dashboards/${dashboard.id}`);
    await panelOf(page, "Now").getByText("–").waitFor();
    for (const temp of [11.5, 12.75]) {
      await world.publish(own, [{ temp }]);
      await panelOf(page, "Now").getByText(String(temp)).waitFor();
    }
  });

  test("what comes late is marked in words, on the line and in the table", async () => {
    const own = await makeDevice(world, product);
    const series = [{ deviceID: own.deviceID, dataPointIntID: point.id }];
    const dashboard = await make(
      [
        chart({ series }),
        chart({ id: "tb", type: "table", title: "Rows", series, layout: { x: 6, y: 0, w: 6, h: 6 } }),
      ],
      { refreshSeconds: 0 },
    );
    const { page } = await web.openIn(`/dashboards/${dashboard.id}`);
    const [climate, table] = [panelOf(page, "Climate"), panelOf(page, "Rows")];
    await until(
      async () => {
        await world.publish(own, { temp: 11.5 });
        return (await climate.getByText("11.5").count()) > 0;
      },
      { what: "the first point" },
    );
    // Another one comes by the stream alone: what was there before a page listens is not known to be late.
    await world.publish(own, { temp: 12.5 });
    await climate.getByText("12.5").waitFor();
    await world.publish(own, [{ time: Date.now() - 3 * 3_600_000 - 60_000, temp: 7.25 }]);
    await climate.locator(".plot").focus();
    await until(
      async () => {
        await page.keyboard.press("Home");
        return (await climate.locator(".readout").innerText()).includes("came 3 h later");
      },
      { what: "the late point to be read" },
    );
    await table.getByRole("row", { name: /7\.25 came 3 h later/ }).waitFor();
    assert.is(await table.locator(".status.late").count(), 1);
  });

  test("an earlier time stands beside the present one, and alerts on the axis", async () => {
    const own = await makeDevice(world, product);
    const hour = 3_600_000;
    await world.publish(own, [
      { time: Date.now() - 25 * hour, temp: 3 },
      { time: Date.now() - hour, temp: 5.5 },
    ]);
    await world.make("/api/v1/alert_rules", {
      ...{ alertName: "Warm", dataPointIntID: point.id, alertSeverity: 2, alertContent: "too warm" },
      condition: "dataPoint > 60",
    });
    await world.publish(own, [{ temp: 61 }]);
    const series = [{ deviceID: own.deviceID, dataPointIntID: point.id }];
    const dashboard = await make([
      chart({ series, compare: "-1d" }),
      chart({
        id: "v",
        type: "value",
        title: "Now",
        series,
        compare: "-1d",
        layout: { x: 6, y: 0, w: 3, h: 4 },
      }),
    ]);
    const { page } = await web.openIn(`/dashboards/${dashboard.id}`);
    await panelOf(page, "Now").getByText("+58 (-1d)").waitFor();
    const climate = panelOf(page, "Climate");
    await climate.locator(".reading", { hasText: "-1d" }).getByText("3", { exact: true }).waitFor();
    await climate.locator(".plot").focus();
    await until(
      async () => {
        await page.keyboard.press("ArrowRight");
        return (await climate.locator(".readout").innerText()).includes("too warm");
      },
      { what: "the alert to be read under the cursor" },
    );
  });

  test("a dashboard is made, filled, arranged by mouse and by keys, and saved", async () => {
    const name = unique("New");
    const { page } = await web.openIn("/dashboards");
    await page.getByRole("button", { name: "New" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill(name);
    await page.getByRole("button", { name: "Make it" }).click();
    await addPanel(page, "Chart");
    const form = page.getByRole("complementary", { name: "Panel" });
    await form.getByLabel("Title").fill("Warmth");
    await form.getByRole("button", { name: "Add a series" }).click();
    await form.getByLabel("Device").fill(String(device.deviceID));
    await form.getByLabel("Device").press("Enter");
    await form.getByLabel("What").selectOption(`p${point.id}`);
    await panelOf(page, "Warmth").getByText("34.75").waitFor();
    await form.getByRole("button", { name: "Close" }).click();
    await addPanel(page, "Text");
    await form.getByLabel("Title").fill("Notes");
    await form.getByRole("button", { name: "Close" }).click();

    await page.getByRole("button", { name: "Move Notes" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Shift+ArrowRight");
    const grid = (await page.locator(".board").boundingBox()) ?? { x: 0, width: 0 };
    const column = (grid.width + 12) / 12;
    const head = panelOf(page, "Warmth").locator("header h2");
    const from = (await head.boundingBox()) ?? { x: 0, y: 0 };
    await page.mouse.move(from.x + 5, from.y + 5);
    await page.mouse.down();
    await page.mouse.move(from.x + 5 + 2 * column, from.y + 5, { steps: 5 });
    await page.mouse.up();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "Edit", exact: true }).waitFor();
    await page.keyboard.press("e");
    await page.getByRole("button", { name: "Save" }).waitFor();

    const { items } = (await world.call("GET", `/api/v1/dashboards?name=${name}`)).page;
    const dashboard = await stored(items[0]?.id);
    const panels = panelsOf(dashboard);
    assert.is(dashboard.version, 2);
    assert.equal(
      panels.map(({ title, type }) => [title, type]),
      [
        ["Warmth", "chart"],
        ["Notes", "text"],
      ],
    );
    const [warmth, notes] = panels.map((panel) => panel.layout as Record<string, number>);
    assert.equal([warmth?.x, warmth?.w], [2, 6]);
    assert.is(notes?.w, 5);
    assert.equal(panels[0]?.series, [{ deviceID: device.deviceID, dataPointIntID: point.id }]);
  });

  test("what is not saved outlives the page, and can be given up", async () => {
    const dashboard = await make([text("Before")]);
    const { page } = await web.openIn(`/dashboards/${dashboard.id}?edit=1`);
    await page.getByRole("button", { name: "Edit: Before" }).click();
    await page.getByLabel("Title").fill("After");
    await page.goto(`${world.http}/console/dashboards/${dashboard.id}`);
    await page.getByText("is not saved yet").waitFor();
    await panelOf(page, "Before").waitFor();
    await page.getByRole("button", { name: "Go on" }).click();
    await panelOf(page, "After").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await panelOf(page, "Before").waitFor();
    await page.getByRole("button", { name: "Edit: Before" }).click();
    await page.getByLabel("Title").fill("Again");
    await page.getByRole("button", { name: "Discard" }).click();
    await panelOf(page, "Again").waitFor();
    await page.getByRole("button", { name: "Really discard" }).click();
    await panelOf(page, "Before").waitFor();
    await page.reload();
    await panelOf(page, "Before").waitFor();
    assert.is(await page.getByText("is not saved yet").count(), 0);
    assert.is((await stored(dashboard.id)).version, 1);
  });

  test("two who edit at once: the second sees what both have changed, and both versions stay", async () => {
    const dashboard = await make([
      text("Shared"),
      text("Other", { id: "o", layout: { x: 0, y: 0, w: 3, h: 4 } }),
    ]);
    const [one, other] = [
      await web.openIn(`/dashboards/${dashboard.id}?edit=1`),
      await web.openIn(`/dashboards/${dashboard.id}?edit=1`),
    ];
    async function rename(page: Page, from: string, to: string): Promise<void> {
      await page.getByRole("button", { name: `Edit: ${from}` }).click();
      await page.getByLabel("Title").fill(to);
      await page.getByRole("button", { name: "Save" }).click();
    }
    await rename(one.page, "Shared", "Of one");
    await one.page.getByRole("button", { name: "Edit", exact: true }).waitFor();
    await rename(other.page, "Other", "Of other");
    const dialog = other.page.getByRole("dialog");
    await dialog.getByText("Somebody has saved version 2 meanwhile").waitFor();
    const told = await dialog.innerText();
    assert.match(told, /They have changed\s+changed: Of one\s+title/);
    assert.match(told, /You have changed\s+changed: Of other\s+title/);
    await dialog.getByRole("button", { name: "Save mine as the next version" }).click();
    await panelOf(other.page, "Of other").waitFor();
    await other.page.getByRole("button", { name: "Edit", exact: true }).waitFor();
    const now = await stored(dashboard.id);
    assert.is(now.version, 3);
    assert.equal(
      panelsOf(now).map(({ title }) => title),
      ["Shared", "Of other"],
    );
    const second = (await world.call("GET", `/api/v1/dashboards/${dashboard.id}/revisions/2`)).record;
    assert.equal(
      panelsOf(second).map(({ title }) => title),
      ["Of one", "Other"],
    );

    await other.page.getByRole("button", { name: "Versions" }).click();
    await other.page.getByRole("listitem").filter({ hasText: /^2 / }).getByRole("button").click();
    await other.page.getByRole("button", { name: "Restore this version" }).click();
    await panelOf(other.page, "Of one").waitFor();
    assert.is((await stored(dashboard.id)).version, 4);
  });

  test("an edit that is resumed is compared with the version it began with", async () => {
    const dashboard = await make([
      text("Mine"),
      text("Theirs", { id: "o", layout: { x: 0, y: 0, w: 3, h: 4 } }),
    ]);
    const { page } = await web.openIn(`/dashboards/${dashboard.id}?edit=1`);
    await page.getByRole("button", { name: "Edit: Mine" }).click();
    await page.getByLabel("Title").fill("My new");
    await page.goto(`${world.http}/console/dashboards`);
    const document = dashboard.document as { panels: Rec[] };
    const panels = document.panels.map((panel) =>
      String(panel.id) === "o" ? { ...panel, title: "Their new" } : panel,
    );
    const body = { version: 1, document: { ...document, panels } };
    assert.is((await world.call("PUT", `/api/v1/dashboards/${dashboard.id}`, body)).status, 200);
    await page.goto(`${world.http}/console/dashboards/${dashboard.id}?edit=1`);
    await panelOf(page, "My new").waitFor();
    await panelOf(page, "Theirs").waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Somebody has saved version 2 meanwhile").waitFor();
    const told = await dialog.innerText();
    assert.match(told, /They have changed\s+changed: Their new\s+title/);
    assert.match(told, /You have changed\s+changed: My new\s+title/);
    await dialog.getByRole("button", { name: "Close" }).click();
    // After everything is undone, the editor has the present version.
    await page.getByRole("button", { name: "Undo" }).click();
    await panelOf(page, "Their new").waitFor();
    await page.getByRole("button", { name: "Edit: Mine" }).click();
    await page.getByLabel("Title").fill("Both");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "Edit", exact: true }).waitFor();
    assert.equal(
      panelsOf(await stored(dashboard.id)).map(({ title }) => title),
      ["Both", "Their new"],
    );
  });

  test("what is edited while a save is under way stays, and is one of the new version", async () => {
    const dashboard = await make([text("First")]);
    const { page } = await web.openIn(`/dashboards/${dashboard.id}?edit=1`);
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route("**/api/v1/dashboards/*", async (route) => {
      if (route.request().method() === "PUT") await answered;
      await route.continue();
    });
    await page.getByRole("button", { name: "Edit: First" }).click();
    await page.getByLabel("Title").fill("Second");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByLabel("Title").fill("Third");
    answer();
    await until(async () => (await stored(dashboard.id)).version === 2, { what: "the first save" });
    await page.locator("button:enabled", { hasText: "Save" }).click();
    await page.getByRole("button", { name: "Edit", exact: true }).waitFor();
    const now = await stored(dashboard.id);
    assert.equal([now.version, panelsOf(now)[0]?.title], [3, "Third"]);
  });

  test("two windows of one user keep each other's edits; a full browser says so", async () => {
    const dashboard = await make([text("Start")]);
    const { page, context } = await web.openIn(`/dashboards/${dashboard.id}?edit=1`);
    const other = await context.newPage();
    await other.goto(`${world.http}/console/dashboards/${dashboard.id}?edit=1`);
    for (const [window, title] of [
      [page, "One"],
      [other, "Other"],
    ] as const) {
      await window.getByRole("button", { name: "Edit: Start" }).click();
      await window.getByLabel("Title").fill(title);
    }
    await other.getByRole("button", { name: "Discard" }).click();
    await other.getByRole("button", { name: "Really discard" }).click();
    await page.reload();
    await panelOf(page, "One").waitFor();
    await page.evaluate("Storage.prototype.setItem = () => { throw new Error('full') }");
    await page.getByRole("button", { name: "Edit: One" }).click();
    await page.getByLabel("Title").fill("Two");
    await page.getByText("has no room to keep what you edit").waitFor();
    assert.is(await panelOf(page, "Two").count(), 1);
  });

  test("a command with a value from the link is asked about, and shown as it is sent", async () => {
    const dashboard = await make(
      [
        {
          ...{ id: "cmd", type: "command", title: "Vent", layout, deviceID: device.deviceID },
          ...{ payload: '{"mode":"$mode"}', confirm: false, label: "Open" },
        },
      ],
      { variables: [{ name: "mode", label: "Mode", type: "text", value: "auto" }] },
    );
    const evil = encodeURIComponent('x","valve":"1');
    const { page } = await web.openIn(`/dashboards/${dashboard.id}?v.mode=${evil}`);
    const vent = panelOf(page, "Vent");
    await vent.getByText("Some of it comes from the link").waitFor();
    assert.match(await vent.innerText(), /\{"mode":"x\\",\\"valve\\":\\"1"\}/);
    const sent = page.waitForRequest("**/device_publish");
    await vent.getByRole("button", { name: "Open" }).click();
    await vent.getByRole("button", { name: "Really: Open" }).click();
    const { payload } = (await sent).postDataJSON() as { readonly payload: string };
    assert.equal(JSON.parse(payload), { mode: 'x","valve":"1' });
  });

  test("a shared dashboard of many panels is there whole, and leads into no page of the console", async () => {
    const values = Array.from({ length: 12 }, (_, i) =>
      chart({
        id: `v${i}`,
        type: "value",
        title: `Value ${i}`,
        layout: { x: (i % 4) * 3, y: 0, w: 3, h: 3 },
      }),
    );
    const markdown = "[inside](/console/devices) [outside](https://example.com)";
    const dashboard = await make([...values, text("Notes", { markdown })], { refreshSeconds: 0 });
    const share = await world.make(`/api/v1/dashboards/${dashboard.id}/shares`, { name: "wall" });
    const { page } = await web.open();
    const refusals: number[] = [];
    page.on("response", (response) => {
      if (response.url().includes("/shared/") && response.status() === 429) refusals.push(response.status());
    });
    await page.setViewportSize({ width: 1440, height: 1600 });
    await page.goto("about:blank");
    await page.goto(`${world.http}${share.path}`);
    for (const { title } of values) await panelOf(page, String(title)).getByText("34.75").waitFor();
    assert.equal(refusals, []);
    const notes = panelOf(page, "Notes");
    await notes.getByText("inside").waitFor();
    assert.equal(await notes.getByRole("link").allInnerTexts(), ["outside"]);
  });

  test("a document that the service refuses is kept, and its fault named by the panel", async () => {
    const dashboard = await make([text("Fine")]);
    const { page } = await web.openIn(`/dashboards/${dashboard.id}?edit=1`);
    await addPanel(page, "Command");
    await page.getByLabel("Title").fill("Broken");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").filter({ hasText: "Broken: deviceID" }).waitFor();
    await panelOf(page, "Broken").waitFor();
    assert.is((await stored(dashboard.id)).version, 1);
  });

  test("who may only read sees dashboards, and nothing to change them", async () => {
    const user = { username: unique("viewer"), password: "correct horse" };
    await world.make("/api/v1/users", { ...user, role: "viewer" });
    const dashboard = await make([
      text("Seen"),
      {
        id: "cmd",
        type: "command",
        title: "Vent",
        layout,
        deviceID: device.deviceID,
        payload: "{}",
        confirm: false,
        label: "Open",
      },
    ]);
    const { page } = await web.openIn(`/dashboards/${dashboard.id}?edit=1`, { user });
    await panelOf(page, "Seen").waitFor();
    for (const name of ["Edit", "Share", "Save", "Open"]) {
      assert.is(await page.getByRole("button", { name, exact: true }).count(), 0, name);
    }
  });

  test("the CSV of a panel comes in again as the same points", async () => {
    const dashboard = await make([chart()]);
    const { page } = await web.openIn(`/dashboards/${dashboard.id}`);
    const panel = panelOf(page, "Climate");
    await panel.getByText("34.75").waitFor();
    await panel.hover();
    const csv = await downloadedText(page, panel.getByRole("button", { name: "CSV" }));
    const exported = async (of: Rec): Promise<string> => {
      const url = `/api/v1/original_data?deviceID=${of.deviceID}`;
      return (await world.call("GET", url, undefined, { headers: { Accept: "text/csv" } })).text;
    };
    assert.is(csv, await exported(device));
    const copy = await makeDevice(world, product);
    const moved = csv.replaceAll(String(device.deviceID), String(copy.deviceID));
    await world.call("POST", "/api/v1/original_data", moved, { headers: { "Content-Type": "text/csv" } });
    await until(async () => (await exported(copy)) === moved, { what: "the points to be there again" });
  });

  test("a share is seen in a frame of its origin alone, and gone within 15 s of being revoked", async () => {
    const frames = createServer((request, response) => {
      response
        .setHeader("Content-Type", "text/html")
        .end(
          `<iframe src="${decodeURIComponent(request.url?.slice(2) ?? "")}" width="1200" height="800"></iframe>`,
        );
    });
    await new Promise<void>((resolve) => frames.listen(0, "127.0.0.1", resolve));
    const { port } = frames.address() as AddressInfo;
    const dashboard = await make([chart()]);
    const url = `/api/v1/dashboards/${dashboard.id}/shares`;
    const share = await world.make(url, { name: "hall", allowedOrigins: [`http://127.0.0.1:${port}`] });
    const link = `${world.http}${share.path}`;
    try {
      const { page: allowed, faults } = await web.open();
      await allowed.goto(`http://127.0.0.1:${port}/?${encodeURIComponent(link)}`);
      const frame = allowed.frameLocator("iframe");
      await frame.getByText("34.75").waitFor();
      assert.is(await frame.getByRole("navigation").count(), 0);
      await frame.getByLabel("Zone").fill("Asia/Tokyo");
      await frame.getByLabel("Zone").press("Enter");
      await frame.getByText("+09:00", { exact: true }).last().waitFor();

      const { page: other, faults: refusals } = await web.open();
      await other.goto(`http://localhost:${port}/?${encodeURIComponent(link)}`);
      await until(async () => refusals.some((fault) => /frame-ancestors|ancestor/i.test(fault)), {
        what: "the browser to refuse the frame",
      });
      assert.is(await other.frameLocator("iframe").getByText("34.75").count(), 0);

      const before = Date.now();
      assert.is((await world.call("DELETE", `${url}?ids=${share.id}`)).status, 204);
      await frame.getByText("is not shared any more").waitFor();
      assert.ok(Date.now() - before < 15_000, `${Date.now() - before} ms`);
      assert.is(await frame.getByText("34.75").count(), 0);
      // Both pages are of another host here, and one of them was refused: that is what this test is about.
      for (const list of [faults, refusals]) list.length = 0;
    } finally {
      frames.close();
      frames.closeAllConnections();
    }
  });

  test("on a phone panels stand below each other and nothing scrolls sideways", async () => {
    const dashboard = await make([
      chart(),
      chart({ id: "v", type: "value", title: "Now", layout: { x: 6, y: 0, w: 3, h: 4 } }),
    ]);
    const { page } = await web.openIn(`/dashboards/${dashboard.id}`, {
      viewport: { width: 360, height: 740 },
      isMobile: true,
      hasTouch: true,
    });
    await panelOf(page, "Climate").getByText("34.75").waitFor();
    const [first, second] = await Promise.all(
      ["Climate", "Now"].map((name) => panelOf(page, name).boundingBox()),
    );
    assert.ok((second?.y ?? 0) >= (first?.y ?? 0) + (first?.height ?? 0));
    assert.is(await page.evaluate("document.documentElement.scrollWidth"), 360);
  });
});
