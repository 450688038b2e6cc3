import { isUtf8 } from "node:buffer";
import fc from "fast-check";
import { faultText, findJsonFault } from "../../../ingest/decode/json-fault.js";
import { assert, suite } from "../../suite.js";

/** Payload, byte, line, column, why. */
const faults: readonly (readonly [string | Buffer, number, number, number, RegExp])[] = [
  ["", 0, 1, 1, /there is nothing/],
  [" \n ", 3, 2, 2, /there is nothing/],
  ['{"temp":NaN}', 8, 1, 9, /^NaN is no number of JSON$/],
  ['{"temp":-Infinity}', 8, 1, 9, /^-Infinity is no number of JSON$/],
  ['{"temp": nan, "hum": 40}', 9, 1, 10, /^nan is no number/],
  ['{"on": True}', 7, 1, 8, /^True is no value of JSON$/],
  ['{\n  "a": 1,\n  "b": undefined\n}', 19, 3, 8, /^undefined is no value/],
  ['{"temp":21.5', 12, 1, 13, /the text ends, and a comma or } is missing/],
  ['["a', 3, 1, 4, /the text ends, and the closing quote/],
  ['{"a"', 4, 1, 5, /the text ends, and a colon/],
  ['{"a":', 5, 1, 6, /the text ends, and a value/],
  ["{", 1, 1, 2, /the text ends, and a name/],
  ['{"a":1,}', 7, 1, 8, /a comma stands before }/],
  ["[1,]", 3, 1, 4, /a comma stands before ]/],
  ["[1,,2]", 3, 1, 4, /a value is missing before ,/],
  ['{"a":1 "b":2}', 7, 1, 8, /a comma or } is missing before "/],
  ["[1;2]", 2, 1, 3, /a comma or ] is missing before ;/],
  ["{'a':1}", 1, 1, 2, /a name must be in double quotes, and here is '/],
  ["{a:1}", 1, 1, 2, /a name must be in double quotes, and here is a/],
  ['{"a"=1}', 4, 1, 5, /a colon after the name is missing before =/],
  ['{"a":01}', 5, 1, 6, /leading zeros/],
  ['{"a":-007}', 6, 1, 7, /leading zeros/],
  ['{"a":+1}', 5, 1, 6, /does not begin with \+/],
  ['{"a":.5}', 5, 1, 6, /does not begin with \./],
  ['{"a":1.}', 7, 1, 8, /a digit is missing before }/],
  ['{"a":1e}', 7, 1, 8, /a digit is missing before }/],
  ['{"a":-}', 6, 1, 7, /a digit is missing before }/],
  ['{"a":1,5}', 7, 1, 8, /a name must be in double quotes, and here is 5/],
  ['{"a":"x\ty"}', 7, 1, 8, /a text holds the byte 0x09 only as \\u0009/],
  ['{"a":"\\x41"}', 6, 1, 7, /a backslash in a text/],
  ['{"a":"\\u12g4"}', 6, 1, 7, /four digits/],
  ['{"a":1} x', 8, 1, 9, /the value has ended before x/],
  ['{"a":1}{"b":2}', 7, 1, 8, /the value has ended before {/],
  ["temp=5", 0, 1, 1, /^temp is no value of JSON$/],
  [Buffer.from('{"a":"\xb0C"}', "latin1"), 6, 1, 7, /^the byte 0xb0 is not UTF-8$/],
  [Buffer.from('{"grün":1,\n"é":"\xff"}', "latin1"), 4, 1, 5, /^the byte 0xfc is not UTF-8$/],
  [Buffer.from('{"a":1}', "utf16le"), 1, 1, 2, /and here is the byte 0x22|and here is "|the byte 0x00/],
  ['{"grün":"€",\n"x":?}', 20, 2, 5, /a value is missing before \?/],
  ['\ufeff{"a":?}', 8, 1, 6, /a value is missing before \?/],
  ['{"a":\u00b0}', 5, 1, 6, /a value is missing before \u00b0/],
  ["[".repeat(262_144), 262_144, 1, 262_145, /the text ends, and a value is missing/],
];

const parses = (bytes: Buffer): boolean => {
  if (!isUtf8(bytes)) return false;
  try {
    JSON.parse(bytes.toString("utf8"));
    return true;
  } catch {
    return false;
  }
};

suite("what breaks JSON, and where", (test) => {
  for (const [payload, byte, line, column, why] of faults) {
    const name = String(payload).slice(0, 40);
    test(`${JSON.stringify(name)}`, () => {
      const fault = findJsonFault(Buffer.from(payload as string));
      assert.equal([fault?.byte, fault?.line, fault?.column], [byte, line, column], fault?.why);
      assert.match(fault?.why ?? "", why);
    });
  }

  test("a byte order mark and NULs at the end are no fault", () => {
    assert.is(findJsonFault(Buffer.from('\ufeff{"a":1}\n\0\0')), null);
    const fault = findJsonFault(Buffer.from("\0"));
    assert.is(fault === null ? null : faultText(fault), "line 1, column 1: there is nothing");
  });

  test("there is a fault exactly where JSON.parse finds one, whatever is changed", () => {
    const pieces = [
      '"',
      "\\",
      ",",
      ":",
      "{",
      "}",
      "[",
      "]",
      "-",
      "+",
      ".",
      "0",
      "1",
      "e",
      "E",
      "true",
      "nul",
      " ",
    ];
    const piece = fc.oneof(
      fc.constantFrom(...pieces, "\n", "\t", "\u0001", "\\u00e9", "\\u12", "é", "\u{1f600}", "NaN"),
      fc.uint8Array({ minLength: 1, maxLength: 3 }),
    );
    const change = fc.record({ at: fc.nat(), remove: fc.nat(3), piece });
    const changed = fc.tuple(fc.json(), fc.array(change, { maxLength: 3 })).map(([text, changes]) => {
      let bytes = Buffer.from(text);
      for (const { at, remove, piece: more } of changes) {
        const from = at % (bytes.length + 1);
        bytes = Buffer.concat([
          bytes.subarray(0, from),
          Buffer.from(more as string),
          bytes.subarray(from + remove),
        ]);
      }
      return bytes;
    });
    const soup = fc
      .array(piece, { maxLength: 12 })
      .map((all) => Buffer.concat(all.map((one) => Buffer.from(one as string))));
    const bare = (bytes: Buffer) => bytes.at(-1) !== 0 && bytes[0] !== 0xef;
    fc.assert(
      fc.property(fc.oneof(changed, soup).filter(bare), (bytes) => {
        const fault = findJsonFault(bytes);
        assert.is(fault === null, parses(bytes), bytes.toString("latin1"));
        if (fault === null) return;
        assert.ok(fault.byte <= bytes.length && fault.line >= 1 && fault.column >= 1);
        // What stands before the fault may still become JSON: it is not the text before it that is wrong.
        assert.ok(!fault.why.includes("undefined"), fault.why);
      }),
      { numRuns: 20_000 },
    );
  });
});
