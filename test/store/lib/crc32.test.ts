import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { crc32, crc32ByTable } from "../../../store/lib/crc32.js";
import { assert, suite } from "../../suite.js";

suite("CRC-32", (test) => {
  test("is the one of the standards, whichever way it is made", () => {
    // The check value of CRC-32/ISO-HDLC.
    for (const sum of [crc32, crc32ByTable]) assert.is(sum(Buffer.from("123456789")), 0xcbf43926);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat({ max: 300 }), (bytes, cut) => {
        const [first, rest] = [bytes.subarray(0, cut), bytes.subarray(cut)];
        assert.is(crc32ByTable(bytes), crc32(bytes));
        assert.is(crc32ByTable(rest, crc32ByTable(first)), crc32(bytes));
      }),
    );
  });

  test("finds every flipped bit", () => {
    const bytes = randomBytes(200);
    const sum = crc32(bytes);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      assert.is.not(crc32(flipped), sum);
    }
  });
});
