import fc from "fast-check";
import { DateTime } from "luxon";
import {
  windowEnd,
  windowStart,
  windowsBefore,
  windowsMax,
  listWindows as windowsOfMicros,
} from "../../query/windows.js";
import { type Zone, zone } from "../../query/zone.js";
import type { WindowUnit } from "../../store/series/series.js";
import { assert, suite } from "../suite.js";

const units: readonly WindowUnit[] = ["minute", "hour", "day", "week", "month", "year"];
/** Whose rules of today luxon has too, by the Node.js that runs this; zone.slow.test.ts looks at all others. */
const zones = [
  ..."UTC America/New_York Europe/Moscow Europe/London Europe/Lisbon Asia/Shanghai Asia/Kolkata".split(" "),
  ..."America/Santiago Australia/Lord_Howe Pacific/Apia".split(" "),
  ..."Asia/Kathmandu Africa/Cairo Asia/Beirut Pacific/Chatham America/St_Johns".split(" "),
  ..."America/Asuncion Asia/Amman Asia/Gaza Atlantic/Azores America/Scoresbysund".split(" "),
  ..."America/Juneau Asia/Manila Pacific/Kwajalein America/Toronto America/Goose_Bay".split(" "),
];
/** The same, but for days of 1965 and 1979 that the database has corrected since. */
const laterZones = ["America/Sao_Paulo", "Asia/Tehran"];
const lengthMs: Readonly<Record<WindowUnit, number>> = {
  minute: 6e4,
  hour: 3.6e6,
  day: 8.64e7,
  week: 6.048e8,
  month: 2.6e9,
  year: 3.1536e10,
};
const hourMs = 3_600_000;
const anyInstant = fc.integer({ min: Date.UTC(1950, 0, 1), max: Date.UTC(2100, 0, 1) });

/** The start of the calendar unit on the wall clock, as if it were UTC: luxon's fields, no arithmetic of zones. */
function wallStart(unit: WindowUnit, name: string, utc: number): number {
  return DateTime.fromMillis(utc, { zone: name })
    .setZone("UTC", { keepLocalTime: true })
    .startOf(unit)
    .toMillis();
}

/** The same, but that a day which has begun goes on where the clock goes back over its midnight. */
function labelOf(unit: WindowUnit, name: string, utc: number): number {
  const now = wallStart(unit, name, utc);
  if (unit === "hour" || unit === "minute") return now;
  const offsetAt = (instant: number) => DateTime.fromMillis(instant, { zone: name }).offset;
  let [before, after] = [utc - 50 * hourMs, utc];
  if (offsetAt(before) <= offsetAt(after)) return now;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (offsetAt(middle) === offsetAt(utc)) after = middle;
    else before = middle;
  }
  return Math.max(now, wallStart(unit, name, before));
}

/** In milliseconds throughout; that ranges are cut to the microsecond has its own test. */
function windowsOf(unit: WindowUnit, place: Zone, start: number, stop: number) {
  const { edges, starts, labels } = windowsOfMicros(unit, place, start * 1000, stop * 1000);
  return { edges: edges.map((edge) => edge / 1000), starts: starts.map((one) => one / 1000), labels };
}

const at = (text: string): number => Date.parse(`${text.replace(" ", "T")}Z`);
const text = (wall: number): string => new Date(wall).toISOString().slice(0, 16).replace("T", " ");
const iso = (instant: number): string => new Date(instant).toISOString().slice(0, 16);

function labels(unit: WindowUnit, name: string, start: string, stop: string): string[] {
  return windowsOf(unit, zone(name), at(start), at(stop)).labels.map(text);
}

/** Hours of each day that begins from `start` to before `stop`, given in UTC. */
function dayHours(name: string, start: string, stop: string): [string, number][] {
  const { edges, labels } = windowsOf("day", zone(name), at(start), at(stop));
  return labels.map((label, i) => [
    text(label).slice(0, 10),
    ((edges[i + 1] ?? 0) - (edges[i] ?? 0)) / hourMs,
  ]);
}

/** A fraction of a length, evenly spread, since most doubles of fast-check are tiny. */
const part = fc.integer({ min: 0, max: 999_999 }).map((millionth) => millionth / 1e6);

