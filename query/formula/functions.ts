import * as arithmetic from "./arithmetic.js";

/** An operation that formulas may use. The templates take names of numbers in generated code, and nothing else. */
export interface Operation {
  readonly operandsMin: number;
  readonly operandsMax: number;
  /** The parts that it counts as when a formula is saved; a part takes some 30 ns a point. */
  readonly weight: number;
  readonly value: (operands: readonly string[]) => string;
  /** The condition for a real result; elsewhere mathjs gives a complex number or throws. */
  readonly domain?: (operands: readonly string[]) => string;
  /** The first operand may decide alone, and then the second is not evaluated. */
  readonly decided?: (first: string) => { readonly when: string; readonly value: string };
}

type One = (x: string) => string;
type Two = (x: string, y: string) => string;

const at = (operands: readonly string[], index: number): string => operands[index] ?? "NaN";

function one(value: One, domain?: One): Operation {
  return {
    operandsMin: 1,
    operandsMax: 1,
    weight: 1,
    value: (operands) => value(at(operands, 0)),
    ...(domain === undefined ? {} : { domain: (operands) => domain(at(operands, 0)) }),
  };
}

function two(value: Two, domain?: Two): Operation {
  const apply = (template: Two) => (operands: readonly string[]) =>
    template(at(operands, 0), at(operands, 1));
  return {
    operandsMin: 2,
    operandsMax: 2,
    weight: 1,
    value: apply(value),
    ...(domain === undefined ? {} : { domain: apply(domain) }),
  };
}

/** A function of JavaScript's own Math. */
const math = (name: string, domain?: One): Operation => one((x) => `Math.${name}(${x})`, domain);

const weighing = (weight: number, operation: Operation): Operation => ({ ...operation, weight });
const slow = (name: string, domain?: One): Operation => weighing(2, math(name, domain));

/** Takes decimals as an optional second operand. */
const decimal = (name: string): Operation => ({
  operandsMin: 1,
  operandsMax: 2,
  weight: 4,
  value: ([x, decimals = "0"]) => `${name}(${x}, ${decimals})`,
  domain: ([, decimals]) => (decimals === undefined ? "true" : `isDecimals(${decimals})`),
});

/** Takes a base as an optional second operand; `least` is where the real logarithm begins. */
const logarithm = (name: string, least: number): Operation => ({
  operandsMin: 1,
  operandsMax: 2,
  weight: 2,
  value: ([x, base]) => `Math.${name}(${x})${base === undefined ? "" : ` / Math.log(${base})`}`,
  domain: ([x, base]) => `${x} >= ${least}${base === undefined ? "" : ` && ${base} >= 0`}`,
});

/** Takes any number of operands, two by two. */
const fold = (name: string): Operation => ({
  operandsMin: 1,
  operandsMax: 200,
  weight: 1,
  value: (operands) => operands.reduce((so, x) => `${name}(${so}, ${x})`),
});

const truth = (condition: string): string => `(${condition} ? 1 : 0)`;
const comparison = (condition: Two): Operation => two((x, y) => truth(condition(x, y)));

const bits = (operator: string): Operation =>
  two(
    (x, y) => `(${x} ${operator} ${y})`,
    (x, y) => `Number.isInteger(${x}) && Number.isInteger(${y})`,
  );

/** A first operand of all zeros or all ones decides the bits, and NaN stays NaN. */
const settledBits = (operator: string, settled: number): Operation => ({
  ...bits(operator),
  decided: (x) => ({ when: `${x} === ${settled} || ${x} !== ${x}`, value: x }),
});

const power = weighing(
  4,
  two(
    (x, y) => `pow(${x}, ${y})`,
    (x, y) => `isRealPower(${x}, ${y})`,
  ),
);
const modulo = weighing(
  2,
  two((x, y) => `mod(${x}, ${y})`),
);

const bitwise = {
  bitAnd: settledBits("&", 0),
  bitOr: settledBits("|", -1),
  bitXor: bits("^"),
  bitNot: one(
    (x) => `(~${x})`,
    (x) => `Number.isInteger(${x})`,
  ),
  leftShift: bits("<<"),
  rightArithShift: bits(">>"),
  rightLogShift: bits(">>>"),
} satisfies Record<string, Operation>;

