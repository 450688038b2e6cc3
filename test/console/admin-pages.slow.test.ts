/** Pages of gateways and streams, and those of the deployment's administrators: tenants, dead letters. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connectAsync } from "mqtt";
import { openDeadLetters } from "../../store/journal/dead-letters.js";
import { makeDataPoint, makeDevice, makeGateway, makeProduct, makeStream, unique } from "../factories.js";
import { provision, startService } from "../flow/support.js";
import { journalRecord } from "../store/journal/support.js";
import { assert, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { consoleSuite } from "./browser.js";

const hostile = "<img src=x onerror=alert(1)>";
const password = "correct horse battery";

consoleSuite("console: gateways, streams, tenants, dead letters", (test, world, web) => {
  const viewer = { username: unique("viewing"), password };
  let product: Rec;
  let gateway: Rec;
  let device: Rec;
  test.before(async () => {
    await world.make("/api/v1/users", { ...viewer, role: "viewer" });
    product = await makeProduct(world);
    const fields = { dataPointID: "temp", dataPointName: "Temperature", upperLimit: 40 };
    await makeDataPoint(world, product, fields);
    gateway = await makeGateway(world, product, { gatewayName: unique(hostile) });
    device = await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id });
  });

  const anyPoint = async () =>
    (await world.call("GET", `/api/v1/data_points?productID=${product.productID}`)).page.items[0]?.id;

  test("a gateway shows the newest values of its devices as its own, by whichever address it is named", async () => {
    await world.publish(device, { temp: 21.5 });
    await world.publish(gateway, { temp: 12.25 });
    const { page } = await web.openIn(`/devices/${gateway.id}`);
    await page.getByRole("heading", { level: 1, name: String(gateway.gatewayName) }).waitFor();
    assert.is(new URL(page.url()).pathname, `/console/gateways/${gateway.id}`);
    const row = page.getByRole("row").filter({ hasText: String(device.deviceName) });
    await row.getByText("Temperature 21.5").waitFor();
    await page.locator(".values .big", { hasText: "12.25" }).waitFor();
    await row.getByRole("link", { name: String(device.deviceName) }).click();
    await page.getByRole("heading", { level: 1, name: String(device.deviceName) }).waitFor();
    await page.getByRole("link", { name: String(gateway.gatewayName) }).waitFor();
    await page.goto(`${world.http}/console/devices/999999999`);
    await page.getByRole("alert").getByText("There is nothing").waitFor();
  });

  test("an alert, the fleet and a search lead to the gateway that they name", async () => {
    await world.publish(gateway, { temp: 50 });
    await world.alertsSettled();
    const { page } = await web.openIn("/alerts");
    const name = String(gateway.gatewayName);
    const heading = page.getByRole("heading", { level: 1, name });
    await page.getByRole("row").filter({ hasText: name }).getByRole("link", { name }).click();
    await heading.waitFor();
    await page.getByRole("link", { name: "Alerts" }).last().click();
    await page.getByRole("row").filter({ hasText: name }).waitFor();
    await page.goto(`${world.http}/console/devices?q=${encodeURIComponent(name)}`);
    await page.getByRole("link", { name }).click();
    await heading.waitFor();
    await page.goto(`${world.http}/console/products`);
    await page.getByRole("heading", { level: 1, name: "Products" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("combobox").fill(name);
    await page.getByRole("dialog").getByRole("option").filter({ hasText: name }).first().click();
    await heading.waitFor();
  });

  test("a gateway receives commands, has a position, and gets its devices on its own page", async () => {
    const { page } = await web.openIn(`/gateways/${gateway.id}?tab=commands`);
    await page.getByLabel("Payload").fill("restart");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("cell", { name: "restart" }).first().waitFor();
    await page.getByRole("link", { name: "Place" }).click();
    await page.getByLabel("Latitude").fill("47.4");
    await page.getByLabel("Longitude").fill("8.5");
    await page.getByRole("button", { name: "Save the place" }).click();
    await page.getByRole("button", { name: "Take the place away" }).waitFor();
    await page.reload();
    await page.locator(".pin.here").waitFor();
    assert.is(await page.getByLabel("Latitude").inputValue(), "47.4");
    await page.getByRole("link", { name: "Devices" }).last().click();
    await page
      .getByRole("row")
      .filter({ hasText: String(device.deviceName) })
      .waitFor();
    await page.getByRole("link", { name: "Access" }).last().click();
    await page.getByText(String(gateway.deviceUsername)).first().waitFor();
    const empty = await makeGateway(world, product);
    await page.goto(`${world.http}/console/gateways/${empty.id}?tab=devices`);
    await page.getByText("No device is on this gateway yet").waitFor();
    assert.match(await page.locator("pre").innerText(), `"gateway":${empty.id}`);
    await page.getByRole("button", { name: "New" }).click();
    const dialog = page.getByRole("dialog");
    const named = `${product.productName} (${product.productID})`;
    await dialog.getByLabel("Product *").fill(named);
    await dialog.locator(`option[value="${named}"]`).waitFor({ state: "attached" });
    await dialog.getByLabel("Name *").fill("On the gateway");
    await dialog.getByLabel("Kind *").selectOption("1");
    await dialog.getByLabel("Device ID *").fill("on-the-gateway");
    await dialog.getByLabel("Protocol *").selectOption("1");
    await dialog.getByRole("button", { name: "Save" }).click();
    // What the product's protocol asks for besides is said by the service.
    await dialog.getByRole("alert").getByText("is required").waitFor();
    await dialog.getByLabel("Log in by").selectOption("1");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByRole("row").filter({ hasText: "On the gateway" }).waitFor();
  });

  test("a stream's data points are chosen, made, moved and taken away", async () => {
    const stream = await makeStream(world, product, { streamDataType: 2, streamName: hostile });
    const first = await makeDataPoint(world, product, { dataPointName: unique("First") });
    const pointsOf = async () =>
      (await world.call("GET", `/api/v1/data_streams/${stream.id}`)).record.dataPointNames;
    const areNow = (...names: readonly unknown[]) =>
      until(async () => JSON.stringify(await pointsOf()) === JSON.stringify(names), { what: `${names}` });
    const { page } = await web.openIn(`/products/${product.id}?tab=dataStreams`);
    await page.getByRole("link", { name: hostile }).click();
    await page.getByText("No data point yet").waitFor();
    await page.getByLabel("Data points: search by name").fill(`${first.dataPointName} (${first.id})`);
    await page.getByRole("button", { name: "Add" }).click();
    await page
      .getByRole("row")
      .filter({ hasText: String(first.dataPointName) })
      .waitFor();
    await page.getByRole("button", { name: "New data point" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Data point *").fill("Second");
    await dialog.getByLabel("Type *").selectOption({ index: 1 });
    await dialog.getByLabel("Direction *").selectOption({ index: 1 });
    await dialog.getByLabel("Key in messages *").fill("second");
    await dialog.getByRole("button", { name: "Save" }).click();
    await areNow(first.dataPointName, "Second");
    await page.getByRole("button", { name: "Second: one place up" }).click();
    await areNow("Second", first.dataPointName);
    const third = await makeDataPoint(world, product, { dataPointName: unique("Third") });
    const { dataPoints } = (await world.call("GET", `/api/v1/data_streams/${stream.id}`)).record;
    const more = { dataPoints: [...(dataPoints as number[]), third.id] };
    assert.is((await world.call("PUT", `/api/v1/data_streams/${stream.id}`, more)).status, 200);
    const row = page.getByRole("row").filter({ hasText: String(first.dataPointName) });
    await row.getByRole("checkbox").check();
    await page.getByRole("button", { name: "Take away" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Take away" }).click();
    await row.waitFor({ state: "detached" });
    assert.equal(await pointsOf(), ["Second", third.dataPointName], "what somebody else has added stays");
    await page.getByLabel("Data points: search by name").fill("Second");
    await page.getByRole("row").filter({ hasText: "Second" }).getByRole("button", { name: "Edit" }).click();
    await dialog.getByLabel("Symbol of the unit").fill("bar");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByRole("cell", { name: "bar" }).waitFor();

    const seen = await web.openIn(`/streams/${stream.id}`, { user: viewer });
    await seen.page.getByRole("row").filter({ hasText: "Second" }).waitFor();
    assert.is(await seen.page.locator("main button, main input").count(), 0);
  });

  test("on a phone nothing scrolls sideways, however long names are", async () => {
    const long = "x".repeat(255);
    const stream = await makeStream(world, product, { streamName: long, dataPoints: [await anyPoint()] });
    const options = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
    const { page } = await web.openIn(`/gateways/${gateway.id}?tab=devices`, options);
    for (const path of [`/gateways/${gateway.id}`, `/streams/${stream.id}`]) {
      await page.locator("tbody tr").first().waitFor();
      assert.is(await page.evaluate("document.documentElement.scrollWidth"), 360, page.url());
      await page.goto(`${world.http}/console${path}`);
    }
    await page.getByRole("heading", { name: long }).waitFor();
    await page.locator("tbody tr").first().waitFor();
    assert.is(await page.evaluate("document.documentElement.scrollWidth"), 360);
  });

  test("the rail says under which page a record of its own page is listed", async () => {
    const { page } = await web.openIn(`/gateways/${gateway.id}`);
    const here = page.locator(".rail [aria-current=page]");
    const stream = await makeStream(world, product, {
      streamName: unique("s"),
      dataPoints: [await anyPoint()],
    });
    for (const [path, name] of [
      [`/gateways/${gateway.id}`, "Devices"],
      [`/streams/${stream.id}`, "Products"],
    ] as const) {
      await page.goto(`${world.http}/console${path}`);
      await here.waitFor();
      assert.is(await here.innerText(), name);
    }
  });

  test("a tenant is made, its administrator's password shown once, and a name that is taken refused", async () => {
    const { page } = await web.openIn("/access?tab=tenants");
    const dialog = page.getByRole("dialog");
    const [tenantName, username] = [unique(hostile), unique("boss")];
    const fill = async (user: string) => {
      await page.getByRole("button", { name: "New" }).click();
      await dialog.getByLabel("Tenant *").fill(tenantName);
      await dialog.getByLabel("User name *").fill(user);
      await dialog.getByRole("button", { name: "Save" }).click();
    };
    await fill(username);
    await dialog.getByText("This is shown once").waitFor();
    const [name, secret = ""] = (await dialog.locator("pre").innerText()).trim().split("\n");
    assert.is(name, username);
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("row").filter({ hasText: tenantName }).waitFor();
    await fill(unique("other"));
    await dialog.getByRole("alert").first().waitFor();
    assert.is(await dialog.getByLabel("Tenant *").inputValue(), tenantName);
    await page.keyboard.press("Escape");
    await page.getByRole("searchbox").fill(tenantName.toUpperCase());
    await page.getByText("Page 1 of 1, 1 in all").waitFor();

    const theirs = await web.openIn("/access?tab=tenants", { user: { username, password: secret } });
    await theirs.page.getByRole("row").filter({ hasText: username }).waitFor();
    assert.is(await theirs.page.getByRole("link", { name: "Tenants" }).count(), 0);
    await theirs.page.goto(`${world.http}/console/messages?tab=setAside`);
    await theirs.page.getByRole("link", { name: "Connections" }).waitFor();
    assert.is(await theirs.page.getByRole("link", { name: "Set aside" }).count(), 0);
  });

  test("a dead letter is shown with its reason and bytes, replayed, and dropped", () =>
    withTempDir(async (dir) => {
      let service = await startService(dir);
      const [own] = (await provision(service, 1)) as [Rec];
      const { deviceUsername, token } = own;
      const credentials = { username: String(deviceUsername), password: String(token), reconnectPeriod: 0 };
      const client = await connectAsync(service.mqtt, credentials);
      for (const n of [1, 2]) await client.publishAsync("data", `{"n":${n},"x":"${hostile}"}`, { qos: 1 });
      await client.endAsync();
      await service.settled();
      const events = (await service.call("GET", `/api/v1/devices/${own.id}/events`)).body;
      const ids = (events.items as Rec[]).map(({ id }) => id).sort((a, b) => a - b);
      await service.stop();
      const aside = await openDeadLetters(join(dir, "set-aside"));
      for (const id of ids) {
        const fields = { device: own.id, tenant: 1, payload: Buffer.from('{"n":1}') };
        const record = journalRecord(id, Date.now() * 1000, fields);
        await aside.add("series", record, "it needs more than 192 MiB of memory", Date.now());
      }
      service = await startService(dir);
      const origin = String(service.addresses.http);
      const first = JSON.parse(await readFile(join(dir, "first-start.json"), "utf8")) as typeof world.first;
      const { page } = await web.openIn("/system", { origin, user: first });
      await page.getByRole("link", { name: /2 messages .* set aside/ }).click();
      const items = page.locator(".messages > li");
      await items.nth(1).locator("summary").click();
      await page.getByText("it needs more than 192 MiB of memory").waitFor();
      await page.getByRole("link", { name: "flow-0" }).waitFor();
      assert.match(await page.locator(".bytes").innerText(), '{"n":1,"x":"<img');
      await page.getByRole("button", { name: "Try it again" }).click();
      await page.getByRole("status").getByText(`Message ${ids[0]} has had its effect on: points`).waitFor();
      await until(async () => (await items.count()) === 1, { what: "the other one alone" });
      await items.locator("summary").click();
      await page.getByRole("button", { name: /^Give it up/ }).click();
      await page.getByRole("alertdialog").getByRole("button", { name: "Give it up" }).click();
      await page.getByText("Nothing is set aside").waitFor();
      assert.is((await service.call("GET", "/api/v1/set_aside")).text, "[]");
      await page.close();
      await service.stop();
    }));
});
