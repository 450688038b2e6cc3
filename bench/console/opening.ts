/** Flows 1 to 3: the login from nothing, from there to the overview, and a deep link. */

import { takeSession } from "../../test/console/session-cookie.js";
import type { Figure } from "../report.js";
import { empty, medianFigure, repeated, type Stage } from "./stage.js";
import { openTab, type Tab } from "./tab.js";

const emptySeen = `document.getElementById("seen")?.textContent === "here"`;
const loginSeen = `document.querySelector("input[type=password]") !== null`;
const overviewSeen = `document.querySelector("dl.values .big") !== null`;
const deepLink = "/devices?q=station-0001&sort=deviceName";
const rowsSeen = `document.querySelector("[role=table] [role=row] a") !== null`;

export async function benchOpening(stage: Stage): Promise<Figure[]> {
  const loads = stage.options.quick ? 3 : 15;
  const bytes: number[] = [];
  const cold = (url: string, seen: string) => () =>
    inFreshTab(stage, async (tab) => {
      const ms = await tab.load(url, seen);
      bytes.push(await tab.run<number>(transferred));
      return ms;
    });
  const emptyCold = await repeated(loads, cold(stage.emptyPage, emptySeen));
  bytes.length = 0;
  const login = await repeated(loads, cold(`${stage.console}/`, loginSeen));
  const overview = await repeated(loads, () =>
    inFreshTab(stage, async (tab) => {
      await tab.load(`${stage.console}/`, loginSeen);
      await tab.page.locator("input[name=username]").fill(stage.user.username);
      await tab.page.locator("input[type=password]").fill(stage.user.password);
      return tab.time(`document.querySelector("button[type=submit], form button").click()`, overviewSeen);
    }),
  );
  return [
    medianFigure(empty.load, emptyCold),
    {
      ...medianFigure("1 login, cold", login, empty.load),
      detail: { max: Math.max(...login), "kB transferred": Math.max(...bytes) / 1000 },
    },
    medianFigure("2 login to overview", overview, empty.load),
    ...(await benchReload(stage, loads)),
  ];
}

/** With their headers, as they came. */
const transferred = `performance.getEntries().reduce((sum, one) => sum + (one.transferSize ?? 0), 0)`;

async function benchReload(stage: Stage, loads: number): Promise<Figure[]> {
  const context = await stage.newContext();
  await takeSession(context, stage.tidemark.http(), stage.user);
  const tab = await openTab(context);
  const warm = async (url: string, seen: string) => {
    await tab.load(url, seen);
    return repeated(loads, () => tab.load(url, seen));
  };
  const emptyWarm = await warm(stage.emptyPage, emptySeen);
  const link = await warm(stage.console + deepLink, rowsSeen);
  const state = await tab.run<string>(`document.querySelector("input[type=search]").value`);
  await context.close();
  if (state !== "station-0001") throw new Error(`the deep link has lost its state: "${state}"`);
  return [medianFigure(empty.warm, emptyWarm), medianFigure("3 deep link, warm", link, empty.warm)];
}

async function inFreshTab(stage: Stage, once: (tab: Tab) => Promise<number>): Promise<number> {
  const context = await stage.newContext();
  try {
    return await once(await openTab(context));
  } finally {
    await context.close();
  }
}
