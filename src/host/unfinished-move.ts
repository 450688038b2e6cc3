/** How far a move of points between the engines has come: a file of the data folder, so that it can go on after a kill. */
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "@hono/zod-openapi";
import type { Logger } from "../observability/log.js";

const fileName = "move-series.json";

const whole = z.number().int().nonnegative();
const schema = z.object({
  /** Both ends: what was begun with another bucket is another move. */
  from: z.string(),
  to: z.string(),
  /** The source's checkpoint of each shard when it began. */
  checkpoints: z.array(whole),
  /** Everything of the devices up to this id is in the other store. */
  upTo: whole,
  counts: z.object({ devices: whole, series: whole, points: whole, written: whole, refused: whole }),
});

export type UnfinishedMove = z.output<typeof schema>;

/** Null if there is none, or none that can be read: the move then begins anew, which changes nothing. */
export async function readUnfinishedMove(dataDir: string): Promise<UnfinishedMove | null> {
  try {
    return schema.parse(JSON.parse(await readFile(join(dataDir, fileName), "utf8")));
  } catch {
    return null;
  }
}

export async function saveUnfinishedMove(dataDir: string, move: UnfinishedMove): Promise<void> {
  const path = join(dataDir, fileName);
  await writeFile(`${path}.new`, JSON.stringify(move), { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
}

/** @returns whether there was one */
export async function forgetUnfinishedMove(dataDir: string): Promise<boolean> {
  const existed = (await readUnfinishedMove(dataDir)) !== null;
  await rm(join(dataDir, fileName), { force: true });
  return existed;
}

/** For the start of a service, which adds points: devices that were done then are so no longer. */
export async function beginMovesAnew(dataDir: string, log: Logger): Promise<void> {
  if (!(await forgetUnfinishedMove(dataDir))) return;
  log.warn("a move of points to another engine was not finished: tidemark move-series begins it anew", {
    dataDir,
  });
}
