import fc from "fast-check";
import { fills, fillWindows } from "../../query/fill.js";
import { assert, suite } from "../suite.js";

const times = [0, 10, 20, 40, 50, 60];
const now = 60;
const values = [null, 1, null, null, 6, null];

suite("filling empty windows", (test) => {
  test("without a fill empty windows stay null", () => {
    assert.equal(fillWindows(null, times, values), { windows: [0, 1, 2, 3, 4, 5], values });
  });

  test("none drops them and says which are left", () => {
    assert.equal(fillWindows({ how: "none", now }, times, values), { windows: [1, 4], values: [1, 6] });
  });

  test("zero puts 0", () =>
    assert.equal(fillWindows({ how: "zero", now }, times, values).values, [0, 1, 0, 0, 6, 0]));

  test("previous repeats, and nothing comes before the first", () => {
    assert.equal(fillWindows({ how: "previous", now }, times, values).values, [null, 1, 1, 1, 6, 6]);
  });

  test("linear goes by time, not by position, and not past the ends", () => {
    assert.equal(fillWindows({ how: "linear", now }, times, values).values, [null, 1, 2.25, 4.75, 6, null]);
  });

  test("a window that has not begun is not filled from what came before, whatever is known of it", () => {
    const fill = (how: "zero" | "previous" | "linear", at: number) =>
      fillWindows({ how, now: at }, times, values).values;
    assert.equal(fill("previous", 19), [null, 1, null, null, 6, null]);
    assert.equal(fill("previous", 20), [null, 1, 1, null, 6, null]);
    assert.equal(fill("previous", 59), [null, 1, 1, 1, 6, null]);
    assert.equal(fill("linear", 39), [null, 1, 2.25, null, 6, null]);
    assert.equal(fill("linear", 0), values);
    assert.equal(fill("zero", 0), [0, 1, 0, 0, 6, 0]);
  });

  test("what is not empty is never changed, and the columns stay of one length", () => {
    const columns = fc.array(fc.option(fc.double({ noNaN: true, min: -1e6, max: 1e6 })), { maxLength: 50 });
    fc.assert(
      fc.property(columns, fc.constantFrom(...fills), (column, fill) => {
        const at = column.map((_, i) => i * 60_000);
        const filled = fillWindows({ how: fill, now: 25 * 60_000 }, at, column);
        assert.is(filled.windows.length, filled.values.length);
        const result = new Map(filled.windows.map((window, i) => [window, filled.values[i]]));
        for (const [i, value] of column.entries()) {
          if (value !== null) assert.is(result.get(i), value);
        }
        const known = column.filter((value) => value !== null);
        for (const value of filled.values) {
          if (value === null || value === undefined || fill === "zero") continue;
          assert.ok(value >= Math.min(...known) - 1e-9 && value <= Math.max(...known) + 1e-9);
        }
      }),
    );
  });
});
