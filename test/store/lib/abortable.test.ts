import { orAborted, sleep, waitUntil } from "../../../store/lib/abortable.js";
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
});
