/** Notifies the other nodes of changes in the metadata, so that these hold everywhere once they are answered. */
import type { Links } from "./links.js";

/**
 * Resolves once each of the nodes has seen what was written before the call, or is away: one that does not answer
 * within `timeoutMs`, in which it looks by itself, is waited for again once it has answered.
 */
export function createChangeNotices(
  nodes: readonly number[],
  { call }: Pick<Links, "call">,
  timeoutMs: number,
): () => Promise<void> {
  const notifiers = nodes.map((node) => {
    let isAway = false;
    const notify = gathered(() =>
      call(node, { call: "follow" }, timeoutMs).then(
        () => {
          isAway = false;
        },
        () => {
          isAway = true;
        },
      ),
    );
    return (): Promise<void> | undefined => {
      const notified = notify();
      return isAway ? undefined : notified;
    };
  });
  return async () => {
    await Promise.all(notifiers.map((notify) => notify()));
  };
}

/** One after the other; calls that come while one is under way are answered by the next. */
function gathered(work: () => Promise<void>): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  let next: Promise<void> | null = null;
  return () => {
    if (next !== null) return next;
    next = last.then(() => {
      next = null;
      return work();
    });
    last = next;
    return next;
  };
}
