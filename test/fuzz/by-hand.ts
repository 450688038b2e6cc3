/**
 * The fuzzer for any time: `node dist/test/fuzz/by-hand.js --minutes 60 [--seed N] [--grammar mqtt]`, or one case
 * again: `--case http:123`. Prints a line a minute; exit code 1 where a promise was broken or a stall was felt.
 */
import { parseArgs } from "node:util";
import { withTempDir } from "../suite.js";
import { type Grammar, grammars } from "./cases.js";
import { fuzz, seedsFrom } from "./run.js";
import { keptSeeds } from "./seeds.js";
import { openTarget } from "./target.js";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    seed: { type: "string", default: String(Date.now() % 2 ** 32) },
    grammar: { type: "string", multiple: true, default: [...grammars] },
    case: { type: "string", multiple: true, default: [] },
  },
});
const stallMs = 100;
const sliceMs = 60_000;

function drawing(): (untilMs: number) => () => { grammar: Grammar; seed: number } | null {
  const chosen = grammars.filter((one) => values.grammar.includes(one));
  const seeds = seedsFrom(Number(values.seed));
  const again = values.case.map((one) => {
    const [grammar, seed] = one.split(":");
    return { grammar: grammar as Grammar, seed: Number(seed) };
  });
  const first = [...again, ...(again.length === 0 ? keptSeeds : [])];
  let i = 0;
  return (untilMs) => () => {
    const kept = first.shift();
    if (kept !== undefined) return kept;
    if (again.length > 0 || performance.now() > untilMs) return null;
    const grammar = chosen[i % chosen.length];
    return grammar === undefined ? null : { grammar, seed: seeds(i++) };
  };
}

await withTempDir(async (dir) => {
  console.log(`seed ${values.seed}`);
  const target = await openTarget(dir);
  const draw = drawing();
  const end = performance.now() + Number(values.minutes) * 60_000;
  do {
    const outcome = await fuzz(target, draw(Math.min(end, performance.now() + sliceMs)));
    const { cases, faults, waits, loopDelay, after } = outcome;
    const { pubackMs, readyzMs } = waits;
    const mebibytes = Math.round(after.residentBytes / 2 ** 20);
    console.log(
      `${cases} cases; worst PUBACK ${Math.round(pubackMs)} ms, /readyz ${Math.round(readyzMs)} ms; loop p99.9 ${Math.round(loopDelay * 1000)} ms; ${after.connections} connections, ${after.descriptors} descriptors, ${mebibytes} MiB`,
    );
    for (const fault of faults) console.log(fault);
    if (faults.length > 0 || readyzMs > stallMs) process.exitCode = 1;
  } while (performance.now() < end && values.case.length === 0);
  await target.service.kill();
});
