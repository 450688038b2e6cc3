/** One append to the leader, and what its failure means for the frame. */
import { asError, type StoreErrorCode } from "../../lib/errors.js";
import type { BrokerLink } from "./broker-link.js";
import { AppendError } from "./partition-log.js";
import { calls, describeCode, kafkaCodes } from "./protocol.js";

/** All replicas in sync have it. */
const acksOfAll = -1;

/**
 * Answers that a leader gives before it touches its log, and what they are to us. Every other error may come after it
 * has written: that it lost its leadership, or the time, while the others copied; too few of them at the end.
 */
const refusals: ReadonlyMap<number, StoreErrorCode> = new Map([
  [kafkaCodes.notEnoughReplicas, "UNAVAILABLE"],
  [kafkaCodes.messageTooLarge, "LIMIT"],
  [kafkaCodes.recordListTooLarge, "LIMIT"],
  [kafkaCodes.corruptMessage, "INVALID"],
  [kafkaCodes.invalidTopic, "INVALID"],
  [kafkaCodes.invalidRequiredAcks, "INVALID"],
  [kafkaCodes.invalidTimestamp, "INVALID"],
  [kafkaCodes.unsupportedVersion, "MISMATCH"],
  [kafkaCodes.invalidRequest, "INVALID"],
  [kafkaCodes.invalidRecord, "INVALID"],
  [kafkaCodes.topicAuthorizationFailed, "DENIED"],
  [kafkaCodes.clusterAuthorizationFailed, "DENIED"],
]);

type Answer = Awaited<ReturnType<typeof calls.produce.async>>;

interface Target {
  readonly topic: string;
  readonly partition: number;
}

/** Sends the frame once; resolves with its offset. @throws AppendError */
export async function appendOnce(
  link: BrokerLink,
  target: Target,
  frame: Uint8Array,
  timeMs: number,
): Promise<number> {
  if (!link.isOpen) throw new AppendError("not written", "UNAVAILABLE", "the connection has ended");
  const value = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength);
  const brokerTimeMs = Math.max(1, Math.floor(timeMs));
  try {
    const answer = await link.call(calls.produce, [acksOfAll, brokerTimeMs, [{ ...target, value }]], timeMs);
    return offsetIn(answer, target);
  } catch (error) {
    if (error instanceof AppendError) throw error;
    throw new AppendError("unknown", "UNAVAILABLE", asError(error).message);
  }
}

function offsetIn(answer: Answer, target: Target): number {
  const result = answer.responses
    .find(({ name }) => name === target.topic)
    ?.partitionResponses.find(({ index }) => index === target.partition);
  if (result === undefined) throw new Error("the answer is of another partition");
  if (result.errorCode !== kafkaCodes.none) throw asAppendError(result.errorCode, result.errorMessage);
  const offset = Number(result.baseOffset);
  if (!Number.isSafeInteger(offset) || offset < 0)
    throw new Error(`the answer has offset ${result.baseOffset}`);
  return offset;
}

function asAppendError(code: number, message: string | null | undefined): AppendError {
  const refusal = refusals.get(code);
  const cause = message ? `${describeCode(code)}: ${message}` : describeCode(code);
  return new AppendError(refusal === undefined ? "unknown" : "not written", refusal ?? "UNAVAILABLE", cause);
}
