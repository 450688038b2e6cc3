/** Lists that the API answers all of at once. */
import type { Page } from "../api.js";
import type { Row } from "./resources.js";

interface Asked {
  readonly _page: number;
  readonly _limit: number;
}

/** The page of them that a service would have answered. */
export function pageOfWhole(
  rows: readonly Row[],
  { _page: page, _limit: limit }: Asked,
  question: Readonly<Record<string, string>>,
): Page<Row> {
  const wanted = Object.entries(question).map(
    ([name, text]) => [name.replace(/_like$/, ""), text.toLowerCase()] as const,
  );
  const found = rows.filter((row) =>
    wanted.every(([field, text]) => String(row[field]).toLowerCase().includes(text)),
  );
  return {
    items: found.slice((page - 1) * limit, page * limit),
    meta: { count: found.length, limit, page },
  };
}
