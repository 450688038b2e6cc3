/** A shard of this node, as messages of the broker come to it, whichever node follows the broker. */
import type { BrokerShard } from "../../ingest/transports/broker/broker-shard.js";
import { takenByEarlierRun } from "../../ingest/transports/broker/redelivery.js";
import { openMax } from "../../ingest/transports/broker/settings.js";
import type { Accept, Uplink } from "../../ingest/uplinks/accept.js";
import { type DeviceHistory, messageKey } from "../../ingest/uplinks/redelivery.js";
import type { Journal } from "../../store/journal/journal.js";

/** A shard that is here. */
export interface LocalShard extends BrokerShard {
  readonly number: number;
  readonly isFull: () => boolean;
  /** Includes what is on its way to the disk. */
  readonly takenBefore: (device: number) => Promise<ReadonlySet<string>>;
}

interface LocalShardDeps extends Pick<BrokerShard, "registry" | "work"> {
  readonly number: number;
  readonly accept: Pick<Accept, "uplink" | "full">;
  readonly journal: Pick<Journal, "waitFor" | "appendedID">;
  readonly history: DeviceHistory;
  /** Hash of the client id at the broker. */
  readonly session: number;
}

export function createLocalShard(deps: LocalShardDeps): LocalShard {
  const { number, accept, registry, work, journal, history, session } = deps;
  const recent = createRecent();
  return {
    number,
    registry,
    work,
    isFull: () => accept.full,
    accept: {
      uplink: (origin, uplink, refused, done) => {
        accept.uplink(origin, uplink, refused, done);
        if (uplink.qos === 1) recent.add(origin.device.id, uplink);
      },
    },
    takenBefore: async (device) => {
      // It may still be on its way to the disk, where the history is read.
      await journal.waitFor(journal.appendedID - 1);
      const taken = await takenByEarlierRun(history, device, session, { lastID: Number.POSITIVE_INFINITY });
      return new Set([...taken, ...recent.of(device)]);
    },
  };
}

/**
 * What has been taken since the process began. A message of another shard that waits for its keeper holds up the
 * acknowledgements of all that come after it, for any time; but the broker has at most `openMax` open.
 */
function createRecent() {
  const taken = new Map<number, { readonly device: number; readonly key: string }>();
  return {
    add: (device: number, message: Pick<Uplink, "messageID" | "topic" | "payload">): void => {
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
