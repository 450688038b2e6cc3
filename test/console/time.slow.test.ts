/** The console's own arithmetic of time: wall clocks, ticks and ranges, against luxon. */
import fc from "fast-check";
import { DateTime } from "luxon";
import { zone as zoneOf } from "../../query/zone.js";
import { createTicks } from "../../src/console/app/charts/ticks.js";
import { withinTimes } from "../../src/console/app/charts/times.js";
import {
  clockChanges,
  fromWallTime,
  isZone,
  loadZone,
  offsetText,
  readZonesBy,
  toWallTime,
  wallText,
} from "../../src/console/app/charts/zone.js";
import { resolveSpan, shifted, withEnd } from "../../src/console/app/range/range.js";
import { zoneShown } from "../../src/views/time-zones.js";
import { makeDataPoint, makeDevice, makeProduct } from "../factories.js";
import { assert, suite } from "../suite.js";
import { consoleSuite } from "./browser.js";
import { learnZones } from "./zones-known.js";

const zones = [
  "UTC",
  "Asia/Shanghai",
  "Europe/Berlin",
  "America/New_York",
  "Asia/Kolkata",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "America/Sao_Paulo",
  "Pacific/Apia",
  "America/St_Johns",
  "Asia/Gaza",
] as const;
const zone = fc.constantFrom(...zones);
const time = fc.integer({ min: Date.UTC(1972, 0, 1), max: Date.UTC(2037, 11, 31) });
const hourMs = 3_600_000;

