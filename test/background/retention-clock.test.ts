/** The time by which retention removes, beside wall clocks that are wrong for a while. */
import fc from "fast-check";
import { createRetentionClock } from "../../src/background/retention-clock.js";
import { assert, suite } from "../suite.js";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
/** The service is no older. */
const earliest = Date.UTC(2026, 0, 1);
const began = earliest + 200 * day;

/** A machine whose wall clock may be wrong, and the time by which its retention removes, begun unless undefined. */
function machine(trusted: number | null | undefined, wrongBy = 0) {
  let elapsed = 0;
  let offset = wrongBy;
  const logged: string[] = [];
  const note = (msg: string): void => void logged.push(msg);
  const clock = { now: () => began + elapsed + offset, monotonic: () => elapsed };
  const retention = createRetentionClock(clock, { warn: note, info: note });
  if (trusted !== undefined) retention.begin(trusted);
  return {
    retention,
    logged,
    wall: clock.now,
    /** The time as it is. */
    real: () => began + elapsed,
    set: (by: number) => {
      offset = by;
    },
    /** Lets time pass, tick by tick. */
    pass: (ms: number, tickMs = 10 * second, onTick: () => void = () => undefined) => {
      for (const end = elapsed + ms; elapsed < end; ) {
        elapsed = Math.min(end, elapsed + tickMs);
        retention.tick();
        onTick();
      }
    },
  };
}

