/** Search and act, keys, and one's own password, in a real browser. */
import type { Page } from "playwright-core";
import { makeDataPoint, makeDevice, makeGroup, makeProduct, unique } from "../factories.js";
import { assert, until } from "../suite.js";
import type { Rec } from "../world.js";
import { consoleSuite } from "./browser.js";

const hostile = "<img src=x onerror=alert(1)>";

consoleSuite("console: search and keys", (test, world, web) => {
  let product: Rec;
  let device: Rec;
  test.before(async () => {
    product = await makeProduct(world, { productName: "Kiln works" });
    device = await makeDevice(world, product, { deviceName: "Kiln 7", deviceID: "kiln-7" });
    await makeDevice(world, product, { deviceName: `Kiln ${hostile}` });
    await makeDevice(world, product, { deviceName: "Very long ".repeat(25).trim() });
    await makeGroup(world, product, { groupName: "All the kilns" });
    await makeDataPoint(world, product, { dataPointName: "Fire", dataPointID: "fire" });
  });

  const placeOf = (page: Page): string => page.url().slice(`${world.http}/console`.length);
  const arrivesAt = (page: Page, place: string) =>
    until(() => placeOf(page) === place, { what: `${place} in place of ${placeOf(page)}` });
  const search = async (page: Page, text: string) => {
    await page.keyboard.press("Control+k");
    const box = page.getByRole("combobox", { name: "Search and act" });
    await box.waitFor();
    await page.keyboard.type(text);
    return { box, options: page.getByRole("listbox").getByRole("option") };
  };

  test("records of every kind are found by their names, hostile ones as texts, and opened by keys", async () => {
    const { page } = await web.openIn("/");
    const { box, options } = await search(page, "kiln");
    await options.filter({ hasText: hostile }).waitFor();
    const texts = await options.allInnerTexts();
    for (const kind of ["product", "device", "group"])
      assert.ok(
        texts.some((text) => text.endsWith(kind)),
        `${kind} in ${texts}`,
      );
    assert.is(await page.locator("dialog img").count(), 0);
    const at = texts.findIndex((text) => text.startsWith("Kiln 7"));
    for (let i = 0; i < at; i++) await page.keyboard.press("ArrowDown");
    const chosen = await box.getAttribute("aria-activedescendant");
    assert.match(await page.locator(`#${chosen}`).innerText(), /^Kiln 7/);
    await page.keyboard.press("Enter");
    await arrivesAt(page, `/devices/${device.id}`);
    assert.is(await page.getByRole("dialog").count(), 0);
  });

  test("Enter before the answer means the first of what is found; a data point leads to its product", async () => {
    const { page } = await web.openIn("/");
    await search(page, "kiln-7");
    await page.keyboard.press("Enter");
    await arrivesAt(page, `/devices/${device.id}`);
    const { options } = await search(page, "fire");
    await options.filter({ hasText: "Fire" }).click();
    await arrivesAt(page, `/products/${product.id}?tab=dataPoints&q=Fire`);
    await page.getByRole("row").filter({ hasText: "fire" }).waitFor();
  });

  test("pages and actions are found by their words; a viewer is offered nothing to make", async () => {
    const { page } = await web.openIn("/");
    await search(page, "new prod");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByLabel("Product *").waitFor();
    await page.keyboard.press("Escape");
    await arrivesAt(page, "/products");
    await search(page, "theme: dark");
    await page.getByRole("option", { name: "Theme: dark" }).waitFor();
    await page.keyboard.press("Enter");
    await until(async () => (await page.locator("html").getAttribute("data-theme")) === "dark", {
      what: "the dark theme",
    });

    const user = { username: unique("viewing"), password: "correct horse battery" };
    await world.make("/api/v1/users", { ...user, role: "viewer" });
    const viewer = await web.openIn("/", { user });
    await viewer.page.getByRole("button", { name: "Search" }).click();
    await viewer.page.getByRole("option", { name: "Explore page" }).waitFor();
    assert.is(await viewer.page.getByRole("option", { name: /^New / }).count(), 0);
  });

  test("missing records, and a service that does not answer, are reported in words", async () => {
    const { page, context } = await web.openIn("/");
    const { box } = await search(page, "nobody is called so");
    const told = page.getByRole("dialog").getByRole("status");
    await told.getByText("Nothing is called so.").waitFor();
    await context.route("**/api/v1/search**", (route) => route.abort());
    await box.fill("kiln");
    await told.getByText("does not answer").waitFor();
    await context.unroute("**/api/v1/search**");
    await page.getByRole("option", { name: "Kiln 7" }).waitFor();
    assert.is(await box.inputValue(), "kiln");
  });

  test("keys lead to pages, to the filter and to their list, and mean letters while something is typed", async () => {
    const { page } = await web.openIn("/products");
    await page.getByRole("heading", { name: "Products" }).waitFor();
    await page.keyboard.type("ge");
    await arrivesAt(page, "/explore");
    await page.getByRole("heading", { name: "Explore" }).waitFor();
    await page.keyboard.press("z");
    await until(async () => (await page.evaluate("document.activeElement.list?.id")) === "zones", {
      what: "the zone to have the focus",
    });
    await page.locator("body").click({ position: { x: 700, y: 700 } });
    await page.keyboard.type("gd");
    await arrivesAt(page, "/devices");
    await page.getByRole("searchbox").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("go?");
    assert.is(await page.getByRole("searchbox").inputValue(), "go?");
    assert.is(placeOf(page), "/devices?q=go%3F");
    await page.getByRole("searchbox").blur();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).getByText("Go to: Devices").waitFor();
    await page.keyboard.type("go");
    assert.ok(placeOf(page).startsWith("/devices"), placeOf(page));
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  test("one's own password: what is wrong stands beside its field; this session goes on, others end", async () => {
    const user = { username: unique("changing"), password: "correct horse battery" };
    await world.make("/api/v1/users", { ...user, role: "viewer" });
    const other = await web.openIn("/products", { user });
    const { page } = await web.openIn("/", { user });
    await page.getByRole("button", { name: "Password" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Present password").fill("not this one");
    await dialog.getByLabel("New password", { exact: true }).fill("another battery staple");
    await dialog.getByLabel("New password once more").fill("another battery stable");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("the two differ").waitFor();
    await dialog.getByLabel("New password once more").fill("another battery staple");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("is not the present one").waitFor();
    assert.is(
      await dialog.getByLabel("New password", { exact: true }).inputValue(),
      "another battery staple",
    );
    await dialog.getByLabel("Present password").fill(user.password);
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("The password is changed.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("navigation").getByRole("link", { name: "Products" }).click();
    await page.getByRole("heading", { name: "Products" }).waitFor();
    await other.page.reload();
    await other.page.getByRole("button", { name: "Log in" }).waitFor();
    const fresh = await web.openIn("/", { user: { ...user, password: "another battery staple" } });
    assert.ok((await fresh.page.locator("#you").innerText()).startsWith(user.username));
  });
});
