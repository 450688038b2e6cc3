import fc from "fast-check";
import { createRoundRobin } from "../../../store/lib/round-robin.js";
import { assert, suite } from "../../suite.js";

interface Work {
  readonly payer: number;
  readonly name: number;
}

/** The plainest model: one list of all works, and the fairness keys in the order of their turns. */
function createModel() {
  let works: Work[] = [];
  let payers: number[] = [];
  const firstOf = (payer: number) => works.find((work) => work.payer === payer);
  const drop = (gone: Work) => {
    works = works.filter((work) => work !== gone);
    if (firstOf(gone.payer) === undefined) payers = payers.filter((payer) => payer !== gone.payer);
  };
  const serve = (payer: number | undefined) => {
    const first = payer === undefined ? undefined : firstOf(payer);
    if (first === undefined) return undefined;
    payers = [...payers.filter((one) => one !== payer), first.payer];
    drop(first);
    return first;
  };
  return {
    push: (work: Work) => {
      works.push(work);
      if (!payers.includes(work.payer)) payers.push(work.payer);
    },
    serve,
    next: () => serve(payers[0]),
    remove: drop,
    has: (payer: number) => payers.includes(payer),
    firsts: () => payers.map((payer) => [payer, firstOf(payer)]),
    all: () => works,
  };
}

suite("round robin", (test) => {
  test("fairness keys take turns, the works of each go in their order", () => {
    const waiting = createRoundRobin<string, { readonly name: string }>();
    for (const name of ["a1", "a2", "a3", "b1", "c1", "b2"]) waiting.push(name.slice(0, 1), { name });
    const order = Array.from({ length: 7 }, () => waiting.next()?.name);
    assert.equal(order, ["a1", "b1", "c1", "a2", "b2", "a3", undefined]);
    assert.is(waiting.size, 0);
  });

  test("does as the plainest model does, whatever happens in whatever order", () => {
    const does = fc.constantFrom("push", "push", "push", "next", "serve", "remove", "firsts");
    const steps = fc.array(fc.record({ does, payer: fc.nat(3), which: fc.nat(20) }), { maxLength: 100 });
    fc.assert(
      fc.property(steps, (sequence) => {
        const [waiting, model] = [createRoundRobin<number, Work>(), createModel()];
        for (const [name, { does, payer, which }] of sequence.entries()) {
          const known = model.all()[which];
          if (does === "push") {
            const work = { payer, name };
            waiting.push(payer, work);
            // Once more is no second time.
            waiting.push(payer, work);
            model.push(work);
          } else if (does === "next") assert.is(waiting.next(), model.next());
          else if (does === "serve") assert.is(waiting.serve(payer), model.serve(payer));
          else if (does === "remove" && known !== undefined) {
            // Another's is not taken away.
            waiting.remove(known.payer + 1, known);
            assert.is(waiting.size, model.all().length);
            waiting.remove(known.payer, known);
            model.remove(known);
          } else assert.equal([...waiting.firsts()], model.firsts());
          assert.is(waiting.size, model.all().length);
          assert.is(waiting.has(payer), model.has(payer));
        }
        while (waiting.size > 0) assert.is(waiting.next(), model.next());
        assert.equal(model.all(), []);
      }),
      { numRuns: 500 },
    );
  });

  test("who is served while the firsts are looked at comes again, after those that come meanwhile", () => {
    const waiting = createRoundRobin<string, { readonly name: string }>();
    for (const name of ["a1", "a2", "b1", "b2"]) waiting.push(name.slice(0, 1), { name });
    const seen: string[] = [];
    for (const [payer, { name }] of waiting.firsts()) {
      seen.push(name);
      if (name === "b1") continue;
      if (name === "a1") waiting.push("c", { name: "c1" });
      waiting.serve(payer);
    }
    assert.equal(seen, ["a1", "b1", "c1", "a2"]);
    assert.equal([waiting.size, waiting.has("a"), waiting.has("b")], [2, false, true]);
  });
});
