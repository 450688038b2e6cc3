import fc from "fast-check";
import { fills, fillWindows } from "../../query/fill.js";
import { assert, suite } from "../suite.js";

const times = [0, 10, 20, 40, 50, 60];
const values = [null, 1, null, null, 6, null];

suite("filling empty windows", (test) => {
  test("without a fill empty windows stay null", () => {
    assert.equal(fillWindows(null, times, values), { windows: [0, 1, 2, 3, 4, 5], values });
  });

  test("none drops them and says which are left", () => {
    assert.equal(fillWindows("none", times, values), { windows: [1, 4], values: [1, 6] });
  });

  test("zero puts 0", () => assert.equal(fillWindows("zero", times, values).values, [0, 1, 0, 0, 6, 0]));

  test("previous repeats, and nothing comes before the first", () => {
    assert.equal(fillWindows("previous", times, values).values, [null, 1, 1, 1, 6, 6]);
  });

  test("linear goes by time, not by position, and not past the ends", () => {
    assert.equal(fillWindows("linear", times, values).values, [null, 1, 2.25, 4.75, 6, null]);
  });

  test("what is not empty is never changed, and the columns stay of one length", () => {
    const columns = fc.array(fc.option(fc.double({ noNaN: true, min: -1e6, max: 1e6 })), { maxLength: 50 });
    fc.assert(
      fc.property(columns, fc.constantFrom(...fills), (column, fill) => {
        const at = column.map((_, i) => i * 60_000);
        const filled = fillWindows(fill, at, column);
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
