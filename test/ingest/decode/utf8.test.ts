/** Characters of UTF-8 as Node sees them: its decoder and `isUtf8` share nothing with ours. */
import { isUtf8 } from "node:buffer";
import { characterBytes } from "../../../ingest/decode/utf8.js";
import { assert, suite } from "../../suite.js";

suite("characters of UTF-8", (test) => {
  test("every character has its size", () => {
    const wrong: string[] = [];
    for (let code = 0; code <= 0x10ffff; code++) {
      if (code >= 0xd800 && code < 0xe000) continue;
      const bytes = Buffer.from(`${String.fromCodePoint(code)}x`);
      if (characterBytes(bytes, 0) !== bytes.length - 1) wrong.push(code.toString(16));
    }
    assert.equal(wrong, []);
  });

  test("whatever two bytes begin with, and a third and fourth at the bounds, is a character only if Node says so", () => {
    const wrong: string[] = [];
    const ends = [0x00, 0x7f, 0x80, 0xbf, 0xc0];
    for (let pair = 0; pair < 0x10000; pair++) {
      for (const third of ends) {
        const bytes = Buffer.from([pair >> 8, pair & 0xff, third, 0x80]);
        for (let length = 1; length <= 4; length++) {
          const cut = bytes.subarray(0, length);
          const size = characterBytes(cut, 0);
          const sizes = [1, 2, 3, 4].filter((one) => one <= length && isUtf8(cut.subarray(0, one)));
          if (size !== (sizes[0] ?? 0)) wrong.push(cut.toString("hex"));
        }
      }
    }
    assert.equal(wrong, []);
  });
});