const places = fc.oneof(
  { weight: 6, arbitrary: fc.record({ name: fc.constantFrom(...zones), instant: anyInstant }) },
  {
    weight: 1,
    arbitrary: fc.record({
      name: fc.constantFrom(...laterZones),
      // Ranges begin up to five years before it.
      instant: fc.integer({ min: Date.UTC(1985, 0, 1), max: Date.UTC(2100, 0, 1) }),
    }),
  },
  {
    // Here clocks were changed at 00:01, back over the midnight that had just been.
    weight: 1,
    arbitrary: fc.record({
      name: fc.constantFrom("America/St_Johns", "America/Goose_Bay"),
      instant: fc.integer({ min: Date.UTC(1989, 0, 1), max: Date.UTC(2011, 0, 1) }),
    }),
  },
);

/** A random range of some windows, half of them around a change of the clock. */
const ranges = fc
  .record({
    place: places,
    unit: fc.constantFrom(...units),
    atChange: fc.boolean(),
    before: part.map((one) => one * 5),
    after: part.map((one) => 0.01 + one * 5),
  })
  .map(({ place: { name, instant }, unit, atChange, before, after }) => {
    const middle = atChange ? zone(name).nextChange(instant, instant + 300 * 24 * hourMs) : instant;
    const start = middle - Math.floor(before * lengthMs[unit]);
    return { name, unit, start, stop: middle + Math.ceil(after * lengthMs[unit]) };
  });

