/** Python's zoneinfo with the package tzdata, which brings rules of its own. */
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { modulesMissing } from "../programs.js";
import type { Body, Test } from "../suite.js";

/** The compiled test stands below dist; the sources beside package.json. */
const script = join(dirname(fileURLToPath(import.meta.url)), "../../../test/query/zone_oracle.py");
const python = process.env.PYTHON_WITH_PEERS ?? "python3";
const inCi = process.env.CI === "true";
const hasOracle = inCi || spawnSync(python, ["-c", "import tzdata, zoneinfo"]).status === 0;

/** @throws Error with what it said, if it could not answer */
function ask<Answer>(question: object): Answer {
  const input = JSON.stringify(question);
  const bytesMax = 256 * 2 ** 20;
  const { status, stdout, stderr } = spawnSync(python, [script], {
    input,
    encoding: "utf8",
    maxBuffer: bytesMax,
  });
  if (status !== 0) throw new Error(`cannot ask the oracle: ${stderr}`);
  return JSON.parse(stdout) as Answer;
}

export type OracleUnit = "day" | "week" | "month" | "year";

/** Times in seconds since 1970. */
export const oracle = {
  about: () =>
    ask<{ readonly version: string; readonly folder: string; readonly names: readonly string[] }>({
      ask: "about",
    }),
  /** By zone, the first time at which its offset is another one: when, what was given, what is right. */
  differences: (
    zones: Readonly<Record<string, { readonly changes: number[]; readonly offsets: number[] }>>,
  ) => ask<Record<string, readonly [at: string, given: number, right: number]>>({ ask: "offsets", zones }),
  /** The instants of wall times, which are given as if they were UTC. */
  instants: (zones: Readonly<Record<string, readonly number[]>>) =>
    ask<Record<string, readonly number[]>>({ ask: "walls", zones }),
  windows: (cases: readonly (readonly [zone: string, unit: OracleUnit, at: number])[]) =>
    ask<(readonly [start: number, end: number])[]>({ ask: "windows", cases }),
};

/** A test that asks the oracle; it is skipped where there is none. */
export function testWithOracle(test: Test, name: string, body: Body): void {
  if (hasOracle) test(name, body);
  else test.skip(name, modulesMissing("tzdata"));
}
