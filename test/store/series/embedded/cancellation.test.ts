import {
  type CancelFlag,
  runCancellable,
  throwIfCancelled,
} from "../../../../store/series/embedded/cancellation.js";
import { assert, rejects, suite } from "../../../suite.js";

suite("queries of callers who leave", (test) => {
  test("a flag is raised when the asker leaves, while the question is under way", async () => {
    const asker = new AbortController();
    await rejects(
      () =>
        runCancellable(asker.signal, async (left) => {
          throwIfCancelled(left);
          asker.abort();
          throwIfCancelled(left);
        }),
      /has left/,
    );
    await rejects(() => runCancellable(asker.signal, async (left) => throwIfCancelled(left)), /has left/);
    await runCancellable(null, async (left) => assert.is(left, null));
  });

  test("one that ended is used again, one that was raised never, and who leaves later raises no other's", async () => {
    const first = new AbortController();
    const flag = await runCancellable(first.signal, async (left) => left as CancelFlag);
    const second = new AbortController();
    await runCancellable(second.signal, async (left) => {
      assert.is(left, flag);
      first.abort();
      throwIfCancelled(left);
      second.abort();
    });
    const third = new AbortController();
    await runCancellable(third.signal, async (left) => assert.is.not(left, flag));
  });
});