/** The operators, by the names that mathjs gives them. */
export const operators: ReadonlyMap<string, Operation> = new Map<string, Operation>(
  Object.entries({
    ...bitwise,
    add: two((x, y) => `(${x} + ${y})`),
    subtract: two((x, y) => `(${x} - ${y})`),
    multiply: two((x, y) => `(${x} * ${y})`),
    divide: two((x, y) => `(${x} / ${y})`),
    mod: modulo,
    pow: power,
    unaryMinus: one((x) => `(-${x})`),
    unaryPlus: one((x) => x),
    not: one((x) => `(${x} ? 0 : 1)`),
    and: {
      ...two((_x, y) => truth(y)),
      decided: (x) => ({ when: `!${x}`, value: "0" }),
    },
    or: {
      ...two((_x, y) => truth(y)),
      decided: (x) => ({ when: x, value: "1" }),
    },
    xor: comparison((x, y) => `!${x} !== !${y}`),
    equal: comparison((x, y) => `nearlyEqual(${x}, ${y})`),
    unequal: comparison((x, y) => `!nearlyEqual(${x}, ${y})`),
    smaller: comparison((x, y) => `smaller(${x}, ${y})`),
    larger: comparison((x, y) => `smaller(${y}, ${x})`),
    smallerEq: comparison((x, y) => `smallerEq(${x}, ${y})`),
    largerEq: comparison((x, y) => `smallerEq(${y}, ${x})`),
  }),
);

/**
 * The functions that formulas may call, with the semantics of mathjs for numbers; none loops over data or allocates.
 */
export const functions: ReadonlyMap<string, Operation> = new Map<string, Operation>(
  Object.entries({
    ...bitwise,
    mod: modulo,
    pow: power,
    abs: math("abs"),
    sign: math("sign"),
    ceil: decimal("ceil"),
    floor: decimal("floor"),
    fix: decimal("fix"),
    round: decimal("round"),
    min: fold("min"),
    max: fold("max"),
    hypot: { operandsMin: 1, operandsMax: 200, weight: 4, value: (operands) => `hypot(${operands})` },
    sqrt: math("sqrt", (x) => `${x} >= 0 || ${x} !== ${x}`),
    cbrt: slow("cbrt"),
    nthRoot: {
      operandsMin: 1,
      operandsMax: 2,
      weight: 6,
      value: ([x, root = "2"]) => `nthRoot(${x}, ${root})`,
      domain: ([x, root = "2"]) => `isRealRoot(${x}, ${root})`,
    },
    square: one((x) => `(${x} * ${x})`),
    cube: one((x) => `(${x} * ${x} * ${x})`),
    exp: slow("exp"),
    expm1: slow("expm1"),
    log: logarithm("log", 0),
    log1p: logarithm("log1p", -1),
    log2: slow("log2", (x) => `${x} >= 0`),
    log10: slow("log10", (x) => `${x} >= 0`),
    sin: weighing(6, math("sin")),
    cos: weighing(6, math("cos")),
    tan: weighing(6, math("tan")),
    asin: slow("asin", (x) => `Math.abs(${x}) <= 1`),
    acos: slow("acos", (x) => `Math.abs(${x}) <= 1`),
    atan: slow("atan"),
    atan2: weighing(
      2,
      two((y, x) => `Math.atan2(${y}, ${x})`),
    ),
    sinh: slow("sinh"),
    cosh: slow("cosh"),
    tanh: slow("tanh"),
    asinh: slow("asinh"),
    acosh: slow("acosh", (x) => `${x} >= 1`),
    atanh: slow("atanh", (x) => `Math.abs(${x}) <= 1`),
  }),
);

export const constants: ReadonlyMap<string, number> = new Map([
  ["pi", Math.PI],
  ["e", Math.E],
  ["tau", 2 * Math.PI],
]);

/** The functions that the templates call by name. */
export const helpers: Readonly<Record<string, (...operands: number[]) => number | boolean>> = arithmetic;
