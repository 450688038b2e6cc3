/** A device's page, in a real browser: values as they come, messages with what was refused, commands with receipts. */
import { makeDevice, unique } from "../factories.js";
import { assert, until } from "../suite.js";
import type { Rec } from "../world.js";
import { consoleSuite } from "./browser.js";

consoleSuite("console: a device", (test, world, web) => {
  let device: Rec;
  test.before(async () => {
    const product = await world.make("/api/v1/products", { productName: unique("P"), cloudProtocol: 1 });
    await world.make("/api/v1/data_points", {
      productIntID: product.id,
      dataPointID: "temp",
      dataPointName: "Temperature",
      pointDataType: 1,
      dataTransType: 1,
      unitSymbol: "°C",
    });
    device = await makeDevice(world, product);
  });

  test("a value is on the screen as it comes, and the line with it after a reload", async () => {
    const { page } = await web.openIn(`/devices/${device.id}`);
    await page.getByText("live", { exact: true }).waitFor();
    await world.publish(device, { temp: 21.75 });
    await page.locator(".values .big", { hasText: "21.75" }).waitFor();
    await world.publish(device, { temp: 22.5 });
    await page.locator(".values .big", { hasText: "22.5" }).waitFor();
    await page.reload();
    await page.locator(".readout .reading", { hasText: "Temperature 22.5" }).waitFor();
  });

  test("messages are shown as they come, hostile ones as texts, with what was refused of them", async () => {
    const { page } = await web.openIn(`/devices/${device.id}?tab=messages`);
    await world.publish(device, { temp: "hot", humm: 1, note: "<script>alert(1)</script>" });
    await page.getByText("<script>alert(1)</script>").first().waitFor();
    await page.getByText(/2 refused: unknown/).waitFor();
    assert.is(await page.locator("main script").count(), 0);
  });

  test("a command is sent, and its receipt shown; without a connected device the page says so", async () => {
    const { page } = await web.openIn(`/devices/${device.id}?tab=commands`);
    await page.getByLabel("Payload").fill('{"vent": "open"}');
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("status").getByText("nobody is there to take it").waitFor();
    const got: string[] = [];
    const client = await world.connect(device);
    client.on("message", (_topic, payload) => got.push(payload.toString()));
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("status").getByText("handed over").waitFor();
    await until(() => got.includes('{"vent": "open"}'), { what: "the command at the device" });
    await page.getByRole("cell", { name: "arrived" }).first().waitFor();
  });

  test("credentials are hidden until they are asked for, and never shown to a viewer", async () => {
    const { page } = await web.openIn(`/devices/${device.id}?tab=access`);
    const token = String(device.token);
    await page.getByText("mosquitto_pub").first().waitFor();
    assert.not.match(await page.locator("main").innerText(), token);
    await page.getByRole("button", { name: "Show" }).click();
    await until(async () => (await page.locator("main").innerText()).includes(token), { what: "the token" });
    const user = { username: unique("viewing"), password: "correct horse battery" };
    await world.make("/api/v1/users", { ...user, role: "viewer" });
    const viewer = await web.openIn(`/devices/${device.id}?tab=access`, { user });
    await viewer.page.getByText(String(device.deviceUsername)).waitFor();
    assert.is(await viewer.page.getByText("Token").count(), 0);
    assert.not.match(await viewer.page.content(), token);
  });

  test("on a phone nothing scrolls sideways", async () => {
    const { page } = await web.openIn(`/devices/${device.id}`, {
      viewport: { width: 360, height: 740 },
      isMobile: true,
      hasTouch: true,
    });
    await page.locator(".values .big").first().waitFor();
    assert.ok(
      (await page.evaluate<number>("document.documentElement.scrollWidth")) <= 360,
      String(await page.evaluate("document.documentElement.scrollWidth")),
    );
  });
});
