/** Flows 11 and 13: a fleet of 100,000 devices as one table, and the search of everything. */
import { percentileOf } from "../load/histogram.js";
import { type Figure, progress } from "../report.js";
import { framesFigure } from "./frames-figure.js";
import { empty, medianFigure, repeated, type Stage } from "./stage.js";
import type { Tab } from "./tab.js";

const rows = `document.querySelectorAll("[role=table] .fleet-body [role=row]")`;
const body = `document.querySelector(".fleet-body")`;
/** Rows are there, and none of them waits for its content. */
const filled = `${rows}.length > 0 && ${body}.querySelector("[aria-busy=true]") === null`;
const firstName = `${rows}[0]?.querySelector("a, .cut")?.textContent`;
const lastIndex = `Math.max(...[...${rows}].map((row) => Number(row.ariaRowIndex ?? row.getAttribute("aria-rowindex"))))`;
const scrollSeconds = 10;
const [loadsOf, jumpsOf] = [10, 10];

export async function benchFleet(stage: Stage): Promise<Figure[]> {
  const { quick } = stage.options;
  const tab = await stage.openTab();
  const open = () => tab.load(`${stage.console}/devices`, filled);
  await open();
  const opened = await repeated(quick ? 2 : loadsOf, open);
  const count = await tab.run<number>(`Number(document.querySelector("[role=table]").ariaRowCount) - 1`);
  const jumped = await repeated(quick ? 2 : jumpsOf, async () => {
    await open();
    return tab.time(`${body}.scrollTop = ${body}.scrollHeight`, `${filled} && ${lastIndex} === ${count + 1}`);
  });
  const figures = [
    medianFigure("11 fleet: first rows", opened, empty.warm),
    medianFigure("11 fleet: jump to the end", jumped, empty.warm),
    ...(await benchQuestions(tab, open)),
    ...(await benchScroll(tab, open, quick ? 2 : scrollSeconds, count)),
  ];
  await tab.page.context().close();
  return figures;
}

async function benchQuestions(tab: Tab, open: () => Promise<number>): Promise<Figure[]> {
  await open();
  const set = (element: string, value: string, event: string): string =>
    `{ const it = document.querySelector(${JSON.stringify(element)}); it.value = ${JSON.stringify(value)}; it.dispatchEvent(new Event("${event}", { bubbles: true })); }`;
  const before = JSON.stringify(await tab.run(firstName));
  const sorted = await tab.time(
    // Descending: the first row differs from that of the device that was seen last.
    set(`select:has(option[value="-deviceName"])`, "-deviceName", "change"),
    `${filled} && ${firstName} !== ${before}`,
  );
  const found = await tab.time(
    set("input[type=search]", "station-000042", "input"),
    `${filled} && ${firstName}.includes("000042")`,
  );
  return [
    { name: "11 fleet: sorted", value: sorted, unit: "ms", baseline: empty.warm },
    { name: "11 fleet: filtered", value: found, unit: "ms", baseline: empty.warm },
  ];
}

async function benchScroll(
  tab: Tab,
  open: () => Promise<number>,
  seconds: number,
  count: number,
): Promise<Figure[]> {
  await open();
  let nodes = 0;
  const frames = await tab.frames(async () => {
    const most = await tab.run<number>(`new Promise((resolve) => {
      const end = performance.now() + ${seconds * 1000};
      let most = 0;
      const step = () => {
        ${body}.scrollTop += 60;
        most = Math.max(most, ${rows}.length);
        if (performance.now() < end) requestAnimationFrame(step);
        else resolve(most);
      };
      step();
    })`);
    nodes = most;
  });
  return [framesFigure("11 fleet: frames while scrolling", frames, { "row nodes": nodes, devices: count })];
}

const field = `document.querySelector("dialog [role=combobox]")`;

/** The search by itself, then its field: from the last letter to the hit, the wait for more letters included. */
export async function benchSearch(stage: Stage): Promise<Figure[]> {
  const { quick } = stage.options;
  const tab = await stage.openTab();
  await tab.load(`${stage.console}/`, `document.querySelector("dl.values .big") !== null`);
  const last = Math.max(...stage.options.devices) - 1;
  const anyNumber = (): string => String(Math.floor(Math.random() * last)).padStart(6, "0");
  const asked = await repeated(quick ? 20 : 200, () =>
    tab.run<number>(`(async () => {
      const from = performance.now();
      const hits = await (await fetch("/api/v1/search?q=station-${anyNumber()}")).json();
      if (hits.length === 0) throw new Error("nothing found");
      return performance.now() - from;
    })()`),
  );
  const typed = await typedInPalette(tab, quick ? 5 : 30, () => `station-${anyNumber()}`);
  await tab.page.context().close();
  const withP99 = (name: string, times: readonly number[]): Figure => ({
    ...medianFigure(name, times, empty.warm),
    detail: { p99: percentileOf(times, 0.99), times: times.length },
  });
  return [
    withP99("13 search: answer in the page", asked),
    ...(typed === null ? [] : [withP99("13 search: hit after the last letter", typed)]),
  ];
}

/** Null where the console has no such field. */
async function typedInPalette(tab: Tab, times: number, text: () => string): Promise<number[] | null> {
  await tab.page.keyboard.press("Control+k");
  try {
    await tab.when(`${field} !== null`, 3000);
  } catch (error) {
    progress(`console: the field of the search is left out, it does not come: ${error}`);
    return null;
  }
  return repeated(times, () => {
    const q = text();
    return tab.time(
      `const it = ${field}; it.value = "${q}"; it.dispatchEvent(new Event("input", { bubbles: true }));`,
      `[...document.querySelectorAll("dialog [role=option]")].some((one) => one.textContent.includes("${q}"))`,
    );
  });
}
