import { helpers, type Operation } from "./functions.js";

/** A checked formula. */
export type Term =
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "null" }
  | { readonly kind: "variable"; readonly column: number }
  | { readonly kind: "operation"; readonly operation: Operation; readonly operands: readonly Term[] }
  | { readonly kind: "conditional"; readonly test: Term; readonly yes: Term; readonly no: Term }
  /** `first ?? second`: the second if the first is null. */
  | { readonly kind: "nullish"; readonly first: Term; readonly second: Term }
  /** `1 < x < 3`: evaluated from left to right up to the first comparison that fails. */
  | {
      readonly kind: "chain";
      readonly comparisons: readonly Operation[];
      readonly operands: readonly Term[];
    };

/** Fills `out[0…n)`, with NaN for rows without a result; returns how many of those rows had no null operand. */
type Program = (n: number, columns: readonly Float64Array[], out: Float64Array) => number;

const helperNames = Object.keys(helpers);

// This makes code from text that users wrote, yet it is safe: none of that text gets here. Columns and temporaries are
// numbered, numbers are printed by JavaScript from parsed values, and all else is the templates of this folder, which
// take only those names. Anything that mathjs parsed but is no Term was refused before.
export function compileProgram(term: Term, columnCount: number): Program {
  const columns = Array.from({ length: columnCount }, (_, index) => `const c${index} = columns[${index}];`);
  const source = `"use strict";
return (n, columns, out) => {
${columns.join("\n")}
let errors = 0;
rows: for (let i = 0; i < n; i++) {
${rowCode(term)}
}
return errors;
};`;
  return new Function(...helperNames, source)(...helperNames.map((name) => helpers[name])) as Program;
}

const failed = "{ out[i] = NaN; errors++; continue rows; }";

interface Code {
  readonly lines: string[];
  /** A new name for a number, unique in the row. */
  readonly fresh: () => string;
}

function rowCode(term: Term): string {
  let count = 0;
  const code: Code = { lines: [], fresh: () => `t${count++}` };
  const result = write(code, term, "{ out[i] = NaN; continue rows; }");
  code.lines.push(`const result = ${result};`, `if (result - result !== 0) ${failed}`, "out[i] = result;");
  return code.lines.join("\n");
}

/** Appends the code that computes the term, and returns its name; `onNull` is the jump taken if an operand is null. */
function write(code: Code, term: Term, onNull: string): string {
  switch (term.kind) {
    case "number":
      return String(term.value);
    case "null": {
      // The condition is always true; it keeps the code after it reachable for the parser.
      code.lines.push(`if (n > 0) ${onNull}`);
      return "NaN";
    }
    case "variable": {
      const name = keep(code, `c${term.column}[i]`);
      code.lines.push(`if (${name} !== ${name}) ${onNull}`);
      return name;
    }
    case "operation":
      return writeOperation(code, term.operation, term.operands, onNull);
    case "conditional":
      return writeConditional(code, term, onNull);
    case "nullish":
      return writeNullish(code, term, onNull);
    case "chain":
      return writeChain(code, term, onNull);
  }
}

type Kind<K extends Term["kind"]> = Extract<Term, { readonly kind: K }>;

function keep(code: Code, expression: string): string {
  const name = code.fresh();
  code.lines.push(`const ${name} = ${expression};`);
  return name;
}

function apply(code: Code, operation: Operation, names: readonly string[]): string {
  const domain = operation.domain?.(names);
  if (domain !== undefined) code.lines.push(`if (!(${domain})) ${failed}`);
  return keep(code, operation.value(names));
}

function writeOperation(code: Code, operation: Operation, operands: readonly Term[], onNull: string): string {
  const [first, second] = operands;
  if (operation.decided === undefined || first === undefined || second === undefined) {
    return apply(
      code,
      operation,
      operands.map((operand) => write(code, operand, onNull)),
    );
  }
  const name = write(code, first, onNull);
  const { when, value } = operation.decided(name);
  const both = () => apply(code, operation, [name, write(code, second, onNull)]);
  return writeBranches(code, when, () => value, both);
}

/** Assigns one of two results; only the chosen one is evaluated. */
function writeBranches(code: Code, when: string, yes: () => string, no: () => string): string {
  const name = code.fresh();
  code.lines.push(`let ${name};`, `if (${when}) {`);
  code.lines.push(`${name} = ${yes()};`, "} else {");
  code.lines.push(`${name} = ${no()};`, "}");
  return name;
}

function writeConditional(code: Code, { test, yes, no }: Kind<"conditional">, onNull: string): string {
  const when = write(code, test, onNull);
  return writeBranches(
    code,
    when,
    () => write(code, yes, onNull),
    () => write(code, no, onNull),
  );
}

function writeNullish(code: Code, term: Kind<"nullish">, onNull: string): string {
  const name = code.fresh();
  const label = `${name}Null`;
  const done = `${name}Done`;
  code.lines.push(`let ${name};`, `${done}: {`, `${label}: {`);
  const first = write(code, term.first, `break ${label};`);
  code.lines.push(`${name} = ${first};`, `break ${done};`, "}");
  const second = write(code, term.second, onNull);
  code.lines.push(`${name} = ${second};`, "}");
  return name;
}

function writeChain(code: Code, term: Kind<"chain">, onNull: string): string {
  const name = code.fresh();
  const [first, ...others] = term.operands;
  code.lines.push(`let ${name} = 0;`, `${name}Chain: {`);
  let left = first === undefined ? "NaN" : write(code, first, onNull);
  for (const [index, operand] of others.entries()) {
    const right = write(code, operand, onNull);
    const comparison = term.comparisons[index];
    if (comparison) code.lines.push(`if (!${comparison.value([left, right])}) break ${name}Chain;`);
    left = right;
  }
  code.lines.push(`${name} = 1;`, "}");
  return name;
}
