import { count, type Meter } from "../meter.js";
import type { Accept, Origin, Uplink } from "../uplinks/accept.js";
import type { WorkBudget } from "../uplinks/work-budget.js";
import type { SessionRegistry } from "./session-registry.js";

export interface PublishContext {
  readonly accept: Accept;
  readonly registry: Pick<SessionRegistry, "publish">;
  readonly meter: Meter;
  readonly work: WorkBudget;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Keeps a message of a device, tells its sender by `kept`, and hands it to the device's other clients, in this order.
 * `isAllowed`: by its policies; otherwise it is an event and nothing more. `cost` has been taken of the work budget
 * (0: nothing), and is given back. @throws StoreError what the journal does not take
 */
export function publishUplink(
  context: PublishContext,
  origin: Origin,
  uplink: Uplink,
  isAllowed: boolean,
  cost: number,
  kept: () => void,
): void {
  const { accept, registry, meter, work, now } = context;
  const at = now() * 1000;
  const { device, session } = origin;
  if (!isAllowed) {
    count(meter.policyRefused, "publish");
    meter.rates.refused(device.device.tenant, "policy", 1);
  }
  const appended = (): void => {
    if (cost > 0) work.give(device.device.tenant, cost);
    kept();
    if (!isAllowed) return;
    const { topic, payload, qos, retain, properties } = uplink;
    registry.publish({ device: device.id, session, topic, payload, qos, retain, properties, at });
  };
  try {
    accept.uplink(origin, uplink, !isAllowed, appended);
  } catch (error) {
    if (cost > 0) work.give(device.device.tenant, cost);
    throw error;
  }
}
