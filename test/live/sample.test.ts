import { createSample, messagesPerSecondMax } from "../../src/live/sample.js";
import { assert, suite } from "../suite.js";

suite("sample of messages", (test) => {
  test("lets so many through in a second, and says once how many it did not, when the second is over", () => {
    let now = 0;
    const sample = createSample(() => now);
    const taken = Array.from({ length: 70 }, () => sample.take()).filter(Boolean).length;
    assert.equal([taken, sample.skipped()], [messagesPerSecondMax, 0]);
    now = 999;
    assert.is(sample.take(), false);
    now = 1000;
    assert.equal([sample.skipped(), sample.skipped(), sample.take()], [21, 0, true]);
    now = 5000;
    assert.is(sample.skipped(), 0);
  });
});
