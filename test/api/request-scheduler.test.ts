import { createRequestScheduler } from "../../src/server/request-scheduler.js";
import { sliceMs } from "../../store/lib/scheduling.js";
import { assert, suite, until } from "../suite.js";

/** Like messages that come at the same time: as often as the loop turns. */
const eachTurn = (action: () => void): (() => void) => {
  let next = setImmediate(function again() {
    action();
    next = setImmediate(again);
  });
  return () => clearImmediate(next);
};

suite("turns of requests", (test) => {
  test("those that hold the loop begin in turns of their own, one client after the other", async () => {
    let now = 0;
    const turns = createRequestScheduler(() => now);
    const begun: string[] = [];
    const work = (name: string) => () => {
      begun.push(name);
      now += sliceMs * 2;
    };
    for (let n = 1; n <= 4; n++) turns.begin("a", work(`a${n}`));
    for (let n = 1; n <= 2; n++) turns.begin("b", work(`b${n}`));
    turns.begin("c", work("c1"));
    assert.equal([begun, turns.waiting], [["a1"], 6]);
    const stop = eachTurn(() => begun.push("message"));
    await until(() => turns.waiting === 0, { what: "all to have begun" });
    stop();
    const withoutRepeats = begun.filter((one, i) => one !== "message" || begun[i - 1] !== "message");
    const requests = withoutRepeats.filter((one) => one !== "message");
    assert.equal(requests, ["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
    for (const [i, one] of withoutRepeats.entries()) {
      if (i > 1) assert.is(one === "message", withoutRepeats[i - 1] !== "message", begun.join(" "));
    }
    assert.is(turns.waiting, 0);
  });

  test("those that cost nothing begin at once", async () => {
    let now = 0;
    const turns = createRequestScheduler(() => now);
    let begun = 0;
    for (let n = 0; n < 20; n++) turns.begin("a", () => begun++);
    assert.is(begun, 20);
    now += sliceMs;
    turns.begin("b", () => begun++);
    assert.equal([begun, turns.waiting], [20, 1]);
    await until(() => begun === 21, { what: "the next turn" });
    turns.begin("b", () => begun++);
    assert.equal([begun, turns.waiting], [22, 0]);
  });
});
