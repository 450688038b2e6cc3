/** Lists of records, in a real browser: ticked rows, filters, messages, and what comes back. */
import type { Page } from "playwright-core";
import { documentBody } from "../dashboards/documents.js";
import { makeDataPoint, makeDevice, makeProduct, unique } from "../factories.js";
import { assert, until } from "../suite.js";
import type { Rec } from "../world.js";
import { consoleSuite } from "./browser.js";

const hourMs = 3_600_000;
const rowsOf = (page: Page) => page.locator("tbody tr");
const deleteButton = (page: Page) => page.getByRole("button", { name: /^Delete \(/ });

consoleSuite("console: lists", (test, world, web) => {
  let product: Rec;
  let device: Rec;
  let other: Rec;

  async function makeProducts(count: number): Promise<string> {
    const prefix = unique("listed");
    await Promise.all(
      Array.from({ length: count }, (_, i) => makeProduct(world, { productName: `${prefix}-${i}` })),
    );
    return prefix;
  }

  test.before(async () => {
    product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp", dataPointName: "Heat", upperLimit: 30 });
    [device, other] = [await makeDevice(world, product), await makeDevice(world, product)];
  });

  test("an empty list says what will appear there, and gives the command to users who may use it", async () => {
    const { page } = await web.openIn("/commands");
    await page.getByText("No command yet").waitFor();
    assert.match(await page.locator("pre").innerText(), /curl -X POST http.*\/api\/v1\/device_publish/);
    await page.getByRole("button", { name: "Copy", exact: true }).waitFor();
    const user = { username: unique("viewing"), password: "correct horse battery" };
    await world.make("/api/v1/users", { ...user, role: "viewer" });
    const viewer = await web.openIn("/commands", { user });
    await viewer.page.getByText("No command yet").waitFor();
    assert.is(await viewer.page.locator("pre").count(), 0);
  });

  test("what is ticked on a page is not deleted from another one, nor from another search", async () => {
    const prefix = await makeProducts(30);
    const { page } = await web.openIn(`/products?q=${prefix}`);
    await page.getByText("Page 1 of 2, 30 in all").waitFor();
    await page.getByRole("checkbox", { name: "All on this page" }).check();
    await page.getByRole("button", { name: "Delete (25)" }).waitFor();
    await page.getByRole("button", { name: "Next page" }).click();
    await page.getByText("Page 2 of 2").waitFor();
    assert.is(await deleteButton(page).count(), 0);
    await rowsOf(page).first().getByRole("checkbox").check();
    await page.getByRole("button", { name: "Delete (1)" }).waitFor();
    await page.getByRole("searchbox").fill(`${prefix}-1`);
    await page.getByText("Page 1 of 1, 11 in all").waitFor();
    assert.is(await deleteButton(page).count(), 0);
  });

  test("without its last rows the last page is the one before", async () => {
    const prefix = await makeProducts(26);
    const { page } = await web.openIn(`/products?q=${prefix}&page=2`);
    await page.getByText("Page 2 of 2").waitFor();
    await page.getByRole("checkbox", { name: "All on this page" }).check();
    await page.getByRole("button", { name: "Delete (1)" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("Page 1 of 1, 25 in all").waitFor();
    assert.is(await rowsOf(page).count(), 25);
  });

  test("an alert is shown at once, by shape and word, and leads to its device and to its time", async () => {
    const { page } = await web.openIn("/alerts");
    await page.getByText("No alert.").waitFor();
    await world.publish(device, { temp: 35 });
    const row = rowsOf(page).filter({ hasText: String(device.deviceName) });
    await row.waitFor();
    await row.locator(".status svg").waitFor();
    const {
      page: { items },
    } = await world.call("GET", `/api/v1/current_alerts?deviceID=${device.deviceID}`, undefined, {
      headers: { "Time-Format": "ms" },
    });
    const began = Number(items[0]?.startTime);
    const chart = new URL((await row.locator("td a").last().getAttribute("href")) ?? "", world.http);
    assert.equal(Object.fromEntries(chart.searchParams), {
      d: device.deviceID,
      from: String(began - hourMs),
      to: String(began + hourMs),
    });
    await row.getByRole("link", { name: String(device.deviceName) }).click();
    await page.getByRole("heading", { level: 1, name: String(device.deviceName) }).waitFor();
  });

  test("alerts are filtered by severity, device and time, in the address; Back takes it back", async () => {
    await world.publish(other, { temp: 35 });
    await world.alertsSettled();
    const { page } = await web.openIn("/alerts");
    await until(async () => (await rowsOf(page).count()) === 2, { what: "the alerts of both devices" });
    const severity = page.getByLabel("Severity");
    const options = await severity.locator("option").allInnerTexts();
    assert.equal(options.slice(1), ["urgent", "major", "minor", "warning"]);
    const field = page.getByRole("combobox", { name: "Device" });
    await field.fill(String(other.deviceID));
    await field.press("Enter");
    await until(async () => (await rowsOf(page).count()) === 1, { what: "the alert of one device" });
    assert.is(new URL(page.url()).searchParams.get("deviceID"), other.deviceID);
    await page.goBack();
    await until(async () => (await rowsOf(page).count()) === 2, { what: "the alerts of both devices again" });
    await page.goto(`${world.http}/console/alerts?from=-1h&productID=${product.productID}`);
    await until(async () => (await rowsOf(page).count()) === 2, { what: "those of the last hour" });
    const now = Date.now();
    await page.goto(`${world.http}/console/alerts?from=${now - 3 * hourMs}&to=${now - 2 * hourMs}`);
    await page.getByText("Nothing matches.").waitFor();
    await page.getByRole("button", { name: "All of them" }).click();
    await until(async () => (await rowsOf(page).count()) === 2, { what: "all of them" });
  });

  test("on a phone an alert is its name and its values by their names, and nothing lies sideways", async () => {
    const { page } = await web.openIn(`/alerts?deviceID=${device.deviceID}`, {
      viewport: { width: 360, height: 780 },
    });
    const row = rowsOf(page).first();
    const valued = (name: string) => row.locator(`td[data-name="${name}"]`);
    await valued("Severity").locator(".status svg").waitFor();
    assert.is(await valued("Device").innerText(), String(device.deviceName));
    // The text goes on where the name ends.
    assert.match(
      await row.locator("td:not([data-name]):not(.pick)").innerText(),
      /^Heat above its upper limit$/,
    );
    assert.match(await valued("Text").innerText(), /^35/);
    const [text, severity] = [await valued("Text").boundingBox(), await valued("Severity").boundingBox()];
    assert.is(text?.y, severity?.y);
    assert.ok((severity?.x ?? 360) + (severity?.width ?? 0) <= 360);
    assert.ok(
      await page.evaluate<boolean>(
        "(({ scrollWidth, clientWidth }) => scrollWidth === clientWidth)(document.querySelector('section.scroll'))",
      ),
    );
  });

  test("the tab and the page that are shown are in sight, however small the window is", async () => {
    const { page } = await web.openIn("/access?tab=changes", { viewport: { width: 360, height: 780 } });
    for (const part of [".tabs", ".rail"]) {
      const box = await page.locator(`${part} [aria-current=page]`).boundingBox();
      assert.ok(box !== null && box.x >= 0 && box.x + box.width <= 360, `${part} ${JSON.stringify(box)}`);
    }
  });

  test("current alerts are ended, not deleted, and stand in the history", async () => {
    const { page } = await web.openIn(`/alerts?deviceID=${other.deviceID}`);
    await rowsOf(page).first().getByRole("checkbox").check();
    await page.getByRole("button", { name: "End (1)" }).click();
    await page.getByText("They go to the history.").waitFor();
    await page.getByRole("alertdialog").getByRole("button", { name: "End" }).click();
    await page.getByText("Nothing matches.").waitFor();
    await page.getByRole("link", { name: "History" }).click();
    await rowsOf(page)
      .filter({ hasText: String(other.deviceName) })
      .waitFor();
  });

  test("changes have their time, and are filtered by action; words of roles are the page's", async () => {
    const user = { username: unique("reading"), password: "correct horse battery" };
    await world.make("/api/v1/users", { ...user, role: "viewer" });
    const { page } = await web.openIn("/access?tab=changes&action=create&entity_like=device");
    await rowsOf(page).first().waitFor();
    await rowsOf(page).first().locator("time").waitFor();
    const done = await rowsOf(page).locator("td:nth-child(2)").allInnerTexts();
    assert.equal([...new Set(done)], ["made"]);
    await page.goto(`${world.http}/console/access?role=viewer`);
    await rowsOf(page).filter({ hasText: "viewer" }).first().waitFor();
    assert.is(await rowsOf(page).filter({ hasText: "administrator" }).count(), 0);
  });

  test("a list that was scrolled is found as it was left", async () => {
    const prefix = await makeProducts(25);
    const { page } = await web.openIn(`/products?q=${prefix}`, { viewport: { width: 1000, height: 400 } });
    await page.getByText("25 in all").waitFor();
    const link = rowsOf(page).last().getByRole("link");
    await link.scrollIntoViewIfNeeded();
    const scrolled = await page.evaluate<number>("scrollY");
    assert.ok(scrolled > 200, String(scrolled));
    await until(async () => page.evaluate<boolean>("history.state !== null"), { what: "the place kept" });
    await link.click();
    await page.getByRole("heading", { level: 1, name: prefix }).waitFor();
    await page.goBack();
    await until(async () => (await page.evaluate<number>("scrollY")) === scrolled, {
      what: "the same place",
    });
  });

  test("a user who sees a share has words for severities, in both languages", async () => {
    const dashboard = await world.make("/api/v1/dashboards", {
      name: unique("Alerts"),
      document: documentBody([
        {
          ...{ id: "a", title: "Alerts", type: "alerts", filters: { state: "history" } },
          layout: { x: 0, y: 0, w: 12, h: 6 },
        },
      ]),
    });
    const share = await world.make(`/api/v1/dashboards/${dashboard.id}/shares`, { name: "wall" });
    for (const [locale, word] of [
      ["en-GB", /^(urgent|major|minor|warning)$/],
      ["zh-CN", /^(紧急|主要|次要|警告)$/],
    ] as const) {
      const { page } = await web.open({ at: String(share.path), locale });
      const status = page.locator(".alerts-panel .status").first();
      await status.waitFor();
      assert.match((await status.innerText()).trim(), word);
    }
  });

  test("with filters and links nothing scrolls sideways on a phone", async () => {
    const { page } = await web.openIn("/alerts", { viewport: { width: 360, height: 740 }, isMobile: true });
    await rowsOf(page).first().waitFor();
    assert.is(await page.evaluate<number>("document.documentElement.scrollWidth"), 360);
  });
});

consoleSuite(
  "console: lists in variant B",
  (test, world, web) => {
    test("a device's page has its state and its product, and connections have their words", async () => {
      const headers = { "Api-Variant": "A" };
      const product = await world.make(
        "/api/v1/products",
        { productName: "P", cloudProtocol: 1 },
        { headers },
      );
      const device = await world.make(
        "/api/v1/devices",
        {
          ...{ deviceName: "House 1", deviceID: "gh-1", productID: product.productID, deviceType: 1 },
          ...{ upLinkSystem: 1, cloudProtocol: 1, authType: 1 },
        },
        { headers },
      );
      await world.connect(device);
      const { page } = await web.openIn(`/devices/${device.id}`);
      const head = page.locator("main header");
      await head.getByText("online", { exact: true }).waitFor();
      await head.getByRole("link", { name: "P", exact: true }).click();
      await page.getByRole("heading", { level: 1, name: "P" }).waitFor();
      await page.goto(`${world.http}/console/messages?tab=connectLogs`);
      await page.getByRole("cell", { name: "came online" }).waitFor();
      await page.goto(`${world.http}/console/devices?tab=devices`);
      await page.getByRole("cell", { name: "online", exact: true }).waitFor();
    });
  },
  { API_VARIANT: "B" },
);
