import fc from "fast-check";
import { windowEnd, windowStart } from "../../query/windows.js";
import { storedZone, type Zone, zone, zoneFault } from "../../query/zone.js";
import { timeZonesInUse } from "../../store/time-zones/in-use.js";
import { assert, suite } from "../suite.js";
import { type OracleUnit, oracle, testWithOracle } from "./zone-oracle.js";

const names = timeZonesInUse().names;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const first = Date.UTC(1684, 7, 2);
const last = Date.UTC(2255, 4, 30);

const utc = (text: string): number => Date.parse(`${text.replace(" ", "T")}Z`);
const iso = (instant: number): string => new Date(instant).toISOString().slice(0, 16);

/** All changes of a zone, in milliseconds. */
function changesOf(place: Zone): number[] {
  const found: number[] = [];
  for (let at = place.nextChange(first, last); at < last; at = place.nextChange(at, last)) found.push(at);
  return found;
}

suite("time zones", (test) => {
  testWithOracle(test, "doubled and missing local times of all zones are Python's", () => {
    const walls: Record<string, number[]> = {};
    for (const name of names) {
      const place = zone(name);
      walls[name] = changesOf(place).flatMap((change) => {
        const [before, after] = [place.offsetAt(change - 1), place.offsetAt(change)];
        const [low, high] = [Math.min(before, after), Math.max(before, after)];
        return [low - 1000, low, (low + high) / 2, high - 1000, high].map((offset) =>
          Math.floor((change + offset) / 1000),
        );
      });
    }
    const right = oracle.instants(walls);
    const wrong = names.flatMap((name) =>
      (walls[name] ?? []).flatMap((wall, i) => {
        const instant = zone(name).fromWall(wall * 1000) / 1000;
        return instant === right[name]?.[i]
          ? []
          : [`${name} ${iso(wall * 1000)}: ${instant - (right[name]?.[i] ?? 0)}`];
      }),
    );
    assert.equal(wrong.slice(0, 20), []);
    assert.ok(Object.values(walls).flat().length > 300_000);
  });

  testWithOracle(test, "days, weeks, months and years of all zones are Python's, in any year", () => {
    const units: readonly OracleUnit[] = ["day", "week", "month", "year"];
    const within = fc.integer({ min: first + 3 * 366 * dayMs, max: last - 3 * 366 * dayMs });
    const cases = names.flatMap((name) => {
      const changes = changesOf(zone(name)).filter(
        (at) => at > first + 3 * 366 * dayMs && at < last - 3 * 366 * dayMs,
      );
      const near = changes.length === 0 ? [] : fc.sample(fc.constantFrom(...changes), 4);
      const times = [...fc.sample(within, 4), ...near.flatMap((at) => [at - 1000, at, at + 12 * hourMs])];
      return times.flatMap((at) => units.map((unit) => [name, unit, Math.floor(at / 1000)] as const));
    });
    const right = oracle.windows(cases);
    const wrong = cases.flatMap(([name, unit, at], i) => {
      const place = zone(name);
      const ours = [windowStart(unit, place, at * 1000) / 1000, windowEnd(unit, place, at * 1000) / 1000];
      const [start, end] = right[i] ?? [];
      return ours[0] === start && ours[1] === end
        ? []
        : [`${name} ${unit} ${iso(at * 1000)}: ${ours} not ${right[i]}`];
    });
    assert.equal(wrong.slice(0, 20), []);
    assert.ok(cases.length > 30_000, `${cases.length}`);
  });

  test("the next change is where the offset changes first", () => {
    const anyInstant = fc.integer({ min: first, max: last });
    fc.assert(
      fc.property(fc.constantFrom(...names), anyInstant, fc.array(fc.nat(1e6)), (name, start, parts) => {
        const end = start + 300 * dayMs;
        const place = zone(name);
        const change = place.nextChange(start, end);
        const before = place.offsetAt(start);
        const within = parts.map((part) => start + Math.floor(((change - 1 - start) * part) / 1e6));
        for (const at of [...within, change - 1]) assert.is(place.offsetAt(at), before, name);
        if (change < end) assert.is.not(place.offsetAt(change), before, name);
      }),
      { numRuns: 2000 },
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
    ["as of 2026f", "Africa/Casablanca", "2026-11-20 12:00", "2026-11-20T12:00"],
    ["as of 2026f", "America/Edmonton", "2026-11-20 06:00", "2026-11-20T12:00"],
    ["as of 2026f", "America/Vancouver", "2026-11-20 05:00", "2026-11-20T12:00"],
    ["as of 2026f", "America/Winnipeg", "2026-11-20 07:00", "2026-11-20T12:00"],
    ["as of 2026f", "America/Havana", "2026-11-20 08:00", "2026-11-20T12:00"],
    ["in two hundred years", "Europe/Berlin", "2226-07-01 12:00", "2226-07-01T10:00"],
    ["an offset", "+05:45", "2026-11-20 05:45", "2026-11-20T00:00"],
    ["an offset", "-00:30", "2026-11-20 00:00", "2026-11-20T00:30"],
  ];
  for (const [what, name, wall, instant] of cases) {
    test(`${what}: ${name} ${wall}`, () => assert.is(iso(zone(name).fromWall(utc(wall))), instant));
  }

  test("wall clocks before 1970 and with seconds in the offset", () => {
    const wall = zone("Africa/Monrovia").toWall(utc("1960-01-01 00:00:00"));
    assert.equal(wall, { year: 1959, month: 12, day: 31, hour: 23, minute: 15, second: 30 });
  });

  test("names in any case mean what IANA spells so", () => {
    assert.is(zone("asia/SHANGHAI").name, "Asia/Shanghai");
    assert.is(zone("prc").name, "PRC");
  });

  test("what is no time zone is refused, with the mend", () => {
    const places: Readonly<Record<string, RegExp>> = {
      BST: /Asia\/Dhaka or Europe\/London/,
      cst: /America\/Chicago or Asia\/Shanghai/,
      IST: /Asia\/Kolkata or Europe\/Dublin or Asia\/Jerusalem/,
      PST: /America\/Los_Angeles or Asia\/Manila/,
    };
    for (const [name, mend] of Object.entries(places)) {
      assert.throws(() => zone(name), mend);
      assert.match(zoneFault(name) ?? "", mend);
    }
    const others = [
      "",
      "Mars/Olympus",
      "Europe",
      "Factory",
      "GMT+8",
      "UTC+8",
      "SystemV/EST5",
      "US/Pacific-New",
    ];
    for (const name of [...others, "+8", "+0800", "+24:00", "+08:60", "08:00", "constructor", "__proto__"]) {
      assert.throws(() => zone(name), /is not an IANA time zone/, name);
    }
  });

  test("IANA's own short names stay", () => {
    const own = "EST MST HST CET EET MET WET EST5EDT CST6CDT GMT UTC UCT Zulu GB PRC ROC ROK Cuba Etc/GMT+8";
    for (const name of own.split(" ")) assert.is(zoneFault(name), null, name);
  });

  test("records that name an abbreviation keep what it has meant; an unknown name is UTC", () => {
    assert.is(storedZone("CST").name, "America/Chicago");
    assert.is(storedZone("ist").name, "Asia/Kolkata");
    assert.is(storedZone("Europe/Berlin").name, "Europe/Berlin");
    assert.is(storedZone("SystemV/EST5").name, "UTC");
  });
});
