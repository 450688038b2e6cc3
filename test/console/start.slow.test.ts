/** The first run, in a real browser: flows 4 and 5 of the console. */
import { assert, until } from "../suite.js";
import type { Rec } from "../world.js";
import { consoleSuite } from "./browser.js";

consoleSuite("console: the first run", (test, world, web) => {
  test("from nothing to a message on the screen; a misspelt key is shown, and one click repairs it", async () => {
    const { page } = await web.openIn("/");
    await page.getByRole("link", { name: "Connect a first device" }).click();
    await page.getByLabel("Product").fill("Greenhouse");
    await page.getByLabel("Device ID").fill("first-1");
    await page.getByRole("button", { name: "Make both" }).click();
    await page.getByText("mosquitto_pub").first().waitFor();
    const { page: found } = await world.call("GET", "/api/v1/devices?deviceID=first-1");
    const device = found.items[0] as Rec;

    await world.publish(device, { tmep: 21.5 });
    await page.getByText("A message has come ✓").waitFor();
    await page.getByText("is no data point of this product; there is temp.").waitFor();
    await page.getByRole("button", { name: "Make tmep a data point" }).click();
    await page.getByText("It has become points ✓").waitFor();
    await until(async () => (await page.getByRole("button", { name: /^Make tmep/ }).count()) === 0, {
      what: "nothing to be left to mend",
    });

    await world.publish(device, { temp: 22.25 });
    await page.getByText("22.25").first().waitFor();
    await page.getByRole("link", { name: "To the device" }).click();
    await page.locator(".values .big", { hasText: "22.25" }).waitFor();
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByText("1 online").or(page.getByText("1 offline")).first().waitFor();
  });

  test("a payload in no known form is shown as that; a name that is taken stays in the form with the reason", async () => {
    const { page } = await web.openIn("/start");
    await page.getByLabel("Device ID").fill("first-1");
    await page.getByLabel("Product").fill("Another");
    await page.getByRole("button", { name: "Make both" }).click();
    await page.getByRole("alert").waitFor();
    assert.is(await page.getByLabel("Device ID").inputValue(), "first-1");
  });
});

consoleSuite("console: the fleet", (test, world, web) => {
  test("a thousand devices are one table: the last row is there at once, with few rows in the page", async () => {
    const product = await world.make("/api/v1/products", { productName: "Many", cloudProtocol: 1 });
    const rows = Array.from({ length: 1000 }, (_, i) => i);
    for (let from = 0; from < rows.length; from += 50) {
      await Promise.all(
        rows.slice(from, from + 50).map((i) =>
          world.make("/api/v1/devices", {
            productID: product.productID,
            deviceID: `many-${String(i).padStart(4, "0")}`,
            deviceName: `Many ${i}`,
            deviceType: 1,
            upLinkSystem: 1,
            cloudProtocol: 1,
            authType: 1,
          }),
        ),
      );
    }
    const { page } = await web.openIn("/devices?sort=deviceID");
    await page.getByText("1000 devices").waitFor();
    await page.getByText("many-0000").waitFor();
    await page.locator(".fleet-body").evaluate<void, { scrollTop: number; scrollHeight: number }>((body) => {
      body.scrollTop = body.scrollHeight;
    });
    await page.getByText("many-0999").waitFor();
    assert.ok((await page.locator(".fleet-body .fleet-row").count()) < 80);
    await page.getByRole("searchbox").fill("many-0500");
    await page.getByText("1 devices").waitFor();
    await page.getByText("many-0500").waitFor();
    await page.reload();
    await page.getByText("many-0500").waitFor();
  });
});
