/** Callers that wait for a record to be committed. */
interface CommitWaiters {
  /** Resolves once a record after `id` is committed, or there is reason to look again. */
  wait(id: number): Promise<void>;
  wakeUpTo(committedID: number): void;
  wakeAll(): void;
}

export function createCommitWaiters(): CommitWaiters {
  let waiters: { readonly id: number; readonly resolve: () => void }[] = [];
  const wakeUpTo = (committedID: number): void => {
    const ready = waiters.filter(({ id }) => id < committedID);
    if (ready.length === 0) return;
    waiters = waiters.filter(({ id }) => id >= committedID);
    for (const { resolve } of ready) resolve();
  };
  return {
    wait: (id) => new Promise((resolve) => void waiters.push({ id, resolve })),
    wakeUpTo,
    wakeAll: () => wakeUpTo(Number.POSITIVE_INFINITY),
  };
}
