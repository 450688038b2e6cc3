import { readFileSync } from "node:fs";
import { createRules, type Transition, type ZoneRules } from "./rules.js";
import { createTimeZones, type TimeZones } from "./time-zones.js";

/**
 * The database that comes with the service: that of moment-timezone, which the build puts beside the program. A zone is a
 * line `name|abbreviations|offsets|indices|changes|population`, a link `target|name`; numbers are of base 60.
 */
interface PackedFile {
  readonly version: string;
  readonly zones: readonly string[];
  readonly links: readonly string[];
}

const packedFile = new URL("../../time-zones.json", import.meta.url);
let opened: TimeZones | null = null;

/** Read at the first call; a zone is unpacked when it is first asked for. */
export function packedTimeZones(): TimeZones {
  opened ??= openPacked(JSON.parse(readFileSync(packedFile, "utf8")) as PackedFile);
  return opened;
}

function openPacked({ version, zones, links }: PackedFile): TimeZones {
  const lines = new Map(zones.map((line) => [line.slice(0, line.indexOf("|")), line]));
  for (const link of links) {
    const [target = "", name = ""] = link.split("|");
    lines.set(name, lines.get(target) ?? "");
  }
  return createTimeZones({ version, folder: null }, null, lines.keys(), (name) =>
    readPackedZone(name, lines.get(name) ?? ""),
  );
}

function readPackedZone(name: string, line: string): ZoneRules {
  const [, , offsetList = "", indices = "", changes = ""] = line.split("|");
  // Minutes behind UTC.
  const offsets = offsetList.split(" ").map((text) => -readSeconds(text));
  const sequence = [...indices].map((digit) => offsets[digits.indexOf(digit)] ?? Number.NaN);
  const transitions: Transition[] = [];
  let at = 0;
  for (const [i, step] of (changes === "" ? [] : changes.split(" ")).entries()) {
    at += readSeconds(step);
    transitions.push({ at, offset: sequence[i + 1] ?? Number.NaN });
  }
  return createRules(name, sequence[0] ?? Number.NaN, transitions);
}

const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX";

/** Minutes in base 60, with one digit of seconds behind the point, as seconds. */
function readSeconds(text: string): number {
  const [minutes = "", seconds = "0"] = text.replace("-", "").split(".");
  let value = 0;
  for (const digit of minutes) value = value * 60 + digits.indexOf(digit);
  value = value * 60 + digits.indexOf(seconds);
  return text.startsWith("-") ? -value : value;
}
