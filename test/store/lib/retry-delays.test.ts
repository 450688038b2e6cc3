import { retryDelays } from "../../../store/lib/retry-delays.js";
import { assert, suite } from "../../suite.js";

suite("delays between attempts", (test) => {
  test("double up to the longest, and go on", () => {
    const delays = retryDelays(200, 1000);
    assert.equal(
      Array.from({ length: 6 }, () => delays.next().value),
      [200, 400, 800, 1000, 1000, 1000],
    );
  });
});
