/** The topic of a journal: made as the journal needs it, or looked at whether it is so. */
import { isUnavailable, StoreError } from "../../lib/errors.js";
import { type Address, type BrokerLink, openBrokerLink } from "./broker-link.js";
import type { LinkSecurity } from "./link-security.js";
import { calls, describeCode, kafkaCodes, toErrorKind } from "./protocol.js";
import { retryCall } from "./retry-call.js";
import { listProblems, type TopicNeeds, type TopicState, topicSettings } from "./topic-needs.js";

interface PrepareOptions extends TopicNeeds {
  readonly brokers: readonly Address[];
  readonly topic: string;
  readonly clientID: string;
  /** How brokers are spoken to; undefined: in the clear, as nobody. */
  readonly security?: LinkSecurity | undefined;
  /** After which it fails, milliseconds; default 20,000. */
  readonly timeMs?: number;
}

interface PreparedTopic {
  /** The cluster's own id, which no other cluster has. */
  readonly clusterID: string;
  readonly topicID: string;
}

/** The most bytes of an answer: enough for one topic of up to a few hundred partitions. */
const answerBytesMax = 1 << 20;
const attemptTimeMs = 5000;
const topicResource = 2;
/** Too few brokers are no reason to give up: those of a cluster that starts come one by one. */
const refusals: ReadonlySet<number> = new Set([
  kafkaCodes.invalidTopic,
  kafkaCodes.invalidPartitions,
  kafkaCodes.invalidConfig,
  kafkaCodes.policyViolation,
]);

/**
 * Makes the topic if there is none, and checks it either way; resolves once each of its partitions has a leader.
 * @throws StoreError MISMATCH naming all that is wrong with it, INVALID if the cluster refuses to make it,
 *   DENIED if it does not let us, UNAVAILABLE
 */
export async function prepareTopic(options: PrepareOptions, signal: AbortSignal): Promise<PreparedTopic> {
  let turn = 0;
  const next = (): void => {
    turn++;
  };
  const retries = { timeMs: options.timeMs ?? 20_000, signal, mayPass: isUnavailable, onFailure: next };
  return retryCall(retries, (timeMs) => {
    const address = options.brokers[turn % options.brokers.length];
    if (address === undefined) throw new StoreError("INVALID", "no broker is named");
    return attempt(options, address, Math.min(attemptTimeMs, timeMs));
  });
}

async function attempt(options: PrepareOptions, address: Address, timeMs: number): Promise<PreparedTopic> {
  const { topic, clientID, security } = options;
  const deadline = performance.now() + timeMs;
  const left = () => deadline - performance.now();
  const link = await openBrokerLink(address, { clientID, timeMs, answerBytesMax, security });
  try {
    const metadata = await link.call(calls.metadata, [[topic], false, false], left());
    const found = metadata.topics.find(({ name }) => name === topic);
    if (found === undefined || found.errorCode === kafkaCodes.unknownTopic) {
      await create(link, options, left());
      throw toTopicError(kafkaCodes.none, topic, "it is being made");
    }
    if (found.errorCode !== kafkaCodes.none)
      throw toTopicError(found.errorCode, topic, describeCode(found.errorCode));
    const settings = await describe(link, topic, left());
    const replicas = found.partitions.map(({ replicaNodes }) => replicaNodes.length);
    const state: TopicState = { replicas, settings };
    const problems = listProblems(state, options);
    if (problems.length > 0) {
      throw new StoreError("MISMATCH", `cannot use topic ${topic}: ${problems.join("; ")}`);
    }
    if (found.partitions.some(({ leaderId }) => leaderId < 0)) {
      throw toTopicError(kafkaCodes.none, topic, "some of its partitions have no leader");
    }
    return { clusterID: metadata.clusterId ?? "", topicID: found.topicId };
  } finally {
    link.close();
  }
}

async function create(link: BrokerLink, options: PrepareOptions, timeMs: number): Promise<void> {
  const { topic, partitions, replicas } = options;
  const wanted = {
    name: topic,
    numPartitions: partitions,
    replicationFactor: replicas,
    assignments: [],
    configs: Object.entries(topicSettings(options)).map(([name, value]) => ({ name, value })),
  };
  const args = [[wanted], Math.max(1, Math.floor(timeMs)), false] as [(typeof wanted)[], number, boolean];
  const { topics } = await link.call(calls.createTopics, args, timeMs);
  const answer = topics.find(({ name }) => name === topic);
  const code = answer?.errorCode ?? kafkaCodes.unknownTopic;
  // Another process that starts may have made it in between.
  if (code === kafkaCodes.none || code === kafkaCodes.topicAlreadyExists) return;
  const cause = answer?.errorMessage ?? describeCode(code);
  throw toTopicError(code, topic, `${cause} (asked for ${replicas} replicas)`);
}

function toTopicError(code: number, topic: string, cause: string): StoreError {
  const kind = refusals.has(code) ? "INVALID" : toErrorKind(code);
  return new StoreError(kind, `cannot prepare topic ${topic}: ${cause}`);
}

/** The settings that it has, also those that it takes from its brokers. */
async function describe(
  link: BrokerLink,
  topic: string,
  timeMs: number,
): Promise<ReadonlyMap<string, string | null>> {
  const resource = { resourceType: topicResource, resourceName: topic, configurationKeys: null } as const;
  const { results } = await link.call(calls.describeConfigs, [[resource], false, false], timeMs);
  const answer = results.find(({ resourceName }) => resourceName === topic);
  if (answer?.errorCode !== kafkaCodes.none) {
    const code = answer?.errorCode ?? kafkaCodes.unknownTopic;
    throw toTopicError(code, topic, answer?.errorMessage ?? describeCode(code));
  }
  return new Map(answer.configs.map(({ name, value }) => [name, value ?? null]));
}
