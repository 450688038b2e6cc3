import {
  type ConditionalNode,
  type ConstantNode,
  create,
  type MathNode,
  type ParenthesisNode,
  parseDependencies,
  type SymbolNode,
} from "mathjs/number";
import type { Term } from "./code.js";
import { constants, functions, type Operation, operators } from "./functions.js";
import { encloseSigned } from "./signed-numbers.js";
import { rightName } from "./spelling.js";

// Formulas know numbers only; the bundle keeps no more of mathjs than the parser needs.
const { parse } = create({ ...parseDependencies });

export const formulaCharactersMax = 1024;
const formulaNodesMax = 200;
/** Slow functions count as several parts, so that a formula made of them takes no longer than others. */
export const formulaWeightMax = 200;
/** Each level costs the parser some twenty stack frames. */
const nestingMax = 60;
/** The parser reads the text after a % twice, so that each nested % doubles its time. */
const percentSignsMax = 8;

/** Why a formula is refused, and at which token. */
export class FormulaProblem extends Error {
  constructor(
    message: string,
    readonly token = "",
    readonly column = 0,
  ) {
    super(message);
  }
}

export interface Parsed {
  readonly term: Term;
  /** In order of first use; `currentValue` appears as `dataPoint`. */
  readonly variables: readonly string[];
  /** How many parts it has, each multiplied by its weight. */
  readonly weight: number;
}

/** @param dataPoints those of the product that are called like constants. @throws FormulaProblem */
export function parseFormula(text: string, dataPoints: ReadonlySet<string>): Parsed {
  checkText(text);
  const reader: Reader = { dataPoints, variables: [], nodesLeft: formulaNodesMax, weight: 0 };
  return { term: read(reader, parseTree(text)), variables: reader.variables, weight: reader.weight };
}

function parseTree(text: string): MathNode {
  const signed = encloseSigned(text);
  try {
    return parse(signed.text);
  } catch (error) {
    if (error instanceof RangeError) throw new FormulaProblem("nested too deeply");
    const { message, char } = error as { message: string; char?: number };
    const column = char === undefined ? 0 : signed.columnOf(char);
    throw new FormulaProblem(message.replace(/ \(char \d+\)$/, ""), "", column);
  }
}