suite("console: time", (test) => {
  test.before(() => learnZones(...zones));

  test("the wall clock is luxon's, in every zone and at every time", () => {
    fc.assert(
      fc.property(zone, time, (zone, at) => {
        const local = DateTime.fromMillis(at, { zone });
        assert.is(toWallTime(zone, at), at + local.offset * 60_000);
        assert.is(offsetText(zone, at), local.toFormat("ZZ"));
        const digits = at % 1000 === 0 ? "" : ".SSS";
        assert.is(wallText(zone, at), local.toFormat(`yyyy-MM-dd HH:mm:ss${digits}`));
      }),
      { numRuns: 500 },
    );
  });

  test("what a wall clock shows leads back to the time; of two the first", () => {
    fc.assert(
      fc.property(zone, time, (zone, at) => {
        const wall = toWallTime(zone, at);
        const back = fromWallTime(zone, wall);
        assert.is(toWallTime(zone, back), wall);
        assert.ok(back <= at && at - back <= hourMs);
      }),
      { numRuns: 500 },
    );
  });

  test("a wall time that the clock skips moves forward by the gap", () => {
    const skipped = fromWallTime("Europe/Berlin", Date.UTC(2026, 2, 29, 2, 30));
    assert.is(wallText("Europe/Berlin", skipped), "2026-03-29 03:30:00");
    assert.is(fromWallTime("Europe/Berlin", Date.UTC(2026, 9, 25, 2, 30)), Date.UTC(2026, 9, 25, 0, 30));
  });

  test("ticks ascend within the range, no more than asked for, on whole steps of the wall clock", () => {
    const length = fc.integer({ min: 1000, max: 20 * 365 * 24 * hourMs });
    fc.assert(
      fc.property(zone, time, length, fc.integer({ min: 2, max: 20 }), (zone, from, length, most) => {
        const { times, labels } = createTicks(zone, from, from + length, most, "en");
        assert.is(labels.length, times.length);
        // Where a day has 25 hours there may be one more.
        assert.ok(times.length <= most + 2, `${times.length} of ${most}`);
        for (const [i, at] of times.entries()) {
          assert.ok(at >= from && at <= from + length && at > (times[i - 1] ?? Number.NEGATIVE_INFINITY));
          const local = DateTime.fromMillis(at, { zone });
          if (length > 40 * 24 * hourMs && most < 10) {
            assert.is(local.toFormat("HH:mm:ss.SSS"), local.startOf("day").toFormat("HH:mm:ss.SSS"));
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  test("on a night of 25 hours each hour has its tick, the doubled one twice by short steps", () => {
    const from = Date.UTC(2026, 9, 24, 22);
    const { times } = createTicks("Europe/Berlin", from, from + 4 * hourMs, 8, "en");
    assert.equal(
      times.map((at) => wallText("Europe/Berlin", at).slice(11, 16)),
      ["00:00", "00:30", "01:00", "01:30", "02:00", "02:30", "02:00", "02:30", "03:00"].slice(
        0,
        times.length,
      ),
    );
    assert.ok(times.length >= 8);
  });

  test("ranges: relative ones go by the calendar of the zone, fixed ones stay", () => {
    const now = Date.UTC(2026, 2, 29, 10);
    const berlin = "Europe/Berlin";
    assert.equal(resolveSpan({ start: "-24h", end: "now" }, now, berlin), {
      from: now - 24 * hourMs,
      to: now,
    });
    // The day before, at the same wall time: 23 hours ago.
    assert.equal(resolveSpan({ start: "-1d", end: "now" }, now, berlin), {
      from: now - 23 * hourMs,
      to: now,
    });
    assert.is(
      wallText(berlin, resolveSpan({ start: "today", end: "now" }, now, berlin)?.from ?? 0),
      "2026-03-29 00:00:00",
    );
    const may = Date.UTC(2026, 4, 31, 10);
    assert.is(
      wallText(berlin, resolveSpan({ start: "-3M", end: "now" }, may, berlin)?.from ?? 0),
      "2026-02-28 12:00:00",
    );
    for (const wrong of ["", "yesterday", "-5x", "-h", "now"]) {
      assert.is(resolveSpan({ start: wrong, end: "now" }, now, berlin), null, wrong);
    }
    assert.equal(shifted({ from: 1000, to: 3000 }, -0.5), { start: "0", end: "2000" });
    const old = { from: Date.UTC(1850, 0), to: Date.UTC(1971, 0) };
    assert.equal(resolveSpan({ start: String(old.from), end: String(old.to) }, now, berlin), old);
  });

  test("an end that is moved past the other takes it along", () => {
    const span = { from: 1000, to: 3000 };
    assert.equal(withEnd(span, { from: 2000 }), { from: 2000, to: 3000 });
    assert.equal(withEnd(span, { from: 3000 }), { from: 3000, to: 5000 });
    assert.equal(withEnd(span, { to: 500 }), { from: -1500, to: 500 });
  });

  test("no gesture leads beyond the times that points can have", () => {
    const [first, last] = [Date.UTC(1684, 0) / 1000, Date.UTC(2255, 0) / 1000];
    assert.equal(withinTimes(10, 20), [10, 20]);
    assert.equal(withinTimes(first - 100, first), [first, first + 100]);
    assert.equal(withinTimes(last, last + 100), [last - 100, last]);
    assert.equal(withinTimes(-1e15, 1e15), [first, last]);
  });

  test("a zone is one once its rules have come; what is none stays none", async () => {
    const asked: string[] = [];
    readZonesBy(async (name) => {
      asked.push(name);
      if (name === "Away") throw new Error("no answer");
      return name === "Asia/Tokyo" ? zoneShown(zoneOf(name)) : null;
    });
    const names = ["Europe/Berlin", "Asia/Tokyo", "Mars/Base", "", "<script>", "Away"];
    assert.equal(names.map(isZone), [true, false, false, false, false, false]);
    assert.is(await loadZone("Mars/Base"), false);
    assert.equal(names.map(isZone), [true, true, false, false, false, false]);
    // A zone whose request got no answer is requested again.
    assert.equal(asked, ["Asia/Tokyo", "Mars/Base", "<script>", "Away", "Mars/Base", "Away"]);
    assert.is(wallText("Asia/Tokyo", 0), "1970-01-01 09:00:00");
  });

  test("the changes of the clock within a range", () => {
    const [from, to] = [Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 1)];
    assert.equal(clockChanges("Europe/Berlin", from, to), [
      { time: Date.UTC(2026, 2, 29, 1), minutes: 60 },
      { time: Date.UTC(2026, 9, 25, 1), minutes: -60 },
    ]);
    assert.equal(clockChanges("UTC", from, to), []);
  });
});

consoleSuite(
  "console: stamps",
  (test, world, web) => {
    test("a stamp is shown by the deployment's clock, or by that of the zone in the address", async () => {
      const product = await makeProduct(world);
      const headers = { "Time-Format": "ms" };
      const { record } = await world.call("GET", `/api/v1/products/${product.id}`, undefined, { headers });
      const at = Number(record.createAt);
      const { page } = await web.openIn("/products");
      const shown = page.locator("td time").first();
      for (const [query, where] of [
        ["", "America/New_York"],
        ["?tz=Asia/Kathmandu", "Asia/Kathmandu"],
        ["?tz=nowhere", "America/New_York"],
      ] as const) {
        await page.goto(`${world.http}/console/products${query}`);
        await shown.waitFor();
        assert.is(await shown.textContent(), wallText(where, Math.floor(at / 1000) * 1000));
        assert.is(await shown.getAttribute("datetime"), new Date(at).toISOString());
        assert.is(await shown.getAttribute("title"), `${where} ${offsetText(where, at)}`);
      }
      // Since 2026 without summer time, which the browser need not know.
      await page.goto(`${world.http}/console/products?tz=Africa/Casablanca`);
      await page.locator('td time[title="Africa/Casablanca +00:00"]').first().waitFor();
      assert.is(await shown.textContent(), new Date(at).toISOString().slice(0, 19).replace("T", " "));
    });

    test("an alert that the service has named is shown in the language of the page", async () => {
      const product = await makeProduct(world);
      await makeDataPoint(world, product, { dataPointID: "temp", dataPointName: "Heat", upperLimit: 50 });
      await world.publish(await makeDevice(world, product), { temp: 60 });
      await world.alertsSettled();
      const { page } = await web.openIn("/alerts");
      await page
        .getByRole("cell", { name: /above its upper limit/ })
        .first()
        .waitFor();
      await page.getByLabel("Language").selectOption("zh");
      await page
        .getByRole("cell", { name: /超上限/ })
        .first()
        .waitFor();
    });
  },
  { TIMEZONE: "America/New_York" },
);
