/** Who takes and gives which shard: what all see alike settles who takes, moves little, and comes to rest. */
import fc from "fast-check";
import { planShards, type SharingNode, successions } from "../../src/cluster/shard-plan.js";
import { assert, suite } from "../suite.js";

type Holders = readonly (number | null)[];

const nodes = [1, 2, 3, 5, 8, 13];

const picture = fc.record({
  alive: fc.subarray(nodes, { minLength: 1 }),
  // 21 is no node of the cluster any more.
  holders: fc.array(fc.constantFrom(null, ...nodes, 21), { minLength: 1, maxLength: 40 }),
});

/** Nodes that take any shard. */
const all = (numbers: readonly number[]): SharingNode[] =>
  numbers.map((number) => ({ number, refuses: new Set() }));

const countOf = (holders: Holders, node: number): number => holders.filter((one) => one === node).length;

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

/** Every way of choosing so many of them. */
function choices<T>(of: readonly T[], count: number): readonly (readonly T[])[] {
  if (count === 0) return [[]];
  return of.flatMap((one, i) => choices(of.slice(i + 1), count - 1).map((rest) => [one, ...rest]));
}

/** The fewest shards that must leave a living node, over all ways to say who has one more than the others. */
function fewestGiven(holders: Holders, alive: readonly number[]): number {
  const least = Math.floor(holders.length / alive.length);
  return Math.min(
    ...choices(alive, holders.length % alive.length).map((fuller) =>
      sum(
        alive.map((node) =>
          Math.max(0, countOf(holders, node) - (fuller.includes(node) ? least + 1 : least)),
        ),
      ),
    ),
  );
}

/** Whether the living have all shards, and each as many as any other or one more. */
function isBalanced(holders: Holders, alive: readonly number[]): boolean {
  const counts = alive.map((node) => countOf(holders, node));
  return sum(counts) === holders.length && Math.max(...counts) - Math.min(...counts) <= 1;
}

