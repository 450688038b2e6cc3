/** The matcher of topic rules against a naive reading of them: every topic of a small world, one by one. */
import fc from "fast-check";
import { compilePolicies } from "../../../ingest/policies.js";
import type { PolicyRule } from "../../../store/metadata/devices/access.js";
import { assert, suite } from "../../suite.js";

const names = { deviceID: "a", deviceUsername: "b" };
const inboxes = ["inbox", "/devices/a/inbox"];

const rule = (topic: string, access: number, allow: number): PolicyRule => ({ id: 1, topic, access, allow });
const publish = 0;
const subscribe = 1;
const both = 2;
const [deny, allow] = [0, 1];

const levels = ["a", "b", "$s", ""];
/** Levels that no rule names stand for all others. */
const topicLevels = [...levels, "other"];
const topics = [...inboxes];
for (let all = topicLevels; (all[0] ?? "").split("/").length <= 4; ) {
  topics.push(...all.filter((topic) => topic !== ""));
  all = all.flatMap((topic) => topicLevels.map((level) => `${topic}/${level}`));
}

/** As a regular expression, so that nothing is shared with what is tested. */
function pattern(filter: string): RegExp {
  const plain = filter.replace(/[.*?^${}()|[\]\\]/g, "\\$&").replace(/\+/g, "[^/]*");
  const body = plain === "#" ? ".*" : plain.replace(/\/#$/, "(/.*)?");
  return new RegExp(`^${body}$`, "s");
}

function oracle(rules: readonly PolicyRule[], action: number) {
  const ofAction = rules
    .filter(({ access }) => access === action || access === both)
    .map((one) => ({
      allow: one.allow,
      pattern: pattern(one.topic.replaceAll("%d", "a").replaceAll("%u", "b")),
    }));
  const says = (verdict: number, topic: string) => {
    const spellings = inboxes.includes(topic) ? inboxes : [topic];
    return ofAction.some((one) => one.allow === verdict && spellings.some((name) => one.pattern.test(name)));
  };
  const onlyAllowed = ofAction.some((one) => one.allow === allow);
  return (topic: string) => !says(deny, topic) && (!onlyAllowed || says(allow, topic));
}

function subscriptionCovers(filter: string, topic: string): boolean {
  return pattern(filter).test(topic) && !(topic.startsWith("$") && /^[+#]/.test(filter));
}

const anyFilter = fc
  .tuple(
    fc.array(fc.constantFrom(...levels, "+", "%d", "%u", "a"), { minLength: 1, maxLength: 3 }),
    fc.boolean(),
    fc.constantFrom<string | null>(null, null, null, null, ...inboxes),
  )
  .map(([some, open, whole]) => whole ?? (open ? [...some.slice(0, -1), "#"] : some).join("/"))
  .filter((filter) => filter !== "");
const anyRules = fc.array(
  fc.tuple(anyFilter, fc.constantFrom(publish, subscribe, both), fc.constantFrom(deny, allow)),
  { maxLength: 5 },
);

suite("policies", (test) => {
  test("any rules decide every topic as a naive reading does", () => {
    fc.assert(
      fc.property(anyRules, (drawn) => {
        const rules = drawn.map((one) => rule(...one));
        const compiled = compilePolicies(rules, names);
        const [says, hears] = [oracle(rules, publish), oracle(rules, subscribe)];
        for (const topic of topics) {
          assert.is(compiled?.mayPublish(topic) ?? true, says(topic), `publish ${topic}`);
          assert.is(compiled?.mayReceive(topic) ?? true, hears(topic), `receive ${topic}`);
        }
      }),
      { numRuns: 200 },
    );
  });

  test("a subscription is taken exactly when a topic is left that it brings", () => {
    fc.assert(
      fc.property(anyRules, anyFilter, (drawn, asked) => {
        const filter = asked.replaceAll("%d", "a").replaceAll("%u", "b");
        const rules = drawn.map((one) => rule(...one));
        const hears = oracle(rules, subscribe);
        const left = topics.find((topic) => subscriptionCovers(filter, topic) && hears(topic));
        const taken = compilePolicies(rules, names)?.maySubscribe(filter) ?? true;
        assert.is(taken, left !== undefined, `${filter}, for ${left}`);
      }),
      { numRuns: 2000 },
    );
  });

  test("an empty name is no topic that a subscription could bring", () => {
    const rules = [rule("+", both, allow), rule("/devices/a/inbox", subscribe, deny)];
    assert.is(compilePolicies(rules, names)?.maySubscribe("/#"), false);
  });

  test("names are literal, whatever characters they have", () => {
    const odd = { deviceID: "d", deviceUsername: "+/#" };
    const compiled = compilePolicies([rule("u/%u", both, allow), rule("%%d%d", both, allow)], odd);
    for (const [topic, may] of [
      ["u/+/#", true],
      ["u/x/y", false],
      ["u/x", false],
      ["%dd", true],
    ] as const) {
      assert.is(compiled?.mayPublish(topic), may, topic);
    }
    const named = compilePolicies([rule("%d", both, allow)], { deviceID: "%u", deviceUsername: "x" });
    assert.equal([named?.mayPublish("%u"), named?.mayPublish("x")], [true, false]);
  });

  test("without rules there is nothing to ask, and rules of one action leave the other open", () => {
    assert.is(compilePolicies([], names), null);
    const compiled = compilePolicies([rule("up/#", publish, allow)], names);
    assert.equal(
      ["up", "up/x", "down"].map((topic) => [compiled?.mayPublish(topic), compiled?.mayReceive(topic)]),
      [
        [true, true],
        [true, true],
        [false, true],
      ],
    );
  });

  test("verdicts stay right beyond those that are remembered", () => {
    const compiled = compilePolicies([rule("+/no", both, deny)], names);
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 500; i++) {
        assert.is(compiled?.mayPublish(`${i}/no`), false);
        assert.is(compiled?.mayPublish(`${i}/yes`), true);
      }
    }
    assert.is(compiled?.mayPublish(`${"x".repeat(1000)}/no`), false);
  });
});
