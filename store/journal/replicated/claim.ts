import { StoreError } from "../../lib/errors.js";
import { AppendError, type PartitionLog } from "../kafka/partition-log.js";
import { retryCall } from "../kafka/retry-call.js";
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

/** If several processes claim at once, each fails at most once for every other one. */
const attemptsMax = 100;
/** Times of receipt come from whichever machine has the shard: they must not go back when another one takes it. */
const clocksApartMaxMs = 10_000;

/**
 * Takes the log: whatever its former owner appends from now on is void. Resolves once everything before the claim is in
 * the copy, with the epoch in which frames are this process's. Who is refused has ended nobody's ownership.
 * @throws StoreError UNAVAILABLE; MISMATCH if the log is not this deployment's, or the clocks are apart; CORRUPT
 */
export async function claimLog(options: ClaimOptions): Promise<number> {
  const { log, copy, claimant } = options;
  await follow(options, await log.end());
  // A claim of an epoch that there is already takes nothing: it only asks what time it is there.
  if (copy.epoch > 0) await appendClaim(options, copy.epoch);
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const epoch = copy.epoch + 1;
    await appendClaim(options, epoch);
    if (copy.epoch === epoch && copy.owner === claimant.owner) return epoch;
  }
  throw new StoreError("UNAVAILABLE", `cannot claim the journal's log: others did so ${attemptsMax} times`);
}

/** Appends a claim and follows the log up to it. */
async function appendClaim(options: ClaimOptions, epoch: number): Promise<void> {
  const { log, claimant, now, signal, timeMs } = options;
  const frame = encodeClaim(epoch, claimant);
  // The same bytes until their outcome is known: a second copy of a claim changes nothing.
  const retries = { timeMs, signal, mayPass: mayComeThrough };
  const offset = await retryCall(retries, () => log.append(frame));
  const claimedAt = now();
  const appendedAt = await follow(options, offset + 1);
  refuseOtherTime(appendedAt, claimedAt);
}

const mayComeThrough = (error: StoreError): boolean =>
  error instanceof AppendError && error.code === "UNAVAILABLE";

interface FollowOptions extends Pick<ClaimOptions, "copy"> {
  readonly log: Pick<PartitionLog, "read">;
  readonly claimant: Pick<Claimant, "deployment" | "shard">;
}

/**
 * Takes the frames before `until` into the copy; resolves with the time of the last one. @throws as `claimLog`
 */
export async function follow({ log, copy, claimant }: FollowOptions, until: number): Promise<number> {
  let last = 0;
  for await (const { offset, appendedAt, frame } of log.read(copy.offset, until)) {
    const found = decodeLogFrame(frame);
    if (found.kind === "claim" && found.epoch > copy.epoch) refuseOthers(found, claimant);
    await copy.apply(found, offset);
    last = appendedAt;
  }
  return last;
}

function refuseOtherTime(appendedAt: number, claimedAt: number): void {
  const apartMs = Math.abs(appendedAt - claimedAt);
  if (apartMs <= clocksApartMaxMs) return;
  const times = `${new Date(appendedAt).toISOString()} there, ${new Date(claimedAt).toISOString()} here`;
  throw new StoreError("MISMATCH", `cannot use the journal's log: the clocks are apart: ${times}`);
}

function refuseOthers(found: Claimant, { deployment, shard }: FollowOptions["claimant"]): void {
  if (found.deployment === deployment && found.shard === shard) return;
  const whose = found.deployment === deployment ? `shard ${found.shard}` : "another deployment";
  throw new StoreError("MISMATCH", `cannot use the journal's log: it is that of ${whose}`);
}
