import { GrowingBuffer } from "../../../store/lib/growing-buffer.js";
import { createReservation } from "../../../store/lib/reservation.js";
import { assert, suite } from "../../suite.js";

suite("growing buffer", (test) => {
  test("what it takes in memory depends on the bytes, not on the pieces", () => {
    const gathered = new GrowingBuffer(1_000_000);
    const piece = Buffer.from("x");
    for (let n = 1; n <= 100_000; n++) {
      const told = gathered.capacityWith(1);
      gathered.append(piece);
      assert.is(gathered.capacity, told);
      assert.ok(gathered.capacity <= Math.max(256, 2 * n), `${gathered.capacity} for ${n}`);
    }
    const taken = gathered.take();
    assert.ok(taken.equals(Buffer.alloc(100_000, "x")));
    assert.equal([gathered.length, gathered.capacity], [0, 0]);
  });

  test("it never takes more than it may hold, and refuses what is beyond", () => {
    const gathered = new GrowingBuffer(1000);
    gathered.append(Buffer.alloc(600, 1));
    assert.is(gathered.capacity, 1000);
    assert.throws(() => gathered.append(Buffer.alloc(401)), /1000 at most/);
    gathered.append(Buffer.alloc(400, 2));
    assert.ok(gathered.bytes.equals(Buffer.concat([Buffer.alloc(600, 1), Buffer.alloc(400, 2)])));
  });

  test("a reservation changes by what is asked for, and is refused once it is over", () => {
    let held = 0;
    const reservation = createReservation(
      (amount) => {
        if (held + amount > 10) return false;
        held += amount;
        return true;
      },
      (amount) => {
        held -= amount;
      },
    );
    assert.ok(reservation.resize(8));
    assert.not(reservation.resize(11));
    assert.equal([held, reservation.amount], [8, 8]);
    assert.ok(reservation.resize(3));
    assert.is(held, 3);
    reservation.release();
    reservation.release();
    assert.equal([held, reservation.resize(1)], [0, false]);
  });
});
