import fc from "fast-check";
import {
  deletePredicate,
  deleteRange,
  fluxAggregate,
  fluxRead,
  fluxString,
  fluxTime,
} from "../../../../store/series/influx/flux.js";
import { timeMax, timeMin } from "../../../../store/series/influx/times.js";
import { windowRuns } from "../../../../store/series/influx/windows.js";
import { assert, suite } from "../../../suite.js";

const hour = 3_600_000_000;

suite("Flux text", (test) => {
  test("a string literal holds any text and nothing ends it early", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: "binary" }),
          fc.string({ unit: fc.constantFrom(...'"\\$${}\n\r\u0000x') }),
        ),
        (text) => {
          const literal = fluxString(text);
          assert.match(literal, /^"(?:[^"\\$]|\\["\\]|\\x[0-9a-f]{2})*"$/);
          const read = literal
            .slice(1, -1)
            .replace(/\\(?:x(..)|(.))/g, (_, hex: string | undefined, char: string) =>
              hex === undefined ? char : String.fromCharCode(Number.parseInt(hex, 16)),
            );
          assert.is(read, text);
        },
      ),
    );
  });

  test("times are RFC 3339 to the microsecond and stay on InfluxDB's clock", () => {
    assert.is(fluxTime(0), "1970-01-01T00:00:00.000000Z");
    assert.is(fluxTime(-1), "1969-12-31T23:59:59.999999Z");
    assert.is(fluxTime(1_700_000_000_123_456), "2023-11-14T22:13:20.123456Z");
    assert.is(fluxTime(Number.NEGATIVE_INFINITY), fluxTime(timeMin));
    assert.is(fluxTime(Number.POSITIVE_INFINITY), fluxTime(timeMax + 1));
  });

  test("a deletion ends with the last nanosecond before its time", () => {
    assert.is(deleteRange(1_000_000).stop, "1970-01-01T00:00:00.999999999Z");
    assert.is(deletePredicate("p", 'a"b\\'), '_measurement="p" AND device="a\\"b%5C"');
  });

  test("text is answered as JSON, numbers as they are", () => {
    const series = { tenant: 1, productID: "p", deviceID: "d", field: "f" };
    assert.match(fluxRead("b", { ...series, kind: "text" }, 0, 1), /json\.encode/);
    assert.not.match(fluxRead("b", { ...series, kind: "number" }, 0, 1), /json/);
  });

  test("one run is one aggregateWindow, several are a union", () => {
    const series = { tenant: 1, productID: "p", deviceID: "d", field: "f", kind: "number" } as const;
    const even = fluxAggregate("b", series, windowRuns([0, hour, 2 * hour]), "mean");
    assert.match(even, /aggregateWindow\(every: 3600000000us, offset: 0us, fn: mean/);
    assert.not.match(even, /union/);
    const uneven = fluxAggregate(
      "b",
      series,
      windowRuns([0, hour, 3 * hour, 5 * hour, 6 * hour, 8 * hour]),
      "mean",
    );
    assert.match(uneven, /^union/);
  });
});

suite("window runs", (test) => {
  test("a run's grid gives exactly the windows between the edges", () => {
    const widths = fc.array(fc.constantFrom(1, 23, 24, 24, 24, 25, 28, 30, 31, 31), {
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(widths, fc.integer({ min: -1e6, max: 1e6 }), (hours, first) => {
        const edges = [first];
        for (const width of hours) edges.push((edges.at(-1) ?? 0) + width);
        const windows: number[] = [];
        for (const { start, stop, width, phase } of windowRuns(edges)) {
          assert.ok(phase >= 0 && phase < width);
          for (let at = start; at < stop; at = (Math.floor((at - phase) / width) + 1) * width + phase)
            windows.push(at);
        }
        assert.equal([...windows, edges.at(-1)], edges);
      }),
    );
  });

  test("days with one change of clocks are few runs, and a year of months at most eight", () => {
    const day = (n: number, shift: number) => (n * 24 + shift) * hour;
    const spring = Array.from({ length: 30 }, (_, n) => day(n, n > 10 ? -1 : 0));
    assert.is(windowRuns(spring).length, 2);
    const months = Array.from({ length: 13 }, (_, n) => Date.UTC(2025, n) * 1000);
    assert.equal(windowRuns(months), [
      { start: months[0], stop: months[12], width: 0, phase: 0, calendar: "1mo" },
    ]);
    const cut = [(months[0] ?? 0) + hour, ...months.slice(1, 12), (months[11] ?? 0) + 5 * hour];
    assert.is(windowRuns(cut)[0]?.calendar, "1mo");
    const shanghai = windowRuns(months.map((edge) => edge - 8 * hour));
    assert.ok(shanghai.length <= 8 && shanghai.every((run) => run.calendar === undefined));
    const years = Array.from({ length: 6 }, (_, n) => Date.UTC(2020 + n, 0) * 1000);
    assert.is(windowRuns(years)[0]?.calendar, "1y");
    const quarters = Array.from({ length: 6 }, (_, n) => Date.UTC(2020, n * 3) * 1000);
    assert.ok(windowRuns(quarters).every((run) => run.calendar === undefined));
    assert.equal(windowRuns([5]), []);
  });
});
