/** The typed values of a form, and the request body made of them. */

interface Field {
  readonly name: string;
  readonly kind: string;
}

/** A value of a record as it is edited. */
export function formatFieldValue({ kind }: Pick<Field, "kind">, value: unknown): string {
  if (value === null || value === undefined) return "";
  if (kind === "choices" && Array.isArray(value)) return value.join();
  return typeof value === "object" || kind === "json" ? JSON.stringify(value) : String(value);
}

type Body =
  | { readonly body: Readonly<Record<string, unknown>> }
  /** Names of fields that are no JSON. */
  | { readonly unreadable: readonly string[] };

/**
 * Only what has a value, or of an edit what has changed: an emptied field is null there. Numbers go as they were typed:
 * the service reads them, and says what is wrong with them.
 * @param known the record that is edited; null: a new one
 */
export function createFormBody(
  fields: readonly Field[],
  texts: Readonly<Record<string, string>>,
  known: Readonly<Record<string, unknown>> | null,
): Body {
  const body: Record<string, unknown> = {};
  const unreadable: string[] = [];
  for (const field of fields) {
    const text = texts[field.name] ?? "";
    if (known !== null && text === formatFieldValue(field, known[field.name])) continue;
    if (text === "") {
      if (known !== null) body[field.name] = null;
      continue;
    }
    const value = valueOfText(field, text);
    if (value === undefined) unreadable.push(field.name);
    else body[field.name] = value;
  }
  return unreadable.length > 0 ? { unreadable } : { body };
}

/** Undefined for what is no JSON. */
function valueOfText({ kind }: Field, text: string): unknown {
  if (kind === "choices") return text.split(",").map(numberOr);
  if (kind === "choice") return numberOr(text);
  if (kind === "boolean") return text === "true";
  if (kind !== "json") return text;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const numberOr = (text: string): string | number => (/^-?\d+$/.test(text) ? Number(text) : text);
