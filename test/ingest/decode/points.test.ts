import fc from "fast-check";
import {
  aheadMaxMicros,
  type DecodedPoint,
  type DecodeRules,
  decodePoints,
} from "../../../ingest/decode/points.js";
import { reasons } from "../../../ingest/decode/reasons.js";
import { utcMicros } from "../../../ingest/decode/time.js";
import type { DeviceEntry } from "../../../ingest/directory/entries.js";
import { earliestTime, latestTime } from "../../../store/lib/time-range.js";
import { assert, cpuTime, suite } from "../../suite.js";
import { testDevice } from "./device.js";

const receivedAt = 1_700_000_000_000_000;
const stamp = receivedAt + 3;
const rules: DecodeRules = { local: utcMicros, earliest: earliestTime, oldest: 0, asOfReceipt: false };

interface Options {
  readonly rules?: DecodeRules;
  readonly topic?: string;
  readonly device?: DeviceEntry;
  readonly receivedAt?: number;
}

function decode(payload: unknown, options: Options = {}) {
  const points: DecodedPoint[] = [];
  const refused: Record<string, number> = {};
  const bytes =
    payload instanceof Uint8Array
      ? Buffer.from(payload)
      : Buffer.from(typeof payload === "string" ? payload : JSON.stringify(payload));
  const { topic = "data", receivedAt: clock = receivedAt } = options;
  const message = { topic, payload: bytes, receivedAt: clock, stamp };
  decodePoints(options.device ?? testDevice(), message, options.rules ?? rules, points, (reason, by) => {
    assert.ok(reasons.includes(reason));
    refused[reason] = (refused[reason] ?? 0) + by;
  });
  return {
    points: points.map(({ series, time, value, serverStamped }) => [
      series.field,
      time,
      value,
      serverStamped,
    ]),
    refused,
  };
}

const own = (field: string, value: unknown) => [field, stamp, value, true];
const at = (field: string, time: number, value: unknown) => [field, time, value, false];
const seconds = (offset: number) => receivedAt / 1e6 + offset;

