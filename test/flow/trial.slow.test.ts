/** A record is worked on in a thread with bounds of its own: the verdict is on the record, whatever the thread does. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Verdict } from "../../src/service/trial/trial.js";
import { assert, suite } from "../suite.js";
import { poisonous } from "./poison.js";

const child = fileURLToPath(new URL("./trial.child.js", import.meta.url));

suite("trials of single records", (test) => {
  test(
    "harmless ones pass; what takes all memory or all time ends the thread, and nothing else",
    async () => {
      const env = { ...process.env, NODE_OPTIONS: poisonous, TIDEMARK_TEST_POISON: "1" };
      const { stdout } = await promisify(execFile)(process.execPath, [child], { env });
      const verdicts = JSON.parse(stdout) as Record<"harmless" | "memory" | "time" | "early", Verdict[]>;
      assert.equal(
        verdicts.harmless,
        verdicts.harmless.map(() => ({ is: "harmless" })),
      );
      const memory = { is: "ended", reason: "it needs more than 64 MiB of memory" };
      assert.equal(verdicts.memory, [memory, memory]);
      assert.equal(verdicts.time, [{ is: "ended", reason: "it took longer than 1500 ms" }]);
      assert.equal(
        verdicts.early.map((one) => one.is),
        ["not tried"],
        "a thread that does not come up says nothing of the record",
      );
    },
    { timeoutMs: 120_000 },
  );
});
