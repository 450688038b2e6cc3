import fc from "fast-check";
import { createFilterTrie } from "../../../ingest/messages/filter-trie.js";
import { covers } from "../../../ingest/messages/topics.js";
import { assert, suite } from "../../suite.js";

const level = fc.constantFrom("a", "ab", "b", "", "$x");
const topics = fc.array(level, { minLength: 1, maxLength: 6 }).map((levels) => levels.join("/"));
const filters = fc
  .tuple(fc.array(fc.oneof(level, fc.constant("+")), { maxLength: 6 }), fc.constantFrom([], ["#"]))
  .map(([levels, end]) => [...levels, ...end].join("/"))
  .filter((filter) => filter !== "");
const steps = fc.array(fc.tuple(fc.boolean(), filters), { maxLength: 60 });

suite("topic filters in a trie", (test) => {
  test("find what each filter by itself covers, through every order of setting and deleting", () => {
    fc.assert(
      fc.property(steps, fc.array(topics, { minLength: 1, maxLength: 20 }), (changes, asked) => {
        const trie = createFilterTrie<string>();
        const plain = new Set<string>();
        for (const [isSet, filter] of changes) {
          if (isSet) trie.set(filter, filter);
          else trie.delete(filter);
          if (isSet) plain.add(filter);
          else plain.delete(filter);
          assert.is(trie.size, plain.size);
          const topic = asked[plain.size % asked.length] as string;
          const expected = [...plain].filter((one) => covers(one, topic));
          assert.equal(trie.covering(topic).sort(), expected.sort(), topic);
        }
        for (const topic of asked) {
          const expected = [...plain].filter((one) => covers(one, topic));
          assert.equal(trie.covering(topic).sort(), expected.sort(), topic);
        }
      }),
      { numRuns: 3000 },
    );
  });

  test("a value is replaced, and what has never been there is not deleted", () => {
    const trie = createFilterTrie<number>();
    trie.set("a/+", 1);
    trie.set("a/+", 2);
    for (const none of ["a", "a/+/#", "a/+/b", "#", "+/+", "a/b"]) trie.delete(none);
    assert.equal([trie.size, trie.covering("a/b")], [1, [2]]);
  });

  test("thousands of levels cost neither a stack nor a node each", () => {
    const trie = createFilterTrie<number>();
    const long = Array(20_000).fill("+").join("/");
    trie.set(long, 1);
    trie.set(`${long}/#`, 2);
    assert.equal(trie.covering(long.replaceAll("+", "l")).sort(), [1, 2]);
    for (let i = 0; i < 1000; i++) trie.set(`${"x/".repeat(i)}y`, i);
    assert.equal(trie.covering(`${"x/".repeat(999)}y`), [999]);
    for (let i = 0; i < 1000; i++) trie.delete(`${"x/".repeat(i)}y`);
    assert.is(trie.size, 2);
  });
});
