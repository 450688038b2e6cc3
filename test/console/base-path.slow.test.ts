/** The console behind a proxy that shows the service below a prefix, in a real browser. */
import { documentBody, layout } from "../dashboards/documents.js";
import { makeDataPoint, makeDevice, makeProduct, unique } from "../factories.js";
import { startProxy } from "../proxy.js";
import { assert } from "../suite.js";
import type { Rec } from "../world.js";
import { consoleSuite, logIn } from "./browser.js";

const prefix = "/plant/tidemark";

consoleSuite(
  "console: below a prefix",
  (test, world, web) => {
    let proxies: Awaited<ReturnType<typeof startProxy>>[] = [];
    let product: Rec;
    test.before(async () => {
      proxies = await Promise.all([true, false].map((keeps) => startProxy(world.http, prefix, keeps)));
      product = await makeProduct(world);
      await makeDataPoint(world, product, { dataPointID: "temp", dataPointName: "Temperature" });
    });
    test.after(async () => {
      await Promise.all(proxies.map((proxy) => proxy.close()));
    });

    for (const [i, name] of ["kept", "removed"].entries()) {
      test(`logging in, lists, live values, links and a share, where the proxy has ${name} it`, async () => {
        const origin = proxies[i]?.origin ?? "";
        const device = await makeDevice(world, product, { deviceName: unique("D") });
        const { page, context } = await web.open({ origin, at: `${prefix}/` });
        const outside: string[] = [];
        context.on("request", (request) => {
          const { protocol, pathname } = new URL(request.url());
          if (protocol === "http:" && !pathname.startsWith(`${prefix}/`)) outside.push(request.url());
        });
        assert.is(new URL(page.url()).pathname, `${prefix}/console/`);
        await logIn(page, world.first);
        await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Devices" }).click();
        await page.waitForURL(`${origin}${prefix}/console/devices**`);
        await page.getByRole("link", { name: String(device.deviceName) }).click();
        await page.waitForURL(`${origin}${prefix}/console/devices/${device.id}**`);
        await page.getByRole("heading", { name: String(device.deviceName) }).waitFor();
        // By the worker that all windows share.
        await world.publish(device, { temp: 21.5 });
        await page.getByText("21.5").first().waitFor();
        await page.reload();
        await page.getByText("21.5").first().waitFor();

        const markdown = "[devices](/console/devices) and [elsewhere](https://example.com/)";
        const panel = { id: "p1", type: "text", title: "Notes", layout, markdown };
        const board = await world.make("/api/v1/dashboards", {
          name: unique("board"),
          document: documentBody([panel]),
        });
        await page.goto(`${origin}${prefix}/console/dashboards/${board.id}`);
        await page.getByRole("link", { name: "devices", exact: true }).click();
        await page.waitForURL(`${origin}${prefix}/console/devices**`);

        const share = await world.make(`/api/v1/dashboards/${board.id}/shares`, { name: "s" });
        const shared = await web.open({ origin, at: String(share.path) });
        await shared.page.getByText("elsewhere").waitFor();
        assert.equal(outside, []);
      });
    }
  },
  { BASE_PATH: prefix },
);
