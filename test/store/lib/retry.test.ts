import { evenDelays, retry, retryDelays } from "../../../store/lib/retry.js";
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

suite("work that is tried again", (test) => {
  const passing = new Error("away");
  const failing = (times: number, then: unknown = passing) => {
    let tries = 0;
    return {
      work: async () => {
        tries++;
        if (tries <= times) throw then;
        return tries;
      },
      tries: () => tries,
    };
  };
  const isPassing = (error: unknown): boolean => error === passing;

  test("succeeds once nothing is in its way", async () => {
    assert.is(await retry(failing(3).work, { delays: () => evenDelays(1, 3), isPassing }), 4);
  });

  test("gives up after the last delay, with what it has thrown", async () => {
    const { work, tries } = failing(9);
    const error = await retry(work, { delays: () => evenDelays(1, 2), isPassing }).catch((thrown) => thrown);
    assert.is(error, passing);
    assert.is(tries(), 3);
  });

  test("is not tried again after an error that does not pass", async () => {
    const lasting = new Error("wrong");
    const { work, tries } = failing(1, lasting);
    const error = await retry(work, { delays: () => evenDelays(1, 2), isPassing }).catch((thrown) => thrown);
    assert.is(error, lasting);
    assert.is(tries(), 1);
  });

  test("ends with the abort while it waits", async () => {
    const leaving = new AbortController();
    const { work, tries } = failing(9);
    const waiting = retry(work, {
      delays: () => retryDelays(60_000, 60_000),
      isPassing,
      signal: leaving.signal,
    }).catch((thrown) => thrown);
    leaving.abort();
    assert.is((await waiting).name, "AbortError");
    assert.is(tries(), 1);
  });
});