suite("calendar windows", (test) => {
  test("tile the range, and every instant has the label that luxon gives it", () => {
    fc.assert(
      fc.property(ranges, part, ({ name, unit, start, stop }, within) => {
        const { edges, starts, labels } = windowsOf(unit, zone(name), start, stop);
        assert.is(edges[0], start);
        assert.is(edges.at(-1), stop);
        for (const [i, label] of labels.entries()) {
          const [first = 0, end = 0] = edges.slice(i, i + 2);
          assert.ok(first < end, "windows have a length");
          assert.is(starts[i], windowStart(unit, zone(name), first));
          for (const utc of [first, first + Math.floor((end - 1 - first) * within), end - 1]) {
            assert.is(text(label), text(labelOf(unit, name, utc)), `${unit} ${name} ${iso(utc)}`);
          }
        }
      }),
      { numRuns: 1500 },
    );
  });

  test("labels and starts do not depend on the range, which cuts to the microsecond", () => {
    fc.assert(
      fc.property(ranges, part, part, ({ name, unit, start, stop }, from, length) => {
        const whole = windowsOfMicros(unit, zone(name), start * 1000, stop * 1000);
        // Half of them begin in the hour after the next change of the clock.
        const change = zone(name).nextChange(start, stop);
        const anywhere = start * 1000 + Math.floor(from * ((stop - start) * 1000 - 1));
        const behind = Math.floor((change + ((from * 2) % 1) * hourMs) * 1000);
        const cutStart = from < 0.5 || behind >= stop * 1000 - 1 ? anywhere : behind;
        const cutStop = cutStart + 1 + Math.floor(length * (stop * 1000 - cutStart - 1));
        const cut = windowsOfMicros(unit, zone(name), cutStart, cutStop);
        const overlapping = whole.labels.flatMap((label, i) => {
          const [edge = 0, end = 0] = whole.edges.slice(i, i + 2);
          const [first, last] = [Math.max(edge, cutStart), Math.min(end, cutStop)];
          return first < last ? [{ first, last, label, start: whole.starts[i] }] : [];
        });
        const told = `${unit} ${name} from ${cutStart} to ${cutStop}`;
        assert.equal(cut.edges, [cutStart, ...overlapping.map(({ last }) => last)], told);
        assert.equal(cut.labels.map(text), overlapping.map(({ label }) => label).map(text), told);
        assert.equal(
          cut.starts,
          overlapping.map((one) => one.start),
          told,
        );
      }),
      { numRuns: 3000 },
    );
  });

  test("a label comes twice only where the clock goes back within an hour or minute", () => {
    fc.assert(
      fc.property(ranges, ({ name, unit, start, stop }) => {
        const { edges, labels } = windowsOf(unit, zone(name), start, stop);
        for (let i = 1; i < labels.length; i++) {
          const [before = 0, after = 0, edge = 0] = [labels[i - 1], labels[i], edges[i]];
          if (after > before) continue;
          assert.ok(unit === "hour" || unit === "minute", `${unit} ${name} ${iso(edge)}`);
          assert.is.not(zone(name).offsetAt(edge - 1), zone(name).offsetAt(edge));
        }
      }),
      { numRuns: 1000 },
    );
  });

  test("start and end enclose the instant and meet", () => {
    fc.assert(
      fc.property(ranges, ({ name, unit, start: utc }) => {
        const place = zone(name);
        const start = windowStart(unit, place, utc);
        const end = windowEnd(unit, place, utc);
        assert.ok(start <= utc && utc < end);
        assert.is(windowEnd(unit, place, start), end, `end of ${unit} ${name} ${iso(utc)}`);
        assert.is(windowStart(unit, place, end - 1), start, `start of ${unit} ${name} ${iso(utc)}`);
        assert.is(windowsBefore(unit, place, utc, 0), start);
      }),
      { numRuns: 1500 },
    );
  });

  test("going back n windows and forward n windows arrives where it began", () => {
    fc.assert(
      fc.property(ranges, fc.integer({ min: 1, max: 40 }), ({ name, unit, start: utc }, count) => {
        const start = windowsBefore(unit, zone(name), utc, count);
        const stop = windowStart(unit, zone(name), utc);
        assert.is(windowsOf(unit, zone(name), start, stop).labels.length, count, `${unit} ${name}`);
      }),
      { numRuns: 800 },
    );
  });

  test("New York: both 01:00 windows of the 25-hour day, no 02:00 on the 23-hour one", () => {
    const autumn = labels("hour", "America/New_York", "2026-11-01 04:00", "2026-11-02 05:00");
    assert.is(autumn.length, 25);
    assert.equal(
      autumn.slice(0, 4).map((label) => label.slice(11)),
      ["00:00", "01:00", "01:00", "02:00"],
    );
    const spring = labels("hour", "America/New_York", "2026-03-08 05:00", "2026-03-09 04:00");
    assert.is(spring.length, 23);
    assert.not(spring.includes("2026-03-08 02:00"));
    const days = dayHours("America/New_York", "2026-10-31 04:00", "2026-11-03 05:00");
    assert.equal(
      days.map(([, hours]) => hours),
      [24, 25, 24],
    );
  });

  test("Santiago and São Paulo: the day without midnight is labelled 00:00 and begins at 01:00", () => {
    for (const [name, day, begins] of [
      ["America/Santiago", "2026-09-06", "2026-09-06T04:00"],
      ["America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00"],
    ] as const) {
      const noon = at(`${day} 15:00`);
      const start = windowStart("day", zone(name), noon);
      assert.is(iso(start), begins);
      assert.is((windowEnd("day", zone(name), noon) - start) / hourMs, 23);
      assert.equal(windowsOf("day", zone(name), start, noon).labels.map(text), [`${day} 00:00`]);
      assert.is(text(windowsOf("hour", zone(name), start, noon).labels[0] ?? 0), `${day} 01:00`);
    }
  });

  test("Lord Howe: half an hour more and less", () => {
    const autumn = windowsOf(
      "hour",
      zone("Australia/Lord_Howe"),
      at("2026-04-04 14:00"),
      at("2026-04-04 16:30"),
    );
    assert.equal(autumn.labels.map(text), [...["2026-04-05 01:00", "2026-04-05 01:00", "2026-04-05 02:00"]]);
    assert.equal(autumn.edges.map(iso), [
      ...["2026-04-04T14:00", "2026-04-04T15:00", "2026-04-04T15:30", "2026-04-04T16:30"],
    ]);
    const days = dayHours("Australia/Lord_Howe", "2026-04-04 13:00", "2026-04-05 13:30");
    assert.equal(days, [["2026-04-05", 24.5]]);
    const spring = windowStart("hour", zone("Australia/Lord_Howe"), at("2026-10-03 15:45"));
    assert.is(iso(spring), "2026-10-03T15:30");
  });

  test("Apia: 30 December 2011 did not happen", () => {
    const days = dayHours("Pacific/Apia", "2011-12-28 10:00", "2012-01-01 10:00");
    assert.equal(days, [
      ["2011-12-28", 24],
      ["2011-12-29", 24],
      ["2011-12-31", 24],
      ["2012-01-01", 24],
    ]);
    const [start, end] = [windowStart, windowEnd].map((edge) =>
      iso(edge("week", zone("Pacific/Apia"), at("2011-12-31 00:00"))),
    );
    assert.equal([start, end], ["2011-12-26T10:00", "2012-01-01T10:00"]);
  });

  test("St. John's: the clock went back from 00:01 to 23:01, and the new day keeps the repeated hour", () => {
    const days = dayHours("America/St_Johns", "2010-11-06 02:30", "2010-11-09 03:30");
    assert.equal(days, [
      ["2010-11-06", 24],
      ["2010-11-07", 25],
      ["2010-11-08", 24],
    ]);
    // Within the repeated hour as well, whatever the range.
    for (const [unit, label, begins] of [
      ["day", "2010-11-07 00:00", "2010-11-07T02:30"],
      ["week", "2010-11-01 00:00", "2010-11-01T02:30"],
      ["month", "2010-11-01 00:00", "2010-11-01T02:30"],
    ] as const) {
      const { labels, starts } = windowsOf(
        unit,
        zone("America/St_Johns"),
        at("2010-11-07 02:41"),
        at("2010-11-07 02:42"),
      );
      assert.equal([labels.map(text), starts.map(iso)], [[label], [begins]]);
    }
  });

  test("Moscow, Shanghai and Kolkata: days from their midnights", () => {
    for (const [name, start] of [
      ["Europe/Moscow", "2026-06-30T21:00"],
      ["Asia/Shanghai", "2026-06-30T16:00"],
      ["Asia/Kolkata", "2026-06-30T18:30"],
    ] as const) {
      assert.is(iso(windowStart("month", zone(name), at("2026-07-15 00:00"))), start);
      assert.is(iso(windowStart("day", zone(name), at("2026-07-01 10:00"))), start);
    }
    assert.equal(dayHours("Europe/Moscow", "2014-10-25 20:00", "2014-10-26 21:00"), [["2014-10-26", 25]]);
    assert.is(iso(windowStart("hour", zone("Asia/Kolkata"), at("2026-07-01 10:15"))), "2026-07-01T09:30");
  });

  test("weeks begin on Monday, also across a year's end", () => {
    assert.equal(labels("week", "UTC", "2026-12-27 00:00", "2027-01-05 00:00"), [
      ...["2026-12-21 00:00", "2026-12-28 00:00", "2027-01-04 00:00"],
    ]);
  });

  test("months and years have their lengths, leap years too", () => {
    const { edges } = windowsOf("month", zone("UTC"), at("2024-01-01 00:00"), at("2024-04-01 00:00"));
    const days = edges.slice(1).map((edge, i) => (edge - (edges[i] ?? 0)) / hourMs / 24);
    assert.equal(days, [31, 29, 31]);
    assert.equal(labels("year", "UTC", "2023-06-01 00:00", "2025-01-01 00:00").length, 2);
  });

  test("a window that the range cuts keeps its calendar start as label", () => {
    const cut = windowsOf("hour", zone("UTC"), at("2026-01-01 10:20"), at("2026-01-01 11:40"));
    assert.equal(cut.labels.map(text), ["2026-01-01 10:00", "2026-01-01 11:00"]);
    assert.equal(cut.starts.map(iso), ["2026-01-01T10:00", "2026-01-01T11:00"]);
    assert.equal(cut.edges.map(iso), ["2026-01-01T10:20", "2026-01-01T11:00", "2026-01-01T11:40"]);
  });

  test("no more windows than the limit, and a huge range is refused without counting", () => {
    const stop = windowsMax * 60_000;
    assert.is(windowsOf("minute", zone("Europe/Berlin"), 0, stop).labels.length, windowsMax);
    assert.throws(() => windowsOf("minute", zone("Europe/Berlin"), 0, stop + 1), /10000 windows/);
    assert.throws(() => windowsOf("minute", zone("UTC"), -1e15, 1e15), /10000 windows/);
  });
});
