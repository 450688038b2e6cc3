/** Commands of `tidemark` as a person runs them: processes of their own. */
import { type ChildProcess, spawn } from "node:child_process";
import { program, programEnvironment } from "../program.js";
import { assert } from "../suite.js";
import type { Rec } from "../world.js";

export type Environment = Readonly<Record<string, string>>;

interface Ended {
  readonly code: number | null;
  /** What it printed, as JSON; empty if it printed nothing. */
  readonly answer: Rec;
  readonly errors: string;
}

/** Begins `tidemark` with these arguments; the environment is these names and nothing else. */
export function runTool(
  dataDir: string,
  environment: Environment,
  ...args: readonly string[]
): { readonly child: ChildProcess; readonly ended: Promise<Ended> } {
  const env = { ...programEnvironment, ...environment, DATA_DIR: dataDir };
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  let [output, errors] = ["", ""];
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  const ended = new Promise<Ended>((resolve) => {
    child.once("close", (code) =>
      resolve({ code, errors, answer: JSON.parse(output === "" ? "{}" : output) as Rec }),
    );
  });
  return { child, ended };
}

/** Runs it to its end, which must be a good one. */
export async function toolAnswer(
  dataDir: string,
  environment: Environment,
  ...args: readonly string[]
): Promise<Rec> {
  const { code, errors, answer } = await runTool(dataDir, environment, ...args).ended;
  assert.is(code, 0, errors);
  return answer;
}
