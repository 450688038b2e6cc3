import { StoreError } from "../../../store/lib/errors.js";
import { retryDelays, retryUntil } from "../../../store/lib/retry.js";
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

const delayMs = { first: 1, longest: 2 } as const;
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: Error) => error.message,
  );

suite("attempts", (test) => {
  test("an action is tried until it succeeds, and each trouble is reported", async () => {
    const troubles: string[] = [];
    let tries = 0;
    const action = async (): Promise<number> => {
      if (++tries < 4) throw new StoreError("UNAVAILABLE", `away ${tries}`);
      return tries;
    };
    const { signal } = new AbortController();
    const onTrouble = (error: Error): void => void troubles.push(error.message);
    assert.is(await retryUntil(action, { signal, delayMs, isTransient: () => true, onTrouble }), 4);
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
    assert.is(await failureOf(retryUntil(action, options)), "away");
    assert.is(tries, 1);
    const onTrouble = () => stop.abort();
    assert.is(
      await failureOf(retryUntil(action, { ...options, isTransient: () => true, onTrouble })),
      "away",
    );
    assert.is(tries, 3);
  });

  test("end after so many, with what the last has thrown", async () => {
    let tries = 0;
    const action = async (): Promise<never> => {
      throw new Error(`away ${++tries}`);
    };
    const options = { signal: null, delayMs, retriesMax: 2, isTransient: () => true };
    assert.is(await failureOf(retryUntil(action, options)), "away 3");
  });

  test("end when another would come too late; each gets the time that is left", async () => {
    const left: number[] = [];
    const action = async (leftMs: number): Promise<never> => {
      left.push(leftMs);
      throw new Error("away");
    };
    const options = { signal: null, delayMs: { first: 40, longest: 1000 }, timeMs: 165 };
    assert.is(await failureOf(retryUntil(action, { ...options, isTransient: () => true })), "away");
    assert.is(left.length, 2);
    assert.ok(left.every((ms, i) => ms > 0 && ms <= 166 - 40 * i));
  });
});
