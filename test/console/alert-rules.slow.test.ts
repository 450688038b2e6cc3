/** Alert rules and their backtest, in a real browser: the alerts that it shows are those of the values. */
import { parseCondition, textOfCondition } from "../../src/console/app/alert-rules/conditions.js";
import { makeDevice, unique } from "../factories.js";
import { assert, suite, until } from "../suite.js";
import type { Rec } from "../world.js";
import { consoleSuite } from "./browser.js";
import { drawnChart, recordTexts } from "./drawn-texts.js";

suite("console: conditions", (test) => {
  test("comparisons joined in one way are parts, and come back as they were", () => {
    for (const text of [
      "dataPoint > 25",
      "dataPoint > 25 and hum <= 90.5",
      "a == 1 or b != -2 or lastValue < 3",
    ])
      assert.is(textOfCondition(parseCondition(text) ?? { join: "and", parts: [] }), text);
    assert.equal(parseCondition("x >= 5 or dataPoint < -1e3"), {
      join: "or",
      parts: [
        { name: "x", operator: ">=", value: "5" },
        { name: "dataPoint", operator: "<", value: "-1e3" },
      ],
    });
  });

  test("anything else is a formula", () => {
    for (const text of [
      "a > 1 and b > 2 or c > 3",
      "abs(dataPoint) > 1",
      "not (a > 1)",
      "a",
      "1 < a",
      "a > b",
    ])
      assert.is(parseCondition(text), null, text);
  });
});

