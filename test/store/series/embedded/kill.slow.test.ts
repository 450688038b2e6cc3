import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { openLibsqlSeriesStore } from "../../../../store/series/embedded/open.js";
import { assert, suite, withTempDir } from "../../../suite.js";
import { KILL_BATCHES, KILL_OPTIONS, killBatch, killCheckpoints, killSeries } from "./kill.child.js";

const CHILD = fileURLToPath(new URL("./kill.child.js", import.meta.url));
const GONE = killSeries[0];

/** Runs the child until it has printed `lines` lines and some time has passed, then kills it. */
async function runAndKill(
  dir: string,
  lines: number,
  delayMs: number,
): Promise<{ done: boolean; output: string }> {
  const child = spawn(process.execPath, [CHILD, dir], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (data) => {
    const before = output.split("\n").length;
    output += data;
    if (before <= lines && output.split("\n").length > lines)
      setTimeout(() => child.kill("SIGKILL"), delayMs);
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  assert.ok(code === 0 || code === null, `the child ended with ${code}`);
  return { done: code === 0, output };
}

/** Times and the last batch that wrote them, a series each, of batches 1 to `through`. */
function expected(through: number): Map<number, number>[] {
  const model = killSeries.map(() => new Map<number, number>());
  const places = new Map(killSeries.map((series, i) => [series, i]));
  for (let n = 1; n <= through; n++) {
    for (const { series, time } of killBatch(n)) model[places.get(series) ?? 0]?.set(time, n);
  }
  return model;
}

/** The journals have come equally far, and everything up to there is there, as new as it then was or newer. */
async function check(dir: string, removed: boolean): Promise<number> {
  const store = await openLibsqlSeriesStore({ dir, ...KILL_OPTIONS });
  try {
    const [even, odd] = await killCheckpoints(store);
    const checkpoint = Math.max(even, odd);
    assert.is(Math.min(even, odd), Math.max(0, checkpoint - 1), "one flush moves both");
    for (const [i, points] of expected(checkpoint).entries()) {
      const series = killSeries[i] ?? killSeries[0];
      if (series === undefined) continue;
      const { times, values } = await store.read(series, {});
      if (series === GONE && removed) {
        assert.is(times.length, 0, "a removed device answers nothing");
        continue;
      }
      if (series === GONE) continue;
      const stored = new Map(Array.from(times, (time, j) => [time, Number(values[j])]));
      for (const [time, n] of points)
        assert.ok((stored.get(time) ?? 0) >= n, `point of batch ${n} after ${checkpoint}`);
      if (checkpoint === KILL_BATCHES)
        assert.equal(
          [...stored],
          [...points].sort(([a], [b]) => a - b),
        );
    }
    return checkpoint;
  } finally {
    await store.close();
  }
}

suite("embedded series store, killed", (test) => {
  const playedToTheEnd = async () => {
    await withTempDir(async (dir) => {
      let removed = false;
      for (let round = 0; round < 40; round++) {
        const { done, output } = await runAndKill(dir, 4 + ((round * 7) % 23), (round * 5) % 17);
        removed ||= output.includes("removed");
        const checkpoint = await check(dir, removed);
        if (done) {
          assert.is(checkpoint, KILL_BATCHES);
          return;
        }
      }
      assert.unreachable("the journal was never played to its end");
    });
  };
  test(
    "loses nothing up to the checkpoints of two journals and ends complete, however often it is killed",
    playedToTheEnd,
    {
      timeoutMs: 400_000,
    },
  );
});
