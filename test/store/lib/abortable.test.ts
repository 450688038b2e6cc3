import { orAborted, retry, sleep, waitUntil } from "../../../store/lib/abortable.js";
import { StoreError } from "../../../store/lib/errors.js";
import { assert, suite } from "../../suite.js";

const delayMs = { first: 1, longest: 2 } as const;
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

  test("an action is tried until it succeeds, and each trouble told", async () => {
    const troubles: string[] = [];
    let tries = 0;
    const action = async (): Promise<number> => {
      if (++tries < 4) throw new StoreError("UNAVAILABLE", `away ${tries}`);
      return tries;
    };
    const { signal } = new AbortController();
    const onTrouble = (error: Error): void => void troubles.push(error.message);
    assert.is(await retry(action, { signal, delayMs, isTransient: () => true, onTrouble }), 4);
    assert.equal(troubles, ["away 1", "away 2", "away 3"]);
  });

  test("what does not pass is thrown at once; once aborted, the last attempt's error", async () => {
    const stop = new AbortController();
    let tries = 0;
    const action = async (): Promise<never> => {
      tries++;
      throw new Error("away");
    };
    const options = { signal: stop.signal, delayMs, isTransient: () => false, onTrouble: () => undefined };
    assert.is(await failureOf(retry(action, options)), "away");
    assert.is(tries, 1);
    const onTrouble = () => stop.abort();
    assert.is(await failureOf(retry(action, { ...options, isTransient: () => true, onTrouble })), "away");
    assert.is(tries, 3);
  });
});
