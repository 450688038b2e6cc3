import { addCount, type Meter } from "../meter.js";
import type { Accept, AcceptedUplink, Origin } from "../uplinks/accept.js";
import type { WorkBudget } from "../uplinks/work-budget.js";
import type { SessionRegistry } from "./session-registry.js";

/** The parts of a shard that take an uplink. */
export interface PublishContext {
  readonly accept: Pick<Accept, "uplink">;
  readonly registry: Pick<SessionRegistry, "publish">;
  readonly work: Pick<WorkBudget, "give">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * The only caller of `Accept.uplink`: appends a message of a device to the journal; once it is on disk, releases its
 * work budget, calls `kept` so that its sender gets the answer, and publishes it to the device's other clients.
 * @param isRefused by a policy: the message is kept as an event and goes no further
 * @param cost acquired from the work budget, 0 for none; it is released also if the append fails
 * @throws StoreError if the journal does not take the message
 */
export function publishUplink(
  { accept, registry, work, now }: PublishContext,
  origin: Origin,
  uplink: AcceptedUplink,
  isRefused: boolean,
  cost: number,
  kept: () => void,
): void {
  const at = now() * 1000;
  const { device, session } = origin;
  const release = (): void => {
    if (cost > 0) work.give(device.device.tenant, cost);
  };
  const appended = (): void => {
    release();
    kept();
    if (isRefused) return;
    const { topic, payload, qos, retain, properties } = uplink;
    registry.publish({ device: device.id, session, topic, payload, qos, retain, properties, at });
  };
  try {
    accept.uplink(origin, uplink, isRefused, appended);
  } catch (error) {
    release();
    throw error;
  }
}

/** Counts a message that is refused before the journal, or, by a policy, kept as an event only. */
export function countRefusal(meter: Meter, tenant: number, reason: "topic" | "oversize" | "policy"): void {
  if (reason === "policy") addCount(meter.policyRefused, "publish");
  else addCount(meter.messagesRefused, reason);
  meter.rates.refused(tenant, reason, 1);
}
