import { createSlice, nextTurn } from "../../../store/lib/scheduling.js";
import { assert, suite } from "../../suite.js";

suite("turns", (test) => {
  test("one of many works in slices goes on in each turn, each as often as the others", async () => {
    const works = 20;
    const rounds = 5;
    const resumed: { readonly turn: number; readonly work: number }[] = [];
    let turn = 0;
    let ended = false;
    const counting = (async () => {
      for (; !ended; turn++) await nextTurn();
    })();
    await Promise.all(
      Array.from({ length: works }, async (_, work) => {
        const slice = createSlice(0);
        for (let round = 0; round < rounds; round++) {
          assert.ok(slice.isOver());
          await slice.next();
          resumed.push({ turn, work });
        }
      }),
    );
    ended = true;
    await counting;
    assert.is(new Set(resumed.map((one) => one.turn)).size, works * rounds);
    assert.equal(
      resumed.map((one) => one.work),
      Array.from({ length: works * rounds }, (_, i) => i % works),
    );
  });

  test("work that begins again after all others have ended goes on too", async () => {
    const slice = createSlice(0);
    for (let i = 0; i < 3; i++) {
      await slice.next();
      await nextTurn();
    }
    assert.ok(slice.isOver());
  });
});
