import fc from "fast-check";
import { DateTime } from "luxon";
import { type RangeRequest, resolveRange, type TimeUnit } from "../../query/range.js";
import { readRequestTime, rfc3339, timeWriters } from "../../query/time-text.js";
import { zone } from "../../query/zone.js";
import { StoreError } from "../../store/lib/errors.js";
import { assert, suite } from "../suite.js";

const now = Date.parse("2026-07-15T10:17:42.123Z");

function resolve(request: RangeRequest, timezone = "UTC", unit: TimeUnit = "hour") {
  const { start, stop, newest } = resolveRange(request, unit, timezone, now);
  const iso = (micros: number | undefined) => (micros === undefined ? "open" : rfc3339(micros));
  return [iso(start), iso(stop), newest ?? "all"];
}

function fieldsOf(action: () => unknown): string[] {
  try {
    action();
  } catch (error) {
    if (error instanceof StoreError && error.code === "INVALID") return Object.keys(error.fields);
    throw error;
  }
  return [];
}

suite("ranges", (test) => {
  const defaults: readonly (readonly [unit: string, start: string, stop: string])[] = [
    ["minute", "2026-07-15T09:18:00Z", "2026-07-15T10:18:00Z"],
    ["hour", "2026-07-14T11:00:00Z", "2026-07-15T11:00:00Z"],
    ["day", "2026-06-16T00:00:00Z", "2026-07-16T00:00:00Z"],
    ["week", "2026-04-27T00:00:00Z", "2026-07-20T00:00:00Z"],
    ["month", "2025-08-01T00:00:00Z", "2026-08-01T00:00:00Z"],
    ["year", "2022-01-01T00:00:00Z", "2027-01-01T00:00:00Z"],
  ];
  for (const [unit, start, stop] of defaults) {
    test(`${unit}: the default ends with the current window`, () => {
      assert.equal(resolve({ time_unit: unit }), [start, stop, "all"]);
    });
  }

  test("the unit may be absent or empty", () => {
    assert.equal(resolve({}), resolve({ time_unit: "hour" }));
    assert.equal(resolve({ time_unit: "" }), resolve({ time_unit: "hour" }));
  });

  test("days end at the zone's midnight", () => {
    const range = resolve({ time_unit: "day" }, "Asia/Shanghai");
    assert.equal(range, ["2026-06-15T16:00:00Z", "2026-07-15T16:00:00Z", "all"]);
  });

  test("an end alone counts windows back from it, the window it cuts included", () => {
    const whole = resolve({ time_unit: "year", endTime: "2020-01-01 00:00:00" });
    assert.equal(whole, ["2015-01-01T00:00:00Z", "2020-01-01T00:00:00Z", "all"]);
    const cut = resolve({ time_unit: "year", endTime: "2020-01-01 00:00:01" });
    assert.equal(cut, ["2016-01-01T00:00:00Z", "2020-01-01T00:00:01Z", "all"]);
  });

  test("a start alone goes on to the end of the current window", () => {
    const range = resolve({ time_unit: "day", startTime: "2026-07-01 12:00:00" });
    assert.equal(range, ["2026-07-01T12:00:00Z", "2026-07-16T00:00:00Z", "all"]);
  });

  test("real: open ends, and the newest 100 without a start", () => {
    assert.equal(resolve({}, "UTC", "real"), ["open", "open", 100]);
    const startTime = "2026-07-01 00:00:00";
    assert.equal(resolve({ startTime }, "UTC", "real"), ["2026-07-01T00:00:00Z", "open", "all"]);
    assert.equal(resolve({ endTime: startTime }, "UTC", "real"), ["open", "2026-07-01T00:00:00Z", 100]);
  });

  test("every unit takes bounds to the microsecond", () => {
    const startTime = "2026-07-01T00:00:00.000001Z";
    for (const time_unit of ["real", "minute", "hour", "day", "week", "month", "year"]) {
      for (const endTime of ["2026-07-01T00:00:00.000002Z", "2026-07-01T00:00:00.001Z"]) {
        assert.equal(resolve({ time_unit, startTime, endTime }), [startTime, endTime, "all"]);
      }
      assert.equal(
        fieldsOf(() => resolve({ time_unit, startTime, endTime: startTime })),
        ["endTime"],
      );
    }
    const cut = resolve({ time_unit: "day", endTime: startTime });
    assert.equal(cut, ["2026-06-02T00:00:00Z", startTime, "all"]);
  });

  test("times are read in the zone", () => {
    const request = { startTime: "2026-11-01 01:30:00", endTime: "2026-11-01T03:00:00-05:00" };
    assert.equal(resolve(request, "America/New_York"), [
      "2026-11-01T05:30:00Z",
      "2026-11-01T08:00:00Z",
      "all",
    ]);
  });

  test("what is wrong is named", () => {
    const refused = (request: RangeRequest, timezone = "UTC") => fieldsOf(() => resolve(request, timezone));
    assert.equal(refused({ time_unit: "hours" }), ["time_unit"]);
    assert.equal(refused({ time_unit: "constructor" }), ["time_unit"]);
    assert.equal(refused({ startTime: "yesterday" }), ["startTime"]);
    assert.equal(refused({ endTime: "2026-02-29 00:00:00" }), ["endTime"]);
    assert.equal(refused({}, "Mars/Olympus"), ["timezone"]);
    const same = "2026-07-01 00:00:00";
    assert.equal(refused({ startTime: same, endTime: same }).length, 1);
    assert.equal(refused({ startTime: "2030-01-01 00:00:00" }), ["startTime"]);
  });
});

