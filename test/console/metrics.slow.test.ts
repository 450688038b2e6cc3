/** Metrics that are tried before they are saved, in a real browser. */
import type { Page } from "playwright-core";
import { makeDevice, unique } from "../factories.js";
import { assert, until } from "../suite.js";
import type { Rec } from "../world.js";
import { consoleSuite } from "./browser.js";

consoleSuite("console: metrics", (test, world, web) => {
  let product: Rec;
  let point: Rec;
  test.before(async () => {
    product = await world.make("/api/v1/products", { productName: unique("P"), cloudProtocol: 1 });
    const body = { productIntID: product.id, pointDataType: 1, dataTransType: 1 };
    point = await world.make("/api/v1/data_points", {
      ...body,
      dataPointID: "temp",
      dataPointName: "Temperature <b>",
      unitSymbol: "°C",
    });
    await world.make("/api/v1/data_points", { ...body, dataPointID: "hum", dataPointName: "Humidity" });
    await world.make("/api/v1/data_points", { ...body, dataPointID: "soil-1", dataPointName: "Soil" });
    const device = await makeDevice(world, product);
    await world.publish(device, { temp: 20, hum: 50 }, { temp: 30, hum: 60 });
  });

  async function openNew(page: Page) {
    await page.getByRole("button", { name: "New" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Data point *").fill(`Temperature <b> (${point.id})`);
    const formula = dialog.getByRole("textbox", { name: "Formula" });
    await formula.waitFor();
    return { dialog, formula };
  }
  const reading = (page: Page, text: string) => page.locator(".readout .reading", { hasText: text });

  test("a formula is drawn while it is written, and saved as it was shown", async () => {
    const { page } = await web.openIn(`/products/${product.id}?tab=metrics`);
    const { dialog, formula } = await openNew(page);
    await dialog.getByLabel("Name *").fill("warm and damp");
    await dialog.getByText("Write a formula").waitFor();
    await formula.fill("dataPoint * 9 / 5 + 32");
    await reading(page, "warm and damp 86").waitFor();
    await formula.fill("dataPoint + ");
    await dialog.getByRole("button", { name: "hum", exact: true }).click();
    assert.is(await formula.inputValue(), "dataPoint + hum");
    assert.is(await dialog.getByRole("button", { name: "soil-1" }).count(), 0, "no name of a formula");
    await reading(page, "warm and damp 90").waitFor();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    const { page: found } = await world.call("GET", "/api/v1/metrics?metricName=warm%20and%20damp");
    const { record } = await world.call("GET", `/api/v1/metrics/${found.items[0]?.id}`);
    assert.equal(
      [record.expressions, record.metricType, record.dataPointIntID],
      ["dataPoint + hum", 1, point.id],
    );
  });

  test("what is wrong stands under its column, and the curve before stays", async () => {
    const { page } = await web.openIn(`/products/${product.id}?tab=metrics`);
    const { dialog, formula } = await openNew(page);
    await formula.fill("dataPoint * 2");
    await reading(page, "Metric 60").waitFor();
    await formula.fill("dataPoint * foo + 1");
    await dialog.getByText("foo is no data point, constant or function (column 13)").waitFor();
    const [line = "", caret = ""] = ((await dialog.locator(".excerpt").textContent()) ?? "").split("\n");
    assert.is(line, "dataPoint * foo + 1");
    assert.is(line.slice(caret.indexOf("^")), "foo + 1");
    assert.is(await formula.getAttribute("aria-invalid"), "true");
    assert.is(await reading(page, "Metric 60").count(), 1);
    await dialog.getByRole("button", { name: "Save" }).click();
    await until(async () => (await dialog.getByText("is required").count()) > 0, {
      what: "the name's fault",
    });
    assert.is(await formula.inputValue(), "dataPoint * foo + 1");
    await formula.fill("dataPoint * 3");
    await reading(page, "Metric 90").waitFor();
    assert.is(await dialog.locator(".excerpt").count(), 0);
    await formula.fill("dataPoint * foo");
    await dialog.locator(".excerpt").waitFor();
    await formula.fill("dataPoint * 3");
    await dialog.locator(".excerpt").waitFor({ state: "detached" });
    await dialog.locator(".preview .stale").waitFor({ state: "detached" });
  });

  test("points without a number are counted", async () => {
    const { page } = await web.openIn(`/products/${product.id}?tab=metrics`);
    const { dialog, formula } = await openNew(page);
    await formula.fill("1 / (dataPoint - 20)");
    await dialog.getByText("1 points have no number").waitFor();
    await reading(page, "Metric 0.1").waitFor();
  });

  test("an aggregate is tried by windows, edited, and keeps what was not changed", async () => {
    const metric = await world.make("/api/v1/metrics", {
      metricName: "peak",
      dataPointIntID: point.id,
      metricType: 2,
      aggregateType: 1,
      remark: "kept",
    });
    const { page } = await web.openIn(`/products/${product.id}?tab=metrics`);
    await page.getByRole("row", { name: /peak/ }).getByRole("button", { name: "Edit" }).click();
    const dialog = page.getByRole("dialog");
    await reading(page, "peak 30 °C").waitFor();
    await dialog.getByLabel("Aggregate", { exact: true }).selectOption("2");
    await reading(page, "peak 20 °C").waitFor();
    await dialog.getByLabel("Window").selectOption("day");
    await reading(page, "peak 20 °C").waitFor();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    const { record } = await world.call("GET", `/api/v1/metrics/${metric.id}`);
    assert.equal([record.aggregateType, record.remark, record.expressions], [2, "kept", null]);
  });

  test("without a device it says so; a viewer makes none", async () => {
    const empty = await world.make("/api/v1/products", { productName: unique("P"), cloudProtocol: 1 });
    const own = await world.make("/api/v1/data_points", {
      productIntID: empty.id,
      pointDataType: 1,
      dataTransType: 1,
      dataPointID: "x",
      dataPointName: "X",
    });
    const { page } = await web.openIn(`/products/${empty.id}?tab=metrics`);
    await page.getByRole("button", { name: "New" }).click();
    await page.getByRole("dialog").getByLabel("Data point *").fill(`X (${own.id})`);
    await page.getByText("This product has no device to try it on.").waitFor();
    const user = { username: unique("viewing"), password: "correct horse battery" };
    await world.make("/api/v1/users", { ...user, role: "viewer" });
    const viewer = await web.openIn(`/products/${product.id}?tab=metrics`, { user });
    await viewer.page.getByRole("row", { name: /peak/ }).waitFor();
    assert.is(await viewer.page.getByRole("button", { name: "New" }).count(), 0);
  });
});
