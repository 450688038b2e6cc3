/** A browser that looks at pages of a running service. */
import { devices, type Page } from "playwright-core";
import { launchChromium } from "../../test/console/chromium.js";
import { takeSession, type User } from "../../test/console/session-cookie.js";

export interface Look {
  readonly width: number;
  readonly height: number;
  readonly theme: "light" | "dark";
  /** BCP 47, as the browser asks for. */
  readonly locale: string;
}

interface Camera {
  /** The page as it stands once nothing on it is awaited. `whole`: beyond the window as well. */
  take(path: string, whole: boolean): Promise<Buffer>;
  close(): Promise<void>;
}

const waitMs = 15_000;
/** Live values and lines settle. */
const settleMs = 900;
const heightMax = 8000;

/** @param user null: nobody logs in */
export async function openCamera(http: string, user: User | null, look: Look): Promise<Camera> {
  const browser = await launchChromium();
  const context = await browser.newContext(optionsOf(look));
  const page = await context.newPage();
  if (user !== null) await takeSession(context, http, user);
  return {
    take: async (path, whole) => {
      await page.setViewportSize(look);
      await page.goto(`${http}/console${path}`);
      await page.waitForTimeout(settleMs);
      await fitWindow(page, look);
      await page.locator("[aria-busy=true]").first().waitFor({ state: "detached", timeout: waitMs });
      if (!whole) await page.setViewportSize(look);
      await page.waitForTimeout(settleMs);
      return page.screenshot({ fullPage: whole });
    },
    close: () => browser.close(),
  };
}

function optionsOf({ width, height, theme, locale }: Look) {
  const phone =
    width < 720 ? { hasTouch: true, isMobile: true, userAgent: devices["Pixel 7"]?.userAgent ?? "" } : {};
  return { viewport: { width, height }, colorScheme: theme, locale, ...phone };
}

/** As tall as what is on the page: some of it is only asked for when it comes into sight. */
async function fitWindow(page: Page, { width, height }: Look): Promise<void> {
  const box = await page.locator("body").boundingBox();
  const tall = Math.min(Math.ceil(box?.height ?? height), heightMax);
  if (tall > height) await page.setViewportSize({ width, height: tall });
}
