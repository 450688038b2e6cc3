import { HeadCutter } from "../../src/server/head-piece.js";
import { assert, suite } from "../suite.js";

/** The pieces that a connection would hand on, for bytes that come in parts of this size. */
function piecesOf(all: Buffer, size: number, bytesMax: number): string[] {
  const cutter = new HeadCutter();
  const pieces: string[] = [];
  for (let from = 0; from < all.length; from += size) {
    let rest = all.subarray(from, from + size);
    while (rest.length > 0) {
      const taken = cutter.next(rest, bytesMax);
      pieces.push(rest.toString("latin1", 0, taken));
      rest = rest.subarray(taken);
    }
  }
  return pieces;
}

suite("heads of requests", (test) => {
  test("no piece holds the end of one head and the beginning of another, however they come", () => {
    const heads = [
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /b HTTP/1.1\r\n\r\n",
      `X: ${"y".repeat(300)}\r\n\r\n`,
    ];
    const all = Buffer.from(heads.join("").repeat(3));
    for (let size = 1; size <= all.length; size++) {
      const pieces = piecesOf(all, size, 64);
      assert.is(pieces.join(""), all.toString(), `parts of ${size}`);
      let head = "";
      let ended = 0;
      for (const piece of pieces) {
        assert.ok(piece.length <= 64);
        head += piece;
        const end = head.indexOf("\r\n\r\n");
        if (end < 0) continue;
        assert.is(end, head.length - 4, `parts of ${size}: ${JSON.stringify(piece)}`);
        head = "";
        ended++;
      }
      assert.is(ended, 9);
    }
  });
});
