import fc from "fast-check";
import { readInteger, readNumber } from "../../../store/lib/number-text.js";
import { assert, suite } from "../../suite.js";

/** What JSON.parse makes of a text that is a number and nothing else; JSON allows white space around it. */
function parsed(text: string): number | null {
  if (text !== text.trim()) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "number" && Number.isFinite(value) ? value : null;
  } catch {
    return null;
  }
}

/** JavaScript's own reading, less what is no decimal number. */
function decimal(text: string): number | null {
  const value = /[0-9]/.test(text) && /^[\s0-9.eE+-]*$/.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : null;
}

const texts = fc.oneof(
  fc.double().map(String),
  fc.integer().map(String),
  fc.bigInt().map(String),
  fc.string({
    unit: fc.constantFrom(..."0123456789", "-", "+", ".", "e", "E", " ", "x", "_", "\n", "１"),
    maxLength: 12,
  }),
  fc.string(),
);

suite("numbers as text", (test) => {
  test("a number is decimal, as people write it, and finite", () => {
    fc.assert(
      fc.property(texts, (text) => assert.is(readNumber(text), decimal(text), JSON.stringify(text))),
      { numRuns: 20_000 },
    );
    for (const [text, value] of [
      [" .5 ", 0.5],
      ["+1.", 1],
      ["-4e1", -40],
      ["007", 7],
    ] as const) {
      assert.is(readNumber(text), value);
    }
    for (const text of [
      "",
      " ",
      ".",
      "e1",
      "0x10",
      "1_0",
      "1,5",
      "１",
      "Infinity",
      "NaN",
      "1e999",
      "--1",
      "1 1",
    ]) {
      assert.is(readNumber(text), null, text);
    }
  });

  test("an integer is a number without fraction and exponent, distinguished from its neighbours", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const value = /[.eE]/.test(text) ? null : parsed(text);
        const wanted = value !== null && Number.isSafeInteger(value) ? value : null;
        assert.is(readInteger(text), wanted, JSON.stringify(text));
      }),
      { numRuns: 20_000 },
    );
    assert.is(readInteger("9007199254740991"), Number.MAX_SAFE_INTEGER);
    assert.is(readInteger("9007199254740992"), null);
    assert.is(readInteger("-9007199254740991"), Number.MIN_SAFE_INTEGER);
  });

  test("a million digits and a letter are refused before the test's time is over", () => {
    const digits = "1".repeat(1_000_000);
    for (const text of [`${digits}x`, `${digits}.${digits}x`, `1e${digits}x`, `-${digits} x`]) {
      assert.is(readNumber(text), null);
      assert.is(readInteger(text), null);
    }
  });
});
