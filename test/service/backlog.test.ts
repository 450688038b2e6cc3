/** What the consumers of the journals have not taken yet. */
import { createBacklog } from "../../src/service/backlog.js";
import { assert, suite } from "../suite.js";

/** A shard with three segments of a hundred records and bytes. */
function shardOf(number: number, { series, alerts }: { readonly series: number; readonly alerts: number }) {
  const segments = [1, 101, 201].map((firstID) => ({ firstID, bytes: 100 }));
  return {
    shard: { number },
    journal: { segments, committedID: 300 },
    settledID: series,
    savedAlertsID: alerts,
  };
}

type Fake = ReturnType<typeof shardOf>;

function backlogOf(
  all: readonly Fake[],
  { bytes, nodes }: { readonly bytes: number; readonly nodes: number },
) {
  const cluster = nodes === 1 ? null : { nodes: Array.from({ length: nodes }) };
  const config = { journalBacklogBytes: bytes, shards: [0, 1, 2, 3], cluster };
  const backlog = createBacklog({ config, pipelines: { all } } as never);
  backlog.measure();
  return backlog;
}

const fullOf = (
  all: readonly Fake[],
  given: { readonly bytes: number; readonly nodes: number },
): number[] => {
  const backlog = backlogOf(all, given);
  return [0, 1, 2, 3].filter(backlog.isFull);
};

suite("the backlog of the journals", (test) => {
  test("is what one of the consumers has not settled, by the share of each segment", () => {
    const at = (series: number, alerts: number, bytes: number): boolean =>
      backlogOf([shardOf(0, { series, alerts })], { bytes: 4 * bytes, nodes: 1 }).isFull(0);
    assert.equal(
      [at(300, 300, 0), at(250, 300, 49), at(250, 300, 50), at(300, 50, 249), at(300, 50, 250)],
      [false, true, false, true, false],
    );
  });

  test("of one shard stops that one: what follows another may be quicker", () => {
    const all = [shardOf(0, { series: 300, alerts: 300 }), shardOf(2, { series: 0, alerts: 300 })];
    assert.equal(fullOf(all, { bytes: 4 * 299, nodes: 1 }), [2]);
    assert.equal(fullOf(all, { bytes: 4 * 300, nodes: 1 }), []);
  });

  test("has a part that does not hang on how many shards are here", () => {
    const behind = { series: 100, alerts: 100 };
    const given = { bytes: 400, nodes: 2 };
    for (const count of [1, 2, 3, 4]) {
      const all = Array.from({ length: count }, (_, number) => shardOf(number, behind));
      assert.equal(fullOf(all, given), []);
      assert.equal(fullOf(all, { ...given, bytes: 399 }), [...Array(count).keys()]);
    }
  });

  test("is measured anew: a shard that has caught up is taken for again", () => {
    const one = { ...shardOf(0, { series: 0, alerts: 300 }) };
    const backlog = backlogOf([one], { bytes: 400, nodes: 1 });
    assert.is(backlog.isFull(0), true);
    one.settledID = 300;
    assert.is(backlog.isFull(0), true);
    backlog.measure();
    assert.is(backlog.isFull(0), false);
  });
});
