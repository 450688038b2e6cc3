import { rm } from "node:fs/promises";
import { join } from "node:path";
import { benchDashboard, benchYear, benchYearInInflux } from "../console/charts.js";
import { benchFleet, benchSearch } from "../console/fleet.js";
import { framesFigure } from "../console/frames-figure.js";
import { benchLong, benchMessage, benchOutage, benchRate, benchTabs } from "../console/live.js";
import { benchOpening } from "../console/opening.js";
import { empty, openStage, type Stage } from "../console/stage.js";
import { type BenchOptions, wants } from "../options.js";
import { type Figure, progress } from "../report.js";
import { fillRegistry } from "../subjects/registry.js";

/** By the names that `--only` takes; the one that kills the service comes last. */
const flows: Readonly<Record<string, (stage: Stage) => Promise<Figure[]>>> = {
  opening: benchOpening,
  message: benchMessage,
  fleet: benchFleet,
  search: benchSearch,
  year: (stage) => benchYear(stage),
  "year-influx": benchYearInInflux,
  dashboard: benchDashboard,
  tabs: benchTabs,
  rate: benchRate,
  long: benchLong,
  outage: benchOutage,
};

/**
 * The console in Debian's Chromium, over a fleet of as many devices as the option says, beside an empty page: loads,
 * frames, what lives, and what happens when the service goes away.
 */
export async function benchConsole(options: BenchOptions): Promise<Figure[]> {
  const stage = await openStage(options);
  try {
    await fill(stage);
    const figures = [await emptyFrames(stage)];
    for (const [name, flow] of Object.entries(flows)) {
      if (!wants(options, name)) continue;
      progress(`console ${name}`);
      figures.push(...(await flow(stage)));
    }
    return figures;
  } finally {
    await stage.close();
  }
}

async function fill({ options, tidemark }: Stage): Promise<void> {
  const devices = Math.max(...options.devices);
  progress(`console: ${devices} devices`);
  const copy = join(options.dir, "copy.db");
  await tidemark.restart(async (dataDir) => {
    await fillRegistry(dataDir, devices, copy);
  });
  await rm(copy, { force: true });
}

async function emptyFrames(stage: Stage): Promise<Figure> {
  const tab = await stage.openTab();
  await tab.load(stage.emptyPage, "true");
  const frames = await tab.frames(() => tab.page.waitForTimeout(stage.options.quick ? 2000 : 10_000));
  await tab.page.context().close();
  return framesFigure(empty.frames, frames);
}
