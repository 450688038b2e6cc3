import fc from "fast-check";
import { childrenFirst } from "../../src/bulk/children-first.js";
import { assert, suite } from "../suite.js";

/** Devices 0 to n - 1; each may refer to earlier ones, shuffled so that ids say nothing. */
const forest = fc
  .array(fc.record({ gateway: fc.option(fc.nat()), parentDevice: fc.option(fc.nat()) }), { maxLength: 40 })
  .chain((links) => {
    const ids = links.map((_, i) => i);
    return fc.tuple(
      fc.constant(links),
      fc.shuffledSubarray(ids, { minLength: ids.length }),
      fc.shuffledSubarray(ids),
    );
  });

suite("children first", (test) => {
  test("each comes before what it refers to, and each is there once", async () => {
    const run = fc.asyncProperty(forest, async ([links, names, asked]) => {
      const nameOf = (at: number | null, below: number) =>
        at === null || below === 0 ? null : (names[at % below] ?? null);
      const all = links.map(({ gateway, parentDevice }, i) => ({
        id: names[i] ?? 0,
        gateway: nameOf(gateway, i),
        parentDevice: nameOf(parentDevice, i),
      }));
      const ids = asked.map((i) => names[i] ?? 0);
      const inOrder = await childrenFirst(ids, all);
      assert.equal([...inOrder].sort(), [...ids].sort());
      const place = new Map(inOrder.map((id, i) => [id, i]));
      for (const { id, gateway, parentDevice } of all) {
        for (const above of [gateway, parentDevice]) {
          const [own, other] = [place.get(id), place.get(above ?? -1)];
          if (own !== undefined && other !== undefined) assert.ok(own < other, `${id} before ${above}`);
        }
      }
    });
    await fc.assert(run, { numRuns: 500 });
  });

  test("a chain of 50,000 needs no stack", async () => {
    const links = Array.from({ length: 50_000 }, (_, id) => ({
      id,
      gateway: null,
      parentDevice: id === 0 ? null : id - 1,
    }));
    const inOrder = await childrenFirst([49_999, 0, 20_000], links);
    assert.equal(inOrder, [49_999, 20_000, 0]);
  });
});
