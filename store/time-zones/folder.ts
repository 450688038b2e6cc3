import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { asError, StoreError } from "../lib/errors.js";
import { createTimeZones, type TimeZones, type ZoneFiles } from "./time-zones.js";
import { isTzif, readTzif, tzifParts } from "./tzif.js";

/** Beside the zones: all of them with leap seconds, all of them once more, and what the machine itself goes by. */
const notZones = new Set(["right", "posix", "posixrules", "localtime"]);
/** `America/Argentina/Ushuaia`. */
const partsMax = 3;
const fileBytesMax = 1024 * 1024;

/**
 * Opens a zoneinfo folder, such as /usr/share/zoneinfo. All files are read now, so that an update of the folder does not
 * mix two versions; each is decoded when its zone is first asked for.
 * @throws StoreError INVALID for another folder, CORRUPT for a damaged file
 */
export function openZoneFolder(folder: string): TimeZones {
  return zonesOfFiles(readZoneFolder(folder));
}

/** The rules in files that have been read, by this thread or by the one that has started it. */
export function zonesOfFiles(read: ZoneFiles): TimeZones {
  const { files } = read;
  return createTimeZones(read, read, files.keys(), (name) =>
    readTzif(name, files.get(name) ?? new Uint8Array()),
  );
}

function readZoneFolder(folder: string): ZoneFiles {
  if (readRules(folder, "UTC") === null) {
    throw new StoreError("INVALID", `${folder} is no zoneinfo folder: it has no compiled file UTC`);
  }
  const files = new Map<string, Uint8Array>();
  for (const name of namesUnder(folder, "")) {
    const bytes = readRules(folder, name);
    if (bytes === null) continue;
    tzifParts(name, bytes);
    files.set(name, bytes);
  }
  return { version: readVersion(folder), folder, files: inSharedMemory(files) };
}

function inSharedMemory(files: ReadonlyMap<string, Uint8Array>): Map<string, Uint8Array> {
  const memory = new SharedArrayBuffer([...files.values()].reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  const shared = [...files].map(([name, bytes]) => {
    const copy = new Uint8Array(memory, at, bytes.length);
    copy.set(bytes);
    at += bytes.length;
    return [name, copy] as const;
  });
  return new Map(shared);
}

/** Null for a file of something else. */
function readRules(folder: string, name: string): Uint8Array | null {
  return reading(folder, () => {
    const path = join(folder, name);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isFile() !== true || found.size > fileBytesMax) return null;
    const bytes = readFileSync(path);
    return isTzif(bytes) ? bytes : null;
  });
}

function namesUnder(folder: string, parent: string): string[] {
  const entries = reading(folder, () => readdirSync(join(folder, parent)));
  return entries.flatMap((entry) => {
    const name = parent === "" ? entry : `${parent}/${entry}`;
    if (notZones.has(name) || name.split("/").length > partsMax) return [];
    const found = statSync(join(folder, name), { throwIfNoEntry: false });
    return found?.isDirectory() === true ? namesUnder(folder, name) : [name];
  });
}

function reading<T>(folder: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new StoreError("INVALID", `cannot read the folder ${folder}: ${asError(error).message}`);
  }
}

/** As the folder's files say; null where none does. */
function readVersion(folder: string): string | null {
  const [, source] = /^# version (\d\S+)/.exec(readText(join(folder, "tzdata.zi"))) ?? [];
  const [, plain] = /^(\d{4}\w+)\s*$/.exec(readText(join(folder, "+VERSION"))) ?? [];
  return source ?? plain ?? null;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
