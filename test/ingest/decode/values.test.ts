import fc from "fast-check";
import { reasons } from "../../../ingest/decode/reasons.js";
import { type Converted, converters, textBytesMax } from "../../../ingest/decode/values.js";
import { toSeriesKind } from "../../../store/metadata/products/data-points.js";
import { assert, cpuTime, suite } from "../../suite.js";

const convert = (type: number, value: unknown): Converted => {
  const converter = converters.get(type);
  if (converter === undefined) throw new Error(`no converter for ${type}`);
  return converter(value, () => 0);
};

const numbers = [1, 15, 16, 17, 18, 21, 22, 25];
const is = (value: number | string | boolean): Converted => ({ value });
const rounded = (value: number): Converted => ({ value, rounded: true });
const no = (reason: "type" | "number" | "size"): Converted => ({ reason });
const big = 2 ** 53;

const table: readonly (readonly [string, readonly number[], unknown, Converted])[] = [
  ["a number", numbers, 21.5, is(21.5)],
  ["a number as text", numbers, "21.5", is(21.5)],
  ["text with blanks around", numbers, " -7 ", is(-7)],
  ["an exponent", numbers, "1e3", is(1000)],
  ["a plus sign", numbers, "+.5", is(0.5)],
  ["a point at the end", numbers, "5.", is(5)],
  ["2^53 itself", numbers, String(big), is(big)],
  ["2^53 + 1 as text", numbers, "9007199254740993", rounded(9007199254740992)],
  ["-2^60 + 1 as text", numbers, "-1152921504606846975", rounded(-(2 ** 60))],
  ["a number beyond 2^53", numbers, 2 ** 60, rounded(2 ** 60)],
  ["the number 2^53", numbers, big, is(big)],
  ["1e300", numbers, 1e300, rounded(1e300)],
  ["NaN as text", numbers, "NaN", no("number")],
  ["Infinity as text", numbers, "Infinity", no("number")],
  ["text beyond every double", numbers, "1e400", no("number")],
  ["400 digits", numbers, "9".repeat(400), no("number")],
  ["hexadecimal", numbers, "0x10", no("number")],
  ["empty text", numbers, "", no("number")],
  ["a lone point", numbers, ".", no("number")],
  ["two numbers", numbers, "1 2", no("number")],
  ["a decimal comma", numbers, "1,5", no("number")],
  ["true for a number", numbers, true, no("type")],
  ["null for a number", numbers, null, no("type")],
  ["an object for a number", numbers, {}, no("type")],
  ["bits", [19], 5, is(5)],
  ["bits as text", [19], "5", is(5)],
  ["half a bit", [19], 5.5, no("number")],
  ["true", [5, 23], true, is(true)],
  ["0", [5, 23], 0, is(false)],
  ["TRUE as text", [5, 23], " TRUE ", is(true)],
  ["0 as text", [5, 23], "0", is(false)],
  ["2 for a boolean", [5, 23], 2, no("type")],
  ["yes for a boolean", [5, 23], "yes", no("type")],
  ["text", [3, 4, 11, 12], "héllo\u0000", is("héllo\u0000")],
  ["a number as text", [3, 4, 11, 12], 7, is("7")],
  ["a lone surrogate", [3, 4, 11, 12], "a\ud800b", is("a\ufffdb")],
  ["true for text", [3, 4, 11, 12], true, no("type")],
  ["text too long", [3, 4, 11, 12], "é".repeat(textBytesMax / 2 + 1), no("size")],
  ["text as long as may be", [3, 4, 11, 12], "x".repeat(textBytesMax), is("x".repeat(textBytesMax))],
  ["base64", [13, 14], "aGk=", is("aGk=")],
  ["base64 without padding", [13, 14], "aGk", is("aGk=")],
  ["base64 of two bytes short", [13, 14], "aA==", is("aA==")],
  ["empty base64", [13, 14], "", is("")],
  ["no base64", [13, 14], "a*b=", no("type")],
  ["padding alone", [13, 14], "====", no("type")],
  ["a number for base64", [13, 14], 5, no("type")],
  ["a place", [6], [116.4, 39.9], is("[116.4,39.9]")],
  ["a place with height", [6], ["116.4", 39.9, 50], is("[116.4,39.9,50]")],
  ["a place as an object", [6], { longitude: 1, latitude: 2, altitude: null }, is("[1,2]")],
  ["a place beyond the pole", [6], [0, 90.1], no("number")],
  ["a place of one number", [6], [0], no("type")],
  ["a place of four numbers", [6], [0, 0, 0, 0], no("type")],
  ["a place of NaN", [6], ["NaN", 0], no("type")],
  ["a time", [24], 1_700_000_000, is(1_700_000_000_000)],
  ["a time as text", [24], "2023-11-14T22:13:20Z", is(1_700_000_000_000)],
  ["no time", [24], "soon", no("type")],
];

suite("values", (test) => {
  for (const [name, types, value, expected] of table) {
    test(`${name} (pointDataType ${types.join(", ")})`, () => {
      for (const type of types) assert.equal(convert(type, value), expected, `type ${type}`);
    });
  }

  test("every type of the interface has a converter", () => {
    const types = [1, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24, 25];
    assert.equal(
      [...converters.keys()].sort((a, b) => a - b),
      types,
    );
  });

  test("whatever a device sends becomes a value of the stored kind or a known reason", () => {
    const kinds = { number: "number", boolean: "boolean", text: "string" } as const;
    const anything = fc.oneof(
      fc.jsonValue(),
      fc.string({ unit: "binary" }),
      fc.stringMatching(/^[-+0-9.eE= ]*$/),
      fc.double().map(String),
      fc.bigInt().map(String),
    );
    fc.assert(
      fc.property(fc.constantFrom(...converters.keys()), anything, (type, value) => {
        const converted = convert(type, value);
        if ("reason" in converted) return assert.ok(reasons.includes(converted.reason));
        assert.is(typeof converted.value, kinds[toSeriesKind(type)]);
        if (typeof converted.value === "number") assert.ok(Number.isFinite(converted.value));
        if (typeof converted.value === "string") assert.ok(converted.value.isWellFormed());
      }),
      { numRuns: 3000 },
    );
  });

  test("rounded exactly when digits are lost", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (whole) => {
        const converted = convert(22, String(whole));
        assert.ok("value" in converted);
        const beyond = whole > 2n ** 53n || whole < -(2n ** 53n);
        assert.is("rounded" in converted && converted.rounded === true, beyond);
      }),
    );
  });

  test("a payload's worth of digits, blanks or padding is judged at once", () => {
    const long = 262_000;
    const nasty = [`${"1".repeat(long)}x`, " ".repeat(long), `${"=".repeat(long)}x`, `1${" ".repeat(long)}2`];
    const spent = cpuTime();
    for (const text of nasty) for (const type of converters.keys()) convert(type, text);
    const ms = spent();
    assert.ok(ms < 2000, `${ms} ms`);
  });
});
