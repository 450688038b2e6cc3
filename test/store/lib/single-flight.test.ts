import { repeatedFlight, singleFlight } from "../../../store/lib/single-flight.js";
import { assert, rejects, suite } from "../../suite.js";

/** Work that is ended by hand; `begun` counts its runs. */
function manual() {
  const ends: (() => void)[] = [];
  let begun = 0;
  return {
    work: (): Promise<void> => {
      begun++;
      return new Promise((resolve) => void ends.push(resolve));
    },
    end: () => ends.shift()?.(),
    get begun() {
      return begun;
    },
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

suite("single flight", (test) => {
  test("callers share the run under way, and its failure; the next call begins another", async () => {
    const one = manual();
    const flight = singleFlight(one.work);
    const [first, second] = [flight.run(), flight.run()];
    assert.is(first, second);
    one.end();
    await first;
    assert.is(flight.running, null);
    const third = flight.run();
    one.end();
    await third;
    assert.is(one.begun, 2);
    const failing = singleFlight(() => Promise.reject(new Error("away")));
    await Promise.all([rejects(() => failing.run(), /away/), rejects(() => failing.run(), /away/)]);
    assert.is(failing.running, null);
  });

  test("a call while work looks makes it look once more, however many call", async () => {
    const one = manual();
    const flight = repeatedFlight(one.work);
    const first = flight.run();
    for (let n = 0; n < 3; n++) assert.is(flight.run(), first);
    let isOver = false;
    void first.then(() => {
      isOver = true;
    });
    one.end();
    await turn();
    assert.equal([one.begun, isOver], [2, false]);
    one.end();
    await turn();
    assert.equal([one.begun, isOver, flight.running], [2, true, null]);
  });

  test("a call in the very turn in which the last look ends is not lost", async () => {
    let looks = 0;
    let late: Promise<void> | undefined;
    const flight = repeatedFlight(async () => {
      looks++;
      // Runs after the work is over and before its caller hears of that.
      if (looks === 1)
        queueMicrotask(() => {
          late = flight.run();
        });
    });
    await flight.run();
    await late;
    assert.is(looks, 2);
  });

  test("work that fails ends the run; what was asked meanwhile fails with it, and the next call begins anew", async () => {
    let looks = 0;
    const flight = repeatedFlight(async () => {
      looks++;
      await turn();
      if (looks === 1) throw new Error("away");
    });
    const all = [flight.run(), flight.run()];
    await Promise.all(all.map((one) => rejects(() => one, /away/)));
    assert.is(flight.running, null);
    await flight.run();
    assert.is(looks, 2);
  });
});
