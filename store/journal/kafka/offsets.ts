import { StoreError } from "../../lib/errors.js";
import type { LeaderLane } from "./leader-lane.js";
import { calls, describeCode, kafkaCodes, toErrorKind } from "./protocol.js";

interface Place {
  readonly topic: string;
  readonly partition: number;
}

/** What stands for a time where an end of the log is asked for. */
const ends = { start: -2n, end: -1n } as const;

/** One attempt to learn where the log begins, or ends. @throws StoreError UNAVAILABLE, DENIED, MISMATCH */
export async function findEnd(
  lane: LeaderLane,
  { topic, partition }: Place,
  which: keyof typeof ends,
  timeMs: number,
): Promise<number> {
  const deadline = performance.now() + timeMs;
  const { link } = await lane.link(timeMs);
  const request = {
    name: topic,
    partitions: [{ partitionIndex: partition, currentLeaderEpoch: -1, timestamp: ends[which] }],
  };
  // We are no replica, and transactions are none of ours.
  const { topics } = await link.call(calls.listOffsets, [-1, 0, [request]], deadline - performance.now());
  const answer = topics
    .find(({ name }) => name === topic)
    ?.partitions.find(({ partitionIndex }) => partitionIndex === partition);
  return requireOffset(answer?.offset, answer?.errorCode ?? kafkaCodes.unknownTopic);
}

/** One attempt to let the records below `offset` go; resolves with the lowest offset kept. @throws as `findEnd` */
export async function deleteBelow(
  lane: LeaderLane,
  { topic, partition }: Place,
  offset: number,
  timeMs: number,
): Promise<number> {
  const deadline = performance.now() + timeMs;
  const { link } = await lane.link(timeMs);
  const left = deadline - performance.now();
  const request = { name: topic, partitions: [{ partitionIndex: partition, offset: BigInt(offset) }] };
  const brokerTimeMs = Math.max(1, Math.floor(left / 2));
  const { topics } = await link.call(calls.deleteRecords, [[request], brokerTimeMs], left);
  const answer = topics
    .find(({ name }) => name === topic)
    ?.partitions.find(({ partitionIndex }) => partitionIndex === partition);
  if (answer?.errorCode === kafkaCodes.offsetOutOfRange) {
    throw new StoreError("NOT_FOUND", `offset ${offset} is beyond the end of the log`);
  }
  return requireOffset(answer?.lowWatermark, answer?.errorCode ?? kafkaCodes.unknownTopic);
}

function requireOffset(offset: bigint | undefined, code: number): number {
  if (code !== kafkaCodes.none) throw new StoreError(toErrorKind(code), describeCode(code));
  const value = Number(offset);
  if (!Number.isSafeInteger(value) || value < 0) throw new StoreError("UNAVAILABLE", `offset ${offset}`);
  return value;
}
