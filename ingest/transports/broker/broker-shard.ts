import type { DeviceEntry } from "../../directory/entries.js";
import type { SessionRegistry } from "../../sessions/session-registry.js";
import type { Accept } from "../../uplinks/accept.js";
import type { Taken } from "../../uplinks/redelivery.js";
import type { WorkBudget } from "../../uplinks/work-budget.js";

/** Where messages of a device go: its shard. */
export interface BrokerShard {
  readonly accept: Pick<Accept, "uplink">;
  readonly registry: Pick<SessionRegistry, "publish" | "publishCost">;
  /** The budget of the work that messages bring about. */
  readonly work: Pick<WorkBudget, "room" | "give">;
  /** What an earlier run had taken of a device; null: the shard itself looks, before it keeps what is sent again. */
  readonly takenBefore: ((device: number) => Promise<Taken>) | null;
}

/** The device of a message, and the shard to which it goes. */
export interface Addressee {
  readonly device: DeviceEntry;
  readonly shard: BrokerShard;
}
