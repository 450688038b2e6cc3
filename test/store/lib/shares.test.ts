import fc from "fast-check";
import { createShares } from "../../../store/lib/shares.js";
import { assert, suite } from "../../suite.js";

suite("shares", (test) => {
  test("one alone gets nearly all, and leaves the rest to the others", () => {
    const places = createShares<string>(8);
    const taken = Array.from({ length: 10 }, () => places.take("greedy", 1)).filter(Boolean).length;
    assert.is(taken, 7);
    assert.ok(places.take("late", 1));
    assert.is(places.total, 8);
    const bytes = createShares<number>(256 * 2 ** 20);
    while (bytes.take(1, 2 ** 20));
    assert.is(bytes.held(1), 224 * 2 ** 20);
  });

  test("many at their limit hold about the same, in whatever order they came", () => {
    const bytes = createShares<number>(100_000);
    for (let round = 0; round < 100_000; round++) {
      // Each gives some back now and then, as queues do.
      const holder = round % 5;
      if (!bytes.take(holder, 10) && bytes.held(holder) > 0) bytes.give(holder, 10 * (1 + (round % 3)));
    }
    const held = [0, 1, 2, 3, 4].map((holder) => bytes.held(holder));
    assert.ok(Math.max(...held) < 1.3 * Math.min(...held), held.join(" "));
  });

  test("never beyond the bound; what is given back is gone; a newcomer gets in while anything is free", () => {
    const steps = fc.array(fc.record({ holder: fc.nat(4), amount: fc.nat(60), give: fc.boolean() }), {
      maxLength: 200,
    });
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 15 }), (sequence, alpha) => {
        const shares = createShares<number>(100, alpha);
        const expected = new Map<number, number>();
        for (const { holder, amount, give } of sequence) {
          const held = expected.get(holder) ?? 0;
          if (give) {
            const back = Math.min(held, amount);
            shares.give(holder, back);
            expected.set(holder, held - back);
          } else {
            const free = 100 - shares.total;
            const got = shares.take(holder, amount);
            if (got) expected.set(holder, held + amount);
            if (held === 0) assert.is(got, amount <= free);
          }
          assert.is(shares.held(holder), expected.get(holder) ?? 0);
          assert.is(
            shares.total,
            [...expected.values()].reduce((sum, n) => sum + n, 0),
          );
          assert.ok(shares.total <= 100);
        }
      }),
    );
  });

  test("more given back than held is a fault of ours", () => {
    const shares = createShares<string>(10);
    shares.take("a", 2);
    assert.throws(() => shares.give("a", 3), /only 2 are held/);
  });
});
