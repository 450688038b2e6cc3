/**
 * Server stamps: microseconds since 1970, each given only once ever, even if the clock is set back. Stamps fall into
 * four classes by their remainder modulo four. While the clock runs, the stamps of one class ascend with it; when the
 * clock comes to a time whose stamps were given before, a class without stamps there takes over.
 */
export interface Stamps {
  /** The stamp of a record received at `receivedAt`, microseconds: not before it, at most a second after it. */
  next(receivedAt: number): number;
  /** Notes that a stamp found on disk has been given. */
  saw(stamp: number): void;
  /** Notes that all stamps up to `until` may have been given. */
  sawAll(until: number): void;
  /** The part that must outlive the run. */
  runs(): StampRuns;
}

/**
 * For each class, stretches of time whose stamps of that class may have been given; ascending, apart from each other.
 */
export type StampRuns = readonly (readonly (readonly [from: number, to: number])[])[];

export const stampClasses = 4;
/** How far stamps may run ahead of the clock. */
const leadMax = 1e6;
/** Stamps of one class that are no further apart belong to one run. */
const gapMax = 60e6;
/** Runs kept for each class; beyond this the two closest become one. */
const runsMax = 64;

interface Run {
  from: number;
  to: number;
}

export function createStamps(saved: StampRuns = []): Stamps {
  const classes: Run[][] = Array.from({ length: stampClasses }, (_, i) =>
    (saved[i] ?? []).map(([from, to]) => ({ from, to })),
  );
  let current = 0;
  /** The run of the present class that grows, and the start of that class's next run. */
  let run: Run | null = null;
  let limit = Number.POSITIVE_INFINITY;

  /** The first stamp of a class at or after a time. */
  const align = (time: number, of: number): number =>
    time + ((of - (time % stampClasses) + 4) % stampClasses);

  /** The first stamp of a class at or after a time that is in no run. */
  function firstFree(of: number, time: number): number {
    let stamp = align(time, of);
    for (const { from, to } of classes[of] as Run[]) {
      if (from > stamp) break;
      if (to >= stamp) stamp = align(to + 1, of);
    }
    return stamp;
  }

  /** Adds a stamp to the runs of its class; the class continues from there. */
  function mark(of: number, stamp: number): void {
    const runs = classes[of] as Run[];
    const at = runs.findLastIndex(({ from }) => from <= stamp);
    const held = runs[at];
    let grown: Run;
    if (held !== undefined && stamp - held.to <= gapMax) {
      held.to = Math.max(held.to, stamp);
      grown = held;
    } else {
      grown = { from: stamp, to: stamp };
      runs.splice(at + 1, 0, grown);
      if (runs.length > runsMax) mergeClosest(runs, grown);
    }
    current = of;
    run = grown;
    limit = runs[runs.indexOf(grown) + 1]?.from ?? Number.POSITIVE_INFINITY;
  }

  return {
    next: (receivedAt) => {
      if (run !== null) {
        const stamp = receivedAt > run.to ? align(receivedAt, current) : run.to + stampClasses;
        if (stamp - receivedAt <= leadMax && stamp < limit && stamp - run.to <= gapMax) {
          run.to = stamp;
          return stamp;
        }
      }
      const candidates = classes.map((_, of) => firstFree(of, receivedAt));
      const stamp = Math.min(...candidates);
      const of = candidates.indexOf(stamp);
      mark(of, stamp);
      return stamp;
    },
    saw: (stamp) => mark(((stamp % stampClasses) + stampClasses) % stampClasses, stamp),
    sawAll: (until) => {
      for (const runs of classes) {
        const later = runs.filter(({ to }) => to > until);
        runs.splice(0, runs.length, { from: 0, to: until }, ...later.filter(({ from }) => from > until));
        const crossing = later.find(({ from }) => from <= until);
        if (crossing !== undefined) (runs[0] as Run).to = crossing.to;
      }
      run = null;
    },
    runs: () => classes.map((runs) => runs.map(({ from, to }) => [from, to] as const)),
  };
}

/** Never merges `growing` with its neighbours: it would lose its place. */
function mergeClosest(runs: Run[], growing: Run): void {
  let best = -1;
  let gap = Number.POSITIVE_INFINITY;
  for (let i = 1; i < runs.length; i++) {
    const [before, after] = [runs[i - 1] as Run, runs[i] as Run];
    if (before === growing || after === growing || after.from - before.to >= gap) continue;
    best = i;
    gap = after.from - before.to;
  }
  if (best < 1) return;
  (runs[best - 1] as Run).to = (runs[best] as Run).to;
  runs.splice(best, 1);
}
