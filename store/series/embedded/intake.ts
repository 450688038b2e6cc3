import { StoreError } from "../../lib/errors.js";
import { createLock } from "../../lib/scheduling.js";
import type { Flusher } from "./flusher.js";
import type { Progress } from "./progress.js";
import type { WriteArgs } from "./protocol.js";
import type { SeriesRegistry } from "./registry.js";

export interface PointIntake {
  /** Answers once the points are in the memtable; while both tables are full, the batch waits for the flush. */
  write(args: WriteArgs): Promise<null>;
  /** Admits waiting batches as far as the capacity allows. */
  pump(): void;
  /** Runs `work` while no batch is admitted. */
  held<T>(work: () => Promise<T>): Promise<T>;
  /** Rejects what waits. */
  stop(): void;
}

interface Batch {
  readonly args: WriteArgs;
  readonly textBytes: number;
  readonly resolve: (answer: null) => void;
  readonly reject: (error: StoreError) => void;
}

export function createPointIntake(deps: {
  registry: SeriesRegistry;
  flusher: Flusher;
  progress: Progress;
}): PointIntake {
  const { registry, flusher, progress } = deps;
  const turns = createLock();
  let waiting: Batch[] = [];
  let holds = 0;

  function insert({ handles, times, values, texts, textIndex, through }: WriteArgs): void {
    const table = flusher.active();
    for (let i = 0; i < handles.length; i++) {
      const { slot } = registry.byHandle(handles[i] ?? 0);
      const text = textIndex === null ? -1 : (textIndex[i] ?? -1);
      table.add(slot, times[i] ?? 0, text < 0 ? (values[i] ?? 0) : (texts[text] ?? ""));
    }
    progress.succeed(through);
  }

  function pump(): void {
    if (holds > 0) return;
    let taken = 0;
    for (const batch of waiting) {
      const points = batch.args.handles.length;
      if (!flusher.active().hasRoom(points, batch.textBytes)) {
        flusher.begin();
        if (!flusher.active().hasRoom(points, batch.textBytes)) break;
      }
      insert(batch.args);
      batch.resolve(null);
      taken++;
    }
    waiting = waiting.slice(taken);
    const failure = flusher.failure();
    if (failure !== undefined && waiting.length > 0) reject(failure);
  }

  function reject(failure: StoreError): void {
    const rejected = waiting;
    waiting = [];
    for (const { args, reject: refuse } of rejected) {
      progress.fail(args.through);
      refuse(failure);
    }
  }

  return {
    write: (args) =>
      new Promise((resolve, refuse) => {
        progress.begin(args.through);
        const textBytes = args.texts.reduce((total, text) => total + text.length, 0);
        waiting.push({ args, textBytes, resolve, reject: refuse });
        pump();
      }),
    pump,
    held: (work) =>
      turns(async () => {
        holds++;
        try {
          return await work();
        } finally {
          holds--;
          pump();
        }
      }),
    stop: () => reject(new StoreError("UNAVAILABLE", "cannot write points: the store is closing")),
  };
}
