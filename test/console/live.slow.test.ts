/** One stream for all windows, and what becomes of it when the service or the session goes: flows 19 and 20. */
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { makeDataPoint, makeDevice, makeProduct, unique } from "../factories.js";
import { provision, type RunningService, startService } from "../flow/support.js";
import { assert, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { consoleSuite, logIn } from "./browser.js";

const shown = (page: Page, value: string) => page.locator(".values .big", { hasText: value }).waitFor();
const isLive = (page: Page) => page.getByText("live", { exact: true }).waitFor();
const post = (service: RunningService, device: Rec, n: number) =>
  fetch(`${service.addresses.http}/api/v1/uplinks/data`, {
    method: "POST",
    headers: {
      Authorization: `Basic ${Buffer.from(`${device.deviceUsername}:${device.token}`).toString("base64")}`,
      "Content-Type": "application/json",
    },
    body: JSON.stringify({ n }),
  });

consoleSuite("console: live", (test, world, web) => {
  const streams = async (): Promise<number> => {
    const { text } = await world.call("GET", "/metrics");
    return Number(/^tidemark_live_feeds (\d+)$/m.exec(text)?.[1] ?? Number.NaN);
  };
  const streamsAre = (count: number) =>
    until(async () => (await streams()) === count, { what: `${count} streams`, timeoutMs: 30_000 });
  async function station(): Promise<Rec> {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp" });
    return makeDevice(world, product);
  }

  test("windows share one stream, each gets the events of its own device, and it ends with the last of them", async () => {
    const [one, other] = [await station(), await station()];
    await streamsAre(0);
    const { page, context } = await web.openIn(`/devices/${one.id}`);
    const second = await context.newPage();
    await second.goto(`${world.http}/console/devices/${other.id}`);
    const third = await context.newPage();
    await third.goto(`${world.http}/console/`);
    await third.getByRole("heading", { name: "Overview" }).waitFor();
    await isLive(page);
    await isLive(second);
    await streamsAre(1);
    await world.publish(one, { temp: 11.5 });
    await world.publish(other, { temp: 22.5 });
    await shown(page, "11.5");
    await shown(second, "22.5");
    assert.is(await page.locator(".values .big", { hasText: "22.5" }).count(), 0);
    await second.close();
    await world.publish(one, { temp: 12.25 });
    await shown(page, "12.25");
    await page.close();
    await third.close();
    await streamsAre(0);
  });

  test("the overview counts what comes without being asked again", async () => {
    const device = await station();
    const { page } = await web.openIn("/");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await streamsAre(1);
    await page.waitForTimeout(2500);
    let asked = 0;
    page.on("request", (request) => {
      if (request.url().endsWith("/overview")) asked++;
    });
    const client = await world.connect(device);
    await page.getByText("1 online").waitFor({ timeout: 8000 });
    await client.endAsync();
    await page.getByText("0 online").waitFor({ timeout: 8000 });
    assert.ok(asked <= 2, `${asked} questions`);
  });

  test("without a worker that windows share, each has a stream of its own, and none while it is hidden", async () => {
    const device = await station();
    const { page, context } = await web.open();
    await context.addInitScript("delete globalThis.SharedWorker");
    await page.goto(`${world.http}/console/devices/${device.id}`);
    await logIn(page, world.first);
    await isLive(page);
    const second = await context.newPage();
    await second.goto(`${world.http}/console/devices/${device.id}`);
    await isLive(second);
    await streamsAre(2);
    await world.publish(device, { temp: 7.125 });
    await shown(page, "7.125");
    await shown(second, "7.125");

    const hide = (hidden: boolean) =>
      second.evaluate(
        `Object.defineProperty(document, "hidden", { configurable: true, value: ${hidden} });
         document.dispatchEvent(new Event("visibilitychange"))`,
      );
    await hide(true);
    await streamsAre(1);
    await world.publish(device, { temp: 8.25 });
    await shown(page, "8.25");
    assert.is(
      await second.locator(".values .big", { hasText: "8.25" }).count(),
      0,
      "a hidden one holds none",
    );
    await hide(false);
    await shown(second, "8.25");
    await streamsAre(2);
  });

  test("a logout in one window is one in all, and another user sees nothing of the one before", async () => {
    const device = await station();
    const other = { username: unique("someone"), password: "correct horse" };
    await world.make("/api/v1/users", { ...other, role: "viewer" });
    const { page, context } = await web.openIn(`/devices/${device.id}`);
    const second = await context.newPage();
    await second.goto(`${world.http}/console/devices`);
    await second.getByRole("heading", { name: "Devices" }).waitFor();
    await isLive(page);
    await second.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("User name").waitFor();
    assert.is(await page.getByText(String(device.deviceName)).count(), 0);
    await streamsAre(0);
    await logIn(second, world.first);
    await isLive(page);
    await page.getByText(String(device.deviceName)).first().waitFor();

    await second.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("User name").waitFor();
    await logIn(page, other);
    await isLive(page);
    await second.getByText(`${other.username} viewer`).waitFor();
  });

  test("where no stream is to be had the values are asked for, and no page says that the service is away", async () => {
    const device = await station();
    const { page, context } = await web.open();
    await context.addInitScript("delete globalThis.SharedWorker");
    await page.route(/\/api\/v1\/live/, (route) =>
      route.fulfill({
        status: 403,
        json: { errorCode: "RESOURCE_LIMITED", message: "too many", errors: {} },
      }),
    );
    await page.goto(`${world.http}/console/devices/${device.id}`);
    await logIn(page, world.first);
    await page.getByText("not live").waitFor();
    await world.publish(device, { temp: 17.25 });
    await shown(page, "17.25");
    assert.is(await page.locator(".banner").count(), 0);
  });

  /** Without one that the page has given up and the service has not noticed yet: a new one is heard for longer. */
  async function streamsLeft(page: Page): Promise<number> {
    let fewest = await streams();
    for (let looks = 0; fewest > 2 && looks < 10; looks++) {
      await page.waitForTimeout(50);
      fewest = Math.min(fewest, await streams());
    }
    return fewest;
  }

  test("who steps through devices fast has two streams at most, and is heard where he rests", async () => {
    const devices: Rec[] = [];
    for (let i = 0; i < 12; i++) devices.push(await station());
    await streamsAre(0);
    const { page } = await web.openIn(`/devices/${devices[0]?.id}`);
    await isLive(page);
    let most = 0;
    for (const { id } of devices.slice(1)) {
      await page.evaluate(
        `history.pushState(null, "", "/console/devices/${id}"); dispatchEvent(new PopStateEvent("popstate"))`,
      );
      await page.waitForTimeout(200);
      most = Math.max(most, await streamsLeft(page));
    }
    assert.ok(most <= 2, `${most} streams`);
    await streamsAre(1);
    await isLive(page);
    await world.publish(devices.at(-1) as Rec, { temp: 41.5 });
    await shown(page, "41.5");
  });

  test("what a page asks by itself says so, and what a person does says that", async () => {
    const { page, context } = await web.open();
    await context.addInitScript("delete globalThis.SharedWorker");
    await page.route(/\/api\/v1\/live/, (route) => route.abort());
    await page.goto(`${world.http}/console/`);
    await logIn(page, world.first);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const word = async (wanted: string) => {
      const request = await page.waitForRequest(
        (one) => one.url().includes("/overview") && one.headers()["x-tidemark"] === wanted,
        { timeout: 30_000 },
      );
      return request.headers()["x-tidemark"];
    };
    assert.is(await word("poll"), "poll");
    await page.keyboard.press("Shift");
    assert.is(await word("1"), "1");
    assert.is(await word("poll"), "poll");
  });

  test("a session that is ended elsewhere ends on a page that asks nothing", async () => {
    const user = { username: unique("ended"), password: "correct horse" };
    const { id } = await world.make("/api/v1/users", { ...user, role: "viewer" });
    const { page } = await web.openIn("/products", { user });
    await streamsAre(1);
    await world.call("PUT", `/api/v1/users/${id}`, { password: "another horse" });
    await page.getByText("Your session has ended").waitFor({ timeout: 40_000 });
    await page.getByLabel("Password").fill("another horse");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("Your session has ended").waitFor({ state: "detached" });
    await streamsAre(1);
  });

  test("a device that is deleted ends nothing for the others", async () => {
    const [one, other] = [await station(), await station()];
    const { page, context } = await web.openIn(`/devices/${other.id}`);
    await isLive(page);
    const second = await context.newPage();
    await second.goto(`${world.http}/console/devices/${one.id}`);
    await isLive(second);
    await streamsAre(1);
    await world.call("DELETE", `/api/v1/devices?ids=${other.id}`);
    const third = await context.newPage();
    const more = await station();
    await third.goto(`${world.http}/console/devices/${more.id}`);
    await isLive(third);
    await world.publish(one, { temp: 31.5 });
    await shown(second, "31.5");
    await world.publish(more, { temp: 32.5 });
    await shown(third, "32.5");
  });

  test("killed under an open page the service is said to be away, then back, and nothing is missing", () =>
    withTempDir(async (dir) => {
      let service = await startService(dir);
      const origin = String(service.addresses.http);
      const [device] = (await provision(service, 1)) as [Rec];
      const first = JSON.parse(await readFile(`${dir}/first-start.json`, "utf8")) as typeof world.first;
      const { page } = await web.openIn(`/devices/${device.id}`, { origin, user: first });
      await isLive(page);
      assert.is((await post(service, device, 1.5)).status, 204);
      await shown(page, "1.5");
      await service.kill();
      await page.locator(".banner", { hasText: "does not answer" }).waitFor();
      assert.is(await page.getByText("does not answer").count(), 1, "said once");
      await shown(page, "1.5");
      service = await startService(dir, { HTTP_PORT: new URL(origin).port });
      const startedAt = performance.now();
      assert.is((await post(service, device, 2.5)).status, 204);
      await page.locator(".banner", { hasText: "is back" }).waitFor();
      assert.ok(performance.now() - startedAt < 5_000, "it is back within 5 s");
      await shown(page, "2.5");
      await isLive(page);
      await post(service, device, 3.5);
      await shown(page, "3.5");
      await page.locator(".banner").waitFor({ state: "detached" });
      await page.close();
      await service.stop();
    }));
});
