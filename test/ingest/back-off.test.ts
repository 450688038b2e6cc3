import { createBackOff } from "../../ingest/back-off.js";
import type { Denied } from "../../ingest/credentials.js";
import type { DeviceEntry } from "../../ingest/directory-entries.js";
import { guardGuessing } from "../../ingest/guessing.js";
import { assert, suite } from "../suite.js";

suite("back-off", (test) => {
  let clock = 0;
  const now = () => clock;
  test.before.each(() => {
    clock = 1_000_000;
  });

  test("some failures are free, then each doubles the wait, up to five minutes", () => {
    const backOff = createBackOff(now, 3);
    assert.equal(
      [1, 2, 3].map(() => backOff.attempt("a")),
      [0, 0, 0],
    );
    const waits: number[] = [];
    for (let attempt = 0; attempt < 12; attempt++) {
      const wait = backOff.attempt("a");
      waits.push(wait);
      clock += wait;
      assert.is(backOff.attempt("a"), 0);
    }
    assert.equal(waits.slice(0, 4), [1000, 2000, 4000, 8000]);
    assert.equal(waits.slice(-2), [300_000, 300_000]);
  });

  test("others are not touched, a success clears, a wait is not prolonged by trying", () => {
    const backOff = createBackOff(now, 1);
    backOff.attempt("a");
    assert.equal([backOff.attempt("a"), backOff.attempt("b")], [1000, 0]);
    clock += 400;
    assert.is(backOff.attempt("a"), 600);
    backOff.succeeded("a");
    assert.is(backOff.attempt("a"), 0);
  });

  test("it holds ten thousand names, long ones as their hash", () => {
    const backOff = createBackOff(now, 1);
    const long = "x".repeat(16_000);
    backOff.attempt(long);
    assert.is(backOff.attempt(long), 1000);
    assert.is(backOff.attempt(`${long}y`), 0);
    for (let i = 0; i < 10_000; i++) backOff.attempt(`name ${i}`);
    assert.is(backOff.attempt(long), 0, "the oldest is forgotten");
    assert.is(backOff.attempt("name 9999"), 1000);
  });

  test("of credentials only wrong ones count", async () => {
    const backOff = createBackOff(now, 2);
    const ask = (found: DeviceEntry | Denied) => guardGuessing(backOff, "ip", "user", async () => found);
    const denied = (denial: Denied["denial"]): Denied => ({ denial, device: null });
    for (let i = 0; i < 5; i++) {
      assert.equal(await ask(denied("unavailable")), denied("unavailable"));
      assert.equal(await ask(denied("blocked")), denied("blocked"));
    }
    await ask(denied("credentials"));
    await ask({ id: 1 } as DeviceEntry);
    await ask(denied("credentials"));
    await ask(denied("credentials"));
    assert.equal(await ask({ id: 1 } as DeviceEntry), denied("back_off"));
    assert.equal(
      await guardGuessing(backOff, "other", "user", async () => denied("blocked")),
      denied("blocked"),
    );
  });
});
