import type { SessionRecords } from "./records.js";
import type { Spaces } from "./spaces.js";

/** Publishes wills when they are due. */
export interface Wills {
  /** A will may have become due. */
  look(): void;
  close(): void;
}

const lookMs = 1000;

export function startWills(
  spaces: Spaces,
  records: Pick<SessionRecords, "publishWill">,
  now: () => number,
): Wills {
  /** On their way to the disk: each goes once. */
  const published = new Set<number>();
  let planned = false;

  function publishDue(): void {
    planned = false;
    const due = spaces.dueWills(now() * 1000);
    const connections = new Set(due.map(({ connection }) => connection));
    for (const connection of published) if (!connections.has(connection)) published.delete(connection);
    for (const will of due) {
      if (published.has(will.connection)) continue;
      published.add(will.connection);
      records.publishWill(will);
    }
  }

  const timer = setInterval(publishDue, lookMs);
  return {
    look: () => {
      if (planned) return;
      planned = true;
      setImmediate(publishDue);
    },
    close: () => clearInterval(timer),
  };
}
