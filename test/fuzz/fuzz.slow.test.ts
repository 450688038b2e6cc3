/**
 * A minute of cases from grammars, the kept ones first: the same in every run, so that what fails is what has changed.
 * FUZZ_SEED=N draws others; by-hand.ts looks for new ones.
 */
import { assert, suite, withTempDir } from "../suite.js";
import { grammars } from "./cases.js";
import { fuzz, seedsFrom } from "./run.js";
import { keptSeeds } from "./seeds.js";
import { openTarget, type Target } from "./target.js";

const seed = Number(process.env.FUZZ_SEED ?? 20_261_122);
const grammarMs = 13_000;
/** Far above what is promised: other processes share the machine. by-hand.ts lists cases above 100 ms. */
const stallMsMax = 2000;
const growthBytesMax = 600e6;

suite("fuzzing from grammars", (test) => {
  test(
    `what any of them makes breaks nothing; FUZZ_SEED=${seed}`,
    () =>
      withTempDir(async (dir) => {
        const target = await openTarget(dir);
        try {
          const kept = [...keptSeeds];
          await holds(target, "kept", () => kept.shift() ?? null);
          for (const [i, grammar] of grammars.entries()) {
            const seeds = seedsFrom(seed + i);
            const end = performance.now() + grammarMs;
            let drawn = 0;
            await holds(target, grammar, () =>
              performance.now() > end ? null : { grammar, seed: seeds(drawn++) },
            );
          }
        } finally {
          await target.service.kill();
        }
      }),
    { timeoutMs: 600_000 },
  );
});

async function holds(target: Target, name: string, next: Parameters<typeof fuzz>[1]): Promise<void> {
  const { cases, faults, waits, before, after } = await fuzz(target, next);
  console.log(`${name}: ${cases} cases, ${JSON.stringify(waits)}, FUZZ_SEED=${seed}`);
  assert.equal(faults, []);
  for (const [what, ms] of Object.entries(waits)) assert.ok(ms < stallMsMax, `${what}: ${Math.round(ms)}`);
  assert.ok(after.residentBytes - before.residentBytes < growthBytesMax, "the process has grown");
}
