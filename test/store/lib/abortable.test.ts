import { getEventListeners } from "node:events";
import { orAborted, sleep, waitUntil, withDeadline } from "../../../store/lib/abortable.js";
import { assert, suite } from "../../suite.js";

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: Error) => error.message,
  );
const never = new Promise<never>(() => undefined);

suite("waits that a signal ends", (test) => {
  test("a wait ends when it is woken, or aborted, or begun after that", async () => {
    const { signal } = new AbortController();
    await waitUntil(signal, (wake) => setImmediate(wake));
    const stop = new AbortController();
    const waits = [waitUntil(stop.signal, () => undefined), sleep(3_600_000, stop.signal)];
    stop.abort();
    await Promise.all(waits);
    await sleep(3_600_000, stop.signal);
  });

  test("work is waited for until the signal is aborted, also when it fails", async () => {
    const stop = new AbortController();
    assert.is(await orAborted(Promise.resolve(1), stop.signal), 1);
    assert.is(await failureOf(orAborted(Promise.reject(new Error("away")), stop.signal)), "away");
    const waiting = orAborted(never, stop.signal);
    stop.abort();
    assert.is(await waiting, undefined);
    assert.is(await orAborted(never, stop.signal), undefined);
  });

  test("work with a deadline learns whether it is late or nobody waits any more", async () => {
    const stop = new AbortController();
    const ended = (ms: number) =>
      withDeadline(ms, stop.signal, async (signal, isLate) => {
        await waitUntil(signal, () => undefined);
        return isLate();
      });
    assert.is(await withDeadline(3_600_000, stop.signal, async (signal) => signal.aborted), false);
    assert.is(await ended(1), true);
    const left = ended(3_600_000);
    stop.abort();
    assert.is(await left, false);
    assert.is(
      await failureOf(withDeadline(3_600_000, stop.signal, () => Promise.reject(new Error("away")))),
      "away",
    );
  });

  test("one signal ends any number of waits, without a warning of a leak, and keeps none that has ended", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on("warning", onWarning);
    const stop = new AbortController();
    const many = Array.from({ length: 50 });
    try {
      await Promise.all(many.map(() => sleep(1, stop.signal)));
      await Promise.all(many.map(() => orAborted(Promise.resolve(), stop.signal)));
      assert.is(getEventListeners(stop.signal, "abort").length, 0);
      const waits = many.flatMap(() => [sleep(3_600_000, stop.signal), orAborted(never, stop.signal)]);
      assert.is(getEventListeners(stop.signal, "abort").length, 100);
      stop.abort();
      await Promise.all(waits);
    } finally {
      process.off("warning", onWarning);
    }
    assert.equal(warnings, []);
  });
});
