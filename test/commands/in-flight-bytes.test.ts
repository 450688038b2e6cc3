import { createInFlightBytes } from "../../src/commands/in-flight-bytes.js";
import { assert, suite } from "../suite.js";

suite("bytes not yet confirmed by clients", (test) => {
  test("are each tenant's own, and gone with what is confirmed, once", () => {
    const unconfirmed = createInFlightBytes(() => true);
    const confirm = unconfirmed.add(1, 10, 100);
    unconfirmed.add(1, 11, 50);
    assert.equal([unconfirmed.isWithin(1, 149), unconfirmed.isWithin(1, 150)], [false, true]);
    assert.is(unconfirmed.isWithin(2, 0), true);
    confirm();
    confirm();
    assert.equal([unconfirmed.isWithin(1, 49), unconfirmed.isWithin(1, 50)], [false, true]);
  });

  test("of a client that has gone are given back, whatever becomes of its messages; those of the next one count", () => {
    const there = new Set([10, 11]);
    const unconfirmed = createInFlightBytes((device) => there.has(device));
    const before = [unconfirmed.add(1, 10, 60), unconfirmed.add(1, 10, 60), unconfirmed.add(1, 11, 40)];
    assert.is(unconfirmed.isWithin(1, 100), false);
    there.delete(10);
    assert.equal([unconfirmed.isWithin(1, 39), unconfirmed.isWithin(1, 40)], [false, true]);
    there.add(10);
    const after = unconfirmed.add(1, 10, 30);
    // What the client that has gone left behind is acknowledged now: it counts no more.
    for (const confirm of before) confirm();
    assert.equal([unconfirmed.isWithin(1, 29), unconfirmed.isWithin(1, 30)], [false, true]);
    after();
    assert.is(unconfirmed.isWithin(1, 0), true);
    assert.is(unconfirmed.add(1, 12, 0)(), undefined);
    assert.is(unconfirmed.isWithin(1, 0), true);
  });
});
