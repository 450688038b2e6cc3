import fc from "fast-check";
import { readPointTime, readTime, utcMicros } from "../../../ingest/decode/time.js";
import { readRequestTime } from "../../../query/time-text.js";
import { zone } from "../../../query/zone.js";
import { assert, suite } from "../../suite.js";

/** A deployment eight hours east of Greenwich. */
const local = (wallMs: number): number => utcMicros(wallMs) - 8 * 3_600_000_000;
const read = (value: unknown): number | null => readTime(value, local);

const moment = 1_700_000_000_000_000; // 2023-11-14T22:13:20Z

const table: readonly (readonly [unknown, number | null])[] = [
  [1_700_000_000, moment],
  [1_700_000_000.25, moment + 250_000],
  [1_700_000_000_000, moment],
  [1_700_000_000_000.5, moment + 500],
  [moment, moment],
  [1_700_000_000_000_000_000, moment],
  ["1700000000", moment],
  [" 1700000000.123456 ", moment + 123_456],
  ["1700000000123", moment + 123_000],
  ["1700000000123456", moment + 123_456],
  ["1700000000123456789", moment + 123_457],
  ["1700000000123456499", moment + 123_456],
  ["1700000000123456500", moment + 123_457],
  [1_700_000_000_123_456_499n, moment + 123_456],
  ["1700000000.1234565", moment + 123_457],
  ["1700000000.12345649999999999999999", moment + 123_456],
  ["-1.0000005", -1_000_000],
  ["-1.00000050000000000000000001", -1_000_001],
  ["-1000000000000000500", -1_000_000_000_000_000],
  ["2023-11-14T22:13:19.9999995Z", moment],
  ["1969-12-31T23:59:59.9999994Z", -1],
  [0, 0],
  [-1, -1_000_000],
  [99_999_999_999, null], // seconds beyond the year 2255
  ["99999999999999999", null],
  ["2023-11-14T22:13:20Z", moment],
  ["2023-11-14T22:13:20z", moment],
  ["2023-11-14T22:13:20.5Z", moment + 500_000],
  ["2023-11-14T22:13:20,123456789Z", moment + 123_457],
  ["2023-11-15T06:13:20+08:00", moment],
  ["2023-11-15T06:13:20+0800", moment],
  ["2023-11-14 17:13:20 -05:00", moment],
  ["2023-11-15 06:13:20", moment],
  ["2023-11-15T06:13:20", moment],
  ["2023-11-15 06:13", moment - 20_000_000],
  ["2024-02-29T00:00:00Z", 1_709_164_800_000_000],
  ["2023-02-29T00:00:00Z", null],
  ["2023-13-01T00:00:00Z", null],
  ["2023-00-10T00:00:00Z", null],
  ["2023-11-14T24:00:00Z", Date.UTC(2023, 10, 15) * 1000],
  ["2023-11-14T23:60:00Z", null],
  ["2023-11-14T23:59:60Z", null],
  ["2023-11-14", null],
  ["yesterday", null],
  ["", null],
  ["NaN", null],
  ["1e9", null],
  ["0x5f", null],
  [Number.NaN, null],
  [Number.POSITIVE_INFINITY, null],
  [1e300, null],
  [null, null],
  [true, null],
  [{}, null],
  [[1_700_000_000], null],
];

/** digits / 10^scale seconds by whole numbers alone. */
function roundedMicros(digits: bigint, scale: number): number {
  const unit = 10n ** BigInt(scale);
  const twice = 2n * digits * 10n ** 6n + unit;
  const rest = ((twice % (2n * unit)) + 2n * unit) % (2n * unit);
  return Number((twice - rest) / (2n * unit));
}

function withPoint(digits: bigint, scale: number): string {
  const text = String(digits < 0n ? -digits : digits).padStart(scale + 1, "0");
  return `${digits < 0n ? "-" : ""}${text.slice(0, -scale)}.${text.slice(-scale)}`;
}