suite("the clock of retention", (test) => {
  test("before it begins nothing is old", () => {
    const { retention } = machine(undefined);
    retention.tick();
    assert.equal([retention.now(), retention.trusted, retention.lagMs], [0, null, 0]);
  });

  test("goes with a right wall clock, from a restart on", () => {
    const one = machine(began - 50 * minute);
    assert.is(one.retention.now(), one.wall());
    one.pass(3 * day, minute);
    assert.is(one.retention.now(), one.wall());
    assert.equal(one.logged, []);
  });

  test("a start 40 days ahead: nothing for an hour, then a day an hour, and the log says both", () => {
    const one = machine(began, 40 * day);
    assert.is(one.retention.now(), began);
    assert.is(one.logged.length, 1);
    assert.match(one.logged[0] ?? "", /not trusted yet/);
    one.pass(hour);
    assert.is(one.retention.now(), began + hour);
    one.pass(hour);
    assert.is(one.retention.now(), began + hour + day);
    one.pass(10 * hour);
    assert.is(one.retention.now(), began + hour + 11 * day);
    // 40 days and what passes in that time.
    one.pass(40 * hour);
    assert.is(one.retention.now(), one.wall());
    assert.match(one.logged[1] ?? "", /goes by the wall clock again/);
    assert.is(one.logged.length, 2);
  });

  test("a clock that is wrong at boot, either way, and put right within the hour: no more than the time that has passed", () => {
    for (const wrongBy of [40 * day, -40 * day, -56 * 365 * day, 2 * hour, -2 * hour]) {
      const one = machine(began, wrongBy);
      one.pass(50 * minute);
      assert.ok(one.retention.now() <= one.real(), `${wrongBy}`);
      one.set(0);
      one.pass(10 * second);
      assert.ok(one.retention.now() <= one.real(), `${wrongBy}`);
      one.pass(2 * hour);
      assert.is(one.retention.now(), one.real(), `${wrongBy}`);
    }
  });

  test("a machine without a clock that is put right after three hours is back at once or within some hours", () => {
    const one = machine(began, -56 * 365 * day);
    one.pass(3 * hour);
    one.set(0);
    one.pass(4 * hour);
    assert.is(one.retention.now(), one.real());
  });

  test("a first start in 1970 takes the clock that is put right as a whole, an hour after that", () => {
    for (const rightAfter of [30 * second, 20 * minute, 5 * hour, 10 * day]) {
      const one = machine(null, -56 * 365 * day);
      one.pass(rightAfter, minute);
      assert.ok(one.retention.now() <= one.wall());
      assert.is(one.retention.trusted, null, "nothing for the next run");
      one.set(0);
      one.pass(hour - minute);
      assert.ok(one.retention.now() <= earliest + hour, `${rightAfter}`);
      one.pass(2 * minute);
      assert.is(one.retention.now(), one.real(), `${rightAfter}`);
      assert.is(one.retention.trusted, one.real());
      assert.match(one.logged.at(-1) ?? "", /goes by the wall clock again/);
    }
  });

  test("once the first clock is trusted, one that is ahead is followed slowly", () => {
    const one = machine(null);
    assert.is(one.retention.now(), one.wall());
    one.pass(2 * hour);
    one.set(40 * day);
    one.pass(hour);
    assert.ok(one.retention.now() <= one.real());
    one.pass(2 * hour);
    assert.ok(Math.abs(one.retention.now() - one.real() - 2 * day) <= 3 * hour);
  });

  test("a record or a clock of a time before the service is no trusted one", () => {
    const one = machine(began - 56 * 365 * day, -56 * 365 * day);
    one.pass(30 * day, minute);
    assert.is(one.retention.trusted, null);
    one.set(0);
    one.pass(50 * minute);
    assert.ok(one.retention.now() <= earliest + hour);
    one.pass(20 * minute);
    assert.is(one.retention.now(), one.real());
  });

  test("corrections of a clock, as a time server makes them, are no jumps", () => {
    const one = machine(began);
    let by = 0;
    // 500 parts in a million.
    one.pass(3 * day, minute, () => {
      by += 30;
      one.set(by);
    });
    assert.ok(one.wall() - one.retention.now() <= minute);
    assert.equal(one.logged, []);
  });

  test("whatever the wall clock does, wrong for less than an hour at a time: retention is never ahead of the time as it is", () => {
    const wrongs = fc.array(
      fc.record({
        rightMs: fc.integer({ min: 0, max: 5 * hour }),
        wrongBy: fc.integer({ min: -400 * day, max: 400 * day }),
        wrongMs: fc.integer({ min: second, max: hour - minute }),
      }),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 100 * day }), wrongs, (down, steps) => {
        const one = machine(began - down);
        const check = (): void => {
          assert.ok(one.retention.now() <= one.wall(), "not after the wall clock");
          // Up to a minute is taken for a correction.
          assert.ok(one.retention.now() <= one.real() + minute, "not after the time as it is");
        };
        for (const { rightMs, wrongBy, wrongMs } of steps) {
          one.set(0);
          one.pass(rightMs, 20 * second, check);
          one.set(wrongBy);
          one.pass(wrongMs, 20 * second, check);
        }
        one.set(0);
        one.pass(hour + 106 * hour, minute, check);
        assert.is(one.retention.now(), one.real(), "it comes back");
      }),
      { numRuns: 60 },
    );
  });

  test("whatever the wall clock does, for however long: a day an hour at most, and in the hour after a jump only what passes", () => {
    const steps = fc.array(
      fc.record({
        wrongBy: fc.integer({ min: -400 * day, max: 400 * day }),
        ms: fc.integer({ min: second, max: 20 * hour }),
      }),
      { minLength: 1, maxLength: 8 },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const one = machine(began);
        let jumpedAt = one.real();
        let offset = 0;
        for (const { wrongBy, ms } of all) {
          if (Math.abs(wrongBy - offset) > minute) jumpedAt = one.real();
          offset = wrongBy;
          one.set(wrongBy);
          let before = one.retention.trusted ?? 0;
          one.pass(ms, 20 * second, () => {
            const now = one.retention.trusted ?? 0;
            const isYoung = one.real() - jumpedAt < hour;
            assert.ok(now - before <= 20 * second * (isYoung ? 1 : 24), `${now - before} at once`);
            assert.ok(before - now <= 20 * second * (isYoung ? 0 : 24), `${before - now} back at once`);
            before = now;
          });
        }
      }),
      { numRuns: 60 },
    );
  });
});
