import { createAwakeClock } from "../../../../../ingest/transports/mqtt/listeners/awake-clock.js";
import { assert, suite } from "../../../../suite.js";

suite("a clock that stands still with the process", (test) => {
  test("it goes on while beats come about in time, and leaves out what one is late beyond that", () => {
    let time = 5000;
    const clock = createAwakeClock(() => time, 1000);
    const after = (ms: number): number => {
      time += ms;
      clock.beat();
      return clock.monotonic();
    };
    assert.is(after(1000), 6000);
    assert.is(after(1900), 7900);
    assert.is(after(61_000), 8900);
    assert.is(after(1000), 9900);
  });
});
