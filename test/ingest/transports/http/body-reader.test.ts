/** The one reader of bodies: what it reserves is what it holds, whatever pieces a body comes in. */
import { once } from "node:events";
import { PassThrough, Readable } from "node:stream";
import {
  type BodyError,
  createPieceStream,
  readWhole,
  requestBytes,
} from "../../../../ingest/transports/http/requests/body-reader.js";
import { createReservation } from "../../../../store/lib/reservation.js";
import { nextTurn } from "../../../../store/lib/scheduling.js";
import { assert, suite, until } from "../../../suite.js";

/** A budget of one holder, and the most that it had. */
function budgetOf(bytesMax: number) {
  const seen = { held: 0, most: 0 };
  const reservation = createReservation(
    (bytes) => {
      if (seen.held + bytes > bytesMax) return false;
      seen.held += bytes;
      seen.most = Math.max(seen.most, seen.held);
      return true;
    },
    (bytes) => {
      seen.held -= bytes;
    },
  );
  return { seen, reservation };
}

suite("reader of bodies", (test) => {
  test("a body in pieces of one byte reserves at most twice its bytes, and is whole", async () => {
    const { seen, reservation } = budgetOf(10_000_000);
    const source = new PassThrough({ highWaterMark: 1_000_000 });
    const reading = readWhole(source, 300_000, reservation);
    for (let n = 0; n < 200_000; n++) source.write(Buffer.from([n & 0xff]));
    source.end();
    const body = await reading;
    assert.ok(Buffer.isBuffer(body) && body.length === 200_000);
    assert.ok(Buffer.isBuffer(body) && body.every((byte, n) => byte === (n & 0xff)));
    assert.ok(seen.most <= 300_000 + requestBytes, `${seen.most} bytes`);
    assert.is(seen.held, reservation.amount);
    reservation.release();
    assert.is(seen.held, 0);
  });

  test("a body in one piece is not copied", async () => {
    const { reservation } = budgetOf(10_000);
    const piece = Buffer.alloc(5000);
    assert.is(await readWhole(Readable.from([piece]), 10_000, reservation), piece);
  });

  test("what is too large, exceeds the budget or is cut off reserves nothing more", async () => {
    for (const [bytesMax, budget, wanted] of [
      [100, 10_000, "large"],
      [100_000, 4000, "full"],
    ] as const) {
      const { seen, reservation } = budgetOf(budget);
      const source = new PassThrough();
      const reading = readWhole(source, bytesMax, reservation);
      for (let n = 0; n < 10; n++) source.write(Buffer.alloc(500));
      assert.is(await reading, wanted);
      assert.is(seen.held, 0);
      source.destroy();
    }
    const { seen, reservation } = budgetOf(10_000);
    const source = new PassThrough();
    const reading = readWhole(source, 10_000, reservation);
    source.write("half");
    await nextTurn();
    source.destroy();
    assert.is(await reading, "lost");
    assert.is(seen.held, 0);
    assert.is(await readWhole(source, 10, reservation), "lost");
  });

  test("a body that passes comes in pieces of 16 KiB, however small it is cut, and waits for who takes it", async () => {
    const { seen, reservation } = budgetOf(1_000_000);
    const all = Buffer.alloc(300_000, "body ");
    let at = 0;
    const source = new Readable({
      highWaterMark: 10,
      read() {
        const piece = all.subarray(at, at + 3);
        at += piece.length;
        this.push(piece.length === 0 ? null : piece);
      },
    });
    const pieces = createPieceStream(source, reservation);
    const got: Buffer[] = [];
    await once(pieces, "readable");
    await until(() => source.isPaused(), { what: "the source to wait" });
    assert.ok(at < 100_000, `${at} bytes were read ahead`);
    for await (const piece of pieces) got.push(piece);
    assert.ok(Buffer.concat(got).equals(all));
    assert.ok(got.slice(0, -1).every(({ length }) => length >= 16 * 1024));
    assert.is(seen.held, 0);
  });

  test("a short body of a declared length reserves by its length on its way, a long one no more than any", async () => {
    for (const [length, most] of [
      [100, requestBytes + 300],
      [1e12, 256 * 1024],
    ] as const) {
      const { seen, reservation } = budgetOf(1_000_000);
      const source = Readable.from([Buffer.alloc(100)]);
      for await (const _ of createPieceStream(source, reservation, { length })) void _;
      assert.equal([seen.most, seen.held], [most, 0]);
    }
  });

  test("a body that passes says when it is cut off, and when the budget is exhausted", async () => {
    const take = async (source: Readable, budget: number): Promise<string> => {
      try {
        for await (const _ of createPieceStream(source, budgetOf(budget).reservation)) void _;
        return "whole";
      } catch (error) {
        return (error as BodyError).failure;
      }
    };
    const source = new PassThrough();
    const taking = take(source, 1_000_000);
    source.write("half");
    await nextTurn();
    source.destroy();
    assert.is(await taking, "lost");
    assert.is(await take(Readable.from([Buffer.from("x")]), 1000), "full");
    assert.is(await take(Readable.from([]), 1_000_000), "whole");
  });
});
