/** Conditions that can be put together of parts: comparisons of values with numbers, all or any of which must hold. */

export const operators = [">", ">=", "<", "<=", "==", "!="] as const;
type Operator = (typeof operators)[number];

export interface Part {
  /** `dataPoint`, `lastValue` or a dataPointID. */
  readonly name: string;
  readonly operator: Operator;
  /** As it is typed. */
  readonly value: string;
}

export interface Condition {
  readonly join: "and" | "or";
  readonly parts: readonly Part[];
}

const comparison = /^([A-Za-z_][A-Za-z0-9_]*)\s*(>=|<=|==|!=|>|<)\s*(\S*)$/;
/** Also one that is still being typed. */
const number = /^-?[\d.]*(?:e[+-]?\d*)?$/i;

/** Null for a formula that is more than that. */
export function parseCondition(text: string): Condition | null {
  if (text.trim() === "") return { join: "and", parts: [{ name: "dataPoint", operator: ">", value: "" }] };
  const pieces = text.split(/\b(and|or)\b/);
  const joins = new Set(pieces.filter((_, i) => i % 2 === 1));
  if (joins.size > 1) return null;
  const parts = pieces
    .filter((_, i) => i % 2 === 0)
    .map((piece): Part | null => {
      const [, name, operator, value = ""] = comparison.exec(piece.trim()) ?? [];
      if (name === undefined || !number.test(value)) return null;
      return { name, operator: operator as Operator, value };
    });
  if (parts.some((part) => part === null)) return null;
  return { join: joins.has("or") ? "or" : "and", parts: parts as Part[] };
}

export const textOfCondition = ({ join, parts }: Condition): string =>
  parts.map(({ name, operator, value }) => `${name} ${operator} ${value}`).join(` ${join} `);
