import { z } from "@hono/zod-openapi";
import { integerField } from "../http/fields.js";
import { idsMax } from "../http/paging.js";

/** The ids that bind and unbind calls carry in their bodies. */

const idText = z
  .union([z.number().int(), z.string().trim().min(1)])
  .transform(String)
  .openapi({ anyOf: [{ type: "integer" }, { type: "string" }] });

/** Record ids, or string ids where the records have them; as texts, each once. */
export const idArray = z.array(idText).max(idsMax).transform(unique);

/** Record ids only; as texts, each once. */
export const recordIDArray = z
  .array(integerField())
  .max(idsMax)
  .transform((ids) => unique(ids.map(String)));

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
