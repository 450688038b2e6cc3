/**
 * Plain arithmetic over the value of one point, in operations that every engine can compute: the same ones in the same
 * order on IEEE doubles, so that all engines give the same bits.
 */
export type Arithmetic =
  | { readonly kind: "value" }
  /** A finite number. */
  | { readonly kind: "number"; readonly value: number }
  | {
      readonly kind: "operation";
      readonly operator: Operator;
      readonly left: Arithmetic;
      readonly right: Arithmetic;
    };

export type Operator = "+" | "-" | "*" | "/";

const operators: Readonly<Record<Operator, (a: number, b: number) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
};

/** The arithmetic of one value; a value that is not finite has no result. */
export function computeOne(arithmetic: Arithmetic, value: number): number {
  switch (arithmetic.kind) {
    case "value":
      return value;
    case "number":
      return arithmetic.value;
    case "operation": {
      const { operator, left, right } = arithmetic;
      return operators[operator](computeOne(left, value), computeOne(right, value));
    }
  }
}

/** The arithmetic of each value, in a new column. */
export function computeColumn(arithmetic: Arithmetic, values: Float64Array): Float64Array {
  const result = compute(arithmetic, values);
  return typeof result === "number" ? new Float64Array(values.length).fill(result) : result;
}

type Operand = Float64Array | number;

function compute(arithmetic: Arithmetic, values: Float64Array): Operand {
  switch (arithmetic.kind) {
    case "value":
      return values;
    case "number":
      return arithmetic.value;
    case "operation": {
      const { operator, left, right } = arithmetic;
      const [a, b] = [compute(left, values), compute(right, values)];
      if (typeof a === "number" && typeof b === "number") return operators[operator](a, b);
      return loops[operator](a, b, new Float64Array(values.length));
    }
  }
}

/** A loop for each operator: one that is given its operator calls it for every value and takes five times as long. */
const loops: Readonly<Record<Operator, (a: Operand, b: Operand, out: Float64Array) => Float64Array>> = {
  "+": (a, b, out) => {
    if (typeof a === "number") for (let i = 0; i < out.length; i++) out[i] = a + at(b, i);
    else if (typeof b === "number") for (let i = 0; i < out.length; i++) out[i] = at(a, i) + b;
    else for (let i = 0; i < out.length; i++) out[i] = at(a, i) + at(b, i);
    return out;
  },
  "-": (a, b, out) => {
    if (typeof a === "number") for (let i = 0; i < out.length; i++) out[i] = a - at(b, i);
    else if (typeof b === "number") for (let i = 0; i < out.length; i++) out[i] = at(a, i) - b;
    else for (let i = 0; i < out.length; i++) out[i] = at(a, i) - at(b, i);
    return out;
  },
  "*": (a, b, out) => {
    if (typeof a === "number") for (let i = 0; i < out.length; i++) out[i] = a * at(b, i);
    else if (typeof b === "number") for (let i = 0; i < out.length; i++) out[i] = at(a, i) * b;
    else for (let i = 0; i < out.length; i++) out[i] = at(a, i) * at(b, i);
    return out;
  },
  "/": (a, b, out) => {
    if (typeof a === "number") for (let i = 0; i < out.length; i++) out[i] = a / at(b, i);
    else if (typeof b === "number") for (let i = 0; i < out.length; i++) out[i] = at(a, i) / b;
    else for (let i = 0; i < out.length; i++) out[i] = at(a, i) / at(b, i);
    return out;
  },
};

const at = (operand: Operand, i: number): number => (operand as Float64Array)[i] as number;

/**
 * 1 where the result never falls as the value rises, -1 where it never rises, else null. The value meets only literals,
 * one after another, and rounding keeps order, so a result that is finite at two values is finite between them.
 */
export function findDirection(arithmetic: Arithmetic): 1 | -1 | null {
  if (arithmetic.kind === "value") return 1;
  if (arithmetic.kind === "number") return null;
  const { operator, left, right } = arithmetic;
  if (right.kind === "number") {
    const inner = findDirection(left);
    return inner === null ? null : applyDirection(inner, operator, right.value);
  }
  if (left.kind !== "number" || operator === "/") return null;
  const inner = findDirection(right);
  if (inner === null) return null;
  return operator === "-" ? opposite[inner] : applyDirection(inner, operator, left.value);
}

const opposite = { 1: -1, [-1]: 1 } as const;

function applyDirection(direction: 1 | -1, operator: Operator, by: number): 1 | -1 | null {
  if (operator === "+" || operator === "-") return direction;
  if (by === 0) return null;
  return by > 0 ? direction : opposite[direction];
}
