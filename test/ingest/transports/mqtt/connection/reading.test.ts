/** Who says much at once, or what brings much with it, pays with its own time: turns of reading, and a budget of work. */
import { setTimeout as delay } from "node:timers/promises";
import { createReadingTurns } from "../../../../../ingest/transports/mqtt/connection/reading.js";
import { createWorkBudget, lightWorkMax, workMax } from "../../../../../ingest/uplinks/work-budget.js";
import { assert, suite, until } from "../../../../suite.js";

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
    payer: number | string = name,
  ) {
    let left = packets;
    const reading = {
      payer,
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
    while (log.length < 62) await delay(1);
    clearInterval(ticking);
    assert.ok(log.lastIndexOf("short") < log.lastIndexOf("long") - 20, `${log.lastIndexOf("short")}`);
    assert.ok(others >= 5, `${others} other turns`);
    await until(() => !turns.isOver, { what: "a turn that begins anew" });
  });

  test("one with hundreds of connections holds up another no longer than one turn of its own", async () => {
    const turns = createReadingTurns();
    const log: string[] = [];
    const many = Array.from({ length: 100 }, (_, i) => reader(turns, `many ${i}`, 20, log, 1));
    for (const one of many) turns.later(one);
    const other = reader(turns, "other", 8, log, 2);
    turns.later(other);
    await until(() => log.filter((name) => name === "other").length === 8, { what: "the other's packets" });
    const before = log.indexOf("other");
    // Both take turns of four packets or so.
    assert.ok(log.length < 80, `${log.length} packets, ${before} before the first`);
    for (const one of many) turns.forget(one);
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
    await delay(20);
    assert.is(log.length, read);
  });
});

suite("a budget of work", (test) => {
  test("is never overdrawn but by one alone; those that wait are called in order", async () => {
    const budget = createWorkBudget(100);
    const called: string[] = [];
    assert.equal([budget.take(1, 250), budget.take(1, 1)], [true, false], "the large one goes alone");
    for (const [name, cost] of [
      ["a", 60],
      ["b", 60],
      ["c", 10],
    ] as const) {
      void budget.room(1, cost).then(() => called.push(name));
    }
    await delay(0);
    assert.equal(called, []);
    budget.give(1, 250);
    await delay(0);
    assert.equal(called, ["a"], "as many as the budget allows");
    assert.is(budget.take(1, 10), false, "nobody goes past those that wait");
    budget.give(1, 60);
    await delay(0);
    assert.equal(called, ["a", "b", "c"]);
    assert.equal([budget.take(1, 40), budget.take(1, 10)], [false, true], "what was called has been taken");
  });

  test("who is called and needs it no more gives it back, and the next one is called", async () => {
    const budget = createWorkBudget(100);
    assert.is(budget.take(1, 100), true);
    const called: string[] = [];
    void budget.room(1, 100).then(() => {
      called.push("gone");
      budget.give(1, 100);
    });
    void budget.room(1, 70).then(() => called.push("next"));
    budget.give(1, 100);
    await delay(0);
    assert.equal(called, ["gone", "next"]);
  });

  test("one that is larger than all of it comes to its turn although others ask all the time", async () => {
    const budget = createWorkBudget(100);
    assert.is(budget.take(1, 60), true);
    let came = false;
    void budget.room(1, 1000).then(() => {
      came = true;
    });
    assert.is(budget.take(1, 30), false);
    budget.give(1, 60);
    await delay(0);
    assert.ok(came);
  });

  test("is shared by tenants: hundreds of one hold up another no longer than one of theirs", async () => {
    const budget = createWorkBudget(100);
    const called: string[] = [];
    assert.is(budget.take(1, 80), true);
    for (let i = 0; i < 500; i++) void budget.room(1, 80).then(() => called.push("one"));
    assert.is(budget.take(2, 15), true, "a part is left for others");
    budget.give(2, 15);
    void budget.room(2, 60).then(() => called.push("other"));
    budget.give(1, 80);
    await delay(0);
    budget.give(1, 80);
    await delay(0);
    assert.equal(called, ["one", "other"]);
    budget.give(2, 60);
    for (let i = 0; i < 499; i++) {
      await delay(0);
      budget.give(1, 80);
    }
    assert.is(called.length, 501);
    assert.is(budget.take(3, 100), true, "all of it is free again");
  });

  test("what is light is done at once, what is not in a turn of its own", async () => {
    const budget = createWorkBudget();
    const done: number[] = [];
    let turns = 0;
    let ended = false;
    const counting = (async () => {
      for (; !ended; turns++) await new Promise((resolve) => setImmediate(resolve));
    })();
    await Promise.all(Array.from({ length: 20 }, (_, i) => budget.run(1, workMax, () => done.push(i))));
    ended = true;
    await counting;
    assert.equal(done, [...Array(20).keys()]);
    assert.ok(turns >= 19, `${turns} turns`);
    assert.is(await budget.run(1, lightWorkMax, () => "light"), "light");
    const failed = await budget.run(1, workMax, () => JSON.parse("{")).catch(() => "failed");
    assert.is(failed, "failed");
    await delay(5);
    assert.is(budget.take(1, workMax), true, "also a failure gives it back");
  });

  test("gives capacity at once where nobody waits", async () => {
    const budget = createWorkBudget(100);
    await budget.room(1, 500);
    assert.is(budget.take(1, 40), false, "it has been taken");
    budget.give(1, 500);
    await budget.room(1, 60);
    assert.equal([budget.take(1, 60), budget.take(1, 20)], [false, true]);
  });
});
