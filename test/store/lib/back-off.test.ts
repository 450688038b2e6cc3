import { createBackOffs, delayAfter } from "../../../store/lib/back-off.js";
import { assert, suite } from "../../suite.js";

suite("back-off", (test) => {
  const delays = { first: 100, longest: 300 } as const;

  test("delays double with each failure, up to the longest", () => {
    assert.equal(
      [1, 2, 3, 4, 1000].map((failures) => delayAfter(delays, failures)),
      [100, 200, 300, 300, 300],
    );
  });

  test("each subject waits by its own failures, until it works", () => {
    let now = 0;
    const backOffs = createBackOffs<string>(delays, () => now);
    backOffs.failed("a");
    backOffs.failed("a");
    backOffs.failed("b", false);
    assert.equal(["a", "b", "c"].map(backOffs.isWaiting), [true, false, false]);
    assert.equal(["a", "b", "c"].map(backOffs.failures), [2, 1, 0]);
    now = 199;
    assert.is(backOffs.isWaiting("a"), true);
    now = 200;
    assert.is(backOffs.isWaiting("a"), false);
    assert.equal(backOffs.subjects(), ["a", "b"]);
    backOffs.worked("a");
    assert.equal([backOffs.failures("a"), backOffs.size], [0, 1]);
    backOffs.clear();
    assert.is(backOffs.size, 0);
  });
});
