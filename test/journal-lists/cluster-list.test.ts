/** Pages merged from what several nodes answer. */
import fc from "fast-check";
import type { ShardPlaces } from "../../ingest/directory/by-shard.js";
import { answerList, listAcrossNodes } from "../../src/journal-lists/cluster-list.js";
import type { LocalLogs } from "../../src/journal-lists/local-logs.js";
import type { ListQuery } from "../../src/journal-lists/own-list.js";
import type { EventPage, EventQuery } from "../../store/events/event-pages.js";
import type { JournalRecord } from "../../store/journal/record.js";
import { journalRecord, textOf } from "../store/journal/support.js";
import { assert, suite } from "../suite.js";

/** What a node keeps: records newest first; of the shards that it has. */
function keptOf(
  records: readonly JournalRecord[],
  isTruncated = false,
  has: readonly number[] | null = null,
): LocalLogs {
  return {
    of: (asked) => ({
      list: async ({ page, limit }: EventQuery) => {
        const items = records.slice((page - 1) * limit, page * limit);
        const shards = asked.filter((shard) => has?.includes(shard) ?? true);
        return { items, count: records.length, truncated: isTruncated, shards };
      },
    }),
  };
}

/** As `keptOf`, of records of which some (null) are damaged: they leave their places on a page empty. */
function keptWithDamage(records: readonly (JournalRecord | null)[]): LocalLogs {
  const intact = records.filter((record) => record !== null);
  return {
    of: (shards) => ({
      list: async ({ page, limit, skipsDamaged = false }: EventQuery) => {
        const places = skipsDamaged ? intact : records;
        const items = places.slice((page - 1) * limit, page * limit).filter((record) => record !== null);
        return { items, count: records.length, truncated: false, shards };
      },
    }),
  };
}

/** The shard of the node that asks. */
const own = 99;

const queryOf = (page: number, limit: number): ListQuery => ({
  listing: "messages",
  tenant: 1,
  devices: null,
  filters: [],
  page,
  limit,
});

/** Other nodes, asked as over a link: what they answer is JSON. */
function nodesOf(
  logs: readonly LocalLogs[],
  answers: (node: number, answer: unknown) => unknown = (_, one) => one,
) {
  const faults: string[] = [];
  return {
    faults,
    asked: {
      places: (): ShardPlaces => ({
        here: [own],
        elsewhere: new Map(logs.map((_, node) => [node, [2 * node, 2 * node + 1]])),
        nowhere: [],
      }),
      call: async (node: number, body: object) => {
        const { query, shards } = body as { query: ListQuery; shards: number[] };
        const answer = await answerList(logs[node] as LocalLogs, query, shards);
        return answers(node, JSON.parse(JSON.stringify(answer)));
      },
      onFault: (error: Error) => void faults.push(error.message),
    },
  };
}

const record = (id: number, receivedAt: number, bytes = 5): JournalRecord =>
  journalRecord(id, receivedAt, { payload: Buffer.alloc(bytes, String(id)) });
const shown = ({ items }: EventPage): string[] => items.map((one) => `${one.id} ${textOf(one)}`);

