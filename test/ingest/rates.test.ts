/** Rates by seconds, against counting in a plain list of what happened when. */
import fc from "fast-check";
import { createRates, rateSeconds } from "../../ingest/rates.js";
import { createStillClock } from "../clock.js";
import { assert, suite } from "../suite.js";

type Step =
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "set"; readonly ms: number }
  | { readonly do: "tick" }
  | { readonly do: "message"; readonly tenant: number }
  | { readonly do: "points"; readonly tenant: number; readonly by: number }
  | {
      readonly do: "refused";
      readonly tenant: number;
      readonly reason: "unknown" | "policy";
      readonly by: number;
    };

const tenant = fc.integer({ min: 1, max: 3 });
const by = fc.integer({ min: 1, max: 1000 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("pass" as const),
    ms: fc.oneof(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 700_000 })),
  }),
  fc.record({ do: fc.constant("set" as const), ms: fc.integer({ min: -1e9, max: 1e9 }) }),
  fc.constant({ do: "tick" as const }),
  fc.record({ do: fc.constant("message" as const), tenant }),
  fc.record({ do: fc.constant("points" as const), tenant, by }),
  fc.record({
    do: fc.constant("refused" as const),
    tenant,
    reason: fc.constantFrom("unknown" as const, "policy" as const),
    by,
  }),
);

interface Happened {
  readonly second: number;
  readonly tenant: number;
  readonly what: string;
  readonly by: number;
}

suite("rates by seconds", (test) => {
  test("whatever comes when, and however the clock is set, each second has what came in it", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (all) => {
        const clock = createStillClock();
        const rates = createRates(clock.monotonic);
        const begun = clock.monotonic();
        const happened: Happened[] = [];
        const second = () => Math.floor((clock.monotonic() - begun) / 1000);
        for (const one of all) {
          if (one.do === "pass") clock.pass(one.ms);
          if (one.do === "set") clock.step(one.ms);
          if (one.do === "tick" || one.do === "pass") rates.tick();
          if (one.do === "message") rates.message(one.tenant);
          if (one.do === "points") rates.points(one.tenant, one.by);
          if (one.do === "refused") rates.refused(one.tenant, one.reason, one.by);
          if ("tenant" in one) {
            const what = "reason" in one ? one.reason : one.do;
            happened.push({ second: second(), tenant: one.tenant, what, by: "by" in one ? one.by : 1 });
          }
        }
        const now = second();
        const sum = (some: readonly Happened[]) => some.reduce((total, each) => total + each.by, 0);
        const expected = (mine: readonly Happened[]) => {
          const bySecond = (what: string) =>
            Array.from({ length: rateSeconds }, (_, i) =>
              sum(mine.filter((each) => each.what === what && each.second === now - rateSeconds + i)),
            );
          const refused = ["policy", "unknown"].map((reason) => ({
            reason,
            count: sum(
              mine.filter(
                (each) => each.what === reason && Math.floor(each.second / 10) > Math.floor(now / 10) - 60,
              ),
            ),
          }));
          return {
            messages: bySecond("message"),
            points: bySecond("points"),
            refused: refused.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count),
          };
        };
        for (const one of [1, 2, 3]) {
          assert.equal(rates.of(one), expected(happened.filter((each) => each.tenant === one)));
        }
        assert.equal(rates.all(), expected(happened));
      }),
      { numRuns: 100 },
    );
  });

  test("tenants beyond the bound are counted among all only, until one has been silent", () => {
    const clock = createStillClock();
    const rates = createRates(clock.monotonic, 2);
    for (const one of [1, 2, 3]) rates.message(one);
    clock.pass(1000);
    const last = (of: { readonly messages: readonly number[] } | null) => of?.messages.at(-1);
    assert.equal([last(rates.of(1)), last(rates.of(2)), rates.of(3)], [1, 1, null]);
    assert.is(last(rates.all()), 3);
    clock.pass((rateSeconds - 1) * 1000);
    rates.tick();
    rates.message(2);
    clock.pass(1000);
    rates.tick();
    // Tenant 1 has been silent for longer than the rates go back.
    rates.message(3);
    rates.message(1);
    clock.pass(1000);
    assert.equal([last(rates.of(3)), rates.of(1)], [1, null]);
    assert.is(last(rates.all()), 2);
    assert.is(rates.sinceWholeSecondMs, 0);
    clock.pass(250);
    assert.is(rates.sinceWholeSecondMs, 250);
  });

  test("before anything has come, and where nothing comes, every second is there", () => {
    const rates = createRates(createStillClock().monotonic);
    const none = Array.from({ length: rateSeconds }, () => 0);
    assert.equal(rates.of(1), { messages: none, points: none, refused: [] });
    assert.equal(rates.all(), { messages: none, points: none, refused: [] });
  });
});
