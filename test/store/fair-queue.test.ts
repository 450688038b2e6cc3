import { StoreError } from "../../store/errors.js";
import { createFairQueue } from "../../store/fair-queue.js";
import { assert, rejects, suite } from "../suite.js";

suite("fair queue", (test) => {
  /** Works that note when they begin and end when told to. */
  function works() {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const work = (name: string) => (): Promise<string> => {
      begun.push(name);
      return new Promise((resolve) => ends.push(() => resolve(name)));
    };
    const end = async (): Promise<void> => {
      ends.shift()?.();
      for (let turn = 0; turn < 8; turn++) await Promise.resolve();
    };
    return { begun, work, end };
  }

  test("one at a time, payers in turn, each in its order", async () => {
    const { begun, work, end } = works();
    const queue = createFairQueue(64);
    const asked = [..."aaaabbac"].map((payer, i) => queue.run(payer, work(`${payer}${i}`)));
    assert.equal(begun, ["a0"]);
    for (let i = 1; i <= 8; i++) {
      await end();
      assert.is(begun.length, Math.min(i + 1, 8));
    }
    assert.equal(begun.join(" "), "a0 a1 b4 c7 a2 b5 a3 a6");
    assert.equal(await Promise.all(asked), ["a0", "a1", "a2", "a3", "b4", "b5", "a6", "c7"]);
  });

  test("one who asks for too much is refused alone, and a failure holds up nobody", async () => {
    const { begun, work, end } = works();
    const queue = createFairQueue(64);
    const asked = Array.from({ length: 80 }, () => queue.run("greedy", work("greedy")).catch(String));
    const failing = queue.run("late", () => Promise.reject(new Error("failed")));
    const last = queue.run("late", work("late"));
    const failed = rejects(() => failing, /failed/);
    await end();
    assert.equal(begun, ["greedy", "greedy"]);
    await end();
    await failed;
    while (begun.length < 57) await end();
    await end();
    assert.is(await last, "late");
    assert.is((await Promise.all(asked)).filter((one) => one === "greedy").length, 56);
    // What was given back can be taken again.
    assert.is(await queue.run("greedy", async () => "again"), "again");
    const full = createFairQueue(1);
    const first = full.run("a", work("a"));
    await rejects(() => full.run("b", work("b")), /too many wait/);
    await full.run("b", work("b")).catch((error) => assert.ok(error instanceof StoreError));
    await end();
    await first;
  });
});
