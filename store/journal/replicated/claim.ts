import { StoreError } from "../../lib/errors.js";
import { AppendError, type PartitionLog } from "../kafka/partition-log.js";
import { patiently } from "../kafka/patience.js";
import type { FolderCopy } from "./folder-copy.js";
import { type Claimant, decodeLogFrame, encodeClaim } from "./log-frames.js";

interface ClaimOptions {
  readonly log: PartitionLog;
  /** Is brought up to the claim. */
  readonly copy: FolderCopy;
  readonly claimant: Claimant;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Ends it early. */
  readonly signal: AbortSignal;
  /** After which an append that does not come through is given up, milliseconds. */
  readonly timeMs: number;
}

/** Of several that claim at once each fails once for every other one at the most. */
const attemptsMax = 100;

/**
 * Takes the log: whatever its former owner appends from now on is void. Resolves once everything before the claim is in
 * the copy, with the epoch in which frames are this process's.
 * @throws StoreError UNAVAILABLE; MISMATCH if the log is not this deployment's; CORRUPT
 */
export async function claimLog(options: ClaimOptions): Promise<number> {
  const { log, copy, claimant, signal, timeMs } = options;
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const epoch = Math.max(copy.epoch, await newestEpoch(log)) + 1;
    const frame = encodeClaim(epoch, claimant);
    // The same bytes until their outcome is known: a second copy of a claim changes nothing.
    const patience = { timeMs, signal, mayPass: mayComeThrough, onFailure: () => undefined };
    const offset = await patiently(patience, () => log.append(frame));
    if (offset < copy.offset) throw lostFrames(offset, copy.offset);
    await follow(options, offset + 1);
    if (copy.epoch === epoch && copy.owner === claimant.owner) return epoch;
  }
  throw new StoreError("UNAVAILABLE", `cannot claim the journal's log: others did so ${attemptsMax} times`);
}

/** Times of receipt come from whichever machine has the shard: they must not go back when another one takes it. */
const clocksApartMaxMs = 10_000;

const mayComeThrough = (error: StoreError): boolean =>
  error instanceof AppendError && error.code === "UNAVAILABLE";

/** The epoch of the last frame; there may be a higher one before it. */
async function newestEpoch(log: PartitionLog): Promise<number> {
  const [start, end] = [await log.start(), await log.end()];
  if (end <= start) return 0;
  for await (const { frame } of log.read(end - 1, end)) return decodeLogFrame(frame).epoch;
  return 0;
}

/** Up to `until`, where the claim ends. */
async function follow({ log, copy, claimant, now }: ClaimOptions, until: number): Promise<void> {
  const claimedAt = now();
  for await (const { offset, appendedAt, frame } of log.read(copy.offset, until)) {
    const found = decodeLogFrame(frame);
    if (found.kind === "claim") refuseOthers(found, claimant);
    if (offset === until - 1) refuseOtherTime(appendedAt, claimedAt);
    await copy.apply(found, offset);
  }
}

function refuseOtherTime(appendedAt: number, claimedAt: number): void {
  const apartMs = Math.abs(appendedAt - claimedAt);
  if (apartMs <= clocksApartMaxMs) return;
  const times = `${new Date(appendedAt).toISOString()} there, ${new Date(claimedAt).toISOString()} here`;
  throw new StoreError("MISMATCH", `cannot use the journal's log: the clocks are apart: ${times}`);
}

function refuseOthers(found: Claimant, { deployment, shard }: Claimant): void {
  if (found.deployment === deployment && found.shard === shard) return;
  const whose = found.deployment === deployment ? `shard ${found.shard}` : "another deployment";
  throw new StoreError("MISMATCH", `cannot use the journal's log: it is that of ${whose}`);
}

function lostFrames(offset: number, has: number): StoreError {
  const found = `it went on at offset ${offset}, and this folder is a copy of it up to ${has - 1}`;
  return new StoreError("CORRUPT", `cannot use the journal's log: it has lost frames: ${found}`);
}
