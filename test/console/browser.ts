/** Debian's Chromium; without one the suites are skipped, and say how to get it. */
import { readFile } from "node:fs/promises";
import type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  Download,
  Locator,
  Page,
} from "playwright-core";
import { assert, type Test } from "../suite.js";
import { type World, worldSuite } from "../world.js";
import { hasChromium, launchHeadless } from "./chromium.js";
import { takeSession, type User } from "./session-cookie.js";

/** What a page must never do, whatever the test is about. */
interface Watched {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts, refusals of the content security policy, requests to other hosts. */
  readonly faults: string[];
}

interface OpenOptions extends BrowserContextOptions {
  readonly at?: string;
  /** The origin of another service than the suite's. */
  readonly origin?: string;
  /** Who is logged in when the page opens. */
  readonly user?: User;
}

interface Console {
  /** A new window with nothing remembered, at the console's first page. */
  open(options?: OpenOptions): Promise<Watched>;
  /** The same, at a page of the console, where the first administrator or another user is logged in. */
  openIn(path: string, options?: Omit<OpenOptions, "at">): Promise<Watched>;
}

/** As a person does it. */
export async function logIn(page: Page, { username, password }: User): Promise<void> {
  await page.getByLabel("User name").fill(username);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
}

/**
 * The file that a click on it brings. It is there before the file is waited for, and both waits are heard together:
 * one that nobody hears yet ends the process when it fails.
 */
export async function download(page: Page, by: Locator): Promise<Download> {
  await by.waitFor();
  const [file] = await Promise.all([page.waitForEvent("download"), by.click()]);
  return file;
}

export const downloadedText = async (page: Page, by: Locator): Promise<string> =>
  readFile(await (await download(page, by)).path(), "utf8");

/** A suite with a whole service and a browser. After each test no page may have done what none may. */
export function consoleSuite(
  name: string,
  define: (test: Test, world: World, web: Console) => void,
  environment: Readonly<Record<string, string>> = {},
): void {
  worldSuite(
    name,
    (declared, world) => {
      let browser: Browser | undefined;
      let opened: Watched[] = [];
      const test: Test = Object.assign(
        (title: string, body: () => void | Promise<void>) => {
          if (hasChromium) return declared(title, body, { timeoutMs: 120_000 });
          declared.skip(
            title,
            "there is no Chromium: apt-get install chromium-headless-shell, or name one by CHROMIUM",
            body,
          );
        },
        { only: declared.only, skip: declared.skip, before: declared.before, after: declared.after },
      );
      if (hasChromium) {
        declared.before(async () => {
          browser = await launchHeadless();
        });
        declared.after.each(async () => {
          const faults = opened.flatMap((one) => one.faults);
          await Promise.all(opened.map(({ context }) => context.close()));
          opened = [];
          assert.equal(faults, [], "what no page may do");
        });
        declared.after(() => browser?.close());
      }

      async function open({
        at = "/console/",
        origin: ours = world.http,
        user,
        ...options
      }: OpenOptions = {}) {
        if (browser === undefined) throw new Error("there is no browser");
        const context = await browser.newContext({
          locale: "en-GB",
          viewport: { width: 1440, height: 900 },
          ...options,
        });
        const page = await context.newPage();
        const faults: string[] = [];
        page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
        page.on("console", (message) => {
          const text = message.text();
          if (/content security policy|trusted ?types/i.test(text)) faults.push(`policy: ${text}`);
        });
        page.on("request", (request) => {
          const { protocol, origin } = new URL(request.url());
          if (!["data:", "blob:"].includes(protocol) && origin !== new URL(ours).origin)
            faults.push(`request: ${request.url()}`);
        });
        const watched = { page, context, faults };
        opened.push(watched);
        if (user !== undefined) await takeSession(context, ours, user);
        await page.goto(ours + at);
        return watched;
      }

      define(test, world, {
        open,
        openIn: async (path, { user = world.first, ...options } = {}) => {
          const watched = await open({ ...options, user, at: `/console${path}` });
          await watched.page.getByRole("navigation", { name: "Pages" }).waitFor();
          return watched;
        },
      });
    },
    environment,
  );
}
