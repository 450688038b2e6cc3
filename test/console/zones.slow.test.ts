/**
 * Five zones on machines of three, over the nights on which their clocks change: what a chart draws, its readout, the
 * table, the file and the range are what the API answers. Flow 21 of the console.
 */
import { DateTime } from "luxon";
import type { Page } from "playwright-core";
import { makeDataPoint, makeDevice, makeProduct } from "../factories.js";
import { assert, until } from "../suite.js";
import type { Rec } from "../world.js";
import { consoleSuite, downloadedText, logIn } from "./browser.js";
import { launchHeadless } from "./chromium.js";
import { drawnChart, recordTexts } from "./drawn-texts.js";

const [minuteMs, hourMs] = [60_000, 3_600_000];
const stepMs = 15 * minuteMs;
const systemZones = ["America/New_York", "Asia/Shanghai", "Australia/Lord_Howe"] as const;

interface Night {
  readonly zone: string;
  /** When the clock changes; of a zone whose clock never does, when that of another one would. */
  readonly at: number;
  /** How far it is put forward. */
  readonly minutes: number;
}

const nights: readonly Night[] = [
  { zone: "UTC", at: Date.UTC(2026, 9, 25, 1), minutes: 0 },
  { zone: "Asia/Shanghai", at: Date.UTC(2026, 9, 25, 1), minutes: 0 },
  { zone: "Europe/Berlin", at: Date.UTC(2026, 2, 29, 1), minutes: 60 },
  { zone: "Europe/Berlin", at: Date.UTC(2026, 9, 25, 1), minutes: -60 },
  { zone: "America/New_York", at: Date.UTC(2026, 2, 8, 7), minutes: 60 },
  { zone: "America/New_York", at: Date.UTC(2026, 10, 1, 6), minutes: -60 },
  { zone: "Australia/Lord_Howe", at: Date.UTC(2026, 9, 3, 15, 30), minutes: 30 },
  { zone: "Australia/Lord_Howe", at: Date.UTC(2026, 3, 4, 15), minutes: -30 },
];