consoleSuite("console: alert rules", (test, world, web) => {
  let product: Rec;
  let point: Rec;
  let device: Rec;
  const stepMs = 10 * 60_000;
  const now = Date.now();
  /** Above 30 for one hour of each of the last five days. */
  const isWarm = (time: number): boolean => Math.floor(time / 3_600_000) % 24 === 3;
  test.before(async () => {
    product = await world.make("/api/v1/products", { productName: unique("P"), cloudProtocol: 1 });
    point = await world.make("/api/v1/data_points", {
      productIntID: product.id,
      pointDataType: 1,
      dataTransType: 1,
      dataPointID: "temp",
      dataPointName: "Temperature",
      unitSymbol: "°C",
    });
    device = await makeDevice(world, product);
    const rows = ["deviceID,time,temp"];
    const first = Math.ceil((now - 5 * 86_400_000) / stepMs) * stepMs;
    for (let time = first; time < now; time += stepMs)
      rows.push(`${device.deviceID},${new Date(time).toISOString()},${isWarm(time) ? 35 : 20}`);
    const headers = { "Content-Type": "text/csv" };
    const { record } = await world.call("POST", "/api/v1/original_data", `${rows.join("\n")}\n`, { headers });
    await until(
      async () => (await world.call("GET", `/api/v1${record.statusUrl}`)).record.state === "SUCCESS",
      { what: "the import" },
    );
  });

  test("a rule is put together, tried over a week, and saved", async () => {
    const { page } = await web.openIn("/alerts?tab=alertRules");
    await page.getByRole("button", { name: "New" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Alert *").fill("too warm");
    await dialog.getByText("Choose a data point").waitFor();
    await dialog.getByLabel("Data point *").fill(`Temperature (${point.id})`);
    await dialog.getByLabel("Number").fill("30");
    const condition = dialog.getByRole("textbox", { name: "Condition" });
    assert.is(await condition.inputValue(), "dataPoint > 30");
    await dialog.getByText("5 alerts in the last 7 days").waitFor();
    const starts = await dialog.locator("table tbody th").allInnerTexts();
    assert.equal(
      starts.map((text) => isWarm(Date.parse(`${text.trim().replace(" ", "T")}Z`))),
      [true, true, true, true, true],
    );
    assert.equal(
      await dialog.locator("table tbody tr:last-child td:last-child").allInnerTexts(),
      ["35"],
      "the value that began it",
    );
    await dialog.getByLabel("Seconds it must last").fill("7200");
    await dialog.getByText("0 alerts in the last 7 days").waitFor();
    await dialog.getByLabel("Seconds it must last").fill("1200");
    await dialog.getByText("5 alerts in the last 7 days").waitFor();
    await dialog.getByRole("button", { name: "1 d", exact: true }).click();
    await dialog.getByText("1 alert in the last 1 days").waitFor();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    const { page: found } = await world.call("GET", "/api/v1/alert_rules?alertName=too%20warm");
    assert.equal(
      [found.items[0]?.condition, found.items[0]?.duration, found.items[0]?.dataPointIntID],
      ["dataPoint > 30", 1200, point.id],
    );
  });

  test("the alerts are bands on the line, and the number of the condition is a rule across it", async () => {
    const { page } = await web.openIn("/");
    await recordTexts(page);
    await page.goto(`${world.http}/console/products/${product.id}?tab=alertRules`);
    await page.getByRole("button", { name: "New" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Data point *").fill(`Temperature (${point.id})`);
    await dialog.getByLabel("Number").fill("30");
    await dialog.getByText("5 alerts in the last 7 days").waitFor();
    await dialog.getByRole("button", { name: "1 d", exact: true }).click();
    await dialog.getByText("1 alert in the last 1 days").waitFor();
    const [began = "", ended = ""] = (
      await dialog.locator("table tbody tr").first().locator("th, td").allInnerTexts()
    ).map((text) => text.trim());
    await until(
      async () => {
        const { texts } = await drawnChart(page);
        return ["alert", "> 30"].every((word) => texts.some(({ text }) => text === word));
      },
      { what: "the band and the rule to be drawn with their words" },
    );
    const { texts, left, width } = await drawnChart(page);
    const word = texts.find(({ text }) => text === "alert");
    // The range ends now, a day wide.
    const day = 86_400_000;
    const at = Date.now() - day + (((word?.x ?? 0) - left) / width) * day;
    const start = Date.parse(`${began.replace(" ", "T")}Z`);
    assert.ok(Math.abs(at - start) < 10 * 60_000, `${new Date(at).toISOString()} ${began}`);
    await dialog.locator(".plot").hover({ position: { x: (word?.x ?? 0) + 2, y: 40 } });
    await dialog.locator(".readout .status.bad", { hasText: `alert: ${began} – ${ended}` }).waitFor();
    await dialog.getByLabel("Number").fill("500");
    await dialog.getByText("0 alerts in the last 1 days").waitFor();
    await until(async () => (await drawnChart(page)).texts.some(({ text }) => text === "↑ > 500"), {
      what: "the rule that is out of sight to be shown at the edge",
    });
  });

  test("what is wrong with a condition stands under its column; a formula is edited as one", async () => {
    const { page } = await web.openIn(`/products/${product.id}?tab=alertRules`);
    await page
      .getByRole("row", { name: /too warm/ })
      .getByRole("button", { name: "Edit" })
      .click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/alerts in the last 7 days/).waitFor();
    const condition = dialog.getByRole("textbox", { name: "Condition" });
    await condition.fill("abs(dataPoint) > nothing");
    await dialog.getByText("it is edited as a formula").waitFor();
    await dialog.getByText(/nothing is no data point.*\(column 18\)/).waitFor();
    const [line = "", caret = ""] = ((await dialog.locator(".excerpt").textContent()) ?? "").split("\n");
    assert.is(line.slice(caret.indexOf("^")), "nothing");
    await condition.fill("dataPoint > 30 or dataPoint < 0");
    assert.is(await dialog.getByLabel("Number").count(), 2);
    await dialog.getByLabel("Must hold").selectOption("and");
    assert.is(await condition.inputValue(), "dataPoint > 30 and dataPoint < 0");
    await dialog.getByText("0 alerts in the last 7 days").waitFor();
  });

  test("a viewer sees rules, and no way to change them", async () => {
    const user = { username: unique("viewing"), password: "correct horse battery" };
    await world.make("/api/v1/users", { ...user, role: "viewer" });
    const { page } = await web.openIn("/alerts?tab=alertRules", { user });
    await page.getByRole("row", { name: /too warm/ }).waitFor();
    assert.is(await page.getByRole("button", { name: /New|Edit/ }).count(), 0);
  });
});
