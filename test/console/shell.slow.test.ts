/** What the shell keeps and gives up: sessions that end, answers that break off, addresses, records named in forms. */
import type { Page, Route } from "playwright-core";
import { makeDevice, makeProduct, unique } from "../factories.js";
import { assert, until } from "../suite.js";
import { consoleSuite } from "./browser.js";

consoleSuite("console: the shell", (test, world, web) => {
  async function logInAgain(
    page: Page,
    { username, password }: { username: string; password: string } = world.first,
  ): Promise<void> {
    const login = page.getByRole("dialog", { name: "Log in" });
    await login.getByLabel("User name").fill(username);
    await login.getByLabel("Password").fill(password);
    await login.getByRole("button", { name: "Log in" }).click();
  }
  const user = async (role: string) => {
    const made = { username: unique(role), password: "correct horse battery" };
    await world.make("/api/v1/users", { ...made, role });
    return made;
  };

  test("a session that ends under a form gives it back as it was typed, and what is asked goes on", async () => {
    const name = unique("kept");
    const { page, context } = await web.openIn("/products");
    await page.getByRole("button", { name: "New" }).click();
    const form = page.getByRole("dialog", { name: /: new/i });
    await form.getByLabel("Product *").fill(name);
    await form.getByLabel("Protocol *").selectOption("1");
    await context.clearCookies();
    await form.getByRole("button", { name: "Save" }).click();
    await page.getByText("Your session has ended").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await logInAgain(page);
    await page.getByText("Your session has ended").waitFor({ state: "detached" });
    assert.is(await form.getByLabel("Product *").inputValue(), name);
    await form.getByRole("button", { name: "Save" }).click();
    await form.waitFor({ state: "detached" });
    await page.getByRole("row").filter({ hasText: name }).waitFor();
  });

  test("what a page asks for again and again goes on after the login", async () => {
    const { page, context } = await web.openIn("/system?tab=tasks");
    await page.getByRole("heading", { name: "System" }).waitFor();
    await context.clearCookies();
    await page.getByText("Your session has ended").waitFor();
    const polls: number[] = [];
    page.on("response", (one) => /\/api\/v1\/tasks/.test(one.url()) && polls.push(one.status()));
    await logInAgain(page);
    await until(() => polls.filter((status) => status === 200).length >= 2, { what: "two more answers" });
    assert.is(await page.getByText("That did not work").count(), 0);
  });

  test("another user who logs in over the page sees nothing of it", async () => {
    const viewer = await user("viewer");
    const { page, context } = await web.openIn("/explore");
    await context.clearCookies();
    await page.getByLabel("Device").fill("of the first one");
    await page.getByText("Your session has ended").waitFor();
    // A reload takes its time, and the old page is there until it ends.
    await context.route("**/console/explore*", async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      await route.continue();
    });
    await page.evaluate(`new MutationObserver(() => {
      if (document.querySelector("dialog.overlay") === null) sessionStorage.setItem("opened", "yes");
    }).observe(document.body, { childList: true, subtree: true })`);
    const reloaded = page.waitForRequest((request) => request.isNavigationRequest());
    await logInAgain(page, viewer);
    await reloaded;
    await page.locator(".you", { hasText: viewer.username }).waitFor();
    assert.is(await page.getByLabel("Device").inputValue(), "");
    assert.is(await page.evaluate("sessionStorage.getItem('opened')"), null, "the page before stayed shut");
  });

  test("a logout that the service has not taken is none, says so, and can be tried again", async () => {
    const { page, context } = await web.openIn("/");
    await page.evaluate("sessionStorage.setItem('tidemark.task.1', '{}')");
    await context.route("**/api/v1/logout", (route) => route.abort());
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("alert").filter({ hasText: "You are still logged in" }).waitFor();
    assert.is((await context.cookies()).length, 1);
    await context.unroute("**/api/v1/logout");
    await page.getByRole("button", { name: "Try again to log out" }).click();
    await page.getByLabel("Password").waitFor();
    assert.equal(await context.cookies(), []);
    assert.is(await page.evaluate("sessionStorage.length"), 0, "what tasks were asked for is gone");
  });

  test("an answer that breaks off in the middle, or a proxy's in its place, is asked for once more", async () => {
    const { page, context } = await web.openIn("/explore");
    const answers: ((route: Route) => Promise<void>)[] = [
      (route) => route.fulfill({ contentType: "application/json", body: '{"items": [{"id": 1, "pro' }),
      (route) => route.fulfill({ status: 502, contentType: "text/html", body: "<h1>Bad Gateway</h1>" }),
      (route) => route.fulfill({ status: 504, contentType: "text/html", body: "<h1>Timeout</h1>" }),
    ];
    const name = (await makeProduct(world)).productName as string;
    await context.route("**/api/v1/products?*", (route) =>
      (answers.shift() ?? ((one) => one.continue()))(route),
    );
    await page.getByRole("link", { name: "Products" }).first().click();
    await page.getByRole("alert").filter({ hasText: "The service does not answer" }).waitFor();
    await page.getByRole("row").filter({ hasText: name }).waitFor();
    assert.is(answers.length, 0);
    assert.is(await page.getByText("The service does not answer").count(), 0);
  });

  test("the first link leads the keyboard to the page", async () => {
    const { page } = await web.openIn("/products?q=none");
    await page.getByRole("searchbox").waitFor();
    await page.evaluate("document.activeElement?.blur()");
    await page.locator(".skip").focus();
    await page.keyboard.press("Enter");
    await until(() => page.evaluate<boolean>("document.activeElement?.id === 'page'"), {
      what: "the page to have the keyboard",
    });
    assert.match(page.url(), /\/console\/products\?q=none#page$/);
  });

  test("what changes the view of a page does not scroll it; another page begins at its top", async () => {
    const prefix = unique("tall");
    await Promise.all(
      Array.from({ length: 45 }, (_, i) =>
        world.make("/api/v1/products", { productName: `${prefix}-${i}`, cloudProtocol: 1 }),
      ),
    );
    const { page } = await web.openIn(`/products?q=${prefix}`, { viewport: { width: 1440, height: 400 } });
    await page.getByText("Page 1 of").waitFor();
    const scrolled = () => page.evaluate<number>("scrollY");
    await page.getByRole("button", { name: "Next page" }).click();
    await page.getByText("Page 2 of").waitFor();
    assert.ok((await scrolled()) > 100, `${await scrolled()}`);
    await page
      .getByRole("link", { name: `${prefix}-` })
      .last()
      .click();
    await page.getByRole("heading", { name: prefix }).waitFor();
    assert.is(await scrolled(), 0);
  });

  test("a form sends what was changed in it, and nothing of what others have changed meanwhile", async () => {
    const name = unique("of several");
    const product = await makeProduct(world, { productName: name });
    const { page, context } = await web.openIn(`/products?q=${name}`);
    await page.getByRole("row").filter({ hasText: name }).getByRole("button", { name: "Edit" }).click();
    const form = page.getByRole("dialog", { name: /: edit/i });
    await form.getByLabel("Description").waitFor();
    await world.call("PUT", `/api/v1/products/${product.id}`, { productName: `${name} renamed` });
    // Whatever is asked again after a gap is: a session that ended is one.
    await context.clearCookies();
    await form.getByLabel("Description").fill("mine");
    await form.getByRole("button", { name: "Save" }).click();
    const list = page.waitForResponse((one) => /\/products\?/.test(one.url()) && one.ok());
    await logInAgain(page);
    await list;
    await form.getByRole("button", { name: "Save" }).click();
    await form.waitFor({ state: "detached" });
    const { record } = await world.call("GET", `/api/v1/products/${product.id}`);
    assert.equal([record.productName, record.description], [`${name} renamed`, "mine"]);
  });

  test("a click beside a form discards nothing", async () => {
    const { page } = await web.openIn("/");
    await page.getByRole("button", { name: "Password" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Present password").fill("half");
    await page.mouse.click(700, 890);
    await page.waitForTimeout(100);
    assert.is(await dialog.getByLabel("Present password").inputValue(), "half");
  });

  test("a field names the record that it holds, however many there are, and asks for what is typed once", async () => {
    const first = await makeProduct(world, { productName: unique("the oldest") });
    const point = await world.make("/api/v1/data_points", {
      productIntID: first.id,
      ...{ dataPointID: "own", dataPointName: "Own name", pointDataType: 1, dataTransType: 1 },
    });
    for (let i = 0; i < 21; i++)
      await world.make("/api/v1/data_points", {
        productIntID: first.id,
        ...{ dataPointID: `newer${i}`, dataPointName: `Newer ${i}`, pointDataType: 1, dataTransType: 1 },
      });
    const metric = {
      metricName: unique("m"),
      metricType: 1,
      dataPointIntID: point.id,
      expressions: "dataPoint",
    };
    await world.make("/api/v1/metrics", metric);
    const { page } = await web.openIn(`/products/${first.id}?tab=metrics`);
    await page
      .getByRole("row")
      .filter({ hasText: metric.metricName })
      .getByRole("button", { name: "Edit" })
      .click();
    const field = page
      .getByRole("dialog")
      .getByLabel(/^Data point/)
      .first();
    await until(async () => (await field.inputValue()) === `Own name (${point.id})`, { what: "its name" });
    const searched: string[] = [];
    page.on("request", (request) => {
      const { searchParams, pathname } = new URL(request.url());
      if (pathname.endsWith("/data_points")) searched.push(searchParams.get("dataPointName_like") ?? "");
    });
    await field.fill("");
    await field.pressSequentially("Newer 7", { delay: 5 });
    await until(() => searched.includes("Newer 7"), { what: "the search" });
    assert.ok(searched.length <= 3, `${searched}`);
  });

  test("a choice that is taken back is shown as it was", async () => {
    const device = await makeDevice(world, await makeProduct(world), { deviceName: unique("Chosen") });
    const variable = { name: "v1", label: "Place", type: "device", value: device.deviceID };
    const board = await world.make("/api/v1/dashboards", {
      name: unique("Board"),
      document: {
        variables: [variable],
        range: { start: "-6h", end: "now" },
        timezone: "UTC",
        refreshSeconds: 5,
        panels: [],
      },
    });
    const { page } = await web.openIn(`/dashboards/${board.id}`);
    const field = page.getByLabel("Place");
    const shown = `${device.deviceName} (${device.deviceID})`;
    const isShown = (text: string) => until(async () => (await field.inputValue()) === text, { what: text });
    await isShown(shown);
    await field.fill("no such device");
    await field.blur();
    await page.waitForURL(/no\+such\+device/);
    await page.goBack();
    await isShown(shown);
    assert.not.match(page.url(), /no\+such/);
  });
});