const table: readonly (readonly [string, unknown, unknown[], Record<string, number>])[] = [
  ["server stamps", { temp: 1, on: true }, [own("temp", 1), own("on", true)], {}],
  ["client stamps", { time: seconds(-5), temp: 1 }, [at("temp", receivedAt - 5e6, 1)], {}],
  ["an unknown key costs itself only", { what: 1, temp: 2 }, [own("temp", 2)], { unknown: 1 }],
  ["names of Object's own are unknown", '{"__proto__":1,"constructor":2,"toString":3}', [], { unknown: 3 }],
  ["an issued data point is not reported", { issued: 1 }, [], { direction: 1 }],
  ["a wrong value costs that point only", { temp: "hot", on: 1 }, [own("on", true)], { number: 1 }],
  ["a wrong type", { temp: null, label: {} }, [], { type: 2 }],
  ["an unreadable time refuses its points", { time: "soon", temp: 1, on: 1 }, [], { time: 2 }],
  [
    "a time of one value refuses that value",
    { temp: { value: 1, time: "soon" }, on: 1 },
    [own("on", true)],
    { time: 1 },
  ],
  ["beyond 2^53", { temp: "9007199254740993" }, [own("temp", 2 ** 53)], { rounded: 1 }],
  ["2^53 + 1 as a number", '{"temp": 9007199254740993}', [own("temp", 2 ** 53)], { rounded: 1 }],
  ["-2^53 - 1 in a whole type", '{"whole": -9007199254740993}', [own("whole", -(2 ** 53))], { rounded: 1 }],
  [
    "2^53 as a number",
    '{"temp": 9007199254740992, "whole": "9007199254740992"}',
    [own("temp", 2 ** 53), own("whole", 2 ** 53)],
    {},
  ],
  [
    "2^53 + 1 in other forms",
    '[{"temp": {"value": 9007199254740993.0, "time": 1700000000}}, {"whole": 9.007199254740993e15, "at": null}]',
    [at("temp", 17e14, 2 ** 53), own("whole", 2 ** 53)],
    { rounded: 2, type: 1 },
  ],
  ["long digits of a text", '{"label": 9007199254740993}', [own("label", "9007199254740993")], {}],
  [
    "long digits are no boolean, bytes or place",
    '{"on": 9007199254740993, "blob": 9007199254740993, "place": 9007199254740993}',
    [],
    { type: 3 },
  ],
  [
    "nanoseconds as a number",
    '{"time": 1500000000123456499, "temp": 1}',
    [at("temp", 1_500_000_000_123_456, 1)],
    {},
  ],
  [
    "nanoseconds beside a text",
    '{"time": 1500000000123456500, "label": "x"}',
    [at("label", 1_500_000_000_123_457, "x")],
    {},
  ],
  ["ten minutes ahead", { time: seconds(600), temp: 1 }, [at("temp", receivedAt + aheadMaxMicros, 1)], {}],
  ["further ahead", { time: seconds(601), temp: 1 }, [], { future: 1 }],
  ["the year 9999", { time: "9999-12-31T23:59:59Z", temp: 1 }, [], { future: 1 }],
  ["1970", { time: "1970-01-01T00:00:00Z", temp: 1 }, [at("temp", 0, 1)], {}],
  ["1970 as a bare number", { time: 0, temp: 1 }, [], { time: 1 }],
  ["a counter in place of a time", { time: 188, temp: 1 }, [], { time: 1 }],
  ["a date in digits", { temp: { value: 1, time: "20251120" } }, [], { time: 1 }],
  ["a spreadsheet's day", [{ time: 46027.5, temp: 1 }], [], { time: 1 }],
  ["the last second of 1999 in milliseconds", { time: 946_684_799_999, temp: 1 }, [], { time: 1 }],
  ["2000 in seconds", { time: 946_684_800, temp: 1 }, [at("temp", 946_684_800_000_000, 1)], {}],
  ["a value of type 24 that is small", { at: 188 }, [own("at", 188_000)], {}],
  ["SenML from 2^28 on, before 2000", [{ n: "temp", v: 1, t: 2 ** 28 }], [], { time: 1 }],
  ["SenML of the last second of 1999", [{ n: "temp", v: 1, bt: 946_684_800, t: -1 }], [], { time: 1 }],
  ["SenML of 2000", [{ n: "temp", v: 1, bt: 946_684_799, t: 1 }], [at("temp", 946_684_800_000_000, 1)], {}],
  ["1960", { time: "1960-01-01T00:00:00Z", temp: 1 }, [at("temp", -315_619_200_000_000, 1)], {}],
  ["the year 1", { time: "0001-01-01T00:00:00Z", temp: 1 }, [], { time: 1 }],
  ["before whole months are exact", { time: "1684-07-31T23:59:59.999999Z", temp: 1 }, [], { time: 1 }],
  ["the first time", { time: "1684-08-01T00:00:00Z", temp: 1 }, [at("temp", earliestTime, 1)], {}],
  ["the first time in digits", { time: String(earliestTime), temp: 1 }, [], { time: 1 }],
  ["a record before it", [{ n: "temp", v: 1, t: (earliestTime - receivedAt) / 1e6 - 1 }], [], { time: 1 }],
  ["twice without a time", [{ temp: 1 }, { temp: 2 }, { temp: 3 }], [own("temp", 3)], { duplicate: 2 }],
  [
    "twice, one with a time",
    [{ temp: 1 }, { temp: 2, time: seconds(-1) }],
    [own("temp", 1), at("temp", receivedAt - 1e6, 2)],
    {},
  ],
  [
    "a broken entry costs itself only",
    [{ temp: 1 }, 7, { on: 0 }, null],
    [own("temp", 1), own("on", false)],
    { shape: 2 },
  ],
  ["broken JSON", "{", [], { format: 1 }],
  ["an empty payload", "", [], { format: 1 }],
  ["the value form", { label: { value: "x" } }, [own("label", "x")], {}],
  ["the value form of a place", { place: { value: [1, 2] } }, [own("place", "[1,2]")], {}],
  ["a lone surrogate in JSON", '{"label":"\\ud800"}', [own("label", "\ufffd")], {}],
  ["a NUL in JSON", '{"label":"a\\u0000b"}', [own("label", "a\0b")], {}],
];

/** Objects and arrays of nothing, in JSON and in CBOR. */
const emptyPayloads = new Set([
  ...["{}", "[]", "\x80", "\x9f\xff", "\x98\0", "\x81\xa0"],
  ...["\xa0", "\xbf\xff", "\xb8\0"],
]);

