import type { Converter } from "./values.js";

/** An enumeration's values are the deployment's, so no time zone reads them. */
const noZone = () => null;

/** Refuses what is none of the enumeration's values. Without entries, or with none of the right type, all are taken. */
export function withEnum(convert: Converter, entries: readonly { readonly value: unknown }[]): Converter {
  const allowed = new Set(
    entries.flatMap((entry) => {
      const converted = convert(entry.value, noZone);
      return "value" in converted ? [converted.value] : [];
    }),
  );
  if (allowed.size === 0) return convert;
  return (value, local) => {
    const converted = convert(value, local);
    return "reason" in converted || allowed.has(converted.value) ? converted : { reason: "enum" };
  };
}
