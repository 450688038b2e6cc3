/** What every flow of the console has: a service, a browser, somebody who is logged in, and an empty page beside it. */
import type { Browser, BrowserContext } from "playwright-core";
import { launchChromium } from "../../test/console/chromium.js";
import { takeSession, type User } from "../../test/console/session-cookie.js";
import { freePort } from "../../test/free-port.js";
import { startEmptyPage } from "../baselines/empty-page.js";
import { percentileOf } from "../load/histogram.js";
import type { BenchOptions } from "../options.js";
import type { Figure } from "../report.js";
import { type InfluxTarget, startTidemark, type Tidemark } from "../subjects/tidemark.js";
import { openTab, recordFrames, type Tab } from "./tab.js";

export interface Stage {
  readonly options: BenchOptions;
  readonly tidemark: Tidemark;
  readonly user: User;
  /** The console's address without a slash at its end. */
  readonly console: string;
  readonly emptyPage: string;
  /** A window with nothing remembered and nobody logged in. */
  newContext(viewport?: { readonly width: number; readonly height: number }): Promise<BrowserContext>;
  /** A tab of a window of its own in which the user is logged in; it ends with `close` of its context. */
  openTab(viewport?: { readonly width: number; readonly height: number }): Promise<Tab>;
  close(): Promise<void>;
}

/** Names of the figures of the empty page, which others stand beside. */
export const empty = {
  load: "empty page: cold load",
  warm: "empty page: reload",
  frames: "empty page: frames",
};

const screen = { width: 1440, height: 900 };

export async function openStage(options: BenchOptions, influx?: InfluxTarget): Promise<Stage> {
  const user = { username: "admin", password: "bench-of-the-console" };
  // A fixed port, so that a restarted service is where the page expects it.
  const port = String(await freePort());
  const environment = { ADMIN_PASSWORD: user.password, HTTP_PORT: port };
  const tidemark = await startTidemark({ dir: options.dir, environment, ...(influx && { influx }) });
  const emptyPage = await startEmptyPage();
  const browser: Browser = await launchChromium();

  async function newContext(viewport = screen): Promise<BrowserContext> {
    const context = await browser.newContext({ viewport, locale: "en-GB" });
    await recordFrames(context);
    return context;
  }
  return {
    options,
    tidemark,
    user,
    console: `${tidemark.http()}/console`,
    emptyPage: emptyPage.url,
    newContext,
    openTab: async (viewport) => {
      const context = await newContext(viewport);
      await takeSession(context, tidemark.http(), user);
      return openTab(context);
    },
    close: async () => {
      await browser.close();
      await emptyPage.close();
      await tidemark.close();
    },
  };
}

/** Loads of a page, each in the way of `once`. */
export async function repeated(count: number, once: () => Promise<number>): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < count; i++) all.push(await once());
  return all;
}

/** The median of several, with the slowest. */
export function medianFigure(name: string, values: readonly number[], baseline?: string): Figure {
  return {
    name,
    value: percentileOf(values, 0.5),
    unit: "ms",
    ...(baseline === undefined ? {} : { baseline }),
    detail: { max: Math.max(...values), times: values.length },
  };
}
