import fc from "fast-check";
import { type Admitted, createAdmission } from "../../../ingest/access/admission.js";
import { assert, suite } from "../../suite.js";

class Guest implements Admitted {
  gone = false;
  constructor(
    public address: string,
    readonly isIdle = true,
  ) {}
  giveWay(): void {
    this.gone = true;
  }
}

const guests = (address: string, count: number, idle = true) =>
  Array.from({ length: count }, () => new Guest(address, idle));

suite("admission", (test) => {
  test("one address may have every place while nobody else waits; then its first ones give way", () => {
    const admission = createAdmission<Guest>(8);
    const crowd = guests("10.0.0.1", 8);
    for (const guest of crowd) assert.ok(admission.enter(guest));
    assert.not.ok(crowd.some(({ gone }) => gone));
    const others = [new Guest("10.0.0.2"), new Guest("10.0.0.3")];
    for (const guest of others) assert.ok(admission.enter(guest));
    assert.equal(
      crowd.map(({ gone }) => gone),
      [true, true, false, false, false, false, false, false],
    );
    assert.is(admission.counts.open, 8);
    assert.ok(admission.enter(new Guest("10.0.0.1")));
    assert.ok(crowd[2]?.gone, "a flood displaces itself");
    assert.not.ok(others.some(({ gone }) => gone));
  });

  test("what waits for nothing gives way before what is being answered", () => {
    const admission = createAdmission<Guest>(4);
    const [busy, idle] = [guests("10.0.0.1", 2, false), guests("10.0.0.1", 2)];
    for (const guest of [...busy, ...idle]) admission.enter(guest);
    admission.enter(new Guest("10.0.0.2"));
    assert.equal(
      [...busy, ...idle].map(({ gone }) => gone),
      [false, false, true, false],
    );
  });

  test("callers are not displaced, and a tenant's share of them leaves places", () => {
    const admission = createAdmission<Guest>(8);
    const callers = guests("10.0.0.1", 8);
    for (const guest of callers) {
      admission.enter(guest);
      admission.prove(guest, 1);
      admission.prove(guest, 1);
    }
    assert.equal({ ...admission.counts }, { open: 8, proven: 7 });
    const late = new Guest("10.0.0.9");
    assert.ok(admission.enter(late));
    assert.ok(callers[7]?.gone, "the one beyond the tenant's share");
    admission.prove(late, 2);
    assert.equal({ ...admission.counts }, { open: 8, proven: 8 });
    assert.not.ok(admission.enter(new Guest("10.0.0.10")), "every place is a caller's");
    for (const guest of callers) admission.leave(guest);
    assert.equal({ ...admission.counts }, { open: 1, proven: 1 });
  });

  test("thousands of callers behind one address stay, however many unauthenticated clients come from it", () => {
    const admission = createAdmission<Guest>(6000);
    const callers = guests("10.0.0.1", 5000);
    for (const guest of callers) {
      admission.enter(guest);
      admission.prove(guest, 1);
    }
    const flood = guests("10.0.0.1", 20_000);
    for (const guest of flood) assert.ok(admission.enter(guest));
    assert.equal({ ...admission.counts }, { open: 6000, proven: 5000 });
    assert.not.ok(callers.some(({ gone }) => gone));
    assert.is(flood.filter(({ gone }) => gone).length, 19_000);
  });

  test("callers beyond their tenant's share give way last, and are within it once others have left", () => {
    const admission = createAdmission<Guest>(16);
    const callers = guests("10.0.0.1", 16);
    for (const guest of callers) {
      admission.enter(guest);
      admission.prove(guest, 1);
    }
    assert.equal({ ...admission.counts }, { open: 16, proven: 14 });
    const newcomers = guests("10.0.0.2", 5);
    for (const guest of newcomers) assert.ok(admission.enter(guest));
    assert.equal(
      [callers, newcomers].map((all) => all.filter(({ gone }) => gone).length),
      [1, 4],
      "one caller for the first newcomer, then they displace each other",
    );
    for (const guest of callers.slice(0, 4)) admission.leave(guest);
    for (const guest of guests("10.0.0.2", 9)) assert.ok(admission.enter(guest));
    assert.is(callers.filter(({ gone }) => gone).length, 1);
    for (const guest of callers.slice(4)) admission.prove(guest, 1);
    assert.equal({ ...admission.counts }, { open: 16, proven: 11 });
  });

  test("unauthenticated clients get a part of the places from callers beyond their share, so that a flood displaces itself", () => {
    const admission = createAdmission<Guest>(64);
    const callers = guests("10.0.0.1", 64);
    for (const guest of callers) {
      admission.enter(guest);
      admission.prove(guest, 1);
    }
    for (const guest of guests("10.0.0.2", 10)) assert.ok(admission.enter(guest));
    const [device] = guests("10.0.0.3", 1);
    assert.ok(admission.enter(device as Guest));
    for (const guest of guests("10.0.0.2", 100)) assert.ok(admission.enter(guest));
    assert.not.ok(device?.gone, "a client beside a flood has time to authenticate");
    assert.is(callers.filter(({ gone }) => gone).length, 4);
  });

  test("a client that turns out to come from elsewhere counts there", () => {
    const admission = createAdmission<Guest>(4);
    const behind = guests("10.0.0.1", 4);
    for (const guest of behind) admission.enter(guest);
    admission.move(behind[0] as Guest, "192.0.2.1");
    admission.move(behind[1] as Guest, "192.0.2.2");
    admission.prove(behind[1] as Guest, 1);
    admission.move(behind[1] as Guest, "192.0.2.3");
    for (const guest of guests("10.0.0.1", 3)) assert.ok(admission.enter(guest));
    assert.equal(
      behind.map(({ gone }) => gone),
      [false, false, true, true],
    );
    for (const guest of behind) admission.leave(guest);
    assert.equal({ ...admission.counts }, { open: 2, proven: 0 });
  });

  test("one that has given way is not authenticated any more", () => {
    const admission = createAdmission<Guest>(1);
    const [first, second] = [new Guest("a"), new Guest("b")];
    admission.enter(first);
    admission.enter(second);
    admission.prove(first, 1);
    admission.leave(first);
    assert.equal({ ...admission.counts }, { open: 1, proven: 0 });
  });

  test("never more than there are places, and a displaced client is of the largest crowd", () => {
    const step = fc.record({ address: fc.nat(4).map(String), what: fc.nat(6), which: fc.nat(30) });
    fc.assert(
      fc.property(fc.nat(9), fc.array(step, { maxLength: 200 }), (more, steps) => {
        const max = more + 1;
        const admission = createAdmission<Guest>(max);
        const open = new Set<Guest>();
        const callers = new Set<Guest>();
        for (const { address, what, which } of steps) {
          const known = [...open][which % Math.max(1, open.size)];
          if (what === 0 && known !== undefined) {
            admission.leave(known);
            open.delete(known);
            callers.delete(known);
          } else if (what === 1 && known !== undefined) {
            admission.prove(known, which % 3);
            callers.add(known);
          } else if (what === 2 && known !== undefined) {
            admission.move(known, address);
          } else {
            const sizes = new Map<string, number>();
            for (const one of open) {
              if (!callers.has(one)) sizes.set(one.address, (sizes.get(one.address) ?? 0) + 1);
            }
            const guest = new Guest(address);
            const entered = admission.enter(guest);
            const [displaced, ...more] = [...open].filter(({ gone }) => gone);
            assert.is(more.length, 0);
            if (displaced !== undefined && sizes.size > 0) {
              assert.not.ok(callers.has(displaced), "unauthenticated clients first");
              assert.is(sizes.get(displaced.address), Math.max(...sizes.values()));
            }
            if (displaced !== undefined) open.delete(displaced);
            if (entered) open.add(guest);
            else assert.is(admission.counts.proven, max);
          }
          assert.is(admission.counts.open, open.size);
          assert.ok(admission.counts.proven <= callers.size);
          assert.ok(open.size <= max);
        }
      }),
    );
  });

  test("an IPv6 subscriber is one address, whichever of its own it comes from", () => {
    const admission = createAdmission<Guest>(4);
    const addresses = [
      "192.0.2.1",
      "2001:db8:1:2::1",
      "2001:db8:1:2:ffff::2",
      "2001:db8:1:3::1",
      "192.0.2.2",
    ];
    const guests = addresses.map((address) => new Guest(address));
    for (const guest of guests) assert.ok(admission.enter(guest));
    assert.equal(
      guests.filter(({ gone }) => gone).map(({ address }) => address),
      ["2001:db8:1:2::1"],
    );
  });
});
