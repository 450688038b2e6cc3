export interface Progress {
  begin(through: number): void;
  succeed(through: number): void;
  fail(through: number): void;
  /** The highest journal id with nothing open at or below it. */
  settled(): number;
}

/**
 * Follows overlapping batches: the checkpoint stays below every batch that is open or has failed until a call
 * with the same `through` succeeds.
 */
export function createProgress(checkpoint: number): Progress {
  const open = new Map<number, { running: number; failed: number }>();
  let done: number[] = [];
  let settled = checkpoint;

  function end(through: number, failed: number): void {
    const batch = open.get(through);
    if (batch === undefined) return;
    batch.running--;
    batch.failed += failed;
    if (batch.running === 0 && batch.failed === 0) {
      open.delete(through);
      done.push(through);
    }
    const lowestOpen = Math.min(...open.keys());
    settled = Math.max(settled, ...done.filter((id) => id < lowestOpen));
    done = done.filter((id) => id > settled);
  }

  return {
    begin: (through) => {
      if (through <= settled) return;
      const batch = open.get(through) ?? { running: 0, failed: 0 };
      batch.running++;
      if (batch.failed > 0) batch.failed--;
      open.set(through, batch);
    },
    succeed: (through) => end(through, 0),
    fail: (through) => end(through, 1),
    settled: () => settled,
  };
}
