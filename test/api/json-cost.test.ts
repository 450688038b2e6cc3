import fc from "fast-check";
import { measureJSONCost } from "../../src/http/json-cost.js";
import { assert, suite } from "../suite.js";

/** Values of what JSON.parse makes, a member of an object as two. */
function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  const entries = Object.values(value);
  const names = Array.isArray(value) ? 0 : entries.length;
  return entries.reduce<number>((sum, one) => sum + countValues(one), 1 + names);
}

/** Levels of arrays and objects in what JSON.parse makes. */
function countLevels(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(countLevels));
}

suite("the cost of a body of JSON", (test) => {
  test("no value is missed, and commas, colons and brackets within texts are none", () =>
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1), (value, indent) => {
        const json = JSON.stringify(value, null, indent);
        const { values, levels } = measureJSONCost(Buffer.from(json));
        const counted = countValues(JSON.parse(json));
        assert.is(levels, countLevels(JSON.parse(json)), json);
        // An empty list or object counts as two.
        assert.ok(counted <= values && values <= 2 * counted, `${values} of ${counted}: ${json}`);
      }),
    ));

  test("a long text costs what it has, whatever stands in it", () => {
    const text = '1,2:[{"\\'.repeat(50_000);
    assert.is(measureJSONCost(Buffer.from(JSON.stringify({ payload: text }))).values, 3);
    assert.is(measureJSONCost(Buffer.from(`["${"\\\\".repeat(10)}", "a,b"]`)).values, 3);
    assert.is(measureJSONCost(Buffer.from('["never ends, \\')).values, 2);
  });
});
