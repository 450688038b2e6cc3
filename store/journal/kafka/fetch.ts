import { StoreError } from "../../lib/errors.js";
import type { LeaderLane } from "./leader-lane.js";
import { calls, describeCode, kafkaCodes, toErrorKind } from "./protocol.js";

interface FetchOptions {
  readonly partition: number;
  readonly offset: number;
  /** The most bytes of records in an answer; a longer batch comes alone. */
  readonly bytesMax: number;
  /** How long the broker waits for records if it has none. */
  readonly waitMs: number;
}

/**
 * One fetch: record batches as bytes, the first of which holds `offset`; none if there are none yet.
 * @throws StoreError UNAVAILABLE, DENIED, MISMATCH; NOT_FOUND if the offset lies outside what is kept
 */
export async function fetchOnce(lane: LeaderLane, options: FetchOptions, timeMs: number): Promise<Buffer> {
  const { partition, offset, bytesMax, waitMs } = options;
  const deadline = performance.now() + timeMs;
  const { link, leader } = await lane.link(timeMs);
  const fetchRequest = {
    partition,
    currentLeaderEpoch: -1,
    fetchOffset: BigInt(offset),
    lastFetchedEpoch: -1,
    partitionMaxBytes: bytesMax,
  };
  const topics = [{ topicId: leader.topicID, partitions: [fetchRequest] }];
  // Neither a session of fetches nor the level of transactions nor a rack: 0, -1, 0, "".
  const answer = await link.call(
    calls.fetch,
    [waitMs, 1, bytesMax, 0, 0, -1, topics, [], ""],
    deadline - performance.now(),
  );
  const found = answer.partitions.find((one) => one.partition === partition);
  const code = answer.errorCode || (found?.errorCode ?? kafkaCodes.unknownTopic);
  if (code === kafkaCodes.offsetOutOfRange) {
    throw new StoreError("NOT_FOUND", `offset ${offset} lies outside what the log keeps`);
  }
  if (code !== kafkaCodes.none || found === undefined)
    throw new StoreError(toErrorKind(code), describeCode(code));
  return found.records;
}
