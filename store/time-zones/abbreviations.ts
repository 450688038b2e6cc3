/**
 * Abbreviations that were taken for time zones up to version 0.1, since Node.js knows them: which place each of them
 * meant, and for which places it may stand. None is a name of the IANA database.
 */
const table: Readonly<Record<string, readonly [meant: string, ...others: string[]]>> = {
  ACT: ["Australia/Darwin", "America/Rio_Branco"],
  AET: ["Australia/Sydney"],
  AGT: ["America/Argentina/Buenos_Aires"],
  ART: ["Africa/Cairo", "America/Argentina/Buenos_Aires"],
  AST: ["America/Anchorage", "America/Halifax", "Asia/Riyadh"],
  BET: ["America/Sao_Paulo"],
  BST: ["Asia/Dhaka", "Europe/London"],
  CAT: ["Africa/Maputo"],
  CNT: ["America/St_Johns"],
  CST: ["America/Chicago", "Asia/Shanghai"],
  CTT: ["Asia/Shanghai"],
  EAT: ["Africa/Nairobi"],
  ECT: ["Europe/Paris", "America/Guayaquil"],
  IET: ["America/Indiana/Indianapolis"],
  IST: ["Asia/Kolkata", "Europe/Dublin", "Asia/Jerusalem"],
  JST: ["Asia/Tokyo"],
  MIT: ["Pacific/Apia"],
  NET: ["Asia/Yerevan"],
  NST: ["Pacific/Auckland", "America/St_Johns"],
  PLT: ["Asia/Karachi"],
  PNT: ["America/Phoenix"],
  PRT: ["America/Puerto_Rico"],
  PST: ["America/Los_Angeles", "Asia/Manila"],
  SST: ["Pacific/Guadalcanal", "Pacific/Pago_Pago"],
  VST: ["Asia/Ho_Chi_Minh"],
};
const abbreviations = new Map(Object.entries(table));

/** The place that an abbreviation in a stored record has always meant here; undefined for any other name. */
export const abbreviatedPlace = (name: string): string | undefined =>
  abbreviations.get(name.toUpperCase())?.[0];

/** Explains why a name is no time zone, and what to write in its place. */
export function suggestZone(name: string): string {
  const places = abbreviations.get(name.toUpperCase());
  if (places !== undefined) {
    return `is not an IANA time zone but an abbreviation: name a place, such as ${places.join(" or ")}`;
  }
  return "is not an IANA time zone: name a place, such as Asia/Shanghai, or write ±HH:MM";
}