suite("a list of all nodes", (test) => {
  test("is what one log of all records would show, page by page", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 20 })), { maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        async (received, limit) => {
          // Each node's times do not go back: its ids say what came later.
          const clocks = [0, 0, 0, 0];
          const kept = received.map(([node, pause], i) => {
            clocks[node] = (clocks[node] ?? 0) + pause;
            return { node, record: record((node + 1) * 1000 + i, clocks[node] ?? 0) };
          });
          const ofNode = (node: number) =>
            kept.flatMap((one) => (one.node === node ? [one.record] : [])).reverse();
          const all = kept
            .map((one) => one.record)
            .sort((a, b) => b.receivedAt - a.receivedAt || b.id - a.id);
          const { asked, faults } = nodesOf([1, 2, 3].map((node) => keptOf(ofNode(node))));
          for (let page = 1; page <= Math.ceil(all.length / limit) + 1; page++) {
            const found = await listAcrossNodes(keptOf(ofNode(0)), queryOf(page, limit), asked);
            const items = all.slice((page - 1) * limit, page * limit);
            assert.equal(shown(found), shown({ items, count: 0, truncated: false }));
            assert.equal([found.count, found.truncated, faults], [all.length, false, []]);
          }
        },
      ),
      { numRuns: 100 },
    ));

  test("pages hold each record that is left once, in order, whatever is damaged at the nodes", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat({ max: 2 }), fc.boolean()), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        async (received, limit) => {
          const kept = received.map(([node, isDamaged], i) => ({
            node,
            record: record((node + 1) * 1000 + i, i),
            isDamaged,
          }));
          const ofNode = (node: number) =>
            keptWithDamage(
              kept
                .filter((one) => one.node === node)
                .map((one) => (one.isDamaged ? null : one.record))
                .reverse(),
            );
          const { asked } = nodesOf([1, 2].map(ofNode));
          const seen: number[] = [];
          for (let page = 1; page <= Math.ceil(kept.length / limit); page++) {
            const { items, count } = await listAcrossNodes(ofNode(0), queryOf(page, limit), asked);
            assert.is(count, kept.length);
            seen.push(...items.map(({ id }) => id));
          }
          const left = kept.filter((one) => !one.isDamaged).reverse();
          assert.equal(
            seen,
            left.map((one) => one.record.id),
          );
        },
      ),
      { numRuns: 100 },
    ));

  test("a node that does not answer, or answers wrongly, is missing, which the log and the list say", async () => {
    const logs = [10, 20, 30].map((id) => keptOf([record(id, id)]));
    const bad: readonly unknown[] = [
      {},
      null,
      { shards: [2, 3], count: -1, truncated: false, records: "" },
      { shards: [2, 2], count: 0, truncated: false, records: "" },
      { shards: [2, 4], count: 0, truncated: false, records: "" },
      { shards: [2, 3], count: 1, truncated: false, records: Buffer.alloc(9, 255).toString("base64") },
    ];
    for (const wrong of bad) {
      const { asked, faults } = nodesOf(logs, (node, answer) => (node === 1 ? wrong : answer));
      const found = await listAcrossNodes(keptOf([record(40, 40)]), queryOf(1, 10), asked);
      assert.equal(
        found.items.map(({ id }) => id),
        [40, 30, 10],
      );
      assert.equal([found.count, found.truncated, faults.length], [3, true, 1]);
    }
    const { asked } = nodesOf(logs);
    const away = { ...asked, call: () => Promise.reject(new Error("away")) };
    const alone = await listAcrossNodes(keptOf([record(40, 40)]), queryOf(1, 10), away);
    assert.equal([alone.items.length, alone.truncated], [1, true]);
  });

  test("a shard is asked of the node that has it, and missing while none has it or that one has it no more", async () => {
    const at = { here: [1, 5], elsewhere: new Map([[0, [2, 3]]]), nowhere: [] as number[] };
    const calls: unknown[] = [];
    const ask = (there: readonly number[], here: readonly number[], places: ShardPlaces = at) => {
      const { asked } = nodesOf([keptOf([record(1, 1)], false, there)]);
      const call = (node: number, body: object) => {
        calls.push((body as { shards: unknown }).shards);
        return asked.call(node, body);
      };
      return listAcrossNodes(keptOf([record(2, 2)], false, here), queryOf(1, 10), {
        ...asked,
        call,
        places: () => places,
      });
    };
    const isTruncated = async (...asked: Parameters<typeof ask>): Promise<boolean> => {
      const found = await ask(...asked);
      assert.is(found.count, 2);
      return found.truncated;
    };
    // What has come to a node since is not asked of it.
    assert.is(await isTruncated([2, 3, 1], [1, 5, 2]), false);
    assert.equal(calls, [[2, 3]]);
    assert.is(await isTruncated([3], [1, 5]), true);
    assert.is(await isTruncated([2, 3], [5]), true);
    assert.is(await isTruncated([2, 3], [1, 5], { ...at, nowhere: [4] }), true);
  });

  test("a page behind the newest 5,000 says what is missing too", async () => {
    const { asked } = nodesOf([keptOf([])]);
    const places = () => ({ here: [own], elsewhere: new Map(), nowhere: [1] });
    assert.is((await listAcrossNodes(keptOf([]), queryOf(7, 1000), { ...asked, places })).truncated, true);
  });

  test("what a node cannot answer whole makes the list truncated", async () => {
    const { asked } = nodesOf([keptOf([record(1, 1)], true)]);
    assert.is((await listAcrossNodes(keptOf([]), queryOf(1, 10), asked)).truncated, true);
    // Three of a megabyte are more than an answer has.
    const large = nodesOf([keptOf([3, 2, 1].map((id) => record(id, id, 700_000)))]);
    const found = await listAcrossNodes(keptOf([]), queryOf(1, 10), large.asked);
    assert.equal([found.items.length, found.count, found.truncated], [2, 3, true]);
  });

  test("a page that ends behind the newest 5,000 is empty, and truncated where there is something", async () => {
    const newest = Array.from({ length: 5500 }, (_, i) => record(10_000 - i, 10_000 - i));
    const { asked } = nodesOf([keptOf([])]);
    const at = (page: number) => listAcrossNodes(keptOf(newest), queryOf(page, 1000), asked);
    assert.equal([(await at(5)).items.length, (await at(5)).truncated], [1000, false]);
    assert.equal([(await at(6)).items.length, (await at(6)).truncated], [0, true]);
    assert.equal([(await at(7)).items.length, (await at(7)).truncated], [0, false]);
  });
});
