import { checkLeft, type Left, whileStaying } from "../../../../store/series/embedded/leaving.js";
import { assert, rejects, suite } from "../../../suite.js";

suite("askers who leave", (test) => {
  test("a flag is raised when the asker leaves, while the question is under way", async () => {
    const asker = new AbortController();
    await rejects(
      () =>
        whileStaying(asker.signal, async (left) => {
          checkLeft(left);
          asker.abort();
          checkLeft(left);
        }),
      /has left/,
    );
    await rejects(() => whileStaying(asker.signal, async (left) => checkLeft(left)), /has left/);
    await whileStaying(null, async (left) => assert.is(left, null));
  });

  test("one that ended is used again, one that was raised never, and who leaves later raises no other's", async () => {
    const first = new AbortController();
    const flag = await whileStaying(first.signal, async (left) => left as Left);
    const second = new AbortController();
    await whileStaying(second.signal, async (left) => {
      assert.is(left, flag);
      first.abort();
      checkLeft(left);
      second.abort();
    });
    const third = new AbortController();
    await whileStaying(third.signal, async (left) => assert.is.not(left, flag));
  });
});
