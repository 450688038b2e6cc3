import type { Line } from "./lines.js";

/** The values of an answer as they are drawn: yes and no are 1 and 0. */
export function drawnValues(
  answered: readonly (number | boolean | string | null)[],
): Required<Pick<Line, "values" | "isStepped">> {
  return {
    values: answered.map((value) => (value === null ? null : Number(value))),
    isStepped: answered.some((value) => typeof value === "boolean"),
  };
}
