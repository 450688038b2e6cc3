/** What the URL says about a list: its page, its search text and its filters. */
import { resolveSpan } from "../range/range.js";
import { shownZone } from "../shown.js";
import type { Filter, Resource } from "./resources.js";

type Query = Readonly<Record<string, string>>;
type Within = Readonly<Record<string, string | number>>;

export const filterParameter = (filter: Exclude<Filter, { kind: "time" }>): string =>
  filter.kind === "text" ? `${filter.field}_like` : filter.field;

/** A fixed field is no choice: the alerts of one device have no filter by device. */
export function listFilters({ filters = [] }: Resource, within: Within): readonly Filter[] {
  return filters.filter((one) => one.kind === "time" || !Object.hasOwn(within, one.field));
}

/** Parameters of the URL that filter the list. */
export const listParameterNames = (filters: readonly Filter[]): string[] =>
  filters.flatMap((one) => (one.kind === "time" ? ["from", "to"] : [filterParameter(one)]));

/** The query in a form that does not change as time passes: `-1h` is one query all day. */
export function createFilterQuery(
  { search }: Resource,
  filters: readonly Filter[],
  query: Query,
): Readonly<Record<string, string>> {
  const { q = "" } = query;
  const given = listParameterNames(filters).flatMap((name) => {
    const value = query[name] ?? "";
    return value === "" ? [] : [[name, value] as const];
  });
  return {
    ...(search === undefined || q === "" ? {} : { [`${search}_like`]: q }),
    ...Object.fromEntries(given),
  };
}

/** The query as the API takes it now. */
export function createListParameters(
  question: Readonly<Record<string, string>>,
): Readonly<Record<string, string | number>> {
  const { from, to, ...others } = question;
  if (from === undefined) return others;
  const span = resolveSpan({ start: from, end: to ?? "now" }, Date.now(), shownZone());
  if (span === null) return others;
  // A range up to now has no end: it includes records that have just begun.
  const end = to === undefined || to === "now" ? {} : { endTime: Math.round(span.to) };
  return { ...others, startTime: Math.round(span.from), ...end };
}
