import { StoreError } from "../../lib/errors.js";
import type { PartitionLog } from "../kafka/partition-log.js";
import { retryCall } from "../kafka/retry-call.js";
import { decodeLogFrame } from "./log-frames.js";

interface RetryTimes {
  /** For which a log that ends too early is looked at again, milliseconds: its leader may not know yet that it is none. */
  readonly timeMs: number;
  readonly signal: AbortSignal;
}

/**
 * Refuses a log that ends before `offset`, up to which a folder is a copy of it: what is appended would fill the place
 * of frames that are lost.
 * @throws StoreError CORRUPT if it does, UNAVAILABLE; NOT_FOUND if it lets its last frame before go meanwhile
 */
export async function refuseShortened(
  log: Pick<PartitionLog, "start" | "end" | "read">,
  offset: number,
  patience: RetryTimes,
): Promise<void> {
  const last = offset - 1;
  if (last < (await log.start())) return;
  let lost: StoreError | null = null;
  await retryCall({ ...patience, mayPass: (error) => error === lost }, async () => {
    try {
      for await (const { frame } of log.read(last, offset)) decodeLogFrame(frame);
    } catch (error) {
      if (!(error instanceof StoreError) || !missing.has(error.code)) throw error;
      const end = await log.end();
      if (end >= offset) throw error;
      const found = `it ends at offset ${end}, and this folder is a copy of it up to ${last}`;
      lost = new StoreError("CORRUPT", `cannot use the journal's log: it has lost frames: ${found}`);
      throw lost;
    }
  });
}

/** A read at the very end waits; a read beyond it fails with one of these. */
const missing: ReadonlySet<string> = new Set(["UNAVAILABLE", "NOT_FOUND"]);