/** Characters that formulas do not have. */
const foreignSigns: readonly (readonly [RegExp, string])[] = [
  [/["']/, "text and transposition are not allowed"],
  [/[[\]]/, "matrices and indexes are not allowed"],
  [/[{}]/, "objects are not allowed"],
  [/[;\n\r]/, "only one expression is allowed"],
  [/#/, "comments are not allowed"],
  [/\?\./, "optional chaining is not allowed"],
  [/(?<![<>=!])=(?!=)/, "assignment is not allowed; equality is =="],
  // The parser of mathjs 15 takes a % without a valid right side as a percentage even if that side is broken.
  [
    /(?:[-+*/~]|\^(?!\|)|\?\?|\b(?:not|mod)\b)\s*(?:[),:*/^<>=&|%?]|$)/,
    "a value is missing after the operator",
  ],
];

function checkText(text: string): void {
  if (text.trim() === "") throw new FormulaProblem("empty");
  if (text.length > formulaCharactersMax) {
    throw new FormulaProblem(`longer than ${formulaCharactersMax} characters`);
  }
  for (const [pattern, message] of foreignSigns) {
    const index = text.search(pattern);
    if (index >= 0) throw new FormulaProblem(message, "", index + 1);
  }
  checkNesting(text);
}

function checkNesting(text: string): void {
  let depth = 0;
  let percentSigns = 0;
  for (const [index, character] of [...text].entries()) {
    if (character === "(") depth++;
    if (character === ")") depth--;
    if (character === "%") percentSigns++;
    if (depth > nestingMax) throw new FormulaProblem("nested too deeply", "", index + 1);
    if (depth < 0) throw new FormulaProblem("a parenthesis closes that was not opened", "", index + 1);
    if (percentSigns > percentSignsMax) {
      throw new FormulaProblem(`more than ${percentSignsMax} % signs; use mod`, "", index + 1);
    }
  }
  if (depth > 0) throw new FormulaProblem("a parenthesis is not closed", "", text.length);
}

/** Names of constants, which a data point may have as well: the data point is then meant. */
export const constantNames: readonly string[] = [...constants.keys(), "true", "false", "null"];

interface Reader {
  /** Data points that go before the constants of their names. */
  readonly dataPoints: ReadonlySet<string>;
  readonly variables: string[];
  nodesLeft: number;
  weight: number;
}

/**
 * The parents of a percentage share it, so the tree may be far larger than the text: the parts are counted while
 * walking.
 */
function read(reader: Reader, node: MathNode): Term {
  if (reader.nodesLeft-- === 0) throw new FormulaProblem(`more than ${formulaNodesMax} parts`);
  reader.weight++;
  const readNode = readers.get(node.type);
  if (readNode === undefined) {
    throw new FormulaProblem(`a ${node.type.replace("Node", "").toLowerCase()} is not allowed`);
  }
  return readNode(reader, node);
}

type Read = (reader: Reader, node: MathNode) => Term;

const readers: ReadonlyMap<string, Read> = new Map<string, Read>([
  ["ConstantNode", (reader, node) => readConstant(reader, (node as ConstantNode<Constant>).value)],
  ["SymbolNode", (reader, node) => readName(reader, (node as SymbolNode).name)],
  ["ParenthesisNode", (reader, node) => read(reader, (node as ParenthesisNode).content)],
  ["OperatorNode", readOperator],
  ["FunctionNode", readCall],
  ["RelationalNode", readChain],
  ["ConditionalNode", readConditional],
]);

type Constant = number | boolean | null;

/** Numbers, and what the parser takes for a constant, which a data point may be called. */
function readConstant(reader: Reader, value: Constant): Term {
  if (typeof value !== "number" && reader.dataPoints.has(String(value)))
    return readVariable(reader, String(value));
  if (value === null) return { kind: "null" };
  if (typeof value === "boolean") return { kind: "number", value: Number(value) };
  if (typeof value === "number" && Number.isFinite(value)) return { kind: "number", value };
  throw new FormulaProblem(
    value === undefined ? "undefined is not a value" : `${value} is not a finite number`,
  );
}

/** Words of mathjs that are neither functions nor constants here, and could mislead as names. */
const reserved: ReadonlySet<string> = new Set([
  "end",
  "to",
  "in",
  "and",
  "or",
  "xor",
  "not",
  "NaN",
  "Infinity",
]);

/** Whether formulas know the name. */
export const isWord = (name: string): boolean =>
  functions.has(name) || constantNames.includes(name) || reserved.has(name);

function readName(reader: Reader, name: string): Term {
  if (reader.dataPoints.has(name)) return readVariable(reader, name);
  const value = constants.get(name);
  if (value !== undefined) return { kind: "number", value };
  if (functions.has(name)) throw new FormulaProblem(`${name} is a function and needs ( )`, name);
  if (reserved.has(name)) throw new FormulaProblem(`${name} is a reserved name`, name);
  return readVariable(reader, name === "currentValue" ? "dataPoint" : name);
}

function readVariable(reader: Reader, variable: string): Term {
  const index = reader.variables.indexOf(variable);
  return { kind: "variable", column: index >= 0 ? index : reader.variables.push(variable) - 1 };
}

interface Operator extends MathNode {
  readonly op: string;
  readonly fn: string;
  readonly args: readonly MathNode[];
}

function readOperator(reader: Reader, node: MathNode): Term {
  const { op, fn, args } = node as Operator;
  const [first, second] = args;
  if (fn === "nullish" && first && second) {
    return { kind: "nullish", first: read(reader, first), second: read(reader, second) };
  }
  const operation = operators.get(fn);
  if (operation === undefined) throw new FormulaProblem(`the operator ${op} is not allowed`, op);
  return readOperands(reader, operation, args);
}

/** Does not count the node itself, which the caller has counted. */
function readOperands(reader: Reader, operation: Operation, args: readonly MathNode[]): Term {
  reader.weight += operation.weight - 1;
  return { kind: "operation", operation, operands: args.map((arg) => read(reader, arg)) };
}

interface Call extends MathNode {
  readonly fn: MathNode;
  readonly args: readonly MathNode[];
}

function readCall(reader: Reader, node: MathNode): Term {
  const { fn, args } = node as Call;
  const name = fn.type === "SymbolNode" ? (fn as SymbolNode).name : "";
  const operation = functions.get(name);
  if (operation === undefined) {
    const hint = rightName(name, isWord);
    throw new FormulaProblem(`${name || "this"} is not an allowed function${hint}`, name);
  }
  const { operandsMin, operandsMax } = operation;
  if (args.length < operandsMin || args.length > operandsMax) {
    const count = operandsMin === operandsMax ? `${operandsMin}` : `${operandsMin} to ${operandsMax}`;
    throw new FormulaProblem(`${name} takes ${count} operands, not ${args.length}`, name);
  }
  return readOperands(reader, operation, args);
}

interface Relational extends MathNode {
  readonly conditionals: readonly string[];
  readonly params: readonly MathNode[];
}

function readChain(reader: Reader, node: MathNode): Term {
  const { conditionals, params } = node as Relational;
  const comparisons = conditionals.map((name) => operators.get(name) as Operation);
  return { kind: "chain", comparisons, operands: params.map((param) => read(reader, param)) };
}

function readConditional(reader: Reader, node: MathNode): Term {
  const { condition, trueExpr, falseExpr } = node as ConditionalNode;
  const test = read(reader, condition);
  return { kind: "conditional", test, yes: read(reader, trueExpr), no: read(reader, falseExpr) };
}
