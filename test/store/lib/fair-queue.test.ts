import { StoreError } from "../../../store/lib/errors.js";
import { createFairQueue } from "../../../store/lib/fair-queue.js";
import { assert, rejects, suite } from "../../suite.js";

suite("fair queue", (test) => {
  /** Works that record when they begin and end by hand. */
  function works() {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const work = (name: string) => (): Promise<string> => {
      begun.push(name);
      return new Promise((resolve) => ends.push(() => resolve(name)));
    };
    const end = async (): Promise<void> => {
      ends.shift()?.();
      for (let turn = 0; turn < 24; turn++) await Promise.resolve();
    };
    return { begun, work, end };
  }

  test("one at a time, fairness keys in turn, each in its order", async () => {
    const { begun, work, end } = works();
    const queue = createFairQueue(64);
    const asked = [..."aaaabbac"].map((payer, i) => queue.run(payer, work(`${payer}${i}`)));
    assert.equal(begun, ["a0"]);
    for (let i = 1; i <= 8; i++) {
      await end();
      assert.is(begun.length, Math.min(i + 1, 8));
    }
    assert.equal(begun.join(" "), "a0 b4 c7 a1 b5 a2 a3 a6");
    assert.equal(await Promise.all(asked), ["a0", "a1", "a2", "a3", "b4", "b5", "a6", "c7"]);
  });

  test("addresses that hold every place do not keep a new one out: it is next", async () => {
    const { begun, work, end } = works();
    const queue = createFairQueue(64);
    const refused: string[] = [];
    const ask = (payer: string) =>
      queue.run(payer, work(payer)).catch(() => {
        refused.push(payer);
      });
    // Each asks again as soon as it was answered, as a flood does.
    let going = true;
    const flood = Array.from({ length: 64 }, async (_, i) => {
      while (going) {
        const before = refused.length;
        await ask(`flood ${i}`);
        if (refused.length > before) await new Promise((resolve) => setImmediate(resolve));
      }
    });
    while (begun.length < 70) await end();
    assert.equal(refused, []);
    for (let i = 0; i < 5; i++) {
      const mine = queue.run(`new ${i}`, work(`new ${i}`));
      await end();
      assert.is(begun.at(-1), `new ${i}`, "not after the 63 that wait");
      await end();
      assert.is(await mine, `new ${i}`);
    }
    assert.ok(refused.length > 0);
    assert.ok(refused.every((payer) => payer.startsWith("flood")));
    going = false;
    for (let i = 0; i < 100; i++) await end();
    await Promise.all(flood);
  });

  test("what is beyond the bound is taken from who has most waiting, and nobody is left behind for long", async () => {
    const { begun, work, end } = works();
    const queue = createFairQueue(16);
    const refused: string[] = [];
    const ask = (payer: string) =>
      queue.run(payer, work(payer)).catch(() => {
        refused.push(payer);
      });
    const asked = [..."aaaaaaaaaabbbbcd"].map(ask);
    asked.push(ask("e"), ask("f"));
    await Promise.resolve();
    await Promise.resolve();
    assert.equal(refused, ["a", "a"]);
    assert.is(begun.join(""), "a");
    for (let i = 0; i < 16; i++) await end();
    await Promise.all(asked);
    assert.is(begun.join(""), "abcdefabababaaaa", "in turns");
    // One that comes back after long is one turn ahead, not as many as it has missed.
    const late = [..."xxxxxxx"].map(ask);
    for (let i = 0; i < 4; i++) await end();
    late.push(...[..."yyy"].map(ask));
    for (let i = 0; i < 8; i++) await end();
    await Promise.all(late);
    assert.is(begun.slice(16).join(""), "xxxxxyxyxy");
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
