/** Bytes of all clients of the process together, and of one client. The estimate is rather too high than too low. */
const topicsBytesMax = { ofAll: 32 * 1024 * 1024, ofOne: 16 * 1024 } as const;
/** Topics of one client; beyond that all are forgotten at once. */
const topicsMax = 32;
/** An entry, and what it refers to. */
const entryBytes = 192;

/** What a client's subscriptions have found for topics, as far as the budget allows. */
export interface RememberedTopics<Found> {
  get(topic: string): Found | undefined;
  has(topic: string): boolean;
  /** `bytes`: what it takes besides the topic. */
  set(topic: string, found: Found, bytes: number): void;
  forget(): void;
}

/** The memories of many clients, within one bound: the one that began first forgets first. */
interface TopicMemory<Found> {
  begin(): RememberedTopics<Found>;
  readonly bytes: number;
}

/** @param bytesMax of all together, and of one */
export function createTopicMemory<Found>(
  bytesMax: { readonly ofAll: number; readonly ofOne: number } = topicsBytesMax,
): TopicMemory<Found> {
  /** Those that hold something, in the order in which they began; their clients may have gone. */
  const holding = new Map<RememberedTopics<Found>, number>();
  let total = 0;

  function begin(): RememberedTopics<Found> {
    const topics = new Map<string, Found>();

    function forget(): void {
      topics.clear();
      total -= holding.get(one) ?? 0;
      holding.delete(one);
    }

    const one: RememberedTopics<Found> = {
      get: (topic) => topics.get(topic),
      has: (topic) => topics.has(topic),
      set: (topic, found, beside) => {
        const bytes = entryBytes + 2 * topic.length + beside;
        if (bytes > bytesMax.ofOne) return;
        if (topics.size >= topicsMax || (holding.get(one) ?? 0) + bytes > bytesMax.ofOne) forget();
        topics.set(topic, found);
        holding.set(one, (holding.get(one) ?? 0) + bytes);
        total += bytes;
        makeRoom();
      },
      forget,
    };
    return one;
  }

  function makeRoom(): void {
    for (const [first] of holding) {
      if (total <= bytesMax.ofAll) return;
      first.forget();
    }
  }

  return {
    begin,
    get bytes() {
      return total;
    },
  };
}
