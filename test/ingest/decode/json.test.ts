import fc from "fast-check";
import { parseJson, writeJson } from "../../../ingest/decode/exact-numbers.js";
import { scanFlat } from "../../../ingest/decode/flat-json.js";
import { readJson } from "../../../ingest/decode/json.js";
import { utcMicros } from "../../../ingest/decode/time.js";
import { assert, suite } from "../../suite.js";

interface Reading {
  readonly key: string;
  readonly value: unknown;
  readonly time: number | null | undefined;
}

const context = {
  local: utcMicros,
  receivedAt: 0,
  timeKey: "time",
  knows: () => true,
  unitsOf: () => null,
} as const;

function read(
  payload: string | Uint8Array,
  knows = (_key: string) => true,
): { readings: Reading[]; refused: string[] } {
  const readings: Reading[] = [];
  const refused: string[] = [];
  readJson(
    Buffer.from(payload as string),
    { ...context, knows },
    (key, value, time) => readings.push({ key, value, time }),
    (reason, count) => refused.push(reason === "duplicate" ? `${reason} ${count}` : reason),
  );
  return { readings, refused };
}

/** `seconds` since 1970. */
const one = (key: string, value: unknown, seconds?: number): Reading => ({
  key,
  value,
  time: seconds === undefined ? undefined : seconds * 1e6,
});

const forms: readonly (readonly [string, Reading[]])[] = [
  ['{"temp": 21.5}', [one("temp", 21.5)]],
  ['{"temp": {"value": 21.5, "time": 1700000005}}', [one("temp", 21.5, 1_700_000_005)]],
  ['{"temp": {"value": 21.5}, "time": 1700000007}', [one("temp", 21.5, 1_700_000_007)]],
  [
    '{"time": 1700000007, "temp": {"value": 1, "time": 1700000005}, "hum": 2}',
    [one("temp", 1, 1_700_000_005), one("hum", 2, 1_700_000_007)],
  ],
  ['{"temp": 1, "time": 1700000007}', [one("temp", 1, 1_700_000_007)]],
  ['{"time": null, "temp": {"value": 1, "time": null}}', [one("temp", 1)]],
  ['[{"temp": 1}, {"time": 1700000002, "temp": 3}]', [one("temp", 1), one("temp", 3, 1_700_000_002)]],
  ['{"place": {"longitude": 1, "latitude": 2}}', [one("place", { longitude: 1, latitude: 2 })]],
  ['{"place": [1, 2]}', [one("place", [1, 2])]],
  ['{"temp": {"value": {"value": 1}}}', [one("temp", { value: 1 })]],
  ['{"temp": null}', [one("temp", null)]],
  ['{"__proto__": 1, "constructor": 2}', [one("__proto__", 1), one("constructor", 2)]],
  ["{}", []],
  ["[]", []],
  [' \n{"temp":1}\t', [one("temp", 1)]],
];

const broken: readonly (readonly [string, string | Uint8Array, "format" | "shape"])[] = [
  ["nothing", "", "format"],
  ["an open object", '{"temp": 21.5', "format"],
  ["a trailing comma", '{"temp": 21.5,}', "format"],
  ["NaN", '{"temp": NaN}', "format"],
  ["Infinity", '{"temp": Infinity}', "format"],
  ["a raw NUL", '{"temp": "\0"}', "format"],
  ["bytes that are no UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), "format"],
  ["a surrogate in UTF-8", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), "format"],
  ["UTF-16", Buffer.from('{"temp":1}', "utf16le"), "format"],
  ["a number", "21.5", "shape"],
  ["a text", '"temp"', "shape"],
  ["null", "null", "shape"],
  ["an array of a number", "[1]", "shape"],
  ["an array of arrays", '[[{"temp":1}]]', "shape"],
  ["262,144 brackets", "[".repeat(262_144), "format"],
];

