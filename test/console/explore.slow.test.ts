/** Explore, in a real browser: what is drawn and listed is what was stored, in every zone. Flow 21 of the console. */
import { DateTime } from "luxon";
import type { Page } from "playwright-core";
import { drawnValues } from "../../src/console/app/charts/drawn-values.js";
import { LatePoints } from "../../src/console/app/charts/late-points.js";
import { formatLinesCsv } from "../../src/console/app/explore/rows.js";
import { addPoint, isFull, type Tails, withTail } from "../../src/console/app/explore/tails.js";
import { windowStart } from "../../src/console/app/explore/windows.js";
import { findEarlier, movedTo } from "../../src/console/app/range/comparison.js";
import { makeDevice, unique } from "../factories.js";
import { assert, suite, until } from "../suite.js";
import type { Rec, World } from "../world.js";
import { consoleSuite, downloadedText } from "./browser.js";
import { learnZones } from "./zones-known.js";

const hourMs = 3_600_000;
const zones = ["UTC", "Asia/Shanghai", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"] as const;
/** Zones of the machine that the browser runs on. */
const systemZones = ["UTC", "America/New_York", "Asia/Kolkata"] as const;

suite("console: times of Explore", (test) => {
  test.before(() => learnZones(...zones));

  test("yes and no hold until the next value, numbers are joined by lines", () => {
    assert.equal(drawnValues([true, null, false]), { values: [1, null, 0], isStepped: true });
    assert.equal(drawnValues([1.5, null, 0]), { values: [1.5, null, 0], isStepped: false });
    assert.equal(drawnValues([]), { values: [], isStepped: false });
  });

  test("windows begin where luxon's do, also on the nights when the clock changes", () => {
    const units = ["minute", "hour", "day", "week", "month", "year"] as const;
    for (const zone of ["UTC", "Asia/Shanghai", "Europe/Berlin", "America/New_York"]) {
      for (const night of [Date.UTC(2026, 2, 29), Date.UTC(2026, 9, 25), Date.UTC(2026, 10, 1)]) {
        for (let time = night - 12 * hourMs; time < night + 24 * hourMs; time += 17 * 60_000) {
          for (const unit of units) {
            const wanted = DateTime.fromMillis(time, { zone }).startOf(unit).toMillis();
            assert.is(windowStart(zone, unit, time), wanted, `${zone} ${unit} ${time}`);
          }
        }
      }
    }
  });

  test("a week earlier lies on the same wall times; what this week's clock skips has no place", () => {
    const zone = "Europe/Berlin";
    const span = { from: Date.UTC(2026, 2, 28, 23), to: Date.UTC(2026, 2, 29, 22) };
    const earlier = findEarlier(span, "-1w", zone);
    const times = Array.from({ length: 24 }, (_, i) => earlier.from + i * hourMs);
    const moved = movedTo(earlier, times, times);
    assert.is(moved.times.length, 23);
    for (const [i, time] of moved.times.entries()) {
      const before = DateTime.fromMillis(moved.values[i] as number, { zone });
      assert.is(
        DateTime.fromMillis(time, { zone }).toFormat("yyyy-MM-dd HH:mm"),
        before.plus({ weeks: 1 }).toFormat("yyyy-MM-dd HH:mm"),
      );
    }
    assert.equal(
      moved.values.every((value) => DateTime.fromMillis(value, { zone }).hour !== 2),
      true,
    );
  });

  test("a line is compared across a doubled hour in ascending order", () => {
    const zone = "Europe/Berlin";
    const span = { from: Date.UTC(2026, 10, 1), to: Date.UTC(2026, 10, 2) };
    const earlier = findEarlier(span, "-1w", zone);
    const times = Array.from({ length: 50 }, (_, i) => earlier.from + (i * hourMs) / 2);
    const moved = movedTo(earlier, times, times);
    assert.ok(moved.times.every((time, i) => i === 0 || time > (moved.times[i - 1] as number)));
  });

  test("points that come late have their place, and are not lost", () => {
    const tails: Tails = new Map();
    for (const time of [10, 30, 40, 20, 5, 40]) addPoint(tails, "a/b", time, time * 2);
    const tail = tails.get("a/b");
    assert.equal(tail, { times: [5, 10, 20, 30, 40], values: [10, 20, 40, 60, 80], late: [20, 5] });
    const found = { times: [1, 10, 15], values: [1, null, 3] };
    assert.equal(withTail(found, tail), {
      times: [1, 5, 10, 15, 20, 30, 40],
      values: [1, 10, null, 3, 40, 60, 80],
    });
    assert.is(withTail(found, undefined), found);
  });

  test("a point that comes long after its time is drawn at its time, though nothing newer has come", () => {
    const tails: Tails = new Map();
    addPoint(tails, "a/b", 15, 30, true);
    assert.equal(withTail({ times: [10, 20], values: [1, 2] }, tails.get("a/b")), {
      times: [10, 15, 20],
      values: [1, 30, 2],
    });
    // What is corrected has its new value.
    assert.equal(withTail({ times: [15, 20], values: [1, 2] }, tails.get("a/b")), {
      times: [15, 20],
      values: [30, 2],
    });
  });

  test("a point is late after a newer one, or ten minutes after its time; what comes twice is not", () => {
    const [late, minute] = [new LatePoints(), 60_000];
    const now = 1000 * minute;
    const told = (time: number, at = now): boolean => late.add("d", 1, time, at);
    assert.equal([told(now - 9 * minute), told(now - 5 * minute), told(now)], [false, false, false]);
    assert.equal([told(now - 5 * minute), told(now)], [false, false]);
    assert.equal([told(now - 8 * minute), told(now - 180 * minute)], [true, true]);
    // A clock of this machine that is behind makes nothing less late.
    assert.is(told(now - 7 * minute, now - 60 * minute), true);
    assert.is(late.add("d", 2, now - 10 * minute, now), true);
    assert.equal(late.of("d", 1), [
      { time: now - 8 * minute, byMs: 8 * minute },
      { time: now - 180 * minute, byMs: 180 * minute },
      { time: now - 7 * minute, byMs: 7 * minute },
    ]);
    assert.equal([late.of("d", 3), late.of("e", 1)], [[], []]);
    for (let i = 0; i < 12_000; i++) late.add("d", 1, i, now);
    assert.is(late.of("d", 1).length, 1000);
  });

  test("a tail is asked for with the others before it loses a point", () => {
    const tails: Tails = new Map();
    const found = new Map([["a/b", { times: [99], values: [1] }]]);
    let isAsked = false;
    for (let time = 0; time < 30_000; time++) {
      addPoint(tails, "a/b", time, time);
      isAsked ||= isFull(found, tails);
      if (!isAsked) assert.ok((tails.get("a/b")?.times[0] ?? 0) <= 99);
    }
    assert.is(isAsked, true);
    assert.is(tails.get("a/b")?.times.at(-1), 29_999);
    assert.is(isFull(new Map([["a/b", { times: [29_000], values: [1] }]]), tails), false);
  });

  test("a file says which of two hours is meant, and runs nothing in a spreadsheet", () => {
    const doubled = Date.UTC(2026, 9, 25, 0, 30);
    const line = {
      name: '=1+1,"x"',
      unit: null,
      color: 0,
      times: [doubled, doubled + hourMs],
      values: [1.5, null],
    };
    assert.is(
      formatLinesCsv([line], "Europe/Berlin"),
      'time,"\'=1+1,""x"""\r\n2026-10-25T02:30:00+02:00,1.5\r\n2026-10-25T02:30:00+01:00,\r\n',
    );
  });
});

consoleSuite("console: explore", (test, world, web) => {
  const start = Date.UTC(2026, 9, 24, 12);
  const end = Date.UTC(2026, 9, 26, 12);
  const stepMs = 10 * 60_000;
  const valueAt = (time: number): number => Math.round(1000 * (20 + 5 * Math.sin(time / 7e6))) / 1000;
  const hostile = `<img src=x onerror=alert(1)>${"x".repeat(200)}`;
  let product: Rec;
  let first: Rec;
  let second: Rec;
  test.before(async () => {
    product = await world.make("/api/v1/products", { productName: unique("P"), cloudProtocol: 1 });
    await makePoint(world, product, { dataPointID: "temp", dataPointName: "Temperature", unitSymbol: "°C" });
    await makePoint(world, product, { dataPointID: "hum", dataPointName: "Humidity", unitSymbol: "%" });
    first = await makeDevice(world, product, { deviceName: "House 1" });
    second = await makeDevice(world, product, { deviceName: hostile });
    const rows = ["deviceID,time,temp"];
    for (let time = start; time < end; time += stepMs) {
      rows.push(`${first.deviceID},${new Date(time).toISOString()},${valueAt(time)}`);
      rows.push(`${second.deviceID},${new Date(time).toISOString()},${valueAt(time) + 100}`);
    }
    await importRows(world, rows);
  });
  const fixed = `&from=${start}&to=${end}`;

  test("two devices are two lines with their newest values; each can be taken away", async () => {
    const { page } = await web.openIn(`/explore?d=${first.deviceID},${second.deviceID}&p=temp${fixed}`);
    const last = valueAt(end - stepMs);
    await reading(page, `Temperature · House 1 ${last}`).waitFor();
    await reading(page, `Temperature · ${hostile} ${Number((last + 100).toPrecision(6))}`).waitFor();
    assert.is(await page.locator("main img").count(), 0);
    await page.getByRole("button", { name: `Take ${hostile} away` }).click();
    await reading(page, `Temperature ${last}`).waitFor();
    assert.match(page.url(), new RegExp(`d=${first.deviceID}&`));
    await page.getByRole("button", { name: "Temperature", exact: true }).click();
    await page.getByText("Nothing is chosen").waitFor();
  });

  for (const systemZone of systemZones) {
    test(`table, range and file agree with the API in five zones, on a machine in ${systemZone}`, async () => {
      const { page } = await web.openIn("/", { timezoneId: systemZone });
      for (const zone of zones) {
        await page.goto(
          `${world.http}/console/explore?d=${first.deviceID}&p=temp&u=hour&view=table&tz=${zone}${fixed}`,
        );
        const rows = page.locator("table.numbers tbody tr");
        await rows.first().waitFor();
        const shown = (await rows.allInnerTexts()).map((row) => row.split(/\t/).map((cell) => cell.trim()));
        const expected = await hourly(world, first, zone, start, end);
        assert.equal(
          shown.map(([time, value]) => [time, value]),
          [...expected]
            .reverse()
            .map(({ time, value }) => [
              DateTime.fromMillis(time, { zone }).toFormat("yyyy-MM-dd HH:mm:ss ZZ"),
              String(Number(value.toPrecision(6))),
            ]),
          zone,
        );
        const wall = DateTime.fromMillis(start, { zone }).toFormat("yyyy-MM-dd'T'HH:mm:ss");
        assert.is((await page.getByLabel("from", { exact: true }).inputValue()).padEnd(19, ":00"), wall);
        const file = await download(page);
        assert.equal(
          file
            .trim()
            .split("\r\n")
            .slice(1)
            .map((row) => row.split(",").slice(0, 2)),
          expected.map(({ time, value }) => [
            DateTime.fromMillis(time, { zone }).toFormat("yyyy-MM-dd'T'HH:mm:ssZZ"),
            String(value),
          ]),
          zone,
        );
      }
    });
  }

  test("a wall time that the clock shows twice can be had both ways", async () => {
    const doubled = Date.UTC(2026, 9, 25, 0, 30);
    const { page } = await web.openIn(
      `/explore?d=${first.deviceID}&p=temp&tz=Europe/Berlin&from=${doubled}&to=${end}`,
    );
    await reading(page, "Temperature").waitFor();
    await page.getByRole("button", { name: "+02:00" }).click();
    await page.waitForURL(new RegExp(`from=${doubled + hourMs}`));
    await page.getByRole("button", { name: "+01:00" }).waitFor();
    await page.getByLabel("from", { exact: true }).fill("2026-10-25T05:00:00");
    await page.getByLabel("from", { exact: true }).press("Enter");
    await page.waitForURL(new RegExp(`from=${Date.UTC(2026, 9, 25, 4)}`));
  });

  test("a time counts when it is left, an end before the beginning moves both, and Back undoes one of them", async () => {
    const { page } = await web.openIn(`/explore?d=${first.deviceID}&p=temp&tz=UTC${fixed}`);
    const [from, to] = ["from", "to"].map((name) => page.getByLabel(name, { exact: true }));
    if (from === undefined || to === undefined) return;
    await reading(page, "Temperature").waitFor();
    const later = Date.UTC(2026, 9, 27, 12);
    await from.fill("2026-10-27T12:00:00");
    assert.match(page.url(), new RegExp(`from=${start}&to=${end}`));
    await to.focus();
    await page.waitForURL(new RegExp(`from=${later}&to=${later + end - start}`));
    await page.goBack();
    await page.waitForURL(new RegExp(`from=${start}&to=${end}`));
    await page.goto(`${world.http}/console/explore?d=${first.deviceID}&tz=UTC&from=${end}&to=${start}`);
    await page.getByText("This range means no time").waitFor();
    assert.is(await from.isVisible(), true);
  });

  test("old values stand dimmed under new settings, go into files as what they are, and a failure is shown", async () => {
    const { page } = await web.openIn(`/explore?d=${first.deviceID}&p=temp&u=day&view=table&tz=UTC${fixed}`);
    const row = page.locator("table.numbers tbody tr", { hasText: "2026-10-25 00:00:00" });
    await row.waitFor();
    let goOn = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    await page.route("**/metrics_data/preview", async (route) => {
      await held;
      await route.fulfill({ status: 400, json: { errorCode: "X", message: "too many windows" } });
    });
    await page.getByLabel("Window").selectOption("hour");
    await page.locator('.answer.old[aria-busy="true"]').waitFor();
    const file = await download(page);
    assert.is(file.trim().split("\r\n").length, 1 + 3);
    goOn();
    await page.getByRole("alert").getByText("too many windows").waitFor();
    assert.is(await page.locator('.answer.old[aria-busy="false"]').count(), 1);
    await page.goBack();
    await page.waitForURL(/u=day/);
  });

  test("a device is found by its name; the calls that are copied are those of what is shown", async () => {
    const { page, context } = await web.openIn(`/explore?u=day&p=temp&tz=UTC${fixed}`);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const name = `Orangery ${unique("N")}`;
    const named = await makeDevice(world, product, { deviceName: name });
    await importRows(world, ["deviceID,time,temp", `${named.deviceID},2026-10-25T00:00:00Z,21.5`]);
    const input = page.locator("input.device");
    await input.fill(name);
    await page.locator(`datalist option[value="${named.deviceID}"]`).waitFor({ state: "attached" });
    await input.press("Enter");
    await reading(page, "Temperature 21.5").waitFor();
    await page.getByRole("button", { name: "Copy as curl" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const calls = (await page.evaluate<string>("navigator.clipboard.readText()")).split("\n");
    assert.equal(
      calls.map((line) => /preview'.*"aggregateType":(\d)/.exec(line)?.[1]),
      ["3", "2", "1"],
    );
  });

  test("the rests of one gesture are one step back", async () => {
    const { page } = await web.openIn(`/explore?d=${first.deviceID}&p=temp&tz=UTC${fixed}`);
    await reading(page, "Temperature").waitFor();
    await page.locator(".plot .u-over").hover();
    // The page's own clock: the time between two rests is not the machine's.
    const setClock = (ms: number) =>
      page.evaluate((now) => {
        performance.now = () => now;
      }, ms);
    await setClock(100_000);
    await page.keyboard.down("Control");
    const rests = async (): Promise<string> => {
      for (let i = 0; i < 3; i++) {
        const before = page.url();
        await page.mouse.wheel(0, -60);
        await page.waitForURL((url) => url.href !== before);
      }
      return page.url();
    };
    const afterOne = await rests();
    await setClock(110_000);
    await rests();
    await page.keyboard.up("Control");
    await page.goBack();
    await page.waitForURL(afterOne);
    await page.goBack();
    await page.waitForURL(new RegExp(`from=${start}&to=${end}`));
  });

  test("windows have their lowest and highest beside the mean", async () => {
    const { page } = await web.openIn(
      `/explore?d=${first.deviceID}&p=temp&u=day&view=table&tz=Asia/Shanghai${fixed}`,
    );
    const row = page.locator("table.numbers tbody tr", { hasText: "2026-10-25 00:00:00" });
    await row.waitFor();
    const day = Date.UTC(2026, 9, 24, 16);
    const values = Array.from({ length: 144 }, (_, i) => valueAt(day + i * stepMs));
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const cells = (await row.locator("td").allInnerTexts()).map(Number);
    assert.equal(cells, [Number(mean.toPrecision(6)), Math.min(...values), Math.max(...values)]);
  });

  test("an earlier time stands beside it, at the same wall times", async () => {
    const from = Date.UTC(2026, 9, 25, 12);
    const { page } = await web.openIn(
      `/explore?d=${first.deviceID}&p=temp&c=-1d&view=table&tz=Europe/Berlin&from=${from}&to=${from + 2 * hourMs}`,
    );
    await page.getByRole("columnheader", { name: "Temperature, 1 day earlier (°C)" }).waitFor();
    const row = page.locator("table.numbers tbody tr", { hasText: "2026-10-25 13:30:00 +01:00" });
    // The day before had summer time: 13:30 was an hour earlier.
    const before = Date.UTC(2026, 9, 24, 11, 30);
    assert.ok(before < start);
    assert.equal(
      (await row.locator("td").allInnerTexts()).map((cell) => cell.trim()),
      [String(valueAt(Date.UTC(2026, 9, 25, 12, 30))), ""],
    );
    const later = page.locator("table.numbers tbody tr", { hasText: "2026-10-25 14:00:00 +01:00" });
    assert.equal(
      (await later.locator("td").allInnerTexts()).map((cell) => cell.trim()),
      [String(valueAt(Date.UTC(2026, 9, 25, 13))), String(valueAt(Date.UTC(2026, 9, 24, 12)))],
    );
  });

  test("the file of points is whole, and comes in again by being dropped on the chart", async () => {
    const { page } = await web.openIn(`/explore?d=${second.deviceID}&p=temp${fixed}`);
    await reading(page, "Temperature").waitFor();
    const file = await download(page);
    assert.is(file.trim().split(/\r?\n/).length, 1 + (end - start) / stepMs);
    const copy = await makeDevice(world, product);
    const renamed = file.replaceAll(String(second.deviceID), String(copy.deviceID));
    await page.locator("input[type=file]").setInputFiles({
      name: "wrong.csv",
      mimeType: "text/csv",
      buffer: Buffer.from("a,b\n1,2\n"),
    });
    await page.getByText("This is no file of points").waitFor();
    assert.is(await page.getByRole("button", { name: "Import", exact: true }).isDisabled(), true);
    await page.locator("input[type=file]").setInputFiles({
      name: "points.csv",
      mimeType: "text/csv",
      buffer: Buffer.from(`${renamed}nobody,temp,2026-10-25T00:00:00Z,1\n`),
    });
    const count = (end - start) / stepMs;
    await page
      .getByText(`${1 + count} rows`, { exact: false })
      .first()
      .waitFor();
    await page.getByText(`${count} points are new, 0 would change a value, 0 are stored already`).waitFor();
    await page.getByText("whose rows are refused: nobody").waitFor();
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByText(`${(end - start) / stepMs} points stored, 1 rows refused`).waitFor();
    await page.locator("input[type=file]").setInputFiles({
      name: "points.csv",
      mimeType: "text/csv",
      buffer: Buffer.from(`${renamed}${copy.deviceID},heat,2026-10-25T00:00:00Z,1\n`),
    });
    await page.getByText("0 points are new").waitFor();
    await page.getByText("Unknown data points: heat").waitFor();
    await page.evaluate(
      "Blob.prototype.arrayBuffer = () => Promise.reject(new DOMException('', 'NotFoundError'))",
    );
    await page.locator("input[type=file]").setInputFiles({
      name: "folder",
      mimeType: "",
      buffer: Buffer.from(""),
    });
    await page.getByRole("alert").getByText("folder").waitFor();
    const query = `startTime=${start}&endTime=${end}&timeFormat=ms`;
    const [a, b] = await Promise.all(
      [second, copy].map(({ deviceID }) =>
        world.call("GET", `/api/v1/original_data?deviceID=${deviceID}&${query}`),
      ),
    );
    assert.equal(b?.list, a?.list);
  });

  test("live: a point is on the line as it comes; a fixed link stays where it is", async () => {
    const { page, context } = await web.openIn(`/explore?d=${first.deviceID}&p=temp,hum&from=-1h&live=1`);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Humidity" }).waitFor();
    await until(
      async () => {
        await world.publish(first, { hum: 55.25 });
        return (await reading(page, "Humidity 55.25").count()) > 0;
      },
      { what: "the first point" },
    );
    await world.publish(first, { hum: 56.5 });
    await reading(page, "Humidity 56.5").waitFor();
    await page.getByRole("button", { name: "Copy fixed link" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const link = await page.evaluate<string>("navigator.clipboard.readText()");
    const { searchParams } = new URL(link);
    assert.is(searchParams.get("live"), null);
    assert.ok(Number(searchParams.get("to")) - Number(searchParams.get("from")) === hourMs, link);
    assert.is(searchParams.get("tz"), "UTC");
  });

  test("live: what comes late is marked in words, on the line and in the table", async () => {
    const own = await makeDevice(world, product, { deviceName: "Late" });
    const minute = Math.floor(Date.now() / 60_000) * 60_000;
    const threeHours = { time: minute - 3 * hourMs - 60_000, temp: 7.5 };
    const { page } = await web.openIn(`/explore?d=${own.deviceID}&p=temp&from=-6h&live=1`);
    await page.getByRole("button", { name: "Temperature", exact: true }).waitFor();
    await until(
      async () => {
        await world.publish(own, { temp: 20 });
        return (await reading(page, "Temperature 20").count()) > 0;
      },
      { what: "the first point" },
    );
    await world.publish(own, [threeHours]);
    const plot = page.locator(".plot");
    await plot.focus();
    await until(
      async () => {
        await page.keyboard.press("Home");
        return (await reading(page, "Temperature 7.5").count()) > 0;
      },
      { what: "the late point to be on the line" },
    );
    await page.locator(".readout .status.late", { hasText: "Temperature: came 3 h later" }).waitFor();
    await page.getByRole("button", { name: "As table" }).click();
    const row = page.locator("table.numbers tbody tr", { hasText: "7.5" });
    await row.getByText("came 3 h later").waitFor();
    assert.is(await page.locator("table.numbers .status.late").count(), 1);
  });

  test("a missing device is reported, and no viewer is asked for files", async () => {
    const user = { username: unique("viewing"), password: "correct horse battery" };
    await world.make("/api/v1/users", { ...user, role: "viewer" });
    const { page } = await web.openIn(`/explore?d=nobody,${first.deviceID}&p=temp${fixed}`, { user });
    await page.getByText("There is no device nobody.").waitFor();
    await reading(page, `Temperature ${valueAt(end - stepMs)}`).waitFor();
    assert.is(await page.locator("input[type=file]").count(), 0);
  });

  test("on a phone nothing scrolls sideways", async () => {
    const { page } = await web.openIn(`/explore?d=${first.deviceID},${second.deviceID}&u=day&c=-1d${fixed}`, {
      viewport: { width: 360, height: 740 },
      isMobile: true,
      hasTouch: true,
    });
    await reading(page, "Temperature").first().waitFor();
    assert.is(await page.evaluate<number>("document.documentElement.scrollWidth"), 360);
  });
});

consoleSuite(
  "console: explore in variant B",
  (test, world, web) => {
    test("points of a device are drawn as in A", async () => {
      const body = { productName: unique("P"), cloudProtocol: 1 };
      const product = await world.make("/api/v1/products", body, { headers: { "Api-Variant": "A" } });
      await makePoint(world, product, { dataPointID: "temp", dataPointName: "Temperature" });
      const device = await world.make("/api/v1/devices", {
        deviceName: unique("Device"),
        productID: product.productID,
        deviceType: 0,
        authType: 1,
      });
      await importRows(world, ["deviceID,time,temp", `${device.deviceID},2026-10-25T00:00:00Z,21.5`]);
      const { page } = await web.openIn(
        `/explore?d=${device.deviceID}&from=${Date.UTC(2026, 9, 24)}&to=${Date.UTC(2026, 9, 26)}`,
      );
      await reading(page, "Temperature 21.5").waitFor();
      assert.is(await page.locator(".plot").count(), 1);
    });
  },
  { API_VARIANT: "B" },
);

const reading = (page: Page, text: string) => page.locator(".readout .reading", { hasText: text });

const makePoint = (world: World, product: Rec, fields: object) =>
  world.make("/api/v1/data_points", {
    productIntID: product.id,
    pointDataType: 1,
    dataTransType: 1,
    ...fields,
  });

async function importRows(world: World, rows: readonly string[]): Promise<void> {
  const headers = { "Content-Type": "text/csv" };
  const { record } = await world.call("POST", "/api/v1/original_data", `${rows.join("\n")}\n`, { headers });
  await until(
    async () => (await world.call("GET", `/api/v1${record.statusUrl}`)).record.state === "SUCCESS",
    { what: "the import" },
  );
}

/** Means of whole hours, as the API has them for a metric that is saved. */
async function hourly(world: World, device: Rec, zone: string, from: number, to: number) {
  const { page } = await world.call("GET", "/api/v1/metrics?metricName=hourly");
  const points = await world.call(
    "GET",
    `/api/v1/data_points?productID=${device.productID}&dataPointID=temp`,
  );
  const metric =
    page.items[0] ??
    (await world.make("/api/v1/metrics", {
      metricName: "hourly",
      dataPointIntID: points.page.items[0]?.id,
      metricType: 2,
      aggregateType: 3,
    }));
  const { list } = await world.call(
    "GET",
    `/api/v1/metrics_data?deviceID=${device.deviceID}&metricIntID=${metric.id}&time_unit=hour&timezone=${zone}&startTime=${from}&endTime=${to}&timeFormat=ms`,
  );
  const { time, value } = (list[0] as Rec).metricData as { time: number[]; value: number[] };
  return time.map((at, i) => ({ time: at, value: value[i] as number }));
}

const download = (page: Page): Promise<string> =>
  downloadedText(page, page.getByRole("button", { name: "Download CSV" }));