suite("points of a message", (test) => {
  for (const [name, payload, points, refused] of table) {
    test(name, () => assert.equal(decode(payload), { points, refused }));
  }

  test("what lies before the retention is refused, what lies on its edge is not", () => {
    const bounded = { ...rules, oldest: receivedAt - 60e6 };
    assert.equal(decode({ time: seconds(-60), temp: 1 }, { rules: bounded }).refused, {});
    assert.equal(decode({ time: seconds(-61), temp: 1 }, { rules: bounded }).refused, { retention: 1 });
  });

  test("what lies before OLDEST_TIME has no time that is taken, also where the retention is longer", () => {
    const bounded = { ...rules, earliest: receivedAt - 60e6, oldest: receivedAt - 120e6 };
    assert.equal(decode({ time: seconds(-60), temp: 1 }, { rules: bounded }).refused, {});
    assert.equal(decode({ time: seconds(-61), temp: 1 }, { rules: bounded }).refused, { time: 1 });
  });

  test("the range ends with 2255-05-31, however late the clock", () => {
    const late = { receivedAt: latestTime - 30e6 };
    const from = (ms: number) => decode({ time: ms, temp: 1 }, late);
    assert.equal(from(Math.floor(latestTime / 1000)).refused, {});
    assert.equal(from(Math.ceil(latestTime / 1000)).refused, { time: 1 });
  });

  test("a stream takes its own data points only; other topics take all", () => {
    const all = testDevice().product.points;
    const temp = all.get("temp");
    if (temp === undefined) throw new Error("no temp");
    const points = new Map([["temp", temp]]);
    const device = testDevice(
      new Map([
        ["up", { layout: undefined, points }],
        ["raw", { layout: null, points }],
      ]),
    );
    const payload = { temp: 1, on: true };
    assert.equal(decode(payload, { device, topic: "up" }), {
      points: [own("temp", 1)],
      refused: { unknown: 1 },
    });
    assert.is(decode(payload, { device, topic: "other" }).points.length, 2);
    assert.equal(decode(payload, { device, topic: "raw" }), { points: [], refused: { layout: 1 } });
  });

  test("a product without data points refuses by name and takes nothing", () => {
    const device = testDevice();
    const bare = { ...device, product: { ...device.product, points: new Map() } };
    assert.equal(decode({ temp: 1, hum: 2 }, { device: bare }), { points: [], refused: { unknown: 2 } });
  });

  test("10,000 objects at one time keep the last of each; at their own times, all", () => {
    const objects = Array.from({ length: 10_000 }, (_, i) => ({ temp: i, on: i % 2 }));
    const spent = cpuTime();
    const same = decode(objects);
    assert.equal(
      same.points.map(([field, , value]) => [field, value]),
      [
        ["temp", 9999],
        ["on", true],
      ],
    );
    assert.equal(same.refused, { duplicate: 19_998 });
    assert.is(decode(objects.map((one, i) => ({ ...one, time: seconds(-i) }))).points.length, 20_000);
    assert.ok(spent() < 2000);
  });

  test("every one- and two-byte payload is counted, and none becomes a point", () => {
    for (let first = 0; first < 256; first++) {
      for (const bytes of [[first], ...Array.from({ length: 256 }, (_, second) => [first, second])]) {
        const text = String.fromCharCode(...bytes);
        const { points, refused } = decode(Uint8Array.from(bytes));
        assert.is(points.length, 0);
        assert.is(Object.keys(refused).length, emptyPayloads.has(text) ? 0 : 1, text);
      }
    }
  });

  test("never throws; each value becomes a point or is counted", () => {
    const values = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.double(), fc.string({ unit: "binary" }));
    const keys = fc.constantFrom(
      "temp",
      "label",
      "on",
      "place",
      "blob",
      "bits",
      "at",
      "time",
      "what",
      "issued",
    );
    const objects = fc.dictionary(keys, values);
    fc.assert(
      fc.property(fc.array(objects, { maxLength: 5 }), (entries) => {
        const { points, refused } = decode(entries);
        const values = entries.flatMap((entry) => Object.keys(entry).filter((key) => key !== "time"));
        const lost = Object.entries(refused).reduce(
          (sum, [reason, n]) => sum + (reason === "rounded" ? 0 : n),
          0,
        );
        assert.is(points.length + lost, values.length);
        for (const [, time] of points) assert.ok(Number.isSafeInteger(time));
      }),
      { numRuns: 1000 },
    );
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => void decode(bytes)));
  });

  test("as of receipt, a data point made later is another one", () => {
    const device = testDevice();
    const points = new Map(
      [...device.product.points].map(([name, point]) => [name, { ...point, createdAt: receivedAt + 1 }]),
    );
    const later = { ...device, product: { ...device.product, points } };
    const [name = ""] = device.product.points.keys();
    const { points: stored, refused } = decode(
      { [name]: 1 },
      { device: later, rules: { ...rules, asOfReceipt: true } },
    );
    assert.equal(stored, []);
    assert.equal(refused, { unknown: 1 });
    assert.equal(decode({ [name]: 1 }, { device: later }).refused, {});
  });

  test("thousands of duplicates cost one pass", () => {
    const [name = ""] = testDevice().product.points.keys();
    const payload = [...Array(20_000).fill({ [name]: 1 }), { [name]: 2 }];
    const { points, refused } = decode(payload);
    assert.equal(points, [own(name, 2)]);
    assert.equal(refused, { duplicate: 20_000 });
  });
});
