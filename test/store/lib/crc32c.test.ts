import fc from "fast-check";
import { crc32c } from "../../../store/lib/crc32c.js";
import { assert, suite } from "../../suite.js";

/** RFC 3720 B.4, its bytes read as the little-endian integer that they are. */
const vectors: readonly (readonly [string, Uint8Array, number])[] = [
  ["32 bytes of zeroes", Buffer.alloc(32), 0x8a9136aa],
  ["32 bytes of ones", Buffer.alloc(32, 0xff), 0x62a8ab43],
  ["32 bytes counting up", Uint8Array.from({ length: 32 }, (_, i) => i), 0x46dd794e],
  ["32 bytes counting down", Uint8Array.from({ length: 32 }, (_, i) => 31 - i), 0x113fdb5c],
  [
    "an iSCSI Read (10) command",
    Buffer.from(
      "01c000000000000000000000000000001400000000000400000000140000001828000000000000000200000000000000",
      "hex",
    ),
    0xd9963a56,
  ],
  ["the digits 1 to 9", Buffer.from("123456789"), 0xe3069283],
  ["nothing", Buffer.alloc(0), 0],
];

/** A bit at a time, by the polynomial as RFC 3385 writes it. */
function bitwise(bytes: Uint8Array): number {
  let crc = 0xffff_ffffn;
  for (const byte of bytes) {
    crc ^= BigInt(byte);
    for (let bit = 0; bit < 8; bit++) crc = crc & 1n ? (crc >> 1n) ^ 0x82f6_3b78n : crc >> 1n;
  }
  return Number(crc ^ 0xffff_ffffn);
}

suite("crc32c", (test) => {
  for (const [name, bytes, expected] of vectors) {
    test(`${name} (RFC 3720 B.4)`, () => assert.is(crc32c(bytes), expected));
  }

  test("covers only the range asked for", () => {
    const framed = Buffer.concat([Buffer.from("xx"), Buffer.from("123456789"), Buffer.from("yyy")]);
    assert.is(crc32c(framed, 2, 11), 0xe3069283);
  });

  test("is the bitwise definition at any length and place, in one piece or in two", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(), fc.nat(), (bytes, a, b) => {
        const from = a % (bytes.length + 1);
        const to = from + (b % (bytes.length - from + 1));
        const whole = crc32c(bytes, from, to);
        assert.is(whole, bitwise(bytes.subarray(from, to)));
        const middle = from + Math.floor((to - from) / 3);
        assert.is(crc32c(bytes, middle, to, crc32c(bytes, from, middle)), whole);
      }),
      { numRuns: 2000 },
    );
  });

  test("differs after any single bit is flipped", () => {
    const bytes = Buffer.from("a record of the journal");
    const right = crc32c(bytes);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
      assert.is.not(crc32c(flipped), right);
    }
  });
});
