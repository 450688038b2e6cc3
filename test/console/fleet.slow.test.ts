/** The table of the fleet, and what is done to many of its devices at once, in a real browser. Flow 12 of the console. */
import type { MqttClient } from "mqtt";
import type { Page } from "playwright-core";
import { csvOf, ended, importFile } from "../api/transfer.js";
import { deviceBody, makeGroup, makeProduct, productBody, unique } from "../factories.js";
import { assert, until } from "../suite.js";
import type { Rec } from "../world.js";
import { consoleSuite } from "./browser.js";

const devicesMade = 2100;
const rowNodesMax = 80;

consoleSuite("console: the fleet", (test, world, web) => {
  let product: Rec;
  let group: Rec;
  test.before(async () => {
    product = await makeProduct(world);
    group = await makeGroup(world, product, { groupName: "Night shift" });
    const rows = Array.from({ length: devicesMade }, (_, i) =>
      deviceBody(product, {
        deviceID: `st-${String(i).padStart(4, "0")}`,
        deviceName: i === 0 ? "<img src=x onerror=alert(1)>" : `Station ${String(i).padStart(4, "0")}`,
      }),
    );
    const { state } = await ended(world, await importFile(world, csvOf(rows)));
    assert.is(state, "SUCCESS");
  });

  const found = async (query: string) => (await world.call("GET", `/api/v1/fleet?${query}`)).page.items;
  const rowsOf = (page: Page) => page.locator(".fleet-body .fleet-row");
  const counted = (page: Page, text: string) => page.getByRole("status").getByText(text).waitFor();
  const begin = async (
    page: Page,
    action: string,
    fill: (dialog: ReturnType<Page["getByRole"]>) => unknown,
  ) => {
    await page.getByRole("toolbar").getByRole("button", { name: action, exact: true }).click();
    const dialog = page.getByRole("dialog");
    await fill(dialog);
    await dialog.getByRole("button", { name: new RegExp(`^${action} \\(`) }).click();
    await dialog.waitFor({ state: "detached" });
  };

  test("the rows fill the space that the page leaves: it does not scroll, and nothing covers them", async () => {
    for (const [width, bar] of [
      [1024, 0],
      [360, 56],
    ] as const) {
      const { page } = await web.openIn("/devices?sort=deviceName", { viewport: { width, height: 780 } });
      await page.getByRole("link", { name: "Station 0001" }).waitFor();
      assert.equal(
        await page.evaluate("[document.documentElement.scrollHeight, document.documentElement.scrollWidth]"),
        [780, width],
      );
      const { y = 0, height = 0 } = (await page.locator(".fleet-body").boundingBox()) ?? {};
      assert.ok(height >= 300 && y + height <= 780 - bar, `${width}: ${y} + ${height}`);
      assert.is(
        await page
          .locator(".fleet-body .name")
          .nth(1)
          .evaluate<boolean, { scrollWidth: number; clientWidth: number }>(
            ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth,
          ),
        false,
      );
    }
  });

  test("thousands of rows are scrolled to their end with few nodes, sorted and filtered by the address", async () => {
    const { page } = await web.openIn("/devices?sort=deviceName");
    await counted(page, `${devicesMade} devices`);
    await page.getByRole("row").filter({ hasText: "<img src=x" }).waitFor();
    assert.is(await page.locator("main img").count(), 0);
    assert.ok((await rowsOf(page).count()) <= rowNodesMax);
    await page.evaluate("document.querySelector('.fleet-body').scrollTop = 1e9");
    await page.getByRole("link", { name: `Station ${devicesMade - 1}` }).waitFor();
    assert.ok((await rowsOf(page).count()) <= rowNodesMax, String(await rowsOf(page).count()));

    // A user who comes back from a device finds the rows where they were.
    await page.getByRole("link", { name: `Station ${devicesMade - 1}` }).click();
    await page.getByRole("heading", { name: `Station ${devicesMade - 1}` }).waitFor();
    await page.goBack();
    await page.getByRole("link", { name: `Station ${devicesMade - 1}` }).waitFor();

    await page.getByLabel("Order").selectOption("-deviceName");
    await until(
      async () => (await rowsOf(page).first().innerText()).startsWith(`Station ${devicesMade - 1}`),
      {
        what: "the order to be turned",
      },
    );
    await page.keyboard.press("/");
    await page.keyboard.type("st-00");
    await counted(page, "100 devices");
    assert.match(page.url(), /sort=-deviceName&q=st-00$/);
    await page.getByRole("link", { name: "Station 0099" }).click();
    await page.getByRole("heading", { name: "Station 0099" }).waitFor();
    await page.goBack();
    await counted(page, "100 devices");
    assert.is(await page.getByRole("searchbox").inputValue(), "st-00");
    assert.is(await page.getByLabel("Order").inputValue(), "-deviceName");
  });

  test("rows that are refused when they come into sight say why, and come by themselves or when asked for again", async () => {
    const { page } = await web.openIn("/devices?sort=deviceName");
    await counted(page, `${devicesMade} devices`);
    const refusals = [
      { status: 503, errorCode: "UNAVAILABLE", message: "busy for a moment" },
      { status: 400, errorCode: "INVALID", message: "this page is not liked" },
    ];
    await page.route(/\/api\/v1\/fleet\?.*offset=/, async (route) => {
      const { status, ...body } = refusals[0] ?? { status: 200 };
      if (status === 200) return route.continue();
      await route.fulfill({ status, json: body });
    });
    await page.evaluate("document.querySelector('.fleet-body').scrollTop = 1e9");
    await page.getByRole("alert").getByText("busy for a moment").waitFor();
    refusals.shift();
    const alert = page.getByRole("alert").filter({ hasText: "this page is not liked" });
    await alert.waitFor();
    refusals.shift();
    await alert.getByRole("button").click();
    await page.getByRole("link", { name: `Station ${devicesMade - 1}` }).waitFor();
    assert.is(await page.getByRole("alert").count(), 0);
  });

  test("a command to all that match: what was not reached and why, receipts as they come, the task in the list", async () => {
    const devices = (await found("q=st-01&_sort=deviceID&_limit=3")).map(({ id }) => id);
    const clients: MqttClient[] = [];
    const got: string[] = [];
    for (const id of devices) {
      const client = await world.connect((await world.call("GET", `/api/v1/devices/${id}`)).record);
      client.on("message", (_topic, payload) => got.push(payload.toString()));
      clients.push(client);
    }
    const { page } = await web.openIn("/devices?q=st-01");
    await page.getByLabel("All 100 that match").check();
    await page.getByText("100 chosen").waitFor();
    await begin(page, "Command", (dialog) => dialog.getByLabel("Payload").fill('{"vent": "open"}'));
    const panel = page.getByRole("region", { name: "For many devices" });
    await panel.getByText("3 acknowledged").waitFor();
    await panel.getByText("97 not reached").waitFor();
    await panel.getByText(/nobody takes the command/).waitFor();
    assert.equal(got, Array(3).fill('{"vent": "open"}'));
    await page.reload();
    await panel.getByText("3 acknowledged").waitFor();
    await panel.getByRole("link", { name: "Tasks" }).click();
    await page.getByRole("table").getByText("3 acknowledged").waitFor();
    assert.match(page.url(), /system\?tab=tasks&task=/);
    for (const client of clients) await client.endAsync();
  });

  test("some rows are blocked and let in again, and put into a group; a wrong product is shown as a reason", async () => {
    const { page } = await web.openIn("/devices?q=st-02&sort=deviceName");
    for (const name of ["Station 0201", "Station 0202"]) await page.getByLabel(name).check();
    await begin(page, "Block", () => undefined);
    await until(async () => (await found("q=st-02&blocked=1")).length === 2, { what: "two to be blocked" });
    await page.getByRole("row").filter({ hasText: "Station 0201" }).getByText("blocked").waitFor();

    await page.getByLabel("Station 0201").check();
    await begin(page, "Add to group", async (dialog) => {
      await dialog.getByLabel("Group").fill(`Night shift (${group.id})`);
    });
    await until(async () => (await found(`groupIntID=${group.id}`)).length === 1, { what: "a member" });
    const other = await makeProduct(world);
    const strange = await world.make("/api/v1/devices", deviceBody(other, { deviceName: unique("Strange") }));
    await page.goto(`${world.http}/console/devices?q=${strange.deviceName}`);
    await page.getByLabel(String(strange.deviceName), { exact: true }).check();
    await begin(page, "Add to group", async (dialog) => {
      await dialog.getByLabel("Group").fill(`Night shift (${group.id})`);
    });
    await page.getByText("the device is of another product than the group").waitFor();
  });

  test("deleting asks for their number; another filter forgets what was chosen; a viewer can choose nothing", async () => {
    const { page } = await web.openIn("/devices?q=st-20");
    await counted(page, "100 devices");
    await page.getByLabel("All 100 that match").check();
    await page.getByRole("searchbox").fill("st-2099");
    await counted(page, "1 devices");
    await page.getByLabel("All 1 that match").check();
    await page.getByRole("toolbar").getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog");
    const sure = dialog.getByRole("button", { name: "Delete (1)" });
    assert.ok(await sure.isDisabled());
    await dialog.getByLabel("Type 1 to delete them").fill("2");
    assert.ok(await sure.isDisabled());
    await dialog.getByLabel("Type 1 to delete them").fill("1");
    await sure.click();
    await page.getByText("Nothing matches.").waitFor();
    assert.is((await found("q=st-2099")).length, 0);
    assert.is((await found("q=st-2098")).length, 1);

    const user = { username: unique("viewing"), password: "correct horse battery" };
    await world.make("/api/v1/users", { ...user, role: "viewer" });
    const viewer = await web.openIn("/devices?q=st-03", { user });
    await counted(viewer.page, "100 devices");
    await rowsOf(viewer.page).first().waitFor();
    assert.is(await viewer.page.getByRole("checkbox").count(), 0);
  });

  test("a refusal by the service is shown in the dialog, which keeps what was typed", async () => {
    const { page, context } = await web.openIn("/devices?q=st-04");
    await page.getByLabel("All 100 that match").check();
    await page.getByRole("toolbar").getByRole("button", { name: "Command" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Topic").fill("not/#/this");
    await dialog.getByLabel("Payload").fill("x");
    await dialog.getByRole("button", { name: "Command (100)" }).click();
    await dialog.getByRole("alert").getByText("topic").waitFor();
    await context.route("**/devices/bulk", (route) => route.abort());
    await dialog.getByLabel("Topic").fill("this");
    await dialog.getByRole("button", { name: "Command (100)" }).click();
    await dialog.getByRole("alert").getByText("does not answer").waitFor();
    assert.is(await dialog.getByLabel("Payload").inputValue(), "x");
  });
});

consoleSuite(
  "console: the fleet of a deployment in variant B",
  (test, world, web) => {
    test("states and protocols are shown as in variant A", async () => {
      const headers = { "Api-Variant": "A" };
      const product = await world.make("/api/v1/products", productBody({ productName: "Pump" }), { headers });
      const device = await world.make("/api/v1/devices", deviceBody(product, { deviceName: "Pump 1" }), {
        headers,
      });
      const { page } = await web.openIn(`/devices/${device.id}`);
      await page.getByRole("heading", { name: "Pump 1" }).waitFor();
      await page.getByText("offline").first().waitFor();
      await page.goto(`${world.http}/console/products/${product.id}`);
      await page.getByText("MQTT", { exact: false }).first().waitFor();
      assert.not.match(await page.locator("main").innerText(), "undefined");
    });
  },
  { API_VARIANT: "B" },
);
