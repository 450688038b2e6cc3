/** How far the series store has come, where batches overlap and fail in any order. */

/** Where the checkpoint is kept: in the metadata, since InfluxDB has no transaction to keep it in. */
export interface CheckpointPort {
  read(): Promise<number>;
  write(id: number): Promise<void>;
}

/** The trackers of all shards. */
interface CheckpointTrackers extends Pick<CheckpointTracker, "persist" | "close"> {
  of(shard: number): CheckpointTracker;
  /** Saves the shard's, and forgets it. @throws whatever the port throws */
  letGo(shard: number): Promise<void>;
}

interface CheckpointTracker {
  /** The journal id up to which every batch has succeeded. */
  settled(): Promise<number>;
  /** A batch that completes `through` begins. */
  begin(through: number): void;
  /** The batch has ended. A failed one keeps the checkpoint below it until the same `through` succeeds. */
  end(through: number, succeeded: boolean): void;
  /** Saves the checkpoint now. @throws whatever the port throws */
  persist(): Promise<void>;
  close(): void;
}

const persistIntervalMs = 1000;

export function createCheckpointTracker(port: CheckpointPort): CheckpointTracker {
  /** The number of batches under way, by the id that they complete; 0: they failed and must come again. */
  const open = new Map<number, number>();
  const done = new Set<number>();
  let persisted: number | undefined;
  let settled = 0;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  const load = async () => {
    persisted ??= await port.read();
    settled = Math.max(settled, persisted);
  };
  const persist = () => {
    clearTimeout(timer);
    timer = undefined;
    writing = writing
      .catch(() => {})
      .then(async () => {
        await load();
        const id = settled;
        if (id <= (persisted ?? 0)) return;
        await port.write(id);
        persisted = id;
      });
    return writing;
  };
  const schedule = () => {
    // A port that fails now is tried again a second later; flush and close report the failure.
    timer ??= setTimeout(() => void persist().catch(schedule), persistIntervalMs).unref();
  };
  const advance = () => {
    let lowestOpen = Number.POSITIVE_INFINITY;
    for (const id of open.keys()) lowestOpen = Math.min(lowestOpen, id);
    const before = settled;
    for (const id of done) {
      if (id >= lowestOpen) continue;
      settled = Math.max(settled, id);
      done.delete(id);
    }
    if (settled > before) schedule();
  };

  return {
    settled: async () => {
      await load();
      return settled;
    },
    begin: (through) => void open.set(through, (open.get(through) ?? 0) + 1),
    end: (through, succeeded) => {
      const left = (open.get(through) ?? 1) - 1;
      if (succeeded && left <= 0) open.delete(through);
      else open.set(through, left);
      if (succeeded) done.add(through);
      advance();
    },
    persist,
    close: () => clearTimeout(timer),
  };
}

export function createCheckpointTrackers(portOf: (shard: number) => CheckpointPort): CheckpointTrackers {
  const trackers = new Map<number, CheckpointTracker>();
  return {
    of: (shard) => {
      const tracker = trackers.get(shard) ?? createCheckpointTracker(portOf(shard));
      trackers.set(shard, tracker);
      return tracker;
    },
    letGo: async (shard) => {
      const tracker = trackers.get(shard);
      trackers.delete(shard);
      tracker?.close();
      await tracker?.persist();
    },
    persist: async () => {
      await Promise.all([...trackers.values()].map((tracker) => tracker.persist()));
    },
    close: () => {
      for (const tracker of trackers.values()) tracker.close();
    },
  };
}