consoleSuite("console: zones", (test, world, web) => {
  let device: Rec;
  /** Derived from the point's time, so that no two points of a night have the same value. */
  const valueAt = (time: number): number => (time / stepMs) % 1000;
  test.before(async () => {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp", dataPointName: "Temperature" });
    device = await makeDevice(world, product);
    const rows = ["deviceID,time,temp"];
    for (const at of new Set(nights.map((night) => night.at))) {
      for (let time = at - 4 * hourMs; time < at + 4 * hourMs; time += stepMs)
        rows.push(`${device.deviceID},${new Date(time).toISOString()},${valueAt(time)}`);
    }
    const { record } = await world.call("POST", "/api/v1/original_data", `${rows.join("\n")}\n`, {
      headers: { "Content-Type": "text/csv" },
    });
    await until(
      async () => (await world.call("GET", `/api/v1${record.statusUrl}`)).record.state === "SUCCESS",
      { what: "the import" },
    );
  });

  /** The points of a night as the API returns them: their wall times, and the exact ones. */
  async function answered({ zone }: Night, from: number, to: number) {
    const query = `deviceID=${device.deviceID}&timezone=${zone}&startTime=${from}&endTime=${to}&limit=1000`;
    const [walls, exact] = await Promise.all(
      ["", "&timeFormat=ms"].map(async (format) => {
        const { list } = await world.call("GET", `/api/v1/original_data?${query}${format}`);
        return (list[0] as Rec).originalData as { time: (string | number)[]; value: number[] };
      }),
    );
    return (exact?.time ?? []).map((time, i) => ({
      time: Number(time),
      wall: String(walls?.time[i]),
      value: Number(walls?.value[i]),
    }));
  }

  const pathOf = ({ zone }: Night, from: number, to: number): string =>
    `/explore?d=${device.deviceID}&p=temp&tz=${zone}&from=${from}&to=${to}`;
  const open = (page: Page, path: string) => page.goto(`${world.http}/console${path}`);

  /** What is drawn below the plot, and where the clock changes, with the times at which they stand. */
  async function drawnTimes(page: Page, from: number, to: number) {
    await page.locator(".readout .reading").first().waitFor();
    await until(async () => (await drawnChart(page)).texts.length > 0, { what: "the chart to be drawn" });
    const { texts, left, width, bottom } = await drawnChart(page);
    const timeAt = (x: number): number => from + ((x - left) / width) * (to - from);
    return {
      pixelMs: (to - from) / width,
      labels: texts.filter(({ y }) => y >= bottom).map(({ text, x }) => ({ text, time: timeAt(x) })),
      changes: texts.filter(({ text }) => / h$/.test(text)).map(({ text, x }) => ({ text, time: timeAt(x) })),
    };
  }

  /** Each label stands where the wall clock of the zone shows it, and none is missing. */
  async function checkAxis(page: Page, night: Night, reachMs: number, labelMs: number): Promise<void> {
    const [from, to] = [night.at - reachMs, night.at + reachMs];
    await open(page, pathOf(night, from, to));
    const { labels, changes, pixelMs } = await drawnTimes(page, from, to);
    const about = `${night.zone} ${new Date(night.at).toISOString()} ±${reachMs / hourMs} h`;
    const shown = labels.map(({ text, time }) => {
      const local = DateTime.fromMillis(Math.round(time / minuteMs) * minuteMs, { zone: night.zone });
      const isMidnight = local.hour === 0 && local.minute === 0;
      return [text, local.setLocale("en").toFormat(isMidnight ? "d LLL" : "HH:mm")];
    });
    assert.equal(
      shown.map(([text]) => text),
      shown.map(([, wall]) => wall),
      about,
    );
    const wanted = wallsOf(night.zone, from, to, labelMs);
    assert.equal(
      labels.map(({ text }) => text),
      wanted,
      about,
    );
    const { minutes } = night;
    assert.equal(
      changes.map(({ text }) => text),
      minutes === 0 ? [] : [`${minutes > 0 ? "+" : "−"}${Math.abs(minutes) / 60} h`],
      about,
    );
    for (const { time } of changes) assert.ok(Math.abs(time - night.at) < 6 * pixelMs, `${about}: ${time}`);
  }

  /** Every value by the arrow keys, from the newest to the first. */
  async function checkReadout(page: Page, night: Night, points: Awaited<ReturnType<typeof answered>>) {
    await page.locator(".plot").focus();
    await page.keyboard.press("End");
    for (const { time, wall, value } of [...points].reverse()) {
      const offset = DateTime.fromMillis(time, { zone: night.zone }).toFormat("ZZ");
      const shown = await page.locator(".readout").innerText();
      assert.match(shown.replaceAll(/\s+/g, " "), `${wall} ${offset}`);
      assert.match(shown, new RegExp(`Temperature\\s+${value}\\b`));
      await page.keyboard.press("ArrowLeft");
    }
  }

  async function checkNumbers(page: Page, night: Night): Promise<void> {
    const [from, to] = [night.at - 90 * minuteMs, night.at + 90 * minuteMs];
    const points = await answered(night, from, to);
    assert.is(points.length, 12);
    await checkReadout(page, night, points);
    await open(page, `${pathOf(night, from, to)}&view=table`);
    const rows = page.locator("table.numbers tbody tr");
    await rows.first().waitFor();
    assert.equal(
      (await rows.allInnerTexts()).map((row) => row.replaceAll(/\s+/g, " ").trim()),
      [...points]
        .reverse()
        .map(({ time, wall, value }) =>
          [wall, DateTime.fromMillis(time, { zone: night.zone }).toFormat("ZZ"), value].join(" "),
        ),
    );
    for (const [label, time] of [
      ["from", from],
      ["to", to],
    ] as const) {
      const wall = DateTime.fromMillis(time, { zone: night.zone }).toFormat("yyyy-MM-dd'T'HH:mm");
      assert.match(await page.getByLabel(label, { exact: true }).inputValue(), wall);
    }
    const csv = await downloadedText(page, page.getByRole("button", { name: "Download CSV" }));
    const [head = "", ...lines] = csv.trim().split(/\r?\n/);
    const columns = head.split(",");
    const cells = lines.map((line) => line.split(","));
    assert.equal(
      cells.map((row) => [Date.parse(row[columns.indexOf("time")] ?? ""), Number(row.at(-1))]),
      points.map(({ time, value }) => [time, value]),
    );
  }

  async function checkAll(page: Page): Promise<void> {
    for (const night of nights) {
      await checkAxis(page, night, 3 * hourMs, 30 * minuteMs);
      await checkAxis(page, night, 90 * minuteMs, 15 * minuteMs);
      await checkNumbers(page, night);
    }
  }

  for (const systemZone of systemZones) {
    test(`axis, readout, table, range and file agree with the API, on a machine in ${systemZone}`, async () => {
      const { page } = await web.openIn("/", { timezoneId: systemZone });
      await recordTexts(page);
      await checkAll(page);
    });
  }

  test("the same in a browser whose process is in such a zone", async () => {
    const browser = await launchHeadless({ TZ: "Australia/Lord_Howe" });
    try {
      const context = await browser.newContext({ locale: "en-GB", viewport: { width: 1440, height: 900 } });
      const page = await context.newPage();
      await recordTexts(page);
      await open(page, "/");
      await logIn(page, world.first);
      await page.getByRole("navigation", { name: "Pages" }).waitFor();
      assert.is(
        await page.evaluate<string>("Intl.DateTimeFormat().resolvedOptions().timeZone"),
        "Australia/Lord_Howe",
      );
      const own = nights.filter(({ zone }) => zone === "Australia/Lord_Howe" || zone === "Europe/Berlin");
      for (const night of own) {
        await checkAxis(page, night, 90 * minuteMs, 15 * minuteMs);
        await checkNumbers(page, night);
      }
    } finally {
      await browser.close();
    }
  });

  test("days of 23, 24, 24.5 and 25 hours begin where their labels stand", async () => {
    const { page } = await web.openIn("/", { timezoneId: "America/New_York" });
    await recordTexts(page);
    for (const { zone, at } of nights) {
      const day = DateTime.fromMillis(at, { zone }).startOf("day");
      const [from, to] = [day.minus({ days: 3 }).toMillis(), day.plus({ days: 4 }).toMillis()];
      await open(page, pathOf({ zone, at, minutes: 0 }, from, to));
      const { labels, pixelMs } = await drawnTimes(page, from, to);
      const midnights = labels.filter(({ text }) => /^\d+ \w+$/.test(text));
      const wanted = Array.from({ length: 8 }, (_, i) => day.plus({ days: i - 3 }));
      assert.equal(
        midnights.map(({ text }) => text),
        wanted.map((one) => one.setLocale("en").toFormat("d LLL")),
        zone,
      );
      for (const [i, { time }] of midnights.entries())
        assert.ok(Math.abs(time - (wanted[i] as DateTime).toMillis()) <= pixelMs, `${zone} ${i}`);
    }
  });
});

/** What the wall clock of a zone shows at each whole step of it, in the order of time: a doubled one is there twice. */
function wallsOf(zone: string, from: number, to: number, stepMs: number): string[] {
  const shown: string[] = [];
  for (let time = Math.ceil(from / minuteMs) * minuteMs; time <= to; time += minuteMs) {
    const local = DateTime.fromMillis(time, { zone });
    if ((local.hour * 60 + local.minute) % (stepMs / minuteMs) !== 0) continue;
    shown.push(local.setLocale("en").toFormat(local.hour === 0 && local.minute === 0 ? "d LLL" : "HH:mm"));
  }
  return shown;
}
