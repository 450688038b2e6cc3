const dayMs = 86_400_000;
const oldMs = 366 * dayMs;

/** When releases of the IANA database had come out, at the latest; of others it is the end of their year. */
const releases: Readonly<Record<string, string>> = {
  "2025a": "2025-01-15",
  "2025b": "2025-03-22",
  "2026a": "2026-03-18",
  "2026b": "2026-04-26",
  "2026c": "2026-07-19",
  "2026d": "2026-09-15",
  "2026e": "2026-10-02",
  "2026f": "2026-10-29",
};

/** What an operator should know of a release of the rules, a sentence; null: it is recent. `now` in milliseconds. */
export function zoneVersionWarning(version: string | null, now: number): string | null {
  const [, year] = /^(\d{4})[a-z]+/.exec(version ?? "") ?? [];
  if (version === null || year === undefined) return "the version of the time zone rules is not known";
  const latest = releases[version] ?? `${year}-12-31`;
  if (now - Date.parse(latest) <= oldMs) return null;
  return `the time zone rules are of ${version}, which is more than a year old: update them, see docs/clock-and-time-zones.md`;
}
