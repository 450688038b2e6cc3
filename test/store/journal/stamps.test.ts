import fc from "fast-check";
import { createStamps, type Stamps, stampClasses } from "../../../store/journal/stamps.js";
import { assert, suite } from "../../suite.js";

const start = 1_700_000_000_000_000;
const minute = 60e6;
const hour = 60 * minute;

/** Gives stamps at these times, and holds that none is given twice and none is before its receipt. */
function give(stamps: Stamps, given: Set<number>, times: readonly number[]): number {
  let lead = 0;
  for (const time of times) {
    const stamp = stamps.next(time);
    assert.ok(Number.isInteger(stamp) && stamp >= time, `${stamp} at ${time}`);
    assert.not.ok(given.has(stamp), `${stamp} is given twice`);
    given.add(stamp);
    lead = Math.max(lead, stamp - time);
  }
  return lead;
}

/** What a restart finds: the runs as they were saved, then the stamps given since. */
function restarted(saved: Stamps, since: readonly number[]): Stamps {
  const stamps = createStamps(JSON.parse(JSON.stringify(saved.runs())));
  for (const stamp of since) stamps.saw(stamp);
  return stamps;
}

const ticks = (from: number, count: number, step: number): number[] =>
  Array.from({ length: count }, (_, i) => from + i * step);

suite("server stamps", (test) => {
  test("are the time of receipt where no other message has it", () => {
    const stamps = createStamps();
    assert.is(give(stamps, new Set(), ticks(start, 1000, 1000)), 0);
  });

  test("after a moment of + 6 h they are those of the clock again, and of the second time at + 6 h too", () => {
    const stamps = createStamps();
    const given = new Set<number>();
    give(stamps, given, ticks(start, 100, 1000));
    give(stamps, given, ticks(start + 6 * hour, 500, 1000));
    const lead = give(stamps, given, ticks(start + 100_000, 2000, 12_000_000));
    assert.ok(lead < stampClasses, `${lead} µs ahead of the clock`);
    assert.ok(give(stamps, given, ticks(start + 6 * hour, 1000, 500)) < 1000);
  });

  test("a clock that is set back an hour is followed at once", () => {
    const stamps = createStamps();
    const given = new Set<number>();
    give(stamps, given, ticks(start, 36_000, 100_000));
    assert.ok(give(stamps, given, ticks(start, 36_000, 100_000)) < stampClasses);
  });

  test("never lead by more than a second, though messages come faster than microseconds pass", () => {
    const stamps = createStamps();
    const given = new Set<number>();
    assert.ok(
      give(
        stamps,
        given,
        Array.from({ length: 900_000 }, () => start),
      ) <= 1e6,
    );
  });

  test("are unique through clocks that jump and restarts at any time, and near the clock", () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ tick: fc.integer({ min: 0, max: 5_000_000 }) }) },
      { weight: 2, arbitrary: fc.record({ jump: fc.integer({ min: -8 * hour, max: 8 * hour }) }) },
      { weight: 1, arbitrary: fc.record({ burst: fc.integer({ min: 1, max: 3000 }) }) },
      { weight: 1, arbitrary: fc.constant({ save: true }) },
      { weight: 1, arbitrary: fc.constant({ restart: true }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        let stamps = createStamps();
        let saved = stamps;
        let since: number[] = [];
        const given = new Set<number>();
        let clock = start;
        let backwards = 0;
        for (const one of steps) {
          if ("tick" in one) clock += one.tick;
          if ("jump" in one) clock += one.jump;
          if ("jump" in one && one.jump < 0) backwards++;
          if ("save" in one) {
            saved = createStamps(stamps.runs());
            since = [];
          }
          if ("restart" in one) stamps = restarted(saved, since);
          for (let i = 0; i < ("burst" in one ? one.burst : 1); i++) {
            const before = given.size;
            const lead = give(stamps, given, [clock]);
            assert.is(given.size, before + 1);
            since.push([...given].at(-1) as number);
            // Three steps back may lie over one time: then each of the four classes has been there once.
            if (backwards < stampClasses)
              assert.ok(lead <= 1e6, `${lead} µs ahead after ${backwards} steps back`);
          }
        }
      }),
      { numRuns: 150 },
    );
  });

  test("are unique where the clock is set back over one stretch again and again", () => {
    const moves = fc.array(fc.integer({ min: -120e6, max: 70e6 }), { minLength: 20, maxLength: 80 });
    fc.assert(
      fc.property(moves, (all) => {
        const stamps = createStamps();
        const given = new Set<number>();
        let clock = start;
        for (const move of all) {
          clock = Math.max(start - hour, clock + Math.round(move / 1000) * 1000);
          give(stamps, given, [clock, clock, clock + 1000]);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test("keep a bounded number of runs, however often messages pause", () => {
    const stamps = createStamps();
    const given = new Set<number>();
    give(stamps, given, ticks(start, 5000, 2 * minute));
    assert.ok(stamps.runs().every((runs) => runs.length <= 65));
    // What has been merged is given to nobody: the clock goes back over all of it.
    give(stamps, given, ticks(start, 5000, 2 * minute));
    give(stamps, given, ticks(start, 5000, 2 * minute));
  });

  test("what may have been given is passed over", () => {
    const stamps = createStamps();
    stamps.sawAll(start + hour);
    assert.ok(stamps.next(start) > start + hour);
    assert.is(stamps.next(start + 2 * hour), start + 2 * hour);
  });
});