suite("JSON payloads", (test) => {
  for (const [text, expected] of forms) {
    test(`reads ${text.trim()}`, () => assert.equal(read(text), { readings: expected, refused: [] }));
  }

  for (const [name, payload, reason] of broken) {
    test(`${name} is refused: ${reason}`, () =>
      assert.equal(read(payload), { readings: [], refused: [reason] }));
  }

  test("the last of several members with one name in an object is used, and the others are counted", () => {
    const repeated: readonly (readonly [string, Reading[], number])[] = [
      ['{"temp": 1, "temp": 2}', [one("temp", 2)], 1],
      ['{"temp": 1, "hum": "a:b", "temp": "x\\":", "temp": 2}', [one("temp", 2), one("hum", "a:b")], 2],
      ['[{"temp": 1, "te\\u006dp": 2}, {"temp": 3}]', [one("temp", 2), one("temp", 3)], 1],
      ['{"time": 1600000000, "time": 1700000000, "temp": 3}', [one("temp", 3, 1.7e9)], 1],
      ['{"temp": {"value": 1, "value": 2}}', [one("temp", 2)], 1],
      ['{"x:y": "::", "place": {"longitude": 1, "a": [{"b": 1}]}}', [], 0],
    ];
    for (const [text, readings, count] of repeated) {
      const found = read(text);
      assert.equal(found.refused, count === 0 ? [] : [`duplicate ${count}`], text);
      if (count > 0) assert.equal(found.readings, readings, text);
    }
  });

  test("entries of another shape cost themselves only, and each is reported", () => {
    assert.equal(read('[{"temp": 1}, 5, {"hum": 2}, null, [{"temp": 3}]]'), {
      readings: [one("temp", 1), one("hum", 2)],
      refused: ["shape", "shape", "shape"],
    });
  });

  test("keys longer than any data point's are left to JSON.parse, and not remembered", () => {
    const object = (length: number): Buffer => Buffer.from(`{"${"k".repeat(length)}":1}`);
    assert.equal([scanFlat(object(64)), scanFlat(object(65)), scanFlat(object(200_000))], [1, -1, -1]);
    assert.equal(read(object(200_000)).readings, [one("k".repeat(200_000), 1)]);
  });

  test("reads 10,000 objects, and nesting as deep as a payload can hold", () => {
    const many = JSON.stringify(Array.from({ length: 10_000 }, (_, i) => ({ temp: i, time: i })));
    assert.is(read(many).readings.length, 10_000);
    const deep = `{"temp":${"[".repeat(131_000)}${"]".repeat(131_000)}}`;
    assert.is(read(deep).readings.length, 1);
  });

  test("no one- or two-byte payload throws; only {}, [] and digits and the like are JSON", () => {
    const accepted: string[] = [];
    for (let first = 0; first < 256; first++) {
      for (const bytes of [[first], ...Array.from({ length: 256 }, (_, second) => [first, second])]) {
        const { readings, refused } = read(Uint8Array.from(bytes));
        assert.is(readings.length, 0);
        if (refused.length === 0) accepted.push(String.fromCharCode(...bytes));
        else assert.ok(refused.every((reason) => reason === "format" || reason === "shape"));
      }
    }
    assert.equal(accepted, ["[]", "{}"]);
  });

  test("a flat object is read as JSON.parse reads it", () => {
    const number = fc.oneof(
      fc.double(),
      fc.integer(),
      fc.maxSafeInteger(),
      fc.constantFrom(-0, 1e21, 5e-324, 0.1),
    );
    const text = fc.oneof(
      number.map((value) => JSON.stringify(value)),
      fc.constantFrom(
        "true",
        "false",
        "null",
        '"x"',
        "-",
        "-0",
        "00",
        "01",
        "1.",
        ".5",
        "1e",
        "1e5",
        "1E-2",
        "1e+400",
      ),
      fc.constantFrom(
        '{"value":1}',
        '{"value":true,"time":5}',
        '{ "time" : 5e9 , "value" : -1.5 }',
        '{"time":true,"value":1}',
        '{"time":5}',
        '{"value":1,"value":2}',
        '{"value":1,"time":2,"time":3}',
        '{"value":1,"x":2}',
        '{"value":null}',
        '{"value":1,"time":null}',
        '{"value":{"value":1}}',
        '{"value":1',
        '{"value":1,}',
      ),
      fc.constantFrom(
        "123456789012345",
        "1234567890123456",
        "0.1234567890123456789",
        "9007199254740993",
        "[1]",
        "{}",
      ),
    );
    const key = fc.constantFrom(
      "temp",
      "hum",
      "time",
      "a",
      "",
      "1",
      "__proto__",
      "\\u0061",
      "é",
      "value",
      "TimeStamp",
      "te mp",
    );
    const member = fc
      .tuple(key, fc.constantFrom(":", " : ", ""), text)
      .map(([k, colon, v]) => `"${k}"${colon}${v}`);
    const ends = fc.constantFrom("{|}", "{ | }", "{|", "{|}}", "{|},", "{|} ", "[{|}]", "|", "{|,}");
    const payload = fc
      .tuple(fc.array(member, { maxLength: 40 }), ends, fc.constantFrom(",", ", ", ",,", " "))
      .map(([members, end, comma]) => end.replace("|", () => members.join(comma)));
    fc.assert(
      // With a tab before it, it is read by JSON.parse.
      fc.property(payload, (json) => assert.equal(read(json), read(`\t${json}`))),
      { numRuns: 5000 },
    );
    const list = fc
      .array(fc.array(member, { maxLength: 5 }), { maxLength: 5 })
      .map((objects) => `[${objects.map((members) => `{${members.join(",")}}`).join(", ")}]`);
    const knowsNothing = () => false;
    fc.assert(
      fc.property(fc.oneof(payload, list), (json) => {
        assert.equal(read(json), read(`\t${json}`));
        assert.equal(read(json, knowsNothing), read(`\t${json}`, knowsNothing));
      }),
      { numRuns: 5000 },
    );
    const digits = fc.tuple(fc.integer({ min: 0, max: 10 ** 9 }), fc.integer({ min: 0, max: 10 ** 9 }));
    fc.assert(
      fc.property(digits, ([a, b]) =>
        assert.equal(read(`{"temp":${a}.${b}}`).readings, [one("temp", Number(`${a}.${b}`))]),
      ),
      { numRuns: 5000 },
    );
  });

  test("no payload throws", () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.json()), (payload) => void read(payload)),
    );
  });

  test("whatever an object holds comes back under its key", () => {
    const keys = fc.string().filter((key) => key !== "time");
    fc.assert(
      fc.property(fc.dictionary(keys, fc.oneof(fc.double(), fc.string(), fc.boolean())), (object) => {
        const expected = Object.entries(JSON.parse(JSON.stringify(object))).map(([key, value]) =>
          one(key, value),
        );
        const { readings, refused } = read(JSON.stringify(object));
        // What no double holds is a bigint, whose nearest double is what JSON.parse makes of it.
        const asNumbers = readings.map(({ value, ...rest }) => ({
          ...rest,
          value: typeof value === "bigint" ? Number(value) : value,
        }));
        assert.equal([asNumbers, refused], [expected, []]);
      }),
    );
  });

  test("whole numbers that no double holds are bigints, however they are written, wherever they stand", () => {
    const whole = fc.oneof(
      fc.bigInt({ min: 2n ** 53n - 2n, max: 2n ** 53n + 4n }),
      fc.bigInt({ min: 2n ** 53n, max: 9n * 10n ** 20n }),
      fc.bigInt({ min: 0n, max: 100n }).map((n) => 2n ** 60n + n * 256n),
    );
    const spelling = fc.constantFrom<(digits: string) => string>(
      (digits) => digits,
      (digits) => `${digits}.0`,
      (digits) => `${digits}e0`,
      (digits) => `${digits}00E-2`,
      (digits) => `${digits.slice(0, -3)}.${digits.slice(-3)}e+3`,
      (digits) => `0.${digits}e${digits.length}`,
    );
    const shape = fc.constantFrom<(number: string) => string>(
      (number) => `{"temp":${number}}`,
      (number) => `{"temp": {"value": ${number} }}`,
      (number) => `{"text":"\\"9007199254740993", "temp":${number}}`,
      (number) => `[1,{"temp":${number},"other":[[[[9007199254740993]]]]}]`,
    );
    fc.assert(
      fc.property(whole, spelling, shape, fc.boolean(), (value, spell, frame, negative) => {
        const signed = negative ? -value : value;
        const text = frame(`${negative ? "-" : ""}${spell(String(value))}`);
        const found = read(text).readings.find(({ key }) => key === "temp")?.value;
        assert.is(found, BigInt(Number(signed)) === signed ? Number(signed) : signed, text);
      }),
      { numRuns: 2000 },
    );
    const numbers = [9007199254740993n, 1152921504606846977n];
    const written = writeJson({ a: numbers, b: { "0": numbers[0], c: `"${numbers[1]}"` } });
    assert.is(
      written,
      '{"a":[9007199254740993,1152921504606846977],"b":{"0":9007199254740993,"c":"\\"1152921504606846977\\""}}',
    );
    assert.equal(parseJson(written), { a: numbers, b: { "0": numbers[0], c: `"${numbers[1]}"` } });
  });
});
