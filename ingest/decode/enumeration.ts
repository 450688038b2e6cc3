import type { Converter } from "./values.js";

/** An enumeration's values are the deployment's, so no time zone reads them. */
const noZone = () => null;

/**
 * The enumeration's values as they are stored; null if it has no entries of the right type: then all values are taken.
 */
export function valuesOfEnum(
  convert: Converter,
  entries: readonly { readonly value: unknown }[],
): ReadonlySet<number | boolean | string> | null {
  const allowed = new Set(
    entries.flatMap((entry) => {
      const converted = convert(entry.value, noZone);
      return "value" in converted ? [converted.value] : [];
    }),
  );
  return allowed.size === 0 ? null : allowed;
}

/** Refuses a value that is not one of the enumeration's. */
export function withEnum(convert: Converter, entries: readonly { readonly value: unknown }[]): Converter {
  const allowed = valuesOfEnum(convert, entries);
  if (allowed === null) return convert;
  return (value, local) => {
    const converted = convert(value, local);
    return "reason" in converted || allowed.has(converted.value) ? converted : { reason: "enum" };
  };
}
