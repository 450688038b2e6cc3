import { existsSync } from "node:fs";
import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { closeAtOnce } from "../../files/closing.js";
import { connect } from "../../files/connection.js";
import { copyDatabase } from "../../files/copy-database.js";
import { copyFile, type Throttle } from "../../files/copy-file.js";
import { type Checkpoints, replaceCheckpoints } from "./checkpoints.js";
import { openNamesLog } from "./names-log.js";
import { readCatalog } from "./read-catalog.js";

interface SeriesCopied {
  /** After which messages of each shard's journal are decoded again when the copy is opened. */
  readonly checkpoints: Checkpoints;
  readonly parts: number;
}

interface SeriesCopyOptions {
  readonly throttle: Throttle;
  /** Puts an earlier copy of the file in place instead of copying it; false if there is none that is the same. */
  reuse(from: string, to: string): Promise<boolean>;
}

/** Parts may be made and replaced while the catalog is copied; each round takes what has come since. */
const roundsMax = 20;

/**
 * Copies a store of points that may be in use. The files of points come first, each as of another moment; then the
 * catalog, which knows every series in them; and in the copy the checkpoint of each shard goes back to where it was at the
 * beginning: what was written since is decoded again from the journal, which changes nothing that is there.
 */
export async function copySeries(
  from: string,
  to: string,
  options: SeriesCopyOptions,
): Promise<SeriesCopied> {
  await mkdir(to, { recursive: true });
  const { checkpoints, parts } = await readCatalog(join(from, "catalog.db"));
  /** Parts by name, with what distinguishes the file from another one of the same name. */
  const copied = new Map<string, string>();
  await copyParts(from, to, parts, copied, options);
  const catalog = join(to, "catalog.db");
  for (let round = 1; ; round++) {
    await rm(catalog, { force: true });
    await copyDatabase(join(from, "catalog.db"), catalog, options.throttle);
    const listed = await readCatalog(catalog);
    const isWhole = await copyParts(from, to, listed.parts, copied, options);
    const wanted = new Set(listed.parts);
    for (const name of copied.keys()) {
      if (wanted.has(name)) continue;
      await rm(join(to, name), { force: true });
      copied.delete(name);
    }
    if (isWhole) break;
    if (round === roundsMax) throw new Error(`cannot copy ${from}: its files are replaced all the time`);
  }
  await rm(join(to, "names.log"), { force: true });
  if (existsSync(join(from, "names.log"))) {
    await copyFile(join(from, "names.log"), join(to, "names.log"), options.throttle);
  }
  await setCheckpoints(to, checkpoints);
  return { checkpoints, parts: copied.size };
}

/** False if a part was replaced meanwhile: the catalog is then to be read again. */
async function copyParts(
  from: string,
  to: string,
  names: readonly string[],
  copied: Map<string, string>,
  { throttle, reuse }: SeriesCopyOptions,
): Promise<boolean> {
  for (const name of names) {
    const [source, target] = [join(from, name), join(to, name)];
    const identity = await readIdentity(source);
    if (identity === null) return false;
    if (copied.get(name) === identity) continue;
    await rm(target, { force: true });
    try {
      if (!(await reuse(source, target))) await copyDatabase(source, target, throttle);
    } catch (error) {
      if ((await readIdentity(source)) === identity) throw error;
      return false;
    }
    copied.set(name, identity);
  }
  return true;
}

/** Null if it is gone. */
async function readIdentity(path: string): Promise<string | null> {
  const found = await stat(path, { bigint: true }).catch(() => null);
  return found === null ? null : `${found.dev}:${found.ino}`;
}

async function setCheckpoints(dir: string, checkpoints: Checkpoints): Promise<void> {
  const path = join(dir, "catalog.db");
  const client = connect(path);
  let lastID = 0;
  try {
    await client.batch(replaceCheckpoints(checkpoints), "write");
    const { rows } = await client.execute("select coalesce(max(id), 0) from series");
    lastID = Number(rows[0]?.[0] ?? 0);
  } finally {
    await closeAtOnce(client, path);
  }
  const log = openNamesLog(join(dir, "names.log"));
  log.checkpoints(checkpoints, lastID);
  log.write(true);
  log.close();
}
