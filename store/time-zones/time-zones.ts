import { fixedRules, type ZoneRules } from "./rules.js";

/** Which rules these are, and where they are from. */
export interface TimeZoneSource {
  /** The release of the IANA database, such as `2026f`; null where a folder does not say. */
  readonly version: string | null;
  /** The folder that TIMEZONE_DATA names; null: they came with the service. */
  readonly folder: string | null;
}

/** The files of a zoneinfo folder by the names of their zones, in memory that threads share. */
export interface ZoneFiles extends TimeZoneSource {
  readonly files: ReadonlyMap<string, Uint8Array>;
}

/** The rules of all time zones. */
export interface TimeZones extends TimeZoneSource {
  /** Null: they came with the service. */
  readonly files: ZoneFiles | null;
  /** The zones and links of the IANA database, ascending. */
  readonly names: readonly string[];
  /** The rules of a name, in any case, or of `±HH:MM`; undefined for what is neither. */
  rules(name: string): ZoneRules | undefined;
}

/** @param read is called once for each name that is asked for */
export function createTimeZones(
  { version, folder }: TimeZoneSource,
  files: ZoneFiles | null,
  found: Iterable<string>,
  read: (name: string) => ZoneRules,
): TimeZones {
  // A zone that says that no time has been set.
  const names = [...found].filter((name) => name !== "Factory").sort();
  const spellings = new Map(names.map((name) => [name.toLowerCase(), name]));
  const known = new Map<string, ZoneRules>();
  return {
    version,
    folder,
    files,
    names,
    rules: (asked) => {
      const name = spellings.get(asked.toLowerCase());
      if (name === undefined) return fixedRules(asked);
      const rules = known.get(name) ?? read(name);
      known.set(name, rules);
      return rules;
    },
  };
}
