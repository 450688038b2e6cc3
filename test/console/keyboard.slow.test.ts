/** What a person does, by the keyboard alone: every control is come to by Tab, and seen to have the focus. Flow 26. */
import type { Locator, Page } from "playwright-core";
import { makeDataPoint, makeDevice, makeProduct, unique } from "../factories.js";
import { assert, until } from "../suite.js";
import type { Rec } from "../world.js";
import { consoleSuite } from "./browser.js";

/** More than any page has controls before what is looked for. */
const tabsMax = 200;

/** Goes on from control to control, as somebody without a mouse must. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.first().waitFor();
  for (let i = 0; i < tabsMax; i++) {
    if (await isFocused(target.first())) {
      assert.is(
        await target.first().evaluate((one) => one.matches(":focus-visible")),
        true,
        `${target}: the focus is seen`,
      );
      return;
    }
    await page.keyboard.press("Tab");
  }
  throw new Error(`${target}: no Tab leads there`);
}

/** Comes to a control, and presses keys there. */
async function at(page: Page, target: Locator, ...keys: readonly string[]): Promise<void> {
  await tabTo(page, target);
  for (const key of keys) {
    await page.keyboard.press(key);
    // No hand is faster than two frames.
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  }
}

/** In place of what is there. */
async function type(page: Page, target: Locator, text: string): Promise<void> {
  await at(page, target, "Control+a");
  await page.keyboard.type(text);
}

const button = (within: Page | Locator, name: string | RegExp): Locator =>
  within.getByRole("button", { name, exact: typeof name === "string" });

/** Has the focus still, or again. */
const isFocused = (target: Locator): Promise<boolean> =>
  target.evaluate((one) => one === one.ownerDocument.activeElement);

