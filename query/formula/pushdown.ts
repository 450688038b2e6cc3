import type { Arithmetic, Operator } from "../../store/series/arithmetic.js";
import type { Term } from "./code.js";
import { type Operation, operators } from "./functions.js";
import type { Parsed } from "./parse.js";

const plain: ReadonlyMap<Operation | undefined, Operator> = new Map([
  [operators.get("add"), "+"],
  [operators.get("subtract"), "-"],
  [operators.get("multiply"), "*"],
  [operators.get("divide"), "/"],
]);
const minus = operators.get("unaryMinus");
const plus = operators.get("unaryPlus");

/** The formula as an engine can compute it; null unless it is plain arithmetic over its own data point alone. */
export function toArithmetic({ term, variables }: Parsed): Arithmetic | null {
  return variables.length === 1 && variables[0] === "dataPoint" ? translate(term) : null;
}

function translate(term: Term): Arithmetic | null {
  if (term.kind === "number") return { kind: "number", value: term.value };
  if (term.kind === "variable") return { kind: "value" };
  if (term.kind !== "operation") return null;
  const [first, second] = term.operands;
  const left = first === undefined ? null : translate(first);
  if (left === null) return null;
  if (term.operation === plus) return left;
  if (term.operation === minus) return negative(left);
  const operator = plain.get(term.operation);
  const right = second === undefined ? null : translate(second);
  return operator === undefined || right === null ? null : { kind: "operation", operator, left, right };
}

/** A product with -1 has exactly the bits of a change of sign. */
function negative(operand: Arithmetic): Arithmetic {
  if (operand.kind === "number") return { kind: "number", value: -operand.value };
  const left: Arithmetic = { kind: "number", value: -1 };
  return { kind: "operation", operator: "*", left, right: operand };
}
