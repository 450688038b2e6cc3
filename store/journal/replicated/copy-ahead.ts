/** Copies a log that another process writes to, so that a later owner has little left to copy. */
import { onAbort } from "../../lib/abortable.js";
import { StoreError } from "../../lib/errors.js";
import type { PartitionLog } from "../kafka/partition-log.js";
import type { SegmentKeeping } from "../segment-keeping.js";
import { follow } from "./claim.js";
import type { LogName } from "./copy-mark.js";
import { openFolderCopy } from "./folder-copy.js";
import type { Claimant } from "./log-frames.js";
import { restoreFolder } from "./restore.js";

interface CopyAheadOptions {
  readonly dir: string;
  /** Is closed. */
  readonly log: Pick<PartitionLog, "start" | "end" | "read" | "close">;
  readonly name: LogName;
  /** The deployment and the shard to which the log must belong. */
  readonly claimant: Pick<Claimant, "deployment" | "shard">;
  readonly onTrouble: (error: Error) => void;
  /** Ends it early: what has been copied by then is kept. */
  readonly signal: AbortSignal;
  /** As `keepInLog`. */
  readonly shortTimeMs?: number;
}

/** Segment keeping of a journal over such a folder, which is only read. */
export const copiedOnly: SegmentKeeping = {
  reopen: async () => null,
  begin: () => Promise.reject(notHere()),
  // Nothing is begun unless something is written.
  resumes: true,
  retryMs: { first: 1000, longest: 1000 },
  drop: () => Promise.reject(notHere()),
  close: async () => undefined,
};

function notHere(): StoreError {
  return new StoreError("INVALID", "cannot write the journal: another process has it");
}

/** If fewer frames than these came during the last pass, the rest is copied in no time. */
const fewFrames = 50;

/**
 * Brings the folder close to the log's end, without a claim: the owner goes on. Nobody may have the folder meanwhile.
 * @throws StoreError as `restoreFolder` and `claimLog`; UNAVAILABLE if it is ended early
 */
export async function copyAhead(options: CopyAheadOptions): Promise<void> {
  const { dir, log, name, claimant, onTrouble, signal, shortTimeMs = 5000 } = options;
  const stopListening = onAbort(signal, () => log.close());
  try {
    signal.throwIfAborted();
    const held = await restoreFolder(dir, name, log, { onTrouble, signal, shortTimeMs });
    const copy = await openFolderCopy(dir, name, held, onTrouble);
    try {
      for (let came = Number.POSITIVE_INFINITY; came > fewFrames; ) {
        const from = copy.offset;
        await follow({ log, copy, claimant }, await log.end());
        came = copy.offset - from;
      }
    } finally {
      await copy.close();
    }
  } finally {
    stopListening();
    log.close();
  }
}
