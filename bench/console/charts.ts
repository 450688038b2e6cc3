/** Flows 14 to 16: a year of a million points, its zoom and pan, and a dashboard of 20 panels with 80 series. */
import { startInflux } from "../../test/influxd/influxd.js";
import { publishAll } from "../load/backfill.js";
import { credentialOf, type DeviceRecord, type FleetOfDevices, points, provision } from "../load/fleet.js";
import { type Figure, progress } from "../report.js";
import { framesFigure } from "./frames-figure.js";
import { empty, medianFigure, openStage, repeated, type Stage } from "./stage.js";

const dayMs = 86_400_000;
const yearPoints = 1_000_000;
const entriesPerMessage = 200;
const [panels, seriesEach] = [20, 4];
const drawn = `document.querySelector(".uplot canvas") !== null && document.querySelector("main [aria-busy=true]") === null`;

/** A device with a point every half minute, up to now. */
async function makeYear({ tidemark }: Stage, count: number): Promise<DeviceRecord> {
  const { devices } = await provision(tidemark.api(), 1);
  const [device] = devices as [DeviceRecord];
  progress(`console: ${count} points of a year`);
  const from = Date.now() - 365 * dayMs;
  const everyMs = (365 * dayMs) / count;
  await publishAll(tidemark.mqttPort(), credentialOf(device), "telemetry", readings(from, everyMs, count));
  await tidemark.stored();
  return device;
}

function* readings(from: number, everyMs: number, count: number): Generator<string> {
  for (let at = 0; at < count; at += entriesPerMessage) {
    const entries = Array.from({ length: Math.min(entriesPerMessage, count - at) }, (_, i) => {
      const n = at + i;
      const temp = 12 + 9 * Math.sin(n / 4_000) + 4 * Math.sin(n / 90) + Math.sin(n * 12.9898) * 0.8;
      return { time: Math.round(from + n * everyMs), temp: Number(temp.toFixed(2)) };
    });
    yield JSON.stringify(entries);
  }
}

export async function benchYear(stage: Stage, engine = "embedded"): Promise<Figure[]> {
  const { quick } = stage.options;
  const points = quick ? yearPoints / 20 : yearPoints;
  const { deviceID } = await makeYear(stage, points);
  const tab = await stage.openTab();
  const open = () => tab.load(`${stage.console}/explore?d=${deviceID}&p=temp&from=-1y&u=real`, drawn);
  await open();
  const opened = await repeated(quick ? 3 : 10, open);
  const frames = await tab.frames(() => tab.run(zoomAndPan(quick ? 2 : 10)));
  await tab.page.context().close();
  const figure = medianFigure(`14 a year of points, ${engine}: opened`, opened, empty.warm);
  return [
    { ...figure, detail: { ...figure.detail, points } },
    framesFigure(`15 a year of points, ${engine}: zoom and pan`, frames),
  ];
}

/** The same with its points in InfluxDB. */
export async function benchYearInInflux({ options }: Stage): Promise<Figure[]> {
  const influx = await startInflux();
  const stage = await openStage(options, influx);
  try {
    return await benchYear(stage, "InfluxDB");
  } finally {
    await stage.close();
    await influx.close();
  }
}

/** The wheel at every frame, in turns of 60 that end where they began: closer, along, back, out again. */
const zoomAndPan = (seconds: number): string => `new Promise((resolve) => {
  const end = performance.now() + ${seconds * 1000};
  const turns = [
    { ctrlKey: true, deltaY: -8 },
    { shiftKey: true, deltaX: 12 },
    { shiftKey: true, deltaX: -12 },
    { ctrlKey: true, deltaY: 8 },
  ];
  let frame = 0;
  const step = () => {
    const over = document.querySelector(".u-over");
    const { left, width, top } = over.getBoundingClientRect();
    const turn = turns[Math.floor(frame++ / 60) % turns.length];
    const at = { clientX: left + width / 2, clientY: top + 20 };
    over.dispatchEvent(new WheelEvent("wheel", { bubbles: true, cancelable: true, ...at, ...turn }));
    if (performance.now() < end) requestAnimationFrame(step);
    else resolve(true);
  };
  step();
})`;

/** All of the panels are in sight of a screen that is tall enough, and few of them in that of a usual one. */
export async function benchDashboard(stage: Stage): Promise<Figure[]> {
  const fleet = await provision(stage.tidemark.api(), Math.ceil((panels * seriesEach) / points.length));
  await fillDay(stage, fleet);
  const { id } = await stage.tidemark.api().post<{ id: number }>("/api/v1/dashboards", {
    name: "bench",
    document: documentOf(fleet),
  });
  const url = `${stage.console}/dashboards/${id}`;
  const tall = await stage.openTab({ width: 1440, height: 6000 });
  const charts = `document.querySelectorAll(".uplot canvas").length`;
  const all = `${charts} === ${panels}`;
  try {
    await tall.load(url, all, 10_000);
  } catch (error) {
    progress(`console: flow 16 is left out, there is no such page or it does not draw: ${error}`);
    await tall.page.context().close();
    return [];
  }
  const opened = await repeated(stage.options.quick ? 2 : 10, () => tall.load(url, all));
  await tall.page.context().close();
  const usual = await stage.openTab();
  await usual.load(url, `${charts} > 0`);
  await usual.page.waitForTimeout(2000);
  const inSight = await usual.run<number>(charts);
  await usual.page.context().close();
  const figure = medianFigure("16 dashboard, 20 panels of 4 series: all drawn", opened, empty.warm);
  return [{ ...figure, detail: { ...figure.detail, "drawn on a usual screen": inSight } }];
}

async function fillDay({ tidemark }: Stage, { devices }: FleetOfDevices): Promise<void> {
  const minutes = 1440;
  const from = Date.now() - dayMs;
  for (const [seed, device] of devices.entries()) {
    const credential = credentialOf(device);
    await publishAll(tidemark.mqttPort(), credential, "telemetry", allReadings(from, minutes, seed));
  }
  await tidemark.stored();
}

function* allReadings(from: number, minutes: number, seed: number): Generator<string> {
  for (let at = 0; at < minutes; at += entriesPerMessage) {
    const entries = Array.from({ length: Math.min(entriesPerMessage, minutes - at) }, (_, i) => {
      const wave = Math.sin((at + i) / 60 + seed);
      const values = points.map((point, k) => [point, Number((20 + k + 5 * wave).toFixed(2))]);
      return { time: from + (at + i) * 60_000, ...Object.fromEntries(values) };
    });
    yield JSON.stringify(entries);
  }
}

function documentOf({ devices, dataPointIntIDs }: FleetOfDevices) {
  const series = devices.flatMap(({ deviceID }) =>
    dataPointIntIDs.map((dataPointIntID) => ({ deviceID, dataPointIntID })),
  );
  return {
    variables: [],
    range: { start: "-24h", end: "now" },
    timezone: "UTC",
    refreshSeconds: 0,
    panels: Array.from({ length: panels }, (_, i) => ({
      type: "chart",
      id: `p${i}`,
      title: `Panel ${i}`,
      layout: { x: (i % 2) * 6, y: Math.floor(i / 2) * 6, w: 6, h: 6 },
      series: series.slice(i * seriesEach, (i + 1) * seriesEach),
      unit: "real",
    })),
  };
}