suite("plan of the shards", (test) => {
  test("the nodes that take the shards of a dead node are known before, and each shard has one successor", () => {
    fc.assert(
      fc.property(picture, fc.nat(), ({ alive, holders }, n) => {
        const pictureOf = (self: number) => ({ sharing: all(alive), emptying: [], holders, self });
        const gone = alive[n % alive.length] as number;
        const left = alive.filter((node) => node !== gone);
        const known = left.flatMap((self) =>
          successions(pictureOf(self)).filter((shard) => holders[shard] === gone),
        );
        const taken = left.flatMap((self) =>
          planShards({ ...pictureOf(self), sharing: all(left) }).take.filter(
            (shard) => holders[shard] === gone,
          ),
        );
        assert.equal(known, taken);
        assert.is(new Set(known).size, left.length === 0 ? 0 : countOf(holders, gone));
        for (const self of left)
          assert.not(successions(pictureOf(self)).some((shard) => holders[shard] === self));
      }),
    );
  });

  test("with one picture no two take the same shard, nobody takes what a living node has, and each free one has a taker", () => {
    fc.assert(
      fc.property(picture, fc.subarray(nodes), ({ alive, holders }, more) => {
        const emptying = more.filter((node) => !alive.includes(node));
        const taken = alive.flatMap(
          (self) => planShards({ sharing: all(alive), emptying, holders, self }).take,
        );
        const free = holders.flatMap((holder, shard) =>
          holder !== null && (alive.includes(holder) || emptying.includes(holder)) ? [] : [shard],
        );
        assert.equal(
          taken.toSorted((a, b) => a - b),
          free,
        );
      }),
    );
  });

  test("the order in which nodes are named changes nothing", () => {
    fc.assert(
      fc.property(picture, fc.constantFrom(...nodes), ({ alive, holders }, self) => {
        const sharing = all(alive);
        const plan = planShards({ sharing, emptying: [], holders, self });
        assert.equal(planShards({ sharing: sharing.toReversed(), emptying: [], holders, self }), plan);
      }),
    );
  });

  test("nodes give what they hold and must, and no more", () => {
    fc.assert(
      fc.property(picture, ({ alive, holders }) => {
        const given = alive.map((self) => {
          const { give } = planShards({ sharing: all(alive), emptying: [], holders, self });
          for (const shard of give) assert.is(holders[shard], self);
          return give.length;
        });
        assert.is(sum(given), fewestGiven(holders, alive));
      }),
    );
  });

  test("each shard that is to be given is known to the one node that is to have it; the first of a node that stops is taken by it", () => {
    fc.assert(
      fc.property(picture, fc.subarray(nodes), ({ alive, holders }, more) => {
        const emptying = more.filter((node) => !alive.includes(node));
        const givers = [...alive, ...emptying];
        const plan = (self: number, now: Holders) =>
          planShards({ sharing: all(alive), emptying, holders: now, self });
        const given = givers.flatMap((self) => plan(self, holders).give);
        const got = alive.flatMap((self) => plan(self, holders).get);
        assert.equal(got.toSorted(), given.toSorted());
        for (const node of emptying) assert.equal(plan(node, holders).get, []);
        // Where several give at once, or some are free, a node may take one that was meant for another node.
        const isHeld = (holder: number | null): boolean => holder !== null && givers.includes(holder);
        const [first] = emptying.length === 1 ? plan(emptying[0] ?? 0, holders).give : [];
        if (first === undefined || !holders.every(isHeld)) return;
        const to = alive.filter((self) => plan(self, holders).get.includes(first));
        const freed = holders.map((holder, shard) => (shard === first ? null : holder));
        assert.equal(
          alive.filter((self) => plan(self, freed).take.includes(first)),
          to,
        );
      }),
    );
  });

  test("a node that is to have none gives what others take and takes nothing, and what it has is left to it", () => {
    const holders = [1, 1, 1, 2, 2, null];
    const of = (self: number, sharing = all([2, 3])) => planShards({ sharing, emptying: [1], holders, self });
    assert.equal(of(1), { take: [], give: [0, 1, 2], get: [] });
    assert.equal(of(2), { take: [], give: [], get: [1] });
    assert.equal(of(3), { take: [5], give: [], get: [0, 2] });
    const refusing = [2, 3].map((number) => ({ number, refuses: new Set([1, 5]) }));
    assert.equal(of(1, refusing), { take: [], give: [0, 2], get: [] });
    assert.equal(of(1, []), { take: [], give: [], get: [] }, "nobody could have them");
  });

  test("a free shard goes to the node with the fewest of those that take it, to nobody if there is none", () => {
    const plan = (
      holders: Holders,
      refused: readonly (readonly [number, readonly number[]])[],
      self: number,
    ) =>
      planShards({
        sharing: refused.map(([number, shards]) => ({ number, refuses: new Set(shards) })),
        emptying: [],
        holders,
        self,
      });
    const take = (...args: Parameters<typeof plan>) => plan(...args).take;
    assert.equal(
      take(
        [null, 2],
        [
          [1, [0]],
          [2, []],
        ],
        1,
      ),
      [],
    );
    assert.equal(
      take(
        [null, 2],
        [
          [1, [0]],
          [2, []],
        ],
        2,
      ),
      [0],
      "though 1 has fewer",
    );
    assert.equal(
      take(
        [null, 2, 3, 3],
        [
          [1, [0]],
          [2, []],
          [3, []],
        ],
        2,
      ),
      [0],
    );
    assert.equal(
      take(
        [null, 2, 3, 3],
        [
          [1, [0]],
          [2, []],
          [3, []],
        ],
        3,
      ),
      [],
    );
    for (const self of [1, 2])
      assert.equal(
        take(
          [null, 2],
          [
            [1, [0]],
            [2, [0]],
          ],
          self,
        ),
        [],
      );
    assert.equal(
      take(
        [null, null],
        [
          [1, []],
          [2, [1]],
        ],
        1,
      ),
      [1],
      "2 can have the other",
    );
    assert.equal(
      take(
        [null, null],
        [
          [1, []],
          [2, [1]],
        ],
        2,
      ),
      [0],
    );
    const full = [2, 2, 2, 2] as const;
    assert.equal(
      plan(
        full,
        [
          [1, []],
          [2, []],
        ],
        2,
      ).give,
      [2, 3],
    );
    assert.equal(
      plan(
        full,
        [
          [1, [3]],
          [2, []],
        ],
        2,
      ).give,
      [1, 2],
    );
    assert.equal(
      plan(
        full,
        [
          [1, [0, 2, 3]],
          [2, []],
        ],
        2,
      ).give,
      [1],
    );
    assert.equal(
      plan(
        full,
        [
          [1, [0, 1, 2, 3]],
          [2, []],
        ],
        2,
      ).give,
      [],
      "it would come back",
    );
  });

  test("a few pictures by hand", () => {
    const plan = (alive: readonly number[], holders: Holders, self: number) =>
      planShards({ sharing: all(alive), emptying: [], holders, self });
    const none = { take: [], give: [], get: [] };
    assert.equal(plan([1], [null, null], 1), { ...none, take: [0, 1] });
    assert.equal(plan([1, 2], [null, null, null], 1), { ...none, take: [0, 2] });
    assert.equal(plan([1, 2], [null, null, null], 2), { ...none, take: [1] });
    assert.equal(plan([1, 2], [1, 1, 1, 1, 1], 1), { ...none, give: [3, 4] });
    assert.equal(plan([1, 2], [1, 1, 1, 1, 1], 2), { ...none, get: [3, 4] });
    assert.equal(plan([1, 2], [2, 1, 2], 1), none, "2 has the one more already");
    assert.equal(plan([1, 2], [2, 1, 2], 2), none);
    assert.equal(plan([1, 2, 3], [1, 2], 3), none, "more nodes than shards");
    assert.equal(plan([1, 3], [1, 2, 3, 2], 3), { ...none, take: [3] }, "2 is dead");
  });

  test("any order of looks, moves, deaths and returns ends with all shards shared out, and then nothing moves", () => {
    const step = fc.record({
      kind: fc.constantFrom("look", "look", "move", "move", "move", "die", "return", "leave"),
      node: fc.constantFrom(...nodes),
    });
    fc.assert(
      fc.property(picture, fc.array(step, { maxLength: 150 }), ({ alive, holders }, steps) => {
        const cluster = createModel(alive, holders);
        for (const { kind, node } of steps) cluster[kind](node);
        comeToRest(cluster);
        assert.ok(isBalanced(cluster.holders, cluster.alive()), JSON.stringify(cluster.holders));
      }),
      { numRuns: 300 },
    );
  });

  test("where nodes cannot open some shards, each that one of them can is held in the end, and then nothing moves", () => {
    const step = fc.record({
      kind: fc.constantFrom("look", "look", "move", "move", "move", "die", "return", "leave"),
      node: fc.constantFrom(...nodes),
    });
    const fault = fc.tuple(fc.constantFrom(...nodes), fc.nat({ max: 39 }));
    const unable = fc.array(fault, { maxLength: 120 });
    fc.assert(
      fc.property(picture, fc.array(step, { maxLength: 80 }), unable, ({ alive, holders }, steps, faults) => {
        const canOpen = (node: number, shard: number): boolean =>
          !faults.some(([one, of]) => one === node && of === shard);
        const cluster = createModel(
          alive,
          holders.map((node, shard) => (node !== null && canOpen(node, shard) ? node : null)),
          canOpen,
        );
        for (const { kind, node } of steps) cluster[kind](node);
        comeToRest(cluster);
        for (const [shard, holder] of cluster.holders.entries()) {
          const able = cluster.alive().filter((node) => canOpen(node, shard));
          assert.ok(holder === null ? able.length === 0 : able.includes(holder), `${shard}: ${holder}`);
        }
      }),
      { numRuns: 500 },
    );
  });
});

