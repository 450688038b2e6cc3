import { z } from "@hono/zod-openapi";
import { hitTypes, type SearchHit } from "../../store/metadata/search-hits.js";
import { intSchema, textOrNull } from "../http/schemas.js";

export const searchHitSchema = z
  .object({
    type: z.enum(hitTypes),
    id: intSchema,
    name: z.string(),
    detail: textOrNull.openapi({ description: "its string id and its product, or a user's role" }),
  })
  .openapi("SearchHit");

export function searchHit({ type, id, name, code, productName }: SearchHit) {
  const known = [code, productName].filter((text) => text !== null);
  return { type, id, name, detail: known.length === 0 ? null : known.join(" · ") };
}

/** The best first; of equally good ones each type in turn, so that no type hides the others. */
export function ranked(hits: readonly SearchHit[], limit: number): SearchHit[] {
  const places = new Map<string, number>();
  const placed = hits.map((hit) => {
    const group = `${hit.rank} ${hit.type}`;
    const place = places.get(group) ?? 0;
    places.set(group, place + 1);
    return { hit, place };
  });
  const inOrder = placed.sort(
    (a, b) =>
      a.hit.rank - b.hit.rank ||
      a.place - b.place ||
      hitTypes.indexOf(a.hit.type) - hitTypes.indexOf(b.hit.type),
  );
  return inOrder.slice(0, limit).map(({ hit }) => hit);
}
