/** Figures of the last minutes: two readers get the same, and neither takes anything from the other. */
import { createHistogram } from "node:perf_hooks";
import fc from "fast-check";
import { createJournalLag } from "../../src/observability/journal-lag.js";
import { createWindowPair } from "../../src/observability/window-pair.js";
import { createStillClock } from "../clock.js";
import { assert, suite } from "../suite.js";

const windowMs = 60_000;

suite("windows of the last while", (test) => {
  test("a stall is shown to every reader for a minute at least, and to none after two", () => {
    const clock = createStillClock();
    const pair = createWindowPair(createHistogram, windowMs, clock.monotonic);
    const measure = (value: number): void => {
      for (const window of pair.both) window.record(value);
    };
    for (let second = 0; second < 1000; second++) {
      measure(second === 100 ? 5000 : 1);
      clock.pass(1000);
      pair.turn();
      const [one, other] = [pair.longer.max, pair.longer.max];
      assert.is(one, other, "a reading changes nothing");
      const since = second - 100;
      if (since >= 0 && since < 60) assert.ok(one > 4000, `${since} s after`);
      if (since < 0 || since > 120) assert.is(one, 1, `${since} s after`);
      assert.ok(pair.longer.count >= Math.min(second + 1, 60), `${second}: ${pair.longer.count}`);
      assert.ok(pair.longer.count <= 121);
    }
  });
});

suite("lag of the journal", (test) => {
  test("is the age of the oldest commit that cannot be read, for every reader and however often", () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ do: fc.constant("commit" as const), records: fc.integer({ min: 1, max: 9 }) }),
        fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 10, max: 5000 }) }),
        fc.record({ do: fc.constant("settle" as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
        fc.record({ do: fc.constant("set" as const), ms: fc.integer({ min: -1e9, max: 1e9 }) }),
        fc.constant({ do: "ask" as const }),
      ),
      // So few commits are counted exactly.
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const clock = createStillClock();
        let [committed, settled] = [0, 0];
        const lag = createJournalLag({
          committedID: () => committed,
          settledID: () => settled,
          monotonic: clock.monotonic,
        });
        const commits: { readonly id: number; readonly at: number }[] = [];
        for (const one of all) {
          if (one.do === "pass") clock.pass(one.ms);
          if (one.do === "set") clock.step(one.ms);
          if (one.do === "settle") settled += Math.floor((committed - settled) * one.share);
          if (one.do === "commit") {
            committed += one.records;
            commits.push({ id: committed, at: clock.monotonic() });
            lag.committed();
          }
          if (one.do !== "ask") continue;
          const oldest = commits.find(({ id }) => id > settled);
          assert.is(lag.seconds, oldest === undefined ? 0 : (clock.monotonic() - oldest.at) / 1000);
        }
      }),
    );
  });

  test("it holds little of a week's backlog, and is never too small, nor too large by half", () => {
    const clock = createStillClock();
    let [committed, settled] = [0, 0];
    const lag = createJournalLag({
      committedID: () => committed,
      settledID: () => settled,
      monotonic: clock.monotonic,
    });
    const begun = clock.monotonic();
    for (; committed < 100_000; ) {
      committed++;
      lag.committed();
      clock.pass(1000);
    }
    for (const part of [0, 0.1, 0.5, 0.9]) {
      settled = Math.floor(committed * part);
      const exact = (clock.monotonic() - begun) / 1000 - settled;
      assert.ok(
        lag.seconds >= exact - 1 && lag.seconds <= exact + committed / 16,
        `${lag.seconds} of ${exact}`,
      );
    }
    settled = committed;
    assert.is(lag.seconds, 0);
  });
});
