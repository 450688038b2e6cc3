/** What the journal needs of its topic, and what a topic lacks of it. */

export interface TopicNeeds {
  /** Exactly so many. */
  readonly partitions: number;
  /** At least so many copies of each, this being how many a new topic gets. */
  readonly replicas: number;
  /** The longest frame, bytes. */
  readonly frameBytesMax: number;
  /** Whether an acknowledgement may mean "on two machines, not yet on disk". */
  readonly acceptsUnflushed: boolean;
}

export interface TopicState {
  /** How many copies each partition has. */
  readonly replicas: readonly number[];
  readonly settings: ReadonlyMap<string, string | null>;
}

/** The overhead of a record and its batch beside the frame, rounded up. */
const recordHeadBytes = 1024;
const inSyncMin = 2;

/** The settings that a new topic gets. */
export function topicSettings(needs: TopicNeeds): Readonly<Record<string, string>> {
  return {
    "min.insync.replicas": String(inSyncMin),
    ...(needs.acceptsUnflushed ? {} : { "flush.messages": "1" }),
    "unclean.leader.election.enable": "false",
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "compression.type": "producer",
    "max.message.bytes": String(needs.frameBytesMax + recordHeadBytes),
    // The broker's own time: it refuses records of a producer whose clock is an hour ahead.
    "message.timestamp.type": "LogAppendTime",
  };
}

/** The faults of the topic, a phrase each; none if it serves. */
export function listProblems({ replicas, settings }: TopicState, needs: TopicNeeds): string[] {
  const problems: string[] = [];
  if (replicas.length !== needs.partitions) {
    problems.push(`it has ${replicas.length} partitions, not ${needs.partitions}`);
  }
  const fewest = Math.min(...replicas);
  if (fewest < needs.replicas)
    problems.push(`a partition has ${fewest} replicas, fewer than ${needs.replicas}`);
  const number = (name: string): number => Number(settings.get(name) ?? Number.NaN);
  const atLeast = (name: string, least: number): void => {
    if (!(number(name) >= least))
      problems.push(`${name} is ${describeSetting(settings, name)}, less than ${least}`);
  };
  const mustBe = (name: string, ...allowed: readonly string[]): void => {
    const value = describeSetting(settings, name);
    if (!allowed.includes(value)) problems.push(`${name} is ${value}, not ${allowed.join(" or ")}`);
  };
  atLeast("min.insync.replicas", inSyncMin);
  if (!needs.acceptsUnflushed) mustBe("flush.messages", "1");
  mustBe("unclean.leader.election.enable", "false");
  mustBe("cleanup.policy", "delete");
  mustBe("retention.ms", "-1");
  mustBe("retention.bytes", "-1");
  // A broker that compresses what it was given changes frames into what readers refuse.
  mustBe("compression.type", "producer", "uncompressed");
  atLeast("max.message.bytes", needs.frameBytesMax + recordHeadBytes);
  return problems;
}

const describeSetting = (settings: ReadonlyMap<string, string | null>, name: string): string =>
  settings.get(name) ?? "not known";
