import {
  appendFileSync,
  closeSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { crc32 } from "../../lib/crc32.js";
import { type Checkpoints, createCheckpoints } from "./checkpoints.js";
import type { RemovedScope, SeriesKey } from "./names.js";

/**
 * What cannot be made again without catalog.db, as lines that are only ever appended, each with its checksum: names of
 * series by their ids, removals, and how far the journals have been written out. Read when the catalog is lost.
 */
export interface NamesLog {
  /** The highest series id in the log when it was opened; null when there was no log, or its end cannot be read. */
  readonly lastID: number | null;
  name(id: number, key: SeriesKey): void;
  removal(scope: RemovedScope): void;
  /** Checkpoints of all shards: they replace the earlier ones. */
  checkpoints(checkpoints: Checkpoints, lastID: number): void;
  /** Writes what was added; with `durable`, on to the disk. */
  write(durable: boolean): void;
  close(): void;
}

/** What a line says. */
type NamesEntry =
  | { readonly kind: "name"; readonly id: number; readonly key: SeriesKey }
  | { readonly kind: "removal"; readonly scope: RemovedScope }
  | { readonly kind: "checkpoints"; readonly checkpoints: Checkpoints };

const tailBytes = 64 * 1024;

export function openNamesLog(path: string): NamesLog {
  const file = openSync(path, "a+", 0o644);
  const { lastID, isTorn } = lookAtEnd(file);
  // A kill may have cut the last line: it must not spoil the next one.
  let lines: string[] = isTorn ? ["\n"] : [];
  const add = (...said: unknown[]): void => {
    lines.push(formatLine(JSON.stringify(said)));
  };
  return {
    lastID,
    name: (id, { tenant, productID, deviceID, field, kind }) =>
      add("n", id, tenant, productID, deviceID, field, kind),
    removal: (scope) => {
      const [deviceID, field] = "field" in scope ? [null, scope.field] : [scope.deviceID, null];
      add("r", scope.tenant, scope.productID, deviceID, field);
    },
    checkpoints: (checkpoints, last) => {
      // The first one before the highest id: there was only one once.
      const [first = 0, ...others] = checkpoints.values();
      add("c", first, last, ...others);
    },
    write: (durable) => {
      if (lines.length > 0) appendFileSync(file, lines.join(""));
      lines = [];
      if (durable) fdatasyncSync(file);
    },
    close: () => closeSync(file),
  };
}

/** Empties the log before it is written anew. */
export function clearNamesLog(path: string): void {
  const file = openSync(path, "a");
  ftruncateSync(file);
  closeSync(file);
}

/** Every sound line of the log; `onDamage` is called for each of the others. */
export async function* readNamesLog(path: string, onDamage: () => void): AsyncGenerator<NamesEntry> {
  const file = await open(path, "r").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (file === null) return;
  // The stream closes the file at its end.
  for await (const line of file.readLines({ encoding: "utf8" })) {
    if (line === "") continue;
    const entry = parseLine(line);
    if (entry === null) onDamage();
    else yield entry;
  }
}

function formatLine(text: string): string {
  return `${crc32(Buffer.from(text)).toString(16).padStart(8, "0")} ${text}\n`;
}

function said(line: string): unknown[] | null {
  const text = line.slice(9);
  if (formatLine(text) !== `${line}\n`) return null;
  return JSON.parse(text) as unknown[];
}

function parseLine(line: string): NamesEntry | null {
  const [kind, ...rest] = said(line) ?? [];
  if (kind === "n") {
    const [id, tenant, productID, deviceID, field, of] = rest as [number, number, ...string[]];
    return { kind: "name", id, key: { tenant, productID, deviceID, field, kind: of } as SeriesKey };
  }
  if (kind === "r") {
    const [tenant, productID, deviceID, field] = rest as [number, string, string | null, string | null];
    const of = { tenant, productID };
    const scope = deviceID === null ? { ...of, field: field ?? "" } : { ...of, deviceID };
    return { kind: "removal", scope };
  }
  if (kind !== "c") return null;
  const [first, , ...others] = rest.map(Number);
  return { kind: "checkpoints", checkpoints: createCheckpoints([first ?? 0, ...others]) };
}

/** Reads only the end of the log, which may be long: every checkpoint gives the highest id before it. */
function lookAtEnd(file: number): { readonly lastID: number | null; readonly isTorn: boolean } {
  const { size } = fstatSync(file);
  const bytes = Buffer.alloc(Math.min(size, tailBytes));
  readSync(file, bytes, 0, bytes.length, size - bytes.length);
  const isTorn = size > 0 && bytes.at(-1) !== 10;
  for (const line of bytes.toString("utf8").split("\n").reverse()) {
    const [kind, ...rest] = line.length > 9 ? (said(line) ?? []) : [];
    if (kind === "n") return { lastID: Number(rest[0]), isTorn };
    if (kind === "c") return { lastID: Number(rest[1]), isTorn };
  }
  return { lastID: null, isTorn };
}
