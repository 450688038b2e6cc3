/** The nodes of a cluster that are alive, as one node sees it: by whether beats change, over its own clock. */
import type { NodeState } from "../../store/metadata/cluster/cluster-state.js";

/** How often a node beats, and looks at the beats of the others. */
export const beatMs = 2000;
/** A node whose beat has not changed for so long is taken for dead. */
export const deadMs = 6000;

interface Watched {
  readonly state: NodeState;
  /** For how long its beat has been seen unchanged. */
  silentMs: number;
}

interface NodeWatch {
  /** Takes the states that have just been read. */
  see(nodes: readonly NodeState[]): void;
  /** Nothing could be read: nobody could beat meanwhile either, so that the time until the next look does not count. */
  miss(): void;
  /** The process that has the number, and is there; null: none. */
  find(number: number): NodeState | null;
}

/**
 * @param members the nodes that there may be: others are never there
 * @param self always there
 * @param monotonic milliseconds; never set
 */
export function createNodeWatch(
  members: readonly number[],
  self: number,
  monotonic: () => number,
): NodeWatch {
  let watched: ReadonlyMap<number, Watched> = new Map();
  let seenAt: number | null = null;

  /** A node that was itself paused has not watched the others: between two looks no more than one beat counts. */
  function watchedMs(): number {
    const before = seenAt;
    seenAt = monotonic();
    return before === null ? 0 : Math.min(seenAt - before, beatMs);
  }

  return {
    see: (nodes) => {
      const ms = watchedMs();
      watched = new Map(
        nodes
          .filter(({ number }) => members.includes(number))
          .map((state) => {
            const { state: before, silentMs = 0 } = watched.get(state.number) ?? {};
            const isSilent = before?.owner === state.owner && before.beat === state.beat;
            return [state.number, { state, silentMs: isSilent ? silentMs + ms : 0 }];
          }),
      );
    },
    miss: () => {
      seenAt = null;
    },
    find: (number) => {
      const found = watched.get(number);
      return found !== undefined && (number === self || found.silentMs < deadMs) ? found.state : null;
    },
  };
}
