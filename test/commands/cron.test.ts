import { wallText } from "../../query/time-text.js";
import { zone } from "../../query/zone.js";
import { nextTime, parseCron } from "../../src/commands/cron.js";
import { assert, suite } from "../suite.js";

/** The next `count` times of an expression in a zone, as wall clock. */
function times(text: string, from: string, count = 3, name = "UTC"): string[] {
  const cron = parseCron(text);
  assert.ok(cron !== null, text);
  const place = zone(name);
  const found: string[] = [];
  for (let at = Date.parse(from); found.length < count; ) {
    const next = nextTime(cron, place, at);
    if (next === null) break;
    assert.ok(next > at);
    found.push(wallText(place, next).slice(0, 16));
    at = next;
  }
  return found;
}

suite("cron expressions", (test) => {
  const refused = [
    ...[
      "",
      " ",
      "* * * *",
      "* * * * * *",
      "60 * * * *",
      "* 24 * * *",
      "* * 0 * *",
      "* * 32 * *",
      "* * * 0 *",
    ],
    ...["* * * 13 *", "* * * * 8", "-1 * * * *", "5-1 * * * *", "*/0 * * * *", "1/ * * * *", "a * * * *"],
    ...["1,,2 * * * *", ", * * * *", "* * * foo *", "1.5 * * * *", "@daily", "0x1 * * * *", "*5 * * * *"],
    ...["* * * * mon-", "1-2-3 * * * *", "🦉 * * * *", "*/999 * * * *", `0 0 1 1 ${"*".repeat(300)}`],
    ...["jan * * * *", "* * mon * *", "９ * * * *"],
    ...["* * ? * *", "* * L * *", "* * 1W * *", "* * * * 5#2", "0 0 1 * +mon", "2026-01-01T00:00:00"],
  ];
  for (const text of refused) {
    test(`${JSON.stringify(text.slice(0, 20))} is none`, () => assert.is(parseCron(text), null));
  }

  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    ["* * * * *", "2026-01-01T00:00:30Z", ["2026-01-01 00:01", "2026-01-01 00:02", "2026-01-01 00:03"]],
    ["30 6 * * *", "2026-01-01T06:30:00Z", ["2026-01-02 06:30", "2026-01-03 06:30", "2026-01-04 06:30"]],
    ["*/20 0,12 * * *", "2026-01-01T00:10:00Z", ["2026-01-01 00:20", "2026-01-01 00:40", "2026-01-01 12:00"]],
    ["50/5 8-9 * * *", "2026-01-01T08:52:00Z", ["2026-01-01 08:55", "2026-01-01 09:50", "2026-01-01 09:55"]],
    ["0 0 * * MON-wed", "2026-01-01T00:00:00Z", ["2026-01-05 00:00", "2026-01-06 00:00", "2026-01-07 00:00"]],
    ["0 0 * * 7", "2026-01-01T00:00:00Z", ["2026-01-04 00:00", "2026-01-11 00:00", "2026-01-18 00:00"]],
    ["0 0 31 * *", "2026-01-31T00:00:00Z", ["2026-03-31 00:00", "2026-05-31 00:00", "2026-07-31 00:00"]],
    ["0 0 29 feb *", "2096-03-01T00:00:00Z", ["2104-02-29 00:00", "2108-02-29 00:00", "2112-02-29 00:00"]],
    ["0 0 13 * fri", "2026-02-08T00:00:00Z", ["2026-02-13 00:00", "2026-02-20 00:00", "2026-02-27 00:00"]],
    ["0 0 */10 * mon", "2026-02-08T00:00:00Z", ["2026-05-11 00:00", "2026-06-01 00:00", "2026-08-31 00:00"]],
    ["0 0 30 2 *", "2026-01-01T00:00:00Z", []],
  ];
  for (const [text, from, expected] of cases) {
    test(`${text} after ${from}`, () => assert.equal(times(text, from), expected));
  }

  const berlin = "Europe/Berlin";
  test("a fixed hour that is missing moves by the gap, of a doubled one the first counts", () => {
    assert.equal(times("30 2 * * *", "2026-03-28T12:00:00Z", 2, berlin), [
      "2026-03-29 03:30",
      "2026-03-30 02:30",
    ]);
    const cron = parseCron("30 2 * * *");
    assert.ok(cron !== null);
    const first = Date.parse("2026-10-25T00:30:00Z");
    assert.is(nextTime(cron, zone(berlin), first - 1), first);
    assert.is(nextTime(cron, zone(berlin), first), Date.parse("2026-10-26T01:30:00Z"));
  });

  const gaps: readonly (readonly [string, string, string, readonly string[]])[] = [
    ["0,30 2 * * *", "2026-03-28T12:00:00Z", berlin, ["2026-03-29 03:00", "2026-03-29 03:30"]],
    ["*/30 2 * * *", "2026-03-28T12:00:00Z", berlin, ["2026-03-29 03:00", "2026-03-29 03:30"]],
    ["15 2 * * *", "2026-10-03T10:00:00Z", "Australia/Lord_Howe", ["2026-10-04 02:45", "2026-10-05 02:15"]],
    ["30 0 * * *", "2026-04-23T12:00:00Z", "Africa/Cairo", ["2026-04-24 01:30", "2026-04-25 00:30"]],
  ];
  for (const [text, from, name, expected] of gaps) {
    test(`${text} moves by the gap in ${name}`, () => assert.equal(times(text, from, 2, name), expected));
  }

  test("what never comes is given up without a look at the zone's changes", () => {
    for (const text of ["0 0 30 2 *", "* * 31 2,4,6,9,11 *", "*/5 * 30 feb *"]) {
      const cron = parseCron(text);
      assert.ok(cron !== null);
      const place = zone(berlin);
      let asked = 0;
      const counting = {
        ...place,
        toWall: (utc: number) => {
          asked++;
          return place.toWall(utc);
        },
        fromWall: (wall: number) => {
          asked++;
          return place.fromWall(wall);
        },
      };
      assert.is(nextTime(cron, counting, Date.parse("2096-03-01T00:00:00Z")), null);
      assert.is(asked, 1, text);
    }
  });

  test("every half hour goes on by elapsed time", () => {
    const cron = parseCron("*/30 * * * *");
    assert.ok(cron !== null);
    for (const day of ["2026-03-28T23:00:00Z", "2026-10-24T22:00:00Z"]) {
      let at = Date.parse(day);
      for (let i = 0; i < 60; i++) {
        const next = nextTime(cron, zone(berlin), at);
        assert.is(next, at + 1_800_000);
        at += 1_800_000;
      }
    }
  });
});
