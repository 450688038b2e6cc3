/** What the columns of an import of devices take from a typed cell, and the fault of what they do not. */
import { type CellKind, type FieldErrors, readCell } from "../../../src/import-export/devices/read-cell.js";
import { assert, suite } from "../../suite.js";

function numberIn(kind: CellKind, text: string): unknown {
  const errors: FieldErrors = {};
  const value = readCell({ kind: "number", text }, kind, "serialNumber", errors);
  return errors.serialNumber ?? value;
}

suite("numbers in columns of text", (test) => {
  test("a small one in scientific form is refused as such, not as one of too many digits", () => {
    for (const kind of ["text", "identifier", "digits"] as const) {
      for (const [text, shown] of [
        ["1e-7", "1e-7"],
        ["1E-07", "1e-7"],
        ["0.00000012", "1.2e-7"],
        ["-2.5E-9", "-2.5e-9"],
      ] as const) {
        const fault = `is a number in scientific form, ${shown}: format the column as text`;
        assert.is(numberIn(kind, text), fault, `${kind} ${text}`);
      }
    }
  });

  test("others give their digits, and numbers stay numbers", () => {
    assert.is(numberIn("text", "0.000001"), "0.000001");
    assert.is(numberIn("text", "8.60123E+14"), "860123000000000");
    assert.match(String(numberIn("text", "1E+21")), /more than 15 digits/);
    assert.is(numberIn("number", "1e-7"), 1e-7);
  });
});