suite("times of requests and answers", (test) => {
  const read = (text: string, name = "UTC") => readRequestTime(text, zone(name), "startTime");
  const forms: readonly (readonly [text: string, utc: string])[] = [
    ["2026-07-15 10:17:42", "2026-07-15T10:17:42Z"],
    ["2026-07-15T10:17:42Z", "2026-07-15T10:17:42Z"],
    ["2026-07-15T10:17:42.123456z", "2026-07-15T10:17:42.123456Z"],
    ["2026-07-15T10:17:42,5+05:30", "2026-07-15T04:47:42.5Z"],
    ["2026-07-15T10:17-0330", "2026-07-15T13:47:00Z"],
    ["1784110662", "2026-07-15T10:17:42Z"],
    ["1784110662.25", "2026-07-15T10:17:42.25Z"],
    ["1784110662123", "2026-07-15T10:17:42.123Z"],
    ["1784110662123.456", "2026-07-15T10:17:42.123456Z"],
    ["1784110662123456", "2026-07-15T10:17:42.123456Z"],
    ["1784110662123456789", "2026-07-15T10:17:42.123457Z"],
    ["-1", "1969-12-31T23:59:59Z"],
    ["0", "1970-01-01T00:00:00Z"],
    ["20251120", "1970-08-23T09:18:40Z"],
    ["2026-07-15 10:17", "2026-07-15T10:17:00Z"],
    ["2026-07-15T10:17:42", "2026-07-15T10:17:42Z"],
    ["2026-07-15 10:17:42 02:00", "2026-07-15T08:17:42Z"],
    ["2026-07-15 10:17:42.5+00:00", "2026-07-15T10:17:42.5Z"],
    ["20260715T101742Z", "2026-07-15T10:17:42Z"],
    ["2026-07-15T24:00:00Z", "2026-07-16T00:00:00Z"],
    ["2024-02-29 00:00:00", "2024-02-29T00:00:00Z"],
  ];
  for (const [text, utc] of forms) test(text, () => assert.is(rfc3339(read(text)), utc));

  test("what is no time is refused", () => {
    const texts = [
      ..."2026-02-29T00:00:00Z 2026-13-01T00:00:00Z 2026-00-10T00:00:00Z 2026-01-00T00:00:00Z".split(" "),
      ..."2026-01-01T24:00:01Z 2026-01-01T00:60:00Z 2026-01-01T00:00:60Z 2026-01-01T25:00:00".split(" "),
      ..."2026-01-01 1e12 Infinity 0x10 99999999999999999999 9999-12-31T00:00:00Z".split(" "),
      ...["2100-02-29 00:00:00", " 1", "2026-01-01T00:00:00+25:00", "2026-01-01T00:00:00 x"],
    ];
    for (const text of texts)
      assert.equal(
        fieldsOf(() => read(text)),
        ["startTime"],
        text,
      );
  });

  test("a time that lies beyond what can be stored is refused with that reason", () => {
    const whyOf = (text: string) => {
      try {
        return `${text} is ${read(text)}`;
      } catch (error) {
        return (error as StoreError).fields.startTime;
      }
    };
    const early = "lies before 1684-08-01, the oldest time that there is";
    const late = "lies after 2255-05-31, the last time that there is";
    for (const text of [
      "1684-07-31T23:59:59Z",
      "1600-01-01T00:00:00Z",
      "0001-01-01 00:00:00",
      "-99999999999",
      "-9999999999999",
    ])
      assert.is(whyOf(text), early, text);
    for (const text of ["2255-06-01T00:00:00Z", "9999-12-31T00:00:00Z", "99999999999", "9".repeat(30)])
      assert.is(whyOf(text), late, text);
    assert.is(read("1684-08-01T00:00:00Z"), Date.UTC(1684, 7, 1) * 1000);
    assert.is(whyOf("yesterday"), "must be YYYY-MM-DD HH:MM:SS, ISO 8601 or a number since 1970");
  });

  test("what is written in a zone is read back, but for the second of a doubled hour", () => {
    const names = fc.constantFrom("UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe");
    const micros = fc.integer({ min: -631_152_000_000_000, max: 4_102_444_800_000_000 });
    fc.assert(
      fc.property(names, micros, (name, time) => {
        assert.is(read(rfc3339(time)), time);
        const ms = Number(timeWriters.ms(zone(name), time));
        // Fewer milliseconds are read as seconds.
        if (Math.abs(ms) >= 1e11) assert.is(read(String(ms)), time);
        const text = String(timeWriters.text(zone(name), time));
        const local = DateTime.fromMillis(Math.floor(time / 1000), { zone: name });
        assert.is(text, local.toFormat("yyyy-MM-dd HH:mm:ss"));
        const [first] = local.getPossibleOffsets().map((possible) => possible.toMillis());
        const whole = Math.floor((first ?? 0) / 1000) * 1e6;
        assert.is(read(text, name), whole);
      }),
      { numRuns: 1000 },
    );
  });
});
