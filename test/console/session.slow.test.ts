/** Signing in, in a real browser: flows 2, 6, 7, 8 and 10 of the console. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { makeDevice, makeProduct, unique } from "../factories.js";
import { assert, until } from "../suite.js";
import { consoleSuite, logIn } from "./browser.js";

consoleSuite("console: signing in", (test, world, web) => {
  test("a login leads to the page that was asked for; the token is nowhere that a script looks", async () => {
    const { page, context } = await web.open({ at: "/console/explore?from=-7d" });
    await logIn(page, world.first);
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    assert.match(page.url(), /\/console\/explore\?from=-7d$/);
    await page.getByRole("heading", { name: "Explore" }).waitFor();
    const cookies = await context.cookies();
    assert.equal(
      cookies.map(({ httpOnly, sameSite }) => [httpOnly, sameSite]),
      [[true, "Strict"]],
    );
    const token = cookies[0]?.value ?? "";
    const seen = await page.evaluate<string>(
      "JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}, document.documentElement.outerHTML])",
    );
    assert.ok(token.length > 20 && !seen.includes(token));
    await page.reload();
    await page.getByRole("heading", { name: "Explore" }).waitFor();
    assert.match(page.url(), /from=-7d$/);
  });

  test("wrong passwords are reported, and then how long to wait", async () => {
    const username = unique("guessing");
    await world.make("/api/v1/users", { username, password: "correct horse", role: "viewer" });
    const { page } = await web.open();
    for (let tries = 0; tries < 5; tries++) {
      await logIn(page, { username, password: "wrong" });
      await page.getByRole("alert").filter({ hasText: "wrong password" }).waitFor();
    }
    const told = page.getByRole("alert").filter({ hasText: /Too many tries. The next one in \d+ s/ });
    const wrong = page.getByRole("alert").filter({ hasText: "wrong password" });
    // On a slow machine a try may come after the wait that the one before has cost; the next wait is twice as long.
    for (let tries = 0; tries < 6 && !(await told.isVisible()); tries++) {
      await logIn(page, { username, password: "wrong" });
      await told.or(wrong).waitFor();
    }
    assert.is(await told.isVisible(), true);
    const button = page.getByRole("button", { name: "Log in" });
    assert.is(await button.isDisabled(), true);
    await until(() => button.isEnabled(), { what: "the wait to end" });
  });

  test("a session that ends leaves the page as it is, under a login", async () => {
    const { page, context } = await web.openIn("/explore");
    const typed = page.getByLabel("Device");
    await Promise.all([page.waitForResponse(/deviceID_like=half/), typed.fill("half a na")]);
    await context.clearCookies();
    await typed.fill("half a name");
    await page.getByText("Your session has ended").waitFor();
    assert.is(await page.getByLabel("User name").inputValue(), "admin");
    await page.getByLabel("Password").fill(world.first.password);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("Your session has ended").waitFor({ state: "detached" });
    assert.is(await typed.inputValue(), "half a name");
  });

  test("a logout ends the session, for other windows too", async () => {
    const { page, context } = await web.openIn("/");
    const other = await context.newPage();
    await other.goto(`${world.http}/console/explore`);
    await other.getByRole("navigation", { name: "Pages" }).waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Password").waitFor();
    await other.reload();
    await other.getByLabel("Password").waitFor();
    assert.equal(await context.cookies(), []);
  });

  test("a page of another site can read nothing and change nothing", async () => {
    const { page, context } = await web.openIn("/");
    const product = unique("forged");
    const form = `<!doctype html><form id="f" method="post" enctype="text/plain" action="${world.http}/api/v1/products">
      <input name='{"productName":"${product}","cloudProtocol":1,"x":"' value='"}'></form>`;
    const evil = createServer((_, response) => response.setHeader("Content-Type", "text/html").end(form));
    await new Promise<void>((resolve) => evil.listen(0, "127.0.0.1", resolve));
    const { port } = evil.address() as AddressInfo;
    const attacker = await context.newPage();
    // The same site but for the port, where cookies are sent: what SameSite does not keep out.
    await attacker.goto(`http://127.0.0.1:${port}/`);
    const read = await attacker.evaluate(async (http) => {
      const ask = (path: string, options: RequestInit) =>
        fetch(http + path, { credentials: "include", ...options }).then(
          async (answer) => `${answer.status} ${await answer.text()}`,
          () => "blocked",
        );
      return [
        await ask("/api/v1/me", {}),
        await ask("/api/v1/products", { method: "POST", body: '{"productName":"x","cloudProtocol":1}' }),
        await ask("/api/v1/devices_import", { method: "POST", body: new FormData() }),
        await ask("/api/v1/logout", { method: "POST", mode: "no-cors" }),
      ];
    }, world.http);
    assert.equal(read.slice(0, 3), ["blocked", "blocked", "blocked"]);
    await Promise.all([
      attacker.waitForResponse((response) => response.url().endsWith("/api/v1/products")),
      attacker.evaluate("document.getElementById('f').submit()"),
    ]);
    const { page: found } = await world.call("GET", `/api/v1/products?productName=${product}`);
    assert.is(found.meta.count, 0);
    await page.reload();
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    evil.close();
    evil.closeAllConnections();
  });

  test("values are drawn, and hostile names stay texts", async () => {
    const hostile = `<img src=x onerror=alert(1)>`;
    const product = await makeProduct(world);
    await world.make("/api/v1/data_points", {
      productIntID: product.id,
      dataPointID: "evil",
      dataPointName: hostile,
      pointDataType: 1,
      dataTransType: 1,
    });
    const device = await makeDevice(world, product);
    const points = Array.from(
      { length: 50 },
      (_, i) => `${device.deviceID},evil,${Date.now() - i * 60_000},${i}`,
    );
    await world.call(
      "POST",
      "/api/v1/original_data",
      `deviceID,dataPointID,time,value\n${points.join("\n")}`,
      {
        headers: { "Content-Type": "text/csv" },
      },
    );
    const { page } = await web.openIn(`/explore?d=${device.deviceID}&from=-6h`);
    const reading = page.locator(".readout .reading", { hasText: hostile });
    await until(
      async () => {
        if ((await reading.count()) > 0) return true;
        await page.reload();
        await page.waitForTimeout(300);
        return false;
      },
      { what: "the values to be imported and drawn" },
    );
    assert.match(await reading.innerText(), /0/);
    assert.is(await page.locator("img").count(), 0);
    const { width, height } = (await page.locator(".plot canvas").boundingBox()) ?? { width: 0, height: 0 };
    assert.ok(width > 800 && height > 200, `${width} × ${height}`);
    await page.locator(".plot").focus();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await until(async () => /evil|[1-9]/.test(await reading.innerText()), { what: "the cursor to move" });
  });
});
