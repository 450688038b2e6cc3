import type { Accept } from "../uplinks/accept.js";

/** The outcomes of a message for a client: it is on disk, or nothing can be kept now, for an unknown time. */
export type Kept = "kept" | "unavailable";

/** Answers that wait for the disk. None waits while the journal takes nothing: its client must come again. */
export interface WaitingForDisk {
  /** `append` calls `done` once it is on disk; `told` is called once, then or when nothing can be kept. */
  whenKept(append: (done: () => void) => void, told: (kept: Kept) => void): void;
  /** The same as a promise. */
  untilKept(append: (done: () => void) => void): Promise<Kept>;
  /** Resolves once more can be taken; false: nothing can be kept now. */
  room(): Promise<boolean>;
  /** To be called after each commit of the journal, and when it stops. */
  afterCommit(): void;
}

export function createWaitingForDisk(accept: Pick<Accept, "stopped" | "full">): WaitingForDisk {
  const waiting = new Set<(kept: Kept) => void>();
  let forRoom: (() => void)[] = [];

  function whenKept(append: (done: () => void) => void, told: (kept: Kept) => void): void {
    waiting.add(told);
    append(() => {
      if (waiting.delete(told)) told("kept");
    });
  }

  return {
    whenKept,
    untilKept: (append) => new Promise((resolve) => whenKept(append, resolve)),
    room: async () => {
      while (accept.full && accept.stopped === null)
        await new Promise<void>((resolve) => forRoom.push(resolve));
      return accept.stopped === null;
    },
    afterCommit: () => {
      const looking = forRoom;
      forRoom = [];
      for (const look of looking) look();
      if (waiting.size === 0 || accept.stopped === null) return;
      const told = [...waiting];
      waiting.clear();
      for (const tell of told) tell("unavailable");
    },
  };
}
