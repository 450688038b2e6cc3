/** Pages of a list, and the ids that a removal names. */
import { z } from "@hono/zod-openapi";
import { createSlice } from "../../store/lib/scheduling.js";
import { createPageBudget } from "../../store/metadata/db/page-bytes.js";
import type { Page, PageRequest } from "../../store/metadata/db/table.js";
import { ApiError, invalid } from "./errors.js";
import { chunksOfTexts, createByteStream } from "./json-stream.js";
import { jsonType, type RouteAnswer } from "./route.js";

export const idsMax = 1000;

/** Longer pages are made as their reader takes them. */
const wholeBytesMax = 64 * 1024;

/**
 * The page envelope of the interface. A page ends after a whole row within `pageBytesMax` of JSON, and says that it is
 * truncated.
 */
export async function pageAnswer<Row>(
  page: Page<Row>,
  request: PageRequest,
  view: (row: Row) => object,
): Promise<RouteAnswer> {
  const budget = createPageBudget();
  const slice = createSlice();
  const rows: string[] = [];
  let bytes = 0;
  for (const row of page.items) {
    const text = JSON.stringify(view(row));
    const own = Buffer.byteLength(text);
    if (!budget.fits(own)) break;
    bytes += own;
    rows.push(text);
    if (slice.isOver()) await slice.next();
  }
  const meta = JSON.stringify({ count: page.count, limit: request.limit, page: request.page });
  return {
    status: 200,
    type: jsonType,
    body:
      bytes <= wholeBytesMax
        ? [...pageTexts(rows, meta)].join("")
        : createByteStream(chunksOfTexts(pageTexts(rows, meta))),
    headers: page.truncated === true || budget.full ? { Truncated: "true" } : {},
    held: bytes,
  };
}

/** Releases each row as it is read. */
function* pageTexts(rows: string[], meta: string): Generator<string, void> {
  yield '{"items":[';
  for (const [i, row] of rows.entries()) {
    rows[i] = "";
    yield i === 0 ? row : `,${row}`;
  }
  yield `],"meta":${meta}}`;
}

export const idsQuery = z.object({
  ids: z
    .string()
    .optional()
    .openapi({ description: `one id, or up to ${idsMax} separated by commas`, example: "1,2" }),
});

/** The id texts of `ids`, each once. @throws ApiError PARAMETER_INVALID */
export function idTexts(query: { readonly ids?: string | undefined }): string[] {
  const texts = (query.ids ?? "").split(",").map((text) => text.trim());
  if (texts.some((text) => text === ""))
    throw invalid({ ids: "must be one id, or several separated by commas" });
  const unique = [...new Set(texts)];
  if (unique.length > idsMax) throw invalid({ ids: `must be at most ${idsMax} ids` });
  return unique;
}

/** The one record id of a path. @throws ApiError DATA_NOT_FOUND */
export function only(ids: readonly number[]): number {
  const [id] = ids;
  if (id === undefined) throw new ApiError("DATA_NOT_FOUND", "cannot find the record");
  return id;
}
