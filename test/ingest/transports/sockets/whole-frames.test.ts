/** Frames of a WebSocket, handed on whole however they come. The frames are made by the library that reads them. */
import * as ws from "ws";
import { FrameGatherer } from "../../../../ingest/transports/sockets/whole-frames.js";
import { assert, suite } from "../../../suite.js";

const payloadBytesMax = 100_000;

function frameOf(payload: Buffer, mask: boolean): Buffer {
  const { Sender } = ws as unknown as { readonly Sender: FrameMaker };
  return Buffer.concat(Sender.frame(payload, { fin: true, rsv1: false, opcode: 2, mask, readOnly: true }));
}

interface FrameMaker {
  frame(payload: Buffer, options: object): Buffer[];
}

function gather(pieces: Iterable<Buffer>): { handed: Buffer[]; gatherer: FrameGatherer } {
  const handed: Buffer[] = [];
  const gatherer = new FrameGatherer(payloadBytesMax, (bytes) => handed.push(Buffer.from(bytes)));
  for (const piece of pieces) gatherer.take(piece);
  return { handed, gatherer };
}

function* cut(bytes: Buffer, size: (n: number) => number): Generator<Buffer, void> {
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const next = at + Math.max(1, size(n));
    yield bytes.subarray(at, next);
    at = next;
  }
}

const endsOf = (pieces: readonly Buffer[]): number[] =>
  pieces.map((_, n) => pieces.slice(0, n + 1).reduce((sum, { length }) => sum + length, 0));

suite("whole frames of a WebSocket", (test) => {
  const sizes = [0, 1, 125, 126, 127, 300, 65_535, 65_536, 99_999, 100_000, 5, 0];
  for (const mask of [true, false]) {
    const frames = sizes.map((size) => frameOf(Buffer.alloc(size, 7), mask));
    const all = Buffer.concat(frames);

    test(`byte by byte each is handed on alone, ${mask ? "masked" : "not masked"}`, () => {
      const { handed } = gather(cut(all, () => 1));
      assert.equal(
        handed.map(({ length }) => length),
        frames.map(({ length }) => length),
      );
      assert.ok(Buffer.concat(handed).equals(all));
    });

    test(`however they are cut, nothing is lost and none begins in a piece and ends in another, ${mask}`, () => {
      const ends = new Set(endsOf(frames));
      for (let seed = 1; seed <= 60; seed++) {
        let state = seed;
        const random = (): number => {
          state = (state * 48_271) % 2_147_483_647;
          return state;
        };
        const most = [3, 20, 1000, 70_000][seed % 4] as number;
        const { handed } = gather(cut(all, () => random() % most));
        assert.ok(Buffer.concat(handed).equals(all), `seed ${seed}`);
        for (const at of endsOf(handed)) assert.ok(ends.has(at), `seed ${seed}: a cut at ${at}`);
      }
    });
  }

  test("what comes whole is handed on as it is", () => {
    const all = Buffer.concat([1, 2, 3].map((n) => frameOf(Buffer.alloc(n), true)));
    const handed: Buffer[] = [];
    new FrameGatherer(payloadBytesMax, (bytes) => handed.push(bytes)).take(all);
    assert.is(handed[0], all);
  });

  test("a frame that is too large is handed on at its head, and all that follows as it comes", () => {
    const large = frameOf(Buffer.alloc(payloadBytesMax + 100), true);
    const { handed } = gather(cut(large, (n) => (n === 0 ? 10 : 50_000)));
    assert.equal(handed[0]?.length, 10);
    assert.ok(Buffer.concat(handed).equals(large));
  });

  test("what has come of a frame that does not end is handed on at the end", () => {
    const frame = frameOf(Buffer.alloc(500), true);
    const { handed, gatherer } = gather([frame.subarray(0, 1)]);
    gatherer.take(frame.subarray(1, 300));
    assert.is(handed.length, 0);
    gatherer.flush();
    assert.ok(Buffer.concat(handed).equals(frame.subarray(0, 300)));
  });
});
