import { invalid } from "./errors.js";

/**
 * The texts of a query parameter that lists several, each once. Commas separate them as they stand in the address: one
 * that belongs to a text is written `%2C`. @throws ApiError PARAMETER_INVALID
 */
export function listedTexts(url: string, name: string, most: number): string[] {
  const [, query = ""] = /\?([^#]*)/.exec(url) ?? [];
  const given = query.split("&").find((part) => decoded(part.split("=", 1)[0] ?? "") === name);
  const texts = (given ?? "")
    .slice((given?.indexOf("=") ?? -1) + 1)
    .split(",")
    .map(decoded);
  if (given === undefined || !given.includes("=") || texts.includes("")) {
    throw invalid({ [name]: "must be one, or several separated by commas" });
  }
  if (texts.includes(null)) throw invalid({ [name]: "must be percent-encoded UTF-8" });
  const unique = [...new Set(texts as string[])];
  if (unique.length > most) throw invalid({ [name]: `must be at most ${most}` });
  return unique;
}

/** Null for what is no percent-encoded UTF-8. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return null;
  }
}
