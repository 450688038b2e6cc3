/** Every page, light and dark, by axe: nothing that keeps somebody out. Flow 26 of the console. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { documentBody, panelsOf } from "../dashboards/documents.js";
import {
  makeDataPoint,
  makeDevice,
  makeGateway,
  makeGroup,
  makeMetric,
  makePolicy,
  makeProduct,
  makeStream,
} from "../factories.js";
import { assert, until } from "../suite.js";
import type { Rec } from "../world.js";
import { consoleSuite } from "./browser.js";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly target: readonly string[] }[];
}

/** What axe calls serious or critical, with where it is. */
async function seriousOn(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const { violations } = await page.evaluate<{ violations: readonly Finding[] }>(
    "axe.run(document, { resultTypes: ['violations'] })",
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
}

const backups = mkdtempSync(join(tmpdir(), "tidemark-backups-"));

consoleSuite(
  "console: accessibility",
  (test, world, web) => {
    let device: Rec;
    let product: Rec;
    let dashboard: Rec;
    let group: Rec;
    /** Pages of records of which nothing else here is. */
    let others: readonly string[];
    test.before(async () => {
      product = await makeProduct(world);
      device = await makeDevice(world, product);
      const point = await makeDataPoint(world, product, { dataPointID: "temp" });
      group = await makeGroup(world, product);
      const gateway = await makeGateway(world, product);
      await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id });
      const [stream, policy] = [
        await makeStream(world, product, { dataPoints: [point.id] }),
        await makePolicy(world),
      ];
      const contact = { type: "webhook", name: "Duty", settings: { url: "http://127.0.0.1:9/" } };
      const contactPoint = await world.make("/api/v1/contact_points", contact);
      others = [
        ...["", "?tab=devices", "?tab=place"].map((tab) => `/gateways/${gateway.id}${tab}`),
        ...[`/streams/${stream.id}`, `/policies/${policy.id}`, `/contact-points/${contactPoint.id}`],
        ...["/access?tab=tenants", "/messages?tab=setAside"],
      ];
      const metric = await makeMetric(world, point);
      await world.publish(device, { temp: 1, nobody: 2 });
      await world.make("/api/v1/alert_rules", {
        ...{ alertName: "Warm", dataPointIntID: point.id, alertSeverity: 2, alertContent: "too warm" },
        condition: "dataPoint > 0",
      });
      await world.publish(device, { temp: 2 });
      await world.alertsSettled();
      await world.make("/api/v1/device_publish", { deviceID: device.deviceID, payload: "on" });
      assert.is((await world.call("POST", "/api/v1/backups")).status, 202);
      await world.call("PUT", `/api/v1/devices/${device.id}/location`, { longitude: 8.5, latitude: 47.4 });
      const panels = panelsOf({
        ...{ deviceID: String(device.deviceID), groupID: String(group.groupID) },
        ...{ productID: String(product.productID), dataPointIntID: point.id, metricIntID: metric.id },
      });
      dashboard = await world.make("/api/v1/dashboards", {
        name: "All panels",
        document: documentBody(panels),
      });
    });

    test.after(() => rmSync(backups, { recursive: true, force: true }));

    async function isForAll(page: Page, path: string): Promise<void> {
      await page.goto(`${world.http}/console${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
      assert.equal(await seriousOn(page), [], path);
    }

    for (const [colorScheme, language] of [
      ["light", "en"],
      ["dark", "zh"],
    ] as const) {
      const inLanguage = (page: Page) =>
        page.evaluate(`localStorage.setItem("tidemark.language", "${language}")`);
      const isInLanguage = async (page: Page) =>
        assert.is(await page.evaluate<string>("document.documentElement.lang.slice(0, 2)"), language);

      test(`no serious finding on pages of gateways, streams and administrators, ${colorScheme}, ${language}`, async () => {
        const { page } = await web.openIn("/", { colorScheme });
        await inLanguage(page);
        for (const path of others) await isForAll(page, path);
        assert.is(others.length, 8);
        await isInLanguage(page);
      });

      test(`no serious finding on any page, ${colorScheme}, ${language}`, async () => {
        const login = await web.open({ colorScheme });
        await login.page.getByLabel("Password").waitFor();
        assert.equal(await seriousOn(login.page), [], "the login");
        await login.page.evaluate("document.querySelector('main').append(document.createElement('button'))");
        assert.is((await seriousOn(login.page)).length, 1, "a button without a name is found");
        // High enough for every panel of a dashboard: those out of sight ask for nothing.
        const viewport = { width: 1440, height: 2400 };
        const { page } = await web.openIn("/", { colorScheme, viewport });
        await inLanguage(page);
        const pages = [
          ...["/", "/start", "/devices", "/devices?tab=devices", "/products", `/products/${product.id}`],
          ...["", "?tab=messages", "?tab=commands", "?tab=place", "?tab=access"].map(
            (tab) => `/devices/${device.id}${tab}`,
          ),
          ...[`/explore?d=${device.deviceID}`, "/alerts", "/alerts?tab=contactPoints", "/commands"],
          ...["", "?tab=commands", "?tab=subscriptions"].map((tab) => `/groups/${group.id}${tab}`),
          ...["/messages", "/messages?tab=history", "/access", "/access?tab=policies"],
          ...["&u=day&c=-1w", "&view=table"].map((more) => `/explore?d=${device.deviceID}${more}`),
          ...["/dashboards", `/dashboards/${dashboard.id}`, `/dashboards/${dashboard.id}?edit=1`],
          ...["/map", "/map?as=list&at=47,8,5"],
          ...["", "?tab=tasks", "?tab=transfer", "?tab=backups"].map((tab) => `/system${tab}`),
        ];
        for (const path of pages) await isForAll(page, path);
        await isInLanguage(page);
        for (const key of ["Control+k", "?"]) {
          await page.keyboard.press(key);
          await page.getByRole("dialog").waitFor();
          assert.equal(await seriousOn(page), [], key);
          await page.keyboard.press("Escape");
          await page.getByRole("dialog").waitFor({ state: "detached" });
        }
      });
    }

    test("no serious finding on a phone: what scrolls sideways there is come to by keys, and has a name", async () => {
      const viewport = { width: 360, height: 740 };
      const { page } = await web.openIn("/", { viewport, isMobile: true, hasTouch: true });
      const pages = [
        ...["/", "/devices", "/devices?tab=devices", "/products", `/products/${product.id}`],
        ...["?tab=messages", "?tab=commands", "?tab=access"].map((tab) => `/devices/${device.id}${tab}`),
        ...["/alerts", "/alerts?tab=alertRules", "/commands", "/commands?tab=sent", "/messages?tab=history"],
        ...["/access", "/access?tab=policies", "/access?tab=changes", "/dashboards"],
        ...[`/explore?d=${device.deviceID}`, `/explore?d=${device.deviceID}&u=day&c=-1w&view=table`],
        ...[`/dashboards/${dashboard.id}`, "/system", "/system?tab=tasks", "/system?tab=transfer"],
      ];
      for (const path of pages) {
        await show(page, path);
        assert.equal(await seriousOn(page), [], path);
        assert.is(await page.evaluate<number>("document.documentElement.scrollWidth"), 360, path);
      }
      const scrolled = page.locator("section.scroll[tabindex='0']");
      await show(page, `/explore?d=${device.deviceID}&u=day&c=-1w&view=table`);
      assert.is(await scrolled.getAttribute("aria-label"), "As table");
      await scrolled.focus();
      await page.keyboard.press("ArrowRight");
      await until(() => page.evaluate<boolean>("document.querySelector('section.scroll').scrollLeft > 0"), {
        what: "the table to scroll",
      });
    });

    /** With all that it shows. */
    async function show(page: Page, path: string): Promise<void> {
      await page.goto(`${world.http}/console${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
    }

    for (const colorScheme of ["light", "dark"] as const) {
      test(`no serious finding in editors and messages that are open, ${colorScheme}`, async () => {
        const point = await makeDataPoint(world, product, { dataPointID: `temp-${colorScheme}` });
        const { page } = await web.openIn(`/products/${product.id}?tab=metrics`, { colorScheme });
        for (const tab of ["metrics", "alertRules"]) {
          await page.goto(`${world.http}/console/products/${product.id}?tab=${tab}`);
          await page.getByRole("button", { name: "New" }).click();
          const dialog = page.getByRole("dialog");
          await dialog.getByLabel("Data point *").fill(`${point.dataPointName} (${point.id})`);
          await dialog.getByRole("textbox", { name: /Formula|Condition/ }).fill("dataPoint > foo");
          await dialog.locator(".excerpt").waitFor();
          assert.equal(await seriousOn(page), [], tab);
        }
        await page.goto(`${world.http}/console/devices/${device.id}?tab=messages`);
        await page.locator(".messages summary").first().click();
        await page.getByText("read as JSON").waitFor();
        await page.getByText("Try a payload").click();
        await page.getByText("Decode again").click();
        assert.equal(await seriousOn(page), [], "messages");
      });
    }

    test("a form is filled in, saved and left by the keyboard alone", async () => {
      const { page } = await web.openIn("/products");
      await page.getByRole("button", { name: "New" }).focus();
      await page.keyboard.press("Enter");
      const dialog = page.getByRole("dialog");
      await dialog.waitFor();
      assert.equal(await seriousOn(page), []);
      await dialog.getByLabel("Product *").focus();
      await page.keyboard.type("By keys");
      await page.keyboard.press("Tab");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Tab");
      await page.keyboard.type("nothing but keys");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await dialog.waitFor({ state: "detached" });
      await page.getByRole("row").filter({ hasText: "By keys" }).waitFor();
    });
  },
  { BACKUP_DIR: backups },
);