suite("device times", (test) => {
  for (const [value, expected] of table) {
    const told = typeof value === "bigint" ? value : (JSON.stringify(value) ?? String(value));
    test(`${told} is ${expected}`, () => assert.is(read(value), expected));
  }

  test("a local time that the zone does not know is unreadable", () => {
    assert.is(
      readTime("2023-11-15 06:13:20", () => null),
      null,
    );
  });

  test("a bare number before 2000 is no time of a point; text is, and so is every number after", () => {
    const least = 946_684_800_000_000;
    const point = (value: unknown) => readPointTime(value, local);
    const small = [0, -1, 188, "188", 20_251_120, "20251120", 46_027, "46027.5", 1e11, 188n, -1_700_000_000];
    for (const value of [...small, 946_684_799, "946684799.9999994", 946_684_799_999, "946684799999999"])
      assert.is(point(value), null, String(value));
    for (const value of [946_684_800, "946684800", 946_684_800_000, "946684800000000", "946684799.9999995"])
      assert.is(point(value), least, String(value));
    assert.is(point("1970-01-01T00:03:08Z"), 188_000_000);
    assert.is(point(" 1999-12-31 23:59:59 "), least - 1e6 - 8 * 3_600_000_000);
    fc.assert(
      fc.property(fc.oneof(fc.integer(), fc.double(), fc.bigInt(), fc.integer().map(String)), (value) => {
        const time = read(value);
        assert.is(point(value), time !== null && time >= least ? time : null);
      }),
    );
  });

  test("seconds, milliseconds, microseconds and nanoseconds of one moment are one time", () => {
    // From 1973 to 2255 the four units do not overlap.
    fc.assert(
      fc.property(fc.integer({ min: 100_000_001, max: 9_000_000_000 }), (seconds) => {
        const micros = seconds * 1_000_000;
        assert.is(read(seconds), micros);
        assert.is(read(seconds * 1000), micros);
        assert.is(read(micros), micros);
        for (const zeros of [0, 3, 6, 9]) assert.is(read(`${seconds}${"0".repeat(zeros)}`), micros);
      }),
    );
  });

  test("every form of a time is the nearest microsecond, of two the later", () => {
    const nanos = fc.oneof(
      fc.bigInt({ min: -(10n ** 18n), max: 8n * 10n ** 18n }),
      // Halves, and what lies beside them.
      fc
        .tuple(fc.bigInt({ min: -(10n ** 15n), max: 8n * 10n ** 15n }), fc.constantFrom(499n, 500n, 501n))
        .map(([micros, rest]) => micros * 1000n + rest),
    );
    fc.assert(
      fc.property(nanos, (time) => {
        const expected = roundedMicros(time, 9);
        if (time >= 0n ? time >= 10n ** 17n : time <= -(10n ** 17n)) {
          assert.is(read(String(time)), expected, `${time} ns`);
          assert.is(read(time), expected, `${time} ns`);
        }
        for (const [scale, least] of [
          [3, 14],
          [6, 11],
          [9, 0],
        ] as const) {
          const text = withPoint(time, scale);
          const whole = text.replace("-", "").split(".")[0] ?? "";
          if (whole.length <= least || whole.length > least + (least === 0 ? 11 : 3)) continue;
          assert.is(read(text), expected, text);
          // A number is what prints it.
          const number = Number(text);
          if (String(number).includes("e")) continue;
          const [digits, decimals = ""] = String(number).split(".");
          const printed = roundedMicros(BigInt(digits + decimals), decimals.length + 9 - scale);
          assert.is(read(number), printed, `the number ${text}`);
          assert.is(read(String(number)), printed, `the digits ${number}`);
        }
        const second = Number((time - (((time % 10n ** 9n) + 10n ** 9n) % 10n ** 9n)) / 10n ** 9n);
        const date = new Date(second * 1000);
        if (date.getUTCFullYear() < 1) return;
        const decimals = String(time - BigInt(second) * 10n ** 9n).padStart(9, "0");
        const iso = date.toISOString().slice(0, 19);
        assert.is(read(`${iso}.${decimals}Z`), expected, iso);
        assert.is(read(`${iso},${decimals}+00:00`), expected, iso);
        assert.is(readRequestTime(`${iso}.${decimals}Z`, zone("UTC"), "startTime"), expected, iso);
      }),
      { numRuns: 3000 },
    );
  });

  test("text with an offset means what Date says", () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(0), max: new Date("2200-01-01"), noInvalidDate: true }), (date) => {
        assert.is(read(date.toISOString()), date.getTime() * 1000);
      }),
    );
  });

  test("nothing throws, and what is read is a whole number", () => {
    const anything = fc.oneof(
      fc.jsonValue(),
      fc.double(),
      fc.string(),
      fc.stringMatching(/^-?[0-9]{1,25}(\.[0-9]*)?$/),
    );
    fc.assert(
      fc.property(anything, (value) => {
        const time = read(value);
        assert.ok(time === null || Number.isInteger(time));
      }),
      { numRuns: 2000 },
    );
  });
});
