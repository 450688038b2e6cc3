import fc from "fast-check";
import { ByteString, readCbor } from "../../../ingest/decode/cbor.js";
import { assert, cpuTime, suite } from "../../suite.js";
import { encodeCbor } from "./encode-cbor.js";

const hex = (text: string) => readCbor(Buffer.from(text, "hex"));

/** RFC 8949, appendix A, as far as it is read here. */
const examples: readonly (readonly [string, unknown])[] = [
  ["00", 0],
  ["17", 23],
  ["1818", 24],
  ["1903e8", 1000],
  ["1a000f4240", 1_000_000],
  ["1b000000e8d4a51000", 1_000_000_000_000],
  ["1bffffffffffffffff", 2n ** 64n - 1n],
  ["3bffffffffffffffff", -(2 ** 64)],
  ["1b0020000000000000", 2 ** 53],
  ["1b0020000000000001", 2n ** 53n + 1n],
  ["3b0020000000000000", -(2n ** 53n) - 1n],
  ["3b001fffffffffffff", -(2 ** 53)],
  ["c482001b0020000000000001", 2n ** 53n + 1n],
  ["20", -1],
  ["3903e7", -1000],
  ["f90000", 0],
  ["f98000", -0],
  ["f93c00", 1],
  ["fb3ff199999999999a", 1.1],
  ["f97bff", 65_504],
  ["fa47c35000", 100_000],
  ["f90001", 2 ** -24],
  ["f90400", 0.00006103515625],
  ["f9c400", -4],
  ["fbc010666666666666", -4.1],
  ["f97c00", Number.POSITIVE_INFINITY],
  ["f97e00", Number.NaN],
  ["f9fc00", Number.NEGATIVE_INFINITY],
  ["f4", false],
  ["f5", true],
  ["f6", null],
  ["c1fb41d452d9e20000000", 0],
  ["60", ""],
  ["6449455446", "IETF"],
  ["62c3bc", "\u00fc"],
  ["64f0908591", "\ud800\udd51"],
  ["80", []],
  ["83010203", [1, 2, 3]],
  ["8301820203820405", [1, [2, 3], [4, 5]]],
  ["a0", new Map()],
  [
    "a201020304",
    new Map([
      [1, 2],
      [3, 4],
    ]),
  ],
  ["7f657374726561646d696e67ff", "streaming"],
  ["9fff", []],
  ["9f018202039f0405ffff", [1, [2, 3], [4, 5]]],
  ["83018202039f0405ff", [1, [2, 3], [4, 5]]],
  [
    "bf6346756ef563416d7421ff",
    new Map<unknown, unknown>([
      ["Fun", true],
      ["Amt", -2],
    ]),
  ],
  // A decimal fraction: 273.15
  ["c48221196ab3", 273.15],
  ["d9d9f78101", [1]],
];

const malformed = [
  ...["", "18", "19ff", "1c", "ff", "81", "8201", "a1", "a101", "bf01ff", "9f", "61ff", "5fff00", "7f4161ff"],
  ...[
    "0000",
    "f801",
    "fc",
    "c4",
    "c40001",
    "c482f500",
    "c4820102ff",
    "62c3",
    "7f7f61ffff",
    "3f",
    "1f",
    "df00",
  ],
  ...["9bffffffffffffffff", "bbffffffffffffffff", "5bffffffffffffffff", "7b7fffffffffffffff"],
];

suite("CBOR", (test) => {
  for (const [text, value] of examples.filter(([text]) => text.length % 2 === 0)) {
    test(`reads ${text}`, () => {
      const decoded = hex(text);
      if (Number.isNaN(value)) assert.ok(Number.isNaN(decoded?.value));
      else assert.equal(decoded, { value });
    });
  }

  test("byte strings are distinguished from text", () => {
    assert.equal(hex("4401020304"), { value: new ByteString(Buffer.from([1, 2, 3, 4])) });
    assert.equal(hex("5f42010243030405ff"), { value: new ByteString(Buffer.from([1, 2, 3, 4, 5])) });
  });

  for (const text of malformed) test(`refuses ${text || "nothing"}`, () => assert.is(hex(text), null));

  test("what was written comes back", () => {
    const { value } = fc.letrec((tie) => ({
      leaf: fc.oneof(
        fc.integer(),
        fc.maxSafeInteger(),
        fc.double({ noNaN: true }),
        fc.string({ unit: "binary" }),
        fc.boolean(),
      ),
      value: fc.oneof({ maxDepth: 4 }, tie("leaf"), fc.array(tie("value"), { maxLength: 5 })),
    }));
    const wellFormed = (one: unknown): unknown =>
      typeof one === "string" ? one.toWellFormed() : Array.isArray(one) ? one.map(wellFormed) : one;
    fc.assert(
      fc.property(value, (one) => assert.equal(readCbor(encodeCbor(one)), { value: wellFormed(one) })),
      { numRuns: 1000 },
    );
  });

  test("no bytes throw; depth and lengths that lie cost nothing", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => void readCbor(Buffer.from(bytes))),
      {
        numRuns: 5000,
      },
    );
    const spent = cpuTime();
    for (const byte of [0x81, 0x9f, 0xa1, 0xbf, 0xc1, 0x5f, 0xff]) {
      assert.is(readCbor(Buffer.alloc(262_144, byte)), null);
    }
    assert.ok(spent() < 1000);
  });
});
