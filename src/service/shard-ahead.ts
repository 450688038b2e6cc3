/** A shard is copied while another process has it, so that it is away for less time when it comes to this one. */
import { mkdir } from "node:fs/promises";
import { copiedOnly } from "../../store/journal/replicated/copy-ahead.js";
import { createClosers } from "../../store/lib/closers.js";
import { shardDir } from "../host/shard-folders.js";
import type { JournalLogs } from "./journal-log.js";
import { type FilesDeps, journalDir, openShardFiles, refuseFullDisk } from "./shard-files.js";

interface AheadDeps extends FilesDeps {
  readonly logs: JournalLogs | null;
}

/**
 * Copies its log and indexes what is closed of it. Sessions are left as they are: their file stands for what has been
 * settled elsewhere too, which only the owner knows. @throws as `JournalLogs.keep`
 */
export async function copyShardAhead(number: number, deps: AheadDeps, signal: AbortSignal): Promise<void> {
  await refuseFullDisk(deps.config);
  const place = { number, dir: shardDir(deps.config, number) };
  await mkdir(place.dir, { recursive: true });
  await deps.logs?.copyAhead(number, journalDir(place), signal);
  const closers = createClosers();
  try {
    const { journal, events } = await openShardFiles(place, deps, closers, { keep: async () => copiedOnly });
    await events.attach(journal, signal);
  } finally {
    await closers.close();
  }
}
