/** The one importer of the client library: the calls that we make, each in the version that Kafka 4 understands. */
import {
  type API,
  apiVersionsV4,
  createAPI,
  createTopicsV7,
  deleteRecordsV2,
  describeConfigsV4,
  fetchV17,
  listOffsetsV9,
  metadataV12,
  produceV11,
  protocolErrors,
  protocolErrorsCodesById,
  type Reader,
  saslAuthenticateV2,
  saslHandshakeV1,
} from "@platformatic/kafka";

/** Sends a request to a broker; resolves with the answer, whose error codes the caller judges. */
export type SendRequest = <Args extends unknown[], Answer>(
  api: API<Args, Answer>,
  args: Args,
  timeMs: number,
) => Promise<Answer>;

interface FetchedPartition {
  readonly partition: number;
  readonly errorCode: number;
  readonly startOffset: number;
  /** Record batches as they came. */
  readonly records: Buffer;
}

/** The library reads records without their checksums; we take their bytes. */
function readFetched(_correlation: number, _key: number, _version: number, reader: Reader) {
  reader.readInt32(); // throttle time
  const errorCode = reader.readInt16();
  reader.readInt32(); // session
  const topics = reader.readArray((topic) => {
    topic.readUUID();
    return topic.readArray((one): FetchedPartition => {
      const [partition, code] = [one.readInt32(), one.readInt16()];
      one.readInt64(); // high watermark
      one.readInt64(); // last stable offset
      const startOffset = Number(one.readInt64());
      one.readArray((aborted) => [aborted.readInt64(), aborted.readInt64()]);
      one.readInt32(); // preferred replica
      const bytes = Math.max(0, one.readUnsignedVarInt() - 1);
      if (bytes > one.remaining) throw new Error("an answer ends within its records");
      const records = one.buffer.slice(one.position, one.position + bytes);
      one.skip(bytes);
      return { partition, errorCode: code, startOffset, records };
    });
  });
  return { errorCode, partitions: topics.flat() };
}

type FetchArguments = Parameters<typeof fetchV17.createRequest>;
type Fetched = ReturnType<typeof readFetched>;

export const calls = {
  apiVersions: apiVersionsV4.api,
  metadata: metadataV12.api,
  // It answers true where no answer is asked for, which we never do.
  produce: produceV11.api as API<Parameters<typeof produceV11.createRequest>, produceV11.ProduceResponse>,
  fetch: createAPI<FetchArguments, Fetched>(fetchV17.api.key, 17, fetchV17.createRequest, readFetched),
  listOffsets: listOffsetsV9.api,
  deleteRecords: deleteRecordsV2.api,
  createTopics: createTopicsV7.api,
  describeConfigs: describeConfigsV4.api,
} as const;

/** The calls that authenticate a user; brokers that let everybody in need not understand them. */
export const saslCalls = {
  handshake: saslHandshakeV1.api,
  authenticate: saslAuthenticateV2.api,
} as const;

/** The protocol's error codes that decide what we do. */
export const kafkaCodes = {
  none: 0,
  offsetOutOfRange: 1,
  corruptMessage: 2,
  unknownTopic: 3,
  messageTooLarge: 10,
  invalidTopic: 17,
  recordListTooLarge: 18,
  notEnoughReplicas: 19,
  invalidRequiredAcks: 21,
  topicAuthorizationFailed: 29,
  clusterAuthorizationFailed: 31,
  invalidTimestamp: 32,
  unsupportedSaslMechanism: 33,
  illegalSaslState: 34,
  unsupportedVersion: 35,
  topicAlreadyExists: 36,
  invalidPartitions: 37,
  invalidConfig: 40,
  invalidRequest: 42,
  policyViolation: 44,
  saslAuthenticationFailed: 58,
  invalidRecord: 87,
} as const;

const denials: ReadonlySet<number> = new Set([
  kafkaCodes.topicAuthorizationFailed,
  kafkaCodes.clusterAuthorizationFailed,
]);

/** What a code that is no answer of its own is to us: a right that is missing is not tried again. */
export function toErrorKind(code: number): "DENIED" | "UNAVAILABLE" {
  return denials.has(code) ? "DENIED" : "UNAVAILABLE";
}

/** The code in words: its name and what it means. */
export function describeCode(code: number): string {
  const error = protocolErrors[protocolErrorsCodesById[code] ?? ""];
  return error ? `${error.id}, ${error.message.replace(/\.$/, "")}` : `error ${code}`;
}
