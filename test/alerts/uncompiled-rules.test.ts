/** A stored rule that does not compile is logged once, and the others of its product keep their effect. */
import { compileRules } from "../../ingest/alerts/compiled-rules.js";
import { createConditions } from "../../src/alerts/conditions.js";
import { createUncompiledLog } from "../../src/alerts/uncompiled-rules.js";
import type { AlertRule } from "../../store/metadata/alerts/alert-rules.js";
import { makePoint } from "../ingest/alerts/support.js";
import { assert, rejects, suite } from "../suite.js";

const point = makePoint(1, "temp");

const rule = (id: number, condition: string) =>
  ({ id, alertName: `rule ${id}`, dataPointIntID: 1, duration: 0, condition }) as AlertRule;

suite("stored alert rules that do not compile", (test) => {
  test("each is logged once for each reason, by name and with the reason", async () => {
    const lines: unknown[] = [];
    const onUncompiled = createUncompiledLog({ warn: (msg, fields) => void lines.push([msg, fields]) });
    const compile = (...rules: AlertRule[]) =>
      compileRules([point], [], rules, createConditions(), onUncompiled);
    const broken = rule(7, "dataPoint >");
    for (let again = 0; again < 3; again++) {
      const { causes, points } = await compile(broken, rule(8, "dataPoint > 5"));
      assert.equal([[...causes], points.get(1)?.rules.map(({ id }) => id)], [["rule:8"], [8]]);
    }
    await compile(rule(7, "foo(dataPoint)"));
    const what = "an alert rule does not compile and has no effect";
    const about = { rule: 7, alertName: "rule 7" };
    assert.equal(lines, [
      [what, { ...about, reason: "cannot use the formula: Unexpected end of expression (column 12)" }],
      [what, { ...about, reason: "cannot use the formula: foo is not an allowed function (column 1)" }],
    ]);
  });

  test("one that is not stored is the caller's error", async () => {
    await rejects(
      () => compileRules([point], [], [rule(1, "dataPoint >")], createConditions()),
      /cannot use the formula/,
    );
  });
});
