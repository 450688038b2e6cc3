/** A shard of this node, as messages of the broker come to it, whichever node follows the broker. */
import type { BrokerShard } from "../../ingest/transports/broker/broker-shard.js";
import { takenByEarlierRun } from "../../ingest/transports/broker/redelivery.js";
import { openMax } from "../../ingest/transports/broker/settings.js";
import type { Accept, AcceptedUplink } from "../../ingest/uplinks/accept.js";
import { type DeviceHistory, messageKey, type Taken } from "../../ingest/uplinks/redelivery.js";
import type { Journal } from "../../store/journal/journal.js";

/** A shard that is here. */
export interface LocalShard extends Pick<BrokerShard, "accept" | "registry" | "work"> {
  readonly number: number;
  readonly isFull: () => boolean;
  /** Resolves with all that has come from a device so far, once it is on disk. */
  readonly takenBefore: (device: number) => Promise<Taken>;
  /** Aborted once the shard's journal is closed. */
  readonly closed: AbortSignal;
}

interface LocalShardDeps extends Pick<LocalShard, "number" | "registry" | "work" | "closed"> {
  readonly accept: Pick<Accept, "uplink" | "full">;
  readonly journal: Pick<Journal, "waitFor" | "appendedID" | "committedID">;
  readonly history: DeviceHistory;
  /** Hash of the client id at the broker. */
  readonly session: number;
}

export function createLocalShard(deps: LocalShardDeps): LocalShard {
  const { number, accept, registry, work, closed, journal, history, session } = deps;
  const recent = createRecent();

  /** A wait also ends as a log goes away, when nothing is kept yet. */
  async function allKept(): Promise<void> {
    const target = journal.appendedID;
    while (journal.committedID < target)
      if (!(await journal.waitFor(journal.committedID))) throw new Error("the shard is closing");
  }

  return {
    number,
    registry,
    work,
    closed,
    isFull: () => accept.full,
    accept: {
      uplink: (origin, uplink, refused, done) => {
        accept.uplink(origin, uplink, refused, done);
        if (uplink.qos === 1) recent.add(origin.device.id, uplink);
      },
    },
    takenBefore: async (device) => {
      // The caller acknowledges what is found here, so it must be on disk; the history is read from the disk, too.
      await allKept();
      const taken = await takenByEarlierRun(history, device, session, { lastID: Number.POSITIVE_INFINITY });
      return new Set([...taken, ...recent.of(device)]);
    },
  };
}

/**
 * The messages accepted since the process began. A message of another shard that waits for its owner delays the
 * acknowledgements of all later ones, for any time; but the broker has at most `openMax` open.
 */
function createRecent() {
  const taken = new Map<number, { readonly device: number; readonly key: string }>();
  return {
    add: (device: number, message: Pick<AcceptedUplink, "messageID" | "topic" | "payload">): void => {
      // The latest of each id counts, and is the last to go.
      taken.delete(message.messageID);
      taken.set(message.messageID, { device, key: messageKey(message) });
      const [oldest] = taken.keys();
      if (taken.size > openMax && oldest !== undefined) taken.delete(oldest);
    },
    of: (device: number): string[] =>
      [...taken.values()].filter((one) => one.device === device).map(({ key }) => key),
  };
}
