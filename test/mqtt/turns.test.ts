/** Who says much at once, or what brings much with it, pays with its own time: turns of reading, and a budget of work. */
import { createReadingTurns } from "../../ingest/transports/mqtt/reading.js";
import { createWorkBudget } from "../../ingest/transports/mqtt/work-budget.js";
import { pause } from "../../store/turns.js";
import { assert, suite, until } from "../suite.js";

/** Holds the thread for so long. */
function hold(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

suite("turns of reading", (test) => {
  /** A connection with so many packets to read, each of which takes a millisecond. */
  function reader(
    turns: ReturnType<typeof createReadingTurns>,
    name: string,
    packets: number,
    log: string[],
  ) {
    let left = packets;
    const reading = {
      proceed: () => {
        while (left > 0 && !turns.isOver) {
          hold(1);
          left--;
          log.push(name);
          turns.spend(16);
        }
        if (left > 0) turns.later(reading);
      },
    };
    return reading;
  }

  test("each goes on in its turn, and other work of the loop goes between them", async () => {
    const turns = createReadingTurns();
    const log: string[] = [];
    const long = reader(turns, "long", 60, log);
    const short = reader(turns, "short", 2, log);
    let others = 0;
    const ticking = setInterval(() => others++, 1);
    long.proceed();
    short.proceed();
    while (log.length < 62) await pause(1);
    clearInterval(ticking);
    assert.ok(log.lastIndexOf("short") < log.lastIndexOf("long") - 20, `${log.lastIndexOf("short")}`);
    assert.ok(others >= 5, `${others} other turns`);
    await until(() => !turns.isOver, { what: "a turn that begins anew" });
  });

  test("who is gone is not called again, and a turn begins anew by itself", async () => {
    const turns = createReadingTurns();
    const log: string[] = [];
    const one = reader(turns, "one", 50, log);
    one.proceed();
    turns.forget(one);
    const read = log.length;
    assert.ok(read < 50);
    await until(() => !turns.isOver, { what: "a turn that begins anew" });
    await pause(20);
    assert.is(log.length, read);
  });
});

suite("a budget of work", (test) => {
  test("is never overdrawn but by one alone; those that wait are called in order", async () => {
    const budget = createWorkBudget(100);
    const called: string[] = [];
    assert.equal([budget.take(250), budget.take(1)], [true, false], "the large one goes alone");
    for (const [name, cost] of [
      ["a", 60],
      ["b", 60],
      ["c", 10],
    ] as const) {
      void budget.room(cost).then(() => called.push(name));
    }
    await pause(0);
    assert.equal(called, []);
    budget.give(250);
    await pause(0);
    assert.equal(called, ["a"], "as many as there is room for");
    assert.is(budget.take(10), false, "nobody goes past those that wait");
    budget.give(60);
    await pause(0);
    assert.equal(called, ["a", "b", "c"]);
    assert.equal([budget.take(40), budget.take(30)], [false, true], "what was called has been taken");
  });

  test("who is called and needs it no more gives it back, and the next one is called", async () => {
    const budget = createWorkBudget(100);
    assert.is(budget.take(100), true);
    const called: string[] = [];
    void budget.room(100).then(() => {
      called.push("gone");
      budget.give(100);
    });
    void budget.room(70).then(() => called.push("next"));
    budget.give(100);
    await pause(0);
    assert.equal(called, ["gone", "next"]);
  });

  test("one that is larger than all of it comes to its turn although others ask all the time", async () => {
    const budget = createWorkBudget(100);
    assert.is(budget.take(60), true);
    let came = false;
    void budget.room(1000).then(() => {
      came = true;
    });
    assert.is(budget.take(30), false);
    budget.give(60);
    await pause(0);
    assert.ok(came);
  });

  test("gives room at once where nobody waits", async () => {
    const budget = createWorkBudget(100);
    await budget.room(500);
    assert.is(budget.take(40), false, "it has been taken");
    budget.give(500);
    await budget.room(60);
    assert.equal([budget.take(60), budget.take(40)], [false, true]);
  });
});
