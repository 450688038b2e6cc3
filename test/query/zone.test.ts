import fc from "fast-check";
import { IANAZone } from "luxon";
import { zone } from "../../query/zone.js";
import { assert, suite } from "../suite.js";

const names = Intl.supportedValuesOf("timeZone");
const anyZone = fc.constantFrom(...names);
const from = Date.UTC(1950, 0, 1);
const to = Date.UTC(2100, 0, 1);
const anyInstant = fc.integer({ min: from, max: to });
const hourMs = 3_600_000;

/** Milliseconds ahead of UTC, by luxon. */
function offsetOf(name: string, utc: number): number {
  return Math.round(IANAZone.create(name).offset(utc) * 60_000);
}

/** Every instant with this wall time, by luxon; earliest first. */
function instantsOf(name: string, wall: number): number[] {
  const offsets = new Set([-26, 26].map((hours) => offsetOf(name, wall + hours * hourMs)));
  const found = [...offsets].map((offset) => wall - offset);
  return found.filter((utc) => utc + offsetOf(name, utc) === wall).sort((a, b) => a - b);
}

const utc = (text: string): number => Date.parse(`${text.replace(" ", "T")}Z`);
const iso = (instant: number): string => new Date(instant).toISOString().slice(0, 16);

suite("time zones", (test) => {
  test("offsets are luxon's", () => {
    fc.assert(
      fc.property(anyZone, anyInstant, (name, instant) => {
        assert.is(zone(name).offsetAt(instant), offsetOf(name, instant), `${name} ${iso(instant)}`);
      }),
      { numRuns: 3000 },
    );
  });

  test("the next change is where the offset changes first", () => {
    fc.assert(
      fc.property(
        anyZone,
        anyInstant,
        fc.array(fc.double({ min: 0, max: 1, noNaN: true })),
        (name, start, parts) => {
          const end = start + 300 * 24 * hourMs;
          const place = zone(name);
          const change = place.nextChange(start, end);
          const before = offsetOf(name, start);
          const within = parts.map((part) => start + Math.floor((change - 1 - start) * part));
          for (const at of [...within, change - 1]) assert.is(offsetOf(name, at), before, name);
          if (change === end) return;
          assert.is.not(offsetOf(name, change), before, name);
          assert.is(place.offsetAt(change), offsetOf(name, change));
          assert.is(place.offsetAt(change - 1), before);
        },
      ),
      { numRuns: 600 },
    );
  });

  test("a wall time means its first instant, a missing one moves forward by the gap", () => {
    const nearHours = fc.integer({ min: -4 * 60, max: 4 * 60 });
    fc.assert(
      fc.property(anyZone, anyInstant, nearHours, (name, start, minutes) => {
        const place = zone(name);
        const change = place.nextChange(start, start + 300 * 24 * hourMs);
        const wall = change + place.offsetAt(change) + minutes * 60_000;
        const [first = wall - offsetOf(name, wall - 26 * hourMs)] = instantsOf(name, wall);
        assert.is(place.fromWall(wall), first, `${name} ${iso(wall)}`);
      }),
      { numRuns: 1500 },
    );
  });

  const cases: readonly (readonly [what: string, zone: string, wall: string, instant: string])[] = [
    ["doubled hour", "America/New_York", "2026-11-01 01:30", "2026-11-01T05:30"],
    ["missing hour", "America/New_York", "2026-03-08 02:30", "2026-03-08T07:30"],
    ["midnight missing", "America/Santiago", "2026-09-06 00:00", "2026-09-06T04:00"],
    ["midnight missing", "America/Sao_Paulo", "2018-11-04 00:00", "2018-11-04T03:00"],
    ["half an hour missing", "Australia/Lord_Howe", "2026-10-04 02:15", "2026-10-03T15:45"],
    ["half an hour doubled", "Australia/Lord_Howe", "2026-04-05 01:45", "2026-04-04T14:45"],
    ["a day missing", "Pacific/Apia", "2011-12-30 12:00", "2011-12-30T22:00"],
    ["no summer time", "Europe/Moscow", "2026-07-01 00:00", "2026-06-30T21:00"],
    ["an hour back for good", "Europe/Moscow", "2014-10-26 01:30", "2014-10-25T21:30"],
    ["no summer time", "Asia/Shanghai", "2026-07-01 00:00", "2026-06-30T16:00"],
    ["half-hour zone", "Asia/Kolkata", "2026-07-01 00:00", "2026-06-30T18:30"],
  ];
  for (const [what, name, wall, instant] of cases) {
    test(`${what}: ${name} ${wall}`, () => assert.is(iso(zone(name).fromWall(utc(wall))), instant));
  }

  test("wall clocks before 1970 and with seconds in the offset", () => {
    const wall = zone("Africa/Monrovia").toWall(utc("1960-01-01 00:00:00"));
    assert.equal(wall, { year: 1959, month: 12, day: 31, hour: 23, minute: 15, second: 30 });
  });

  test("what is no time zone is refused", () => {
    for (const name of ["", "Mars/Olympus", "Europe"]) assert.throws(() => zone(name), /cannot use the time/);
  });
});
