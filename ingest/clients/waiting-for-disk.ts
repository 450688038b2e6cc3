import type { Accept } from "../uplinks/accept.js";

/** What a client can be told of a message: it is on disk, or nothing can be kept now, and nobody knows for how long. */
export type Kept = "kept" | "unavailable";

/** Answers that wait for the disk. None waits while the journal takes nothing: its client is told to come again. */
export interface WaitingForDisk {
  /** `append` calls `done` once it is on disk. */
  untilKept(append: (done: () => void) => void): Promise<Kept>;
  /** Resolves once there is room for more; false: nothing can be kept now. */
  room(): Promise<boolean>;
  /** To be called after each commit of the journal, and when it stops. */
  afterCommit(): void;
}

export function createWaitingForDisk(accept: Pick<Accept, "stopped" | "full">): WaitingForDisk {
  const waiting = new Set<(kept: Kept) => void>();
  let forRoom: (() => void)[] = [];

  return {
    untilKept: (append) =>
      new Promise((resolve) => {
        waiting.add(resolve);
        append(() => {
          waiting.delete(resolve);
          resolve("kept");
        });
      }),
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
      for (const resolve of waiting) resolve("unavailable");
      waiting.clear();
    },
  };
}
