import fc from "fast-check";
import { covers, isTopicFilter, isTopicName } from "../../../ingest/messages/topics.js";
import { assert, suite } from "../../suite.js";

/** MQTT 3.1.1 §4.7, by recursion over levels: slow, and plainly what the text says. */
function coversPlainly(filter: string, topic: string): boolean {
  const walk = (f: readonly string[], t: readonly string[]): boolean => {
    if (f[0] === "#") return true;
    if (f.length === 0 || t.length === 0) return f.length === t.length;
    return (
      ((f[0] === "+" || f[0] === t[0]) && walk(f.slice(1), t.slice(1))) ||
      ((f[0] === "+" || f[0] === t[0]) && t.length === 1 && f.length === 2 && f[1] === "#")
    );
  };
  const levels = filter.split("/");
  if (topic.startsWith("$") && (levels[0] === "+" || levels[0] === "#")) return false;
  return walk(levels, topic.split("/"));
}

const covering: readonly (readonly [string, string, boolean])[] = [
  ["sport/tennis/player1/#", "sport/tennis/player1", true],
  ["sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true],
  ["sport/#", "sport", true],
  ["sport/#", "sports", false],
  ["#", "a", true],
  ["#", "/", true],
  ["sport/tennis/+", "sport/tennis/player1", true],
  ["sport/tennis/+", "sport/tennis/player1/ranking", false],
  ["sport/+", "sport", false],
  ["sport/+", "sport/", true],
  ["+/+", "/finance", true],
  ["/+", "/finance", true],
  ["+", "/finance", false],
  ["#", "$SYS/x", false],
  ["+/monitor/Clients", "$SYS/monitor/Clients", false],
  ["$SYS/#", "$SYS/monitor", true],
  ["$SYS/monitor/+", "$SYS/monitor/Clients", true],
  ["a", "A", false],
];

const filters: readonly (readonly [string, boolean])[] = [
  ["#", true],
  ["+", true],
  ["a/#", true],
  ["+/b/#", true],
  ["/", true],
  ["$time", true],
  ["$SYS/#", true],
  ["", false],
  ["a#", false],
  ["a/#/b", false],
  ["a+", false],
  ["a/+b", false],
  ["a\0b", false],
  ["$share/group/a", false],
  ["$share/", false],
  ["$shared", true],
];

const names: readonly (readonly [string, boolean])[] = [
  ["data", true],
  ["/", true],
  ["$SYS/x", true],
  ["a b/ü/😀", true],
  ["", false],
  ["a/+", false],
  ["#", false],
  ["a\0", false],
  ["\ud800", false],
];

const level = fc.constantFrom("a", "b", "", "$x");
const topics = fc.array(level, { minLength: 1, maxLength: 4 }).map((levels) => levels.join("/"));
const patterns = fc
  .tuple(fc.array(fc.oneof(level, fc.constant("+")), { maxLength: 4 }), fc.constantFrom([], ["#"]))
  .map(([levels, end]) => [...levels, ...end].join("/"));

suite("topics", (test) => {
  for (const [filter, topic, expected] of covering) {
    test(`${filter} ${expected ? "covers" : "does not cover"} ${topic}`, () =>
      assert.is(covers(filter, topic), expected));
  }
  test("filters", () => {
    for (const [filter, expected] of filters)
      assert.is(isTopicFilter(filter), expected, JSON.stringify(filter));
  });
  test("names", () => {
    for (const [name, expected] of names) assert.is(isTopicName(name), expected, JSON.stringify(name));
  });
  test("covers what the standard says", () => {
    fc.assert(
      fc.property(patterns, topics, (filter, topic) => {
        assert.is(covers(filter, topic), coversPlainly(filter, topic), `${filter} ${topic}`);
      }),
      { numRuns: 5000 },
    );
  });
});
