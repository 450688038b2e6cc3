/** Those who wait for a shard that nobody has. */
import { createShardWaits } from "../../../ingest/directory/shard-waits.js";
import { assert, suite, until } from "../../suite.js";

/** `left` says in which order waits for it have ended. */
function waitsFor(options: { waitMs?: number; waitersMax?: number } = {}) {
  const placed = new Set<number>();
  const waits = createShardWaits({ isPlaced: (shard) => placed.has(shard), ...options });
  const left: string[] = [];
  const wait = (shard: number, name: string) => waits.untilPlaced(shard).then(() => void left.push(name));
  return { placed, waits, left, wait };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

suite("waits for a shard", (test) => {
  test("end as it is found, and not for another", async () => {
    const { placed, waits, left, wait } = waitsFor();
    placed.add(1);
    await wait(1, "here already");
    void wait(2, "first");
    void wait(2, "second");
    void wait(3, "other");
    waits.look();
    await turn();
    assert.equal(left, ["here already"]);
    placed.add(2);
    waits.look();
    await until(() => left.length === 3, { what: "both" });
    await turn();
    assert.equal(left, ["here already", "first", "second"]);
    waits.end();
    await until(() => left.length === 4, { what: "the end" });
    await wait(3, "after the end");
  });

  test("last for so long from the first, and then nobody waits until it has been found", async () => {
    const { placed, waits, left, wait } = waitsFor({ waitMs: 50 });
    const first = wait(1, "first");
    await new Promise((resolve) => setTimeout(resolve, 20));
    const second = wait(1, "second");
    await Promise.all([first, second]);
    assert.equal(left, ["first", "second"]);
    const before = performance.now();
    for (let i = 0; i < 1000; i++) await wait(1, "late");
    assert.ok(performance.now() - before < 1000 * 50, "none of them waits for its own time");
    placed.add(1);
    waits.look();
    placed.delete(1);
    void wait(1, "anew");
    await turn();
    assert.is(left.includes("anew"), false);
    waits.end();
  });

  test("are so many and no more, and others are possible once they have ended", async () => {
    const { placed, waits, left, wait } = waitsFor({ waitersMax: 2 });
    void wait(1, "first");
    void wait(2, "second");
    await wait(1, "too many");
    assert.equal(left, ["too many"]);
    placed.add(1);
    waits.look();
    await until(() => left.includes("first"), { what: "the first" });
    void wait(2, "third");
    await turn();
    assert.equal(left, ["too many", "first"]);
    waits.end();
    await until(() => left.length === 4, { what: "the others" });
  });

  test("thousands that end together go on in turns of the loop", async () => {
    const { placed, waits } = waitsFor();
    const workMs = 0.1;
    const count = 2000;
    let done = 0;
    const work = (): void => {
      const end = performance.now() + workMs;
      while (performance.now() < end);
      done++;
    };
    const all = Array.from({ length: count }, () => waits.untilPlaced(1).then(work));
    placed.add(1);
    waits.look();
    let most = 0;
    while (done < count) {
      const before = done;
      await turn();
      most = Math.max(most, done - before);
    }
    await Promise.all(all);
    assert.ok(most < count / 4, `${most} of ${count} in one turn`);
  });
});
