import { StoreError } from "../../store/lib/errors.js";
import type { Arithmetic } from "../../store/series/arithmetic.js";
import { compileProgram } from "./code.js";
import {
  constantNames,
  FormulaProblem,
  formulaCharactersMax,
  formulaWeightMax,
  isWord,
  parseFormula,
} from "./parse.js";
import { toArithmetic } from "./pushdown.js";
import { findMisspelling, rightName } from "./spelling.js";

/**
 * A mathjs expression over columns of numbers. Numbers behave as in mathjs, where nearly equal numbers are equal
 * (1e-12); true and false are 1 and 0. A null operand makes the result null only if it is evaluated: a branch not taken
 * does not count, nor does an operand that `and`, `or`, `??` or a chain of comparisons leaves out.
 */
export interface Formula {
  /** In order of first use; `currentValue` is reported as `dataPoint`. */
  readonly variables: readonly string[];
  /** The formula as an engine can compute it, if it is plain arithmetic over `dataPoint` alone; else null. */
  readonly arithmetic: Arithmetic | null;
  /** How many parts it has, counting slow functions several times: the cost of a row. */
  readonly weight: number;
  /**
   * Evaluates n rows, one by one. NaN stands for null in and out, and a variable without input is null in every row.
   * `errors` counts results that are null though no operand was: infinite, undefined, complex or outside a domain.
   */
  evaluate(
    n: number,
    inputs: Readonly<Record<string, Float64Array>>,
  ): { readonly values: Float64Array; readonly errors: number };
  /** For one row at a time: takes the operands in the order of `variables` (NaN for null) and allocates nothing. */
  row(): (operands: Float64Array) => number;
}

interface FormulaOptions {
  /** Takes any plain identifier as a variable: a data point may have been deleted since the formula was saved. */
  readonly allowUnknown?: boolean;
  /** Takes formulas heavier than may be saved today. */
  readonly allowHeavy?: boolean;
}

/** For stored formulas: each is computed as it was saved. */
export const storedFormulaOptions: FormulaOptions = { allowUnknown: true, allowHeavy: true };

/** The dataPointIDs of a product. */
type Names = Pick<ReadonlySet<string>, "has">;

type FormulaCompiler = (text: string, dataPointIDs: Names, options?: FormulaOptions) => Formula;

const ownVariables: ReadonlySet<string> = new Set(["dataPoint", "lastValue"]);

/**
 * A data point goes before a constant of its name, such as `e` or `true`.
 * @throws StoreError INVALID whose field `expressions` says what is wrong and in which column, from 1
 */
export function compileFormula(text: string, dataPointIDs: Names, options: FormulaOptions = {}): Formula {
  const formula = compile(text, namedLikeConstants(dataPointIDs));
  checkNew(text, formula, dataPointIDs, options);
  return formula;
}

/**
 * compileFormula with a memory of the newest `formulasMax` formulas. What is remembered depends on the text, and on
 * which data points are named like constants; other names and the weight are checked at each call. Refused formulas are
 * not remembered.
 */
export function memoizeFormula(formulasMax = 1000): FormulaCompiler {
  const formulas = new Map<string, Formula>();
  return (text, dataPointIDs, options = {}) => {
    const constants = namedLikeConstants(dataPointIDs);
    // No name has a colon.
    const key = `${[...constants].join()}:${text}`;
    const formula = formulas.get(key) ?? compile(text, constants);
    formulas.delete(key);
    formulas.set(key, formula);
    const [oldest] = formulas.keys();
    if (formulas.size > formulasMax && oldest !== undefined) formulas.delete(oldest);
    checkNew(text, formula, dataPointIDs, options);
    return formula;
  };
}

const none: ReadonlySet<string> = new Set();

function namedLikeConstants(dataPointIDs: Names): ReadonlySet<string> {
  const found = constantNames.filter((name) => dataPointIDs.has(name));
  return found.length === 0 ? none : new Set(found);
}

function compile(text: string, constants: ReadonlySet<string>): Formula {
  try {
    const parsed = parseFormula(text, constants);
    const { term, variables, weight } = parsed;
    const program = compileProgram(term, variables.length);
    return {
      variables,
      arithmetic: toArithmetic(parsed),
      weight,
      evaluate: (n, inputs) => {
        const values = new Float64Array(n);
        return { values, errors: program(n, createColumns(n, variables, inputs), values) };
      },
      row: () => {
        const columns = variables.map(() => new Float64Array(1));
        const result = new Float64Array(1);
        return (operands) => {
          for (let at = 0; at < columns.length; at++)
            (columns[at] as Float64Array)[0] = operands[at] as number;
          program(1, columns, result);
          return result[0] as number;
        };
      },
    };
  } catch (error) {
    if (error instanceof FormulaProblem) throw refusal(text, error);
    throw error;
  }
}

function createColumns(
  n: number,
  variables: readonly string[],
  inputs: Readonly<Record<string, Float64Array>>,
): Float64Array[] {
  return variables.map((name) => {
    const column = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
    if (column !== undefined && column.length < n) {
      throw new RangeError(`cannot evaluate ${n} rows: ${name} has ${column.length}`);
    }
    return column ?? new Float64Array(n).fill(Number.NaN);
  });
}

function checkNew(
  text: string,
  { variables, weight }: Formula,
  dataPointIDs: Names,
  { allowUnknown = false, allowHeavy = false }: FormulaOptions,
): void {
  if (!allowHeavy && weight > formulaWeightMax) {
    const why = `more than ${formulaWeightMax} parts, where slow functions count as several: it has ${weight}`;
    throw refusal(text, new FormulaProblem(why));
  }
  if (allowUnknown) return;
  const unknown = variables.find((name) => !ownVariables.has(name) && !dataPointIDs.has(name));
  if (unknown === undefined) return;
  const hint = rightName(unknown, isWord);
  throw refusal(
    text,
    new FormulaProblem(`${unknown} is no data point, constant or function${hint}`, unknown),
  );
}

/**
 * Names a sign to write another way before any other problem. Only what is refused is looked at: `×` and `π` are letters
 * to the parser, and a stored formula that has them in a name compiles as it always has.
 */
function refusal(text: string, problem: FormulaProblem): StoreError {
  const misspelt = text.length > formulaCharactersMax ? null : findMisspelling(text);
  const message = misspelt?.message ?? problem.message;
  const at = misspelt !== null ? misspelt.index + 1 : problem.column || findErrorColumn(text, problem.token);
  const what = at > 0 ? `${message} (column ${at})` : message;
  return new StoreError("INVALID", `cannot use the formula: ${what}`, { expressions: what });
}

/** The column, from 1, at which a token first stands, names as whole words; 0 if it does not occur. */
function findErrorColumn(text: string, token: string): number {
  if (token === "") return 0;
  if (!/^[\p{L}_$]/u.test(token)) return text.indexOf(token) + 1;
  const plain = token.replaceAll("$", "\\$");
  return text.search(new RegExp(`(?<![\\p{L}\\p{N}_$])${plain}(?![\\p{L}\\p{N}_$])`, "u")) + 1;
}