/** Nobody moves anything any more. */
function comeToRest(cluster: ReturnType<typeof createModel>): void {
  let rounds = 0;
  while (cluster.round()) assert.ok(++rounds <= 8 * cluster.holders.length + 8, `${rounds} rounds`);
  assert.is(cluster.round(), false);
}

/**
 * Nodes that look now and act later, on what they saw, by compare-and-set. One that finds that it cannot open a shard
 * refuses it from then on.
 */
function createModel(
  first: readonly number[],
  before: Holders,
  canOpen: (node: number, shard: number) => boolean = () => true,
) {
  const holders = [...before];
  const states = new Map(nodes.map((node) => [node, first.includes(node) ? "alive" : "dead"]));
  const numbersOf = (state: string) => nodes.filter((node) => states.get(node) === state);
  const refused = new Map(nodes.map((node) => [node, new Set<number>()]));
  /** What each is about to do, as it has seen it. */
  const planned = new Map<
    number,
    { readonly shard: number; readonly seen: number | null; to: number | null }[]
  >();

  const look = (self: number): void => {
    if (states.get(self) === "dead") return;
    const { take, give } = planShards({
      sharing: numbersOf("alive").map((number) => ({ number, refuses: new Set(refused.get(number)) })),
      emptying: numbersOf("leaving"),
      holders,
      self,
    });
    planned.set(self, [
      ...take.map((shard) => ({ shard, seen: holders[shard] ?? null, to: self })),
      ...give.slice(0, 1).map((shard) => ({ shard, seen: self, to: null })),
    ]);
  };

  /** Whether something has changed hands. */
  const move = (self: number): boolean => {
    const next = states.get(self) === "dead" ? undefined : planned.get(self)?.shift();
    if (next === undefined || holders[next.shard] !== next.seen) return false;
    const opens = next.to === null || canOpen(self, next.shard);
    holders[next.shard] = opens ? next.to : null;
    if (!opens) refused.get(self)?.add(next.shard);
    return true;
  };

  const become = (node: number, state: string): void => {
    const others = numbersOf("alive").filter((one) => one !== node);
    if (state === "alive" || others.length > 0) states.set(node, state);
  };

  return {
    holders,
    alive: () => numbersOf("alive"),
    look,
    move,
    die: (node: number) => become(node, "dead"),
    return: (node: number) => become(node, "alive"),
    leave: (node: number) => {
      if (states.get(node) === "alive") become(node, "leaving");
    },
    /** Each looks, and then does what it has planned. */
    round: (): boolean => {
      for (const node of nodes) look(node);
      let hasMoved = false;
      for (const node of nodes) {
        while ((planned.get(node)?.length ?? 0) > 0 && states.get(node) !== "dead") {
          if (move(node)) hasMoved = true;
        }
      }
      return hasMoved;
    },
  };
}
