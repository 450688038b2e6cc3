/** Flows 4 and 17 to 20: what is live, how long it stays so, and what becomes of it when the service is away. */
import { percentileOf } from "../load/histogram.js";
import { type Figure, progress } from "../report.js";
import { framesFigure } from "./frames-figure.js";
import { type CountingDevice, connectSender, makeCounting, pointsEach } from "./sender.js";
import { empty, medianFigure, type Stage } from "./stage.js";
import { openTab, type Tab } from "./tab.js";

const tabsAtOnce = 8;
const tabMs = 10_000;
const digits = `(text) => Number((text ?? "").replace(/\\D/g, ""))`;
/** The numbers that stand beside the names of the points. */
const shown = `[...document.querySelectorAll("dl.values .big")].map((one) => (${digits})(one.textContent))`;
const allAre = (number: number): string => `${shown}.every((one) => one === ${number})`;
/** What the page says of itself in English; the state of the device stands beside it. */
const saysLive = `[...document.querySelectorAll("main .status")].some((one) => one.textContent.trim() === "live")`;
const isLive = `${saysLive} && ${shown}.length === ${pointsEach}`;

const pageOf = (stage: Stage, { id }: CountingDevice): string => `${stage.console}/devices/${id}`;

async function openDevice(stage: Stage): Promise<{ tab: Tab; device: CountingDevice }> {
  const [device] = (await makeCounting(stage.tidemark, 1)) as [CountingDevice];
  const tab = await stage.openTab();
  await tab.load(pageOf(stage, device), isLive);
  return { tab, device };
}

/** From the PUBACK until the page shows the value. */
export async function benchMessage(stage: Stage): Promise<Figure[]> {
  const { tab, device } = await openDevice(stage);
  const sender = await connectSender(stage.tidemark, device);
  const times: number[] = [];
  for (let number = 1; number <= (stage.options.quick ? 10 : 100); number++) {
    const seen = tab.when(allAre(number));
    const acknowledged = await sender.send(number);
    times.push((await seen) - acknowledged);
    // Not in step with what the page does at intervals.
    await tab.page.waitForTimeout(300 + Math.random() * 300);
  }
  await sender.close();
  await tab.page.context().close();
  return [
    {
      ...medianFigure("4 message: on the screen after its PUBACK", times, empty.frames),
      detail: { p99: percentileOf(times, 0.99), max: Math.max(...times), times: times.length },
    },
  ];
}

/** 1,000 points a second on one page: every one stored, the last of each shown. */
export async function benchRate(stage: Stage): Promise<Figure[]> {
  const seconds = stage.options.quick ? 5 : 60;
  const { tab, device } = await openDevice(stage);
  const sender = await connectSender(stage.tidemark, device);
  let last = 0;
  const frames = await tab.frames(async () => {
    last = await sender.keepSending(1, 100, seconds);
    await tab.when(allAre(last));
  });
  await stage.tidemark.stored();
  const stored = await countStored(stage, device);
  await sender.close();
  await tab.page.context().close();
  const lost = last * pointsEach - stored;
  return [framesFigure("17 live, 1,000 points a second: frames", frames, { seconds, points: stored, lost })];
}

async function countStored({ tidemark }: Stage, { deviceID }: CountingDevice): Promise<number> {
  const path = `/api/v1/original_data?deviceID=${deviceID}&limit=100000`;
  const series = await tidemark.api().get<{ originalData: { time: unknown[] } }[]>(path);
  return series.reduce((sum, { originalData }) => sum + originalData.time.length, 0);
}

/** What a page has grown by that stays open while a device sends ten messages a second. */
export async function benchLong(stage: Stage): Promise<Figure[]> {
  const { liveMinutes } = stage.options;
  const { tab, device } = await openDevice(stage);
  const sender = await connectSender(stage.tidemark, device);
  const settled = await sender.keepSending(1, 10, 15);
  const before = await tab.memory();
  progress(`console: ${liveMinutes} minutes of a live page`);
  await sender.keepSending(settled + 1, 10, liveMinutes * 60);
  const after = await tab.memory();
  await sender.close();
  await tab.page.context().close();
  return [
    {
      name: "18 live page: heap grown by",
      value: after.heapMB - before.heapMB,
      unit: "MB",
      detail: { minutes: liveMinutes, "at first MB": before.heapMB },
    },
    {
      name: "18 live page: nodes grown by",
      value: ((after.nodes - before.nodes) / before.nodes) * 100,
      unit: "%",
      detail: { "at first": before.nodes },
    },
  ];
}

/** The service is killed under an open page and started again where it was. */
export async function benchOutage(stage: Stage): Promise<Figure[]> {
  const { tidemark } = stage;
  const { tab, device } = await openDevice(stage);
  const first = await connectSender(tidemark, device);
  const seenFirst = tab.when(allAre(1));
  await first.send(1);
  await seenFirst;
  const told = tab.when(`!${saysLive}`);
  const killedAt = performance.timeOrigin + performance.now();
  process.kill(tidemark.pid(), "SIGKILL");
  const toldAfter = (await told) - killedAt;
  await tidemark.restart();
  const listeningAt = performance.timeOrigin + performance.now();
  const back = tab.when(`${allAre(2)} && ${isLive}`, 60_000);
  const second = await connectSender(tidemark, device);
  // While the page does not know yet that the service is there again: a gap that it has to fill.
  await second.send(2);
  const backAfter = (await back) - listeningAt;
  await second.close();
  await tab.page.context().close();
  return [
    { name: "19 service killed: the page says so after", value: toldAfter, unit: "ms", baseline: empty.warm },
    { name: "19 service back: live, gap filled after", value: backAfter, unit: "ms", baseline: empty.warm },
  ];
}

/** Eight tabs of one window, each with a live page: over plain HTTP a host has six connections. */
export async function benchTabs(stage: Stage): Promise<Figure[]> {
  const devices = await makeCounting(stage.tidemark, tabsAtOnce);
  const { page } = await stage.openTab();
  const context = page.context();
  const times: number[] = [];
  let missing = 0;
  for (const device of devices) {
    const tab = await openTab(context);
    try {
      times.push(await tab.load(pageOf(stage, device), isLive, tabMs));
    } catch {
      missing++;
      times.push(tabMs);
    }
  }
  await context.close();
  const figure = medianFigure("20 eight live tabs: each loads", times, empty.load);
  return [{ ...figure, detail: { ...figure.detail, "never live": missing } }];
}
