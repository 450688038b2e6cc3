/**
 * A queue of works by fairness key: keys take turns, and the works of one key go in the order of arrival. A key that
 * was served goes to the end, so that one with hundreds of works delays only itself.
 */
interface RoundRobin<FairnessKey, Work extends object> {
  /** Adds a work after the key's others. Each work is there only once. */
  push(payer: FairnessKey, work: Work): void;
  /**
   * Iterates over the first work of each key, in the order of their turns. A key that is served during the iteration
   * comes again with its next work, and so does a new key.
   */
  firsts(): Generator<readonly [payer: FairnessKey, first: Work], void>;
  /** Takes the key's first work, which ends its turn. */
  serve(payer: FairnessKey): Work | undefined;
  /** Takes the first work of the key whose turn it is. */
  next(): Work | undefined;
  /** Removes a work that no longer waits; its key keeps its place. */
  remove(payer: FairnessKey, work: Work): void;
  /** Whether the key has waiting works. */
  has(payer: FairnessKey): boolean;
  /** How many works wait. */
  readonly size: number;
}

interface Queue<Work> {
  readonly works: Set<Work>;
  /** Iterates over the works after the first. It keeps its place: a new iterator would pass over all that have gone. */
  readonly others: SetIterator<Work>;
  first: Work;
}

export function createRoundRobin<FairnessKey, Work extends object>(): RoundRobin<FairnessKey, Work> {
  /** In the order of turns; no queue is empty. */
  const queues = new Map<FairnessKey, Queue<Work>>();
  let size = 0;

  function* firsts(): Generator<readonly [FairnessKey, Work], void> {
    for (const [payer, { first }] of queues) yield [payer, first];
  }

  function take(payer: FairnessKey, queue: Queue<Work>, work: Work): void {
    if (!queue.works.delete(work)) return;
    size--;
    if (queue.works.size === 0) queues.delete(payer);
    else if (work === queue.first) queue.first = queue.others.next().value ?? work;
  }

  function serve(payer: FairnessKey): Work | undefined {
    const queue = queues.get(payer);
    if (queue === undefined) return undefined;
    const { first } = queue;
    queues.delete(payer);
    if (queue.works.size > 1) queues.set(payer, queue);
    take(payer, queue, first);
    return first;
  }

  return {
    push: (payer, work) => {
      const queue = queues.get(payer);
      if (queue === undefined) {
        const works = new Set([work]);
        const others = works.values();
        others.next();
        queues.set(payer, { works, others, first: work });
      } else if (queue.works.has(work)) return;
      else queue.works.add(work);
      size++;
    },
    firsts,
    serve,
    next: () => {
      const { value, done } = queues.keys().next();
      return done === true ? undefined : serve(value);
    },
    remove: (payer, work) => {
      const queue = queues.get(payer);
      if (queue !== undefined) take(payer, queue, work);
    },
    has: (payer) => queues.has(payer),
    get size() {
      return size;
    },
  };
}