consoleSuite("console: keyboard", (test, world, web) => {
  let product: Rec;
  let device: Rec;
  let point: Rec;
  const newest = Math.floor(Date.now() / 60_000) * 60_000 - 60_000;
  const valueAt = (i: number): number => 20 + i / 4;
  test.before(async () => {
    product = await makeProduct(world);
    point = await makeDataPoint(world, product, { dataPointID: "temp", dataPointName: "Warmth" });
    device = await makeDevice(world, product);
    const values = Array.from({ length: 60 }, (_, i) => ({ time: newest - i * 60_000, temp: valueAt(i) }));
    await world.publish(device, values);
    await world.call("PUT", `/api/v1/devices/${device.id}/location`, { longitude: 8.5, latitude: 47.4 });
  });

  test("the way to a first device, from the login on", async () => {
    const { page } = await web.open();
    await type(page, page.getByLabel("User name"), world.first.username);
    await type(page, page.getByLabel("Password"), world.first.password);
    await page.keyboard.press("Enter");
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    await page.goto(`${world.http}/console/start`);
    await type(page, page.getByLabel("Product"), "By keys");
    await type(page, page.getByLabel("Device ID"), "keys-1");
    await at(page, button(page, "Make both"), "Enter");
    await page.getByText("mosquitto_pub").first().waitFor();
    const { page: found } = await world.call("GET", "/api/v1/devices?deviceID=keys-1");
    await world.publish(found.items[0] as Rec, { tmep: 21.5 });
    await at(page, button(page, "Make tmep a data point"), "Enter");
    await page.getByText("It has become points ✓").waitFor();
    await at(page, page.getByRole("link", { name: "To the device" }), "Enter");
    await page.getByRole("heading", { level: 1, name: "keys-1" }).waitFor();
  });

  test("a record is made, edited and deleted; the focus goes back to where it was", async () => {
    const name = unique("Keyed");
    const { page } = await web.openIn("/products");
    await at(page, button(page, "New"), "Enter");
    const dialog = page.getByRole("dialog");
    await type(page, dialog.getByLabel("Product *"), name);
    await at(page, dialog.getByLabel("Protocol *"), "ArrowDown");
    await at(page, button(dialog, "Save"), "Enter");
    await dialog.waitFor({ state: "detached" });
    assert.is(await isFocused(button(page, "New")), true, "after the form");
    const row = page.getByRole("row").filter({ hasText: name });
    const edit = button(row, "Edit");
    await at(page, edit, "Enter");
    await type(page, dialog.getByLabel("Description"), "by keys");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.is(await isFocused(edit), true, "after Escape");
    await page.keyboard.press("Enter");
    await type(page, dialog.getByLabel(/^Product( \*)?$/), `${name} again`);
    await at(page, button(dialog, "Save"), "Enter");
    await row.getByText(`${name} again`).waitFor();
    assert.is(await isFocused(edit), true, "after it is saved");
    await at(page, row.getByRole("checkbox"), "Space");
    await page.keyboard.press("/");
    await at(page, button(page, "Delete (1)"), "Enter");
    assert.is(await isFocused(button(page, "Cancel")), true, "it is asked once more");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await row.waitFor({ state: "detached" });
    assert.equal((await world.call("GET", `/api/v1/products?productName_like=${name}`)).page.items, []);
  });

  test("rows of the fleet are chosen, and something is done to them", async () => {
    const { page } = await web.openIn("/devices");
    const row = page.getByRole("row").filter({ hasText: String(device.deviceID) });
    await at(page, row.getByRole("checkbox"), "Space");
    await at(page, button(page.getByRole("toolbar"), "Block"), "Enter");
    await at(page, button(page.getByRole("dialog"), /^Block \(/), "Enter");
    await page.getByRole("region", { name: "For many devices" }).getByText("done").first().waitFor();
    const { record } = await world.call("GET", `/api/v1/devices/${device.id}`);
    assert.is(record.blocked, 1);
    await world.call("PUT", `/api/v1/devices/${device.id}`, { blocked: 0 });
  });

  test("a dashboard is made, filled, arranged, saved and shared", async () => {
    const name = unique("Board");
    const { page } = await web.openIn("/dashboards");
    const dialog = page.getByRole("dialog");
    await at(page, button(page, "New"), "Enter");
    await type(page, dialog.getByLabel("Name"), name);
    await at(page, button(dialog, "Make it"), "Enter");
    const form = page.getByRole("complementary", { name: "Panel" });
    const adding = button(page, "Add a panel");
    await at(page, adding, "Enter", "ArrowDown", "Enter");
    await type(page, form.getByLabel("Title"), "Warmth");
    await at(page, button(form, "Add a series"), "Enter");
    await type(page, form.getByLabel("Device"), String(device.deviceID));
    await page.keyboard.press("Enter");
    await tabTo(page, form.getByLabel("What"));
    await form.getByRole("option", { name: "Warmth" }).waitFor({ state: "attached" });
    await page.keyboard.type("Warmth");
    await page
      .getByRole("region", { name: "Warmth", exact: true })
      .getByText("20", { exact: true })
      .waitFor();
    await page.keyboard.press("Escape");
    await form.waitFor({ state: "detached" });
    assert.is(await isFocused(adding), true, "after the form of the panel");
    const move = button(page, "Move Warmth");
    await at(page, move, "ArrowRight", "ArrowRight", "Shift+ArrowLeft", "Shift+ArrowDown");
    assert.is(await isFocused(move), true, "while it is moved");
    await at(page, button(page, "Save"), "Enter");
    await button(page, "Share").waitFor();
    const { items } = (await world.call("GET", `/api/v1/dashboards?name=${name}`)).page;
    const { record } = await world.call("GET", `/api/v1/dashboards/${items[0]?.id}`);
    const [panel] = (record.document as { panels: Rec[] }).panels;
    assert.equal(panel?.layout, { x: 2, y: 0, w: 5, h: 8 });
    assert.equal(panel?.series, [{ deviceID: device.deviceID, dataPointIntID: point.id }]);

    await at(page, button(page, "Share"), "Enter");
    await type(page, dialog.getByLabel("Name"), "For the hall");
    await page.keyboard.press("Enter");
    await dialog.locator(".secret").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.is(await isFocused(button(page, "Share")), true, "after the shares");
    const shares = (await world.call("GET", `/api/v1/dashboards/${items[0]?.id}/shares`)).page.items;
    assert.equal(
      shares.map((share) => share.name),
      ["For the hall"],
    );
  });

  test("the list of panels that can be added is opened by an arrow, and takes none by it", async () => {
    const dashboard = await world.make("/api/v1/dashboards", {
      name: unique("Board"),
      document: {
        variables: [],
        range: { start: "-6h", end: "now" },
        timezone: "UTC",
        refreshSeconds: 0,
        panels: [],
      },
    });
    const { page } = await web.openIn(`/dashboards/${dashboard.id}?edit=1`);
    const adding = button(page, "Add a panel");
    await at(page, adding, "ArrowDown", "ArrowDown", "ArrowDown");
    assert.is(await isFocused(button(page, "Value")), true);
    await page.keyboard.press("Escape");
    assert.is(await isFocused(adding), true);
    assert.is(await button(page, "Value").count(), 0);
    assert.is(await page.getByRole("complementary", { name: "Panel" }).count(), 0);
    assert.is(await button(page, "Save").isDisabled(), true);
  });

  test("a device and a point are chosen, values read one by one, the range made shorter and moved", async () => {
    const { page } = await web.openIn("/explore?tz=UTC&from=-6h");
    await type(page, page.getByLabel("Device"), String(device.deviceID));
    await page.keyboard.press("Enter");
    await page.locator(".readout .reading", { hasText: "Warmth 20" }).waitFor();
    await at(page, button(page, "Warmth"), "Space");
    await page.getByText("Nothing is chosen").waitFor();
    await page.keyboard.press("Space");
    const plot = page.locator(".plot");
    await at(page, plot, "Home");
    const reading = page.locator(".readout .reading strong");
    for (const i of [59, 58, 57]) {
      assert.is(await reading.textContent(), String(valueAt(i)));
      await page.keyboard.press("ArrowRight");
    }
    assert.is(await page.locator(".readout").getAttribute("aria-live"), "polite");
    await page.keyboard.press("End");
    assert.is(await reading.textContent(), String(valueAt(0)));
    await page.keyboard.press("+");
    await page.waitForURL((url) => /^\d+$/.test(url.searchParams.get("from") ?? ""));
    const { searchParams } = new URL(page.url());
    const width = Number(searchParams.get("to")) - Number(searchParams.get("from"));
    assert.ok(Math.abs(width - 3 * 3_600_000) < 5000, String(width));
    assert.is(await isFocused(plot), true, "after the zoom");
    await page.keyboard.press("-");
    await page.waitForURL(
      (url) => Number(url.searchParams.get("to")) - Number(url.searchParams.get("from")) > 1.9 * width,
    );
    const from = (url: URL): number => Number(url.searchParams.get("from"));
    const before = from(new URL(page.url()));
    await page.keyboard.press("[");
    await page.waitForURL((url) => from(url) < before - width / 2);
    await page.keyboard.press("]");
    await page.waitForURL((url) => Math.abs(from(url) - before) <= 2);
    await at(page, button(page, "As table"), "Enter");
    await page.locator("table.numbers").waitFor();
  });

  test("a device is chosen on the map, and left again", async () => {
    const { page } = await web.openIn("/map");
    const mark = button(page, `${device.deviceName}: offline`);
    await at(page, mark, "Enter");
    await page.waitForURL(new RegExp(`device=${device.id}`));
    const chosen = page.getByRole("region", { name: String(device.deviceName) });
    await at(page, chosen.getByRole("link", { name: "To the device" }));
    await at(page, button(chosen, "Close"), "Enter");
    await chosen.waitFor({ state: "detached" });
  });

  test("a rule is tried on the keyboard: its alerts are a list that keys reach", async () => {
    const { page } = await web.openIn(`/products/${product.id}?tab=alertRules`);
    await at(page, button(page, "New"), "Enter");
    const dialog = page.getByRole("dialog");
    await type(page, dialog.getByLabel("Data point *"), `Warmth (${point.id})`);
    await type(page, dialog.getByLabel("Number"), "30");
    await dialog.getByText("1 alert in the last 7 days").waitFor();
    await at(page, dialog.locator(".plot"), "Home");
    await until(async () => (await dialog.locator(".readout").innerText()).includes("alert:"), {
      what: "the alert to be read at the first value",
    });
    assert.is(await dialog.locator("table tbody tr").count(), 1);
  });
});
