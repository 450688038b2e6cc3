/** The entries of a header in small letters with their quality values (RFC 9110 12.4.2). */
export function qualitiesOf(header: string | null): ReadonlyMap<string, number> {
  return new Map(
    (header ?? "").split(",").map((entry) => {
      const [name = "", ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase());
      const quality = Number(parameters.find((one) => one.startsWith("q="))?.slice(2) ?? 1);
      return [name, Number.isNaN(quality) ? 0 : quality];
    }),
  );
}
