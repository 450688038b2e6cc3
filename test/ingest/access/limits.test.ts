import { createLimits, type LimitSettings, overMsMax, waitMsMax } from "../../../ingest/access/limits.js";
import { burstSeconds } from "../../../ingest/access/rate-limit.js";
import type { DeviceEntry } from "../../../ingest/directory/entries.js";
import { assert, suite } from "../../suite.js";

const off: LimitSettings = { connectionsMax: 0, messagesPerSecond: 0, bytesPerSecond: 0 };
const device = (id: number, tenant = 1) => ({ id, device: { tenant } }) as DeviceEntry;

suite("limits", (test) => {
  let clock = 0;
  const limited = (ofDevice: Partial<LimitSettings>, ofTenant: Partial<LimitSettings> = {}) => {
    const limits = createLimits(
      { device: { ...off, ...ofDevice }, tenant: { ...off, ...ofTenant } },
      () => clock,
    );
    if (limits === null) throw new Error("nothing is limited");
    return limits;
  };
  const limiterOf = (limits: ReturnType<typeof limited>, entry: DeviceEntry) => {
    const limiter = limits.limiter(entry);
    if (limiter === null) throw new Error("no rate is limited");
    return limiter;
  };
  test.before.each(() => {
    clock = 5000;
  });

  test("off, there is nothing", () => {
    assert.is(
      createLimits({ device: off, tenant: off }, () => 0),
      null,
    );
    assert.is(limited({ connectionsMax: 1 }).limiter(device(1)), null);
  });

  test("many messages are let through together, or none of them is drawn", () => {
    const limiter = limiterOf(limited({ messagesPerSecond: 10, bytesPerSecond: 1000 }), device(1));
    assert.is(limiter.takeAll(10, 100), 0);
    assert.is(limiter.takeAll(50, 100), 5000);
    assert.is(limiter.takeAll(60, 100), null, "11 s");
    assert.is(limiter.takeAll(40, 100), 9000);
    clock += 100_000;
    assert.is(limiter.takeAll(1, 10_000), 9000, "by bytes");
    clock += 100_000;
    assert.is(limiter.takeAll(111, 100), "never");
    assert.is(limiter.takeAll(1, 11_001), "never");
    assert.is(limiter.takeAll(110, 11_000), 10_000);
  });

  test("connections of a device and of a tenant", () => {
    const limits = limited({ connectionsMax: 2 }, { connectionsMax: 3 });
    const [one, two, alien] = [device(1), device(2), device(3, 2)];
    assert.equal([one, one, one].map(limits.enter), [true, true, false]);
    assert.equal([two, two, alien].map(limits.enter), [true, false, true]);
    limits.leave(one);
    assert.equal([two, one].map(limits.enter), [true, false]);
  });

  test("a burst passes, what follows keeps the rate to the millisecond", () => {
    const rate = 10;
    const limiter = limiterOf(limited({ messagesPerSecond: rate }), device(1));
    let taken = 0;
    const end = clock + 20_000;
    while (clock < end) {
      const wait = limiter.take(1);
      assert.is.not(wait, null);
      clock += wait ?? 0;
      taken++;
    }
    assert.ok(Math.abs(taken - rate * (20 + burstSeconds)) <= 2, `${taken} messages`);
  });

  test("those who wait have their turn one after the other, and too far ahead is too much", () => {
    const limits = limited({}, { messagesPerSecond: 1 });
    const waits = Array.from({ length: 20 }, (_, i) => limiterOf(limits, device(i)).take(1));
    const turns = waits.filter((wait) => wait !== null);
    assert.equal(turns.slice(0, 5), [0, 1, 1000, 2000, 3000]);
    assert.is(turns.at(-1), waitMsMax);
    assert.is(waits.at(-1), null);
  });

  test("bytes: one large message passes and is paid for afterwards", () => {
    const limiter = limiterOf(limited({ bytesPerSecond: 1000 }), device(1));
    assert.equal([limiter.take(5000), limiter.take(1)], [0, 4000]);
  });

  test("over the limit for a minute without a pause is too much, a pause begins anew", () => {
    const limiter = limiterOf(limited({ messagesPerSecond: 10 }), device(1));
    const press = (forMs: number): boolean => {
      for (const end = clock + forMs; clock < end; ) {
        const wait = limiter.take(1);
        if (wait === null) return false;
        clock += wait;
      }
      return true;
    };
    assert.ok(press(overMsMax - 5000));
    clock += 1000;
    assert.ok(press(overMsMax - 5000));
    assert.not.ok(press(10_000));
  });
});
