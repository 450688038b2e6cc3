import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { asError, StoreError } from "../lib/errors.js";
import { createTimeZones, type TimeZones } from "./time-zones.js";
import { isTzif, readTzif, tzifParts } from "./tzif.js";

/** Beside the zones: the same with leap seconds and once more without them, and what the machine itself goes by. */
const notZones = new Set(["right", "posix", "posixrules", "localtime"]);
const fileBytesMax = 1024 * 1024;

/**
 * Opens a zoneinfo folder, such as /usr/share/zoneinfo. All files are read now, so that an update of the folder does not
 * mix two versions; each is decoded when its zone is first asked for.
 * @throws StoreError INVALID for a folder that is none, CORRUPT for a damaged file
 */
export function openZoneFolder(folder: string): TimeZones {
  const files = new Map<string, Uint8Array>();
  try {
    for (const name of filesUnder(folder, "")) {
      const path = join(folder, name);
      if (statSync(path).size > fileBytesMax) continue;
      const bytes = readFileSync(path);
      if (isTzif(bytes)) files.set(name, bytes);
    }
  } catch (error) {
    throw new StoreError("INVALID", `cannot read the folder ${folder}: ${asError(error).message}`);
  }
  if (!files.has("UTC")) {
    throw new StoreError("INVALID", `${folder} is no zoneinfo folder: it has no file UTC of compiled rules`);
  }
  for (const [name, bytes] of files) tzifParts(name, bytes);
  return createTimeZones({ version: versionOf(folder), folder }, files.keys(), (name) =>
    readTzif(name, files.get(name) ?? new Uint8Array()),
  );
}

function filesUnder(folder: string, parent: string): string[] {
  return readdirSync(join(folder, parent)).flatMap((entry) => {
    const name = parent === "" ? entry : `${parent}/${entry}`;
    if (notZones.has(name)) return [];
    return statSync(join(folder, name)).isDirectory() ? filesUnder(folder, name) : [name];
  });
}

/** As the folder's files say; null where none does. */
function versionOf(folder: string): string | null {
  const [, source] = /^# version (\S+)/.exec(textOf(join(folder, "tzdata.zi"))) ?? [];
  const [, plain] = /^(\d{4}[a-z]+)\s*$/.exec(textOf(join(folder, "+VERSION"))) ?? [];
  const version = source ?? plain ?? null;
  return version === "unknown" ? null : version;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
