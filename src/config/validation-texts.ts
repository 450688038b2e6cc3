import { z } from "@hono/zod-openapi";

/** A validator's findings in plain words, for checks without a message of their own. */

const absent = "is required";

const kinds: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  object: "an object",
  record: "an object",
  null: "null",
};

type RawIssue = z.core.$ZodRawIssue;
type Words = { readonly [Code in RawIssue["code"]]: (issue: RawIssue & { readonly code: Code }) => string };

const words: Words = {
  invalid_type: ({ expected }) => `must be ${kinds[expected] ?? "of another type"}`,
  too_small: ({ origin, minimum, inclusive, exact }) => size(origin, minimum, exact, inclusive, "least"),
  too_big: ({ origin, maximum, inclusive, exact }) => size(origin, maximum, exact, inclusive, "most"),
  invalid_format: () => "has the wrong form",
  not_multiple_of: ({ divisor }) => `must be a multiple of ${divisor}`,
  unrecognized_keys: ({ keys }) => `must not hold ${keys.join(", ")}`,
  invalid_union: () => "has none of the forms that it may have",
  invalid_key: () => "has a key that it may not have",
  invalid_element: () => "has an entry that it may not have",
  invalid_value: ({ values }) =>
    values.length === 1 ? `must be ${String(values[0])}` : `must be one of ${values.map(String).join(", ")}`,
  custom: () => "is not valid",
};

/** The units in which their sizes are counted. */
const units: Readonly<Record<string, string>> = { string: "characters", array: "entries", set: "entries" };

function size(
  origin: string,
  bound: number | bigint,
  exact: boolean | undefined,
  inclusive: boolean | undefined,
  end: "least" | "most",
): string {
  const unit = units[origin];
  if (unit === undefined) {
    if (inclusive === false) return `must be ${end === "least" ? "above" : "below"} ${bound}`;
    return `must be at ${end} ${bound}`;
  }
  if (exact === true) return `must have ${bound} ${unit}`;
  if (end === "least" && Number(bound) === 1) return "must not be empty";
  return `must have at ${end} ${bound} ${unit}`;
}

/** An error map of zod. */
export function inWords(issue: RawIssue): string {
  if (issue.code === "invalid_union") nearest.set(issue.errors, findNearestIssues(issue));
  if (issue.input === undefined && issue.code !== "custom") return absent;
  const write = words[issue.code] as (issue: RawIssue) => string;
  return write(issue);
}

type Issue = z.core.$ZodIssue;
type Union = RawIssue & { readonly code: "invalid_union" };

/** The issues of each form of a union → the issues of the form that was meant. */
const nearest = new WeakMap<readonly (readonly Issue[])[], readonly Issue[]>();

/** The issues of a value; for a union, those of the form that was meant. */
export function meant(issue: Issue): Issue[] {
  const form = issue.code === "invalid_union" ? nearest.get(issue.errors) : undefined;
  return (
    form?.flatMap((inner) => meant({ ...inner, path: [...issue.path, ...inner.path] }) as Issue[]) ?? [issue]
  );
}

/** The form with which the value shares the most fields; among equals, the one that lacks the fewest. */
function findNearestIssues({ errors, input, inst }: Union): readonly Issue[] {
  const options = inst instanceof z.ZodUnion ? inst.options : [];
  const given = typeof input === "object" && input !== null ? Object.keys(input) : [];
  const [found] = errors
    .map((issues, i) => {
      const option = options[i];
      const shape = option instanceof z.ZodObject ? option.shape : {};
      const shared = given.filter((key) => key in shape).length;
      return { issues, shared, lacking: issues.filter(({ message }) => message === absent).length };
    })
    .toSorted((a, b) => b.shared - a.shared || a.lacking - b.lacking);
  return found?.issues ?? [];
}
