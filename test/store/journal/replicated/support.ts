import { randomUUID } from "node:crypto";
import type { Journal, JournalOptions } from "../../../../store/journal/journal.js";
import type { PartitionLog } from "../../../../store/journal/kafka/partition-log.js";
import { keepInLog } from "../../../../store/journal/replicated/replicated-segments.js";
import { openTestJournal } from "../support.js";

interface InLogOptions extends Partial<JournalOptions> {
  readonly deployment?: string;
  readonly topicID?: string;
  readonly frameBytesMax?: number;
  /** Compared with the log's. */
  readonly clock?: () => number;
  readonly onEnded?: (reason: Error) => void;
  /** Ends the opening early. */
  readonly signal?: AbortSignal;
}

const never = new AbortController().signal;

/** A journal in the log, with its copy in the folder. */
export async function openInLog(
  dir: string,
  log: PartitionLog,
  options: InLogOptions = {},
): Promise<Journal> {
  const {
    deployment = "tests",
    topicID = "topic",
    frameBytesMax = 1 << 20,
    clock = Date.now,
    signal = never,
    ...rest
  } = options;
  const shard = rest.shard ?? 0;
  const keeping = await keepInLog({
    dir,
    log,
    name: { topicID, partition: shard },
    claimant: { deployment, shard, owner: randomUUID() },
    frameBytesMax,
    now: clock,
    onEnded: options.onEnded ?? ((error) => rest.onTrouble?.(error)),
    onTrouble: rest.onTrouble ?? (() => undefined),
    signal,
    shortTimeMs: 200,
  });
  return openTestJournal(dir, { ...rest, keeping });
}
