/** A command as it is typed, and the bodies that it means. */
import type { Reference } from "../resources/resources.js";

export const targetKinds = ["device", "gateway", "group"] as const;
type TargetKind = (typeof targetKinds)[number];

export interface Target {
  readonly kind: TargetKind;
  /** The record id as text; empty: none is chosen. */
  readonly id: string;
}

export const references: Readonly<Record<TargetKind, Reference>> = {
  device: { path: "/devices", value: "id", label: "deviceName" },
  gateway: { path: "/gateways", value: "id", label: "gatewayName" },
  group: { path: "/groups", value: "id", label: "groupName" },
};

export interface Typed {
  readonly topic: string;
  readonly payload: string;
  readonly qos: string;
  /** Seconds. */
  readonly ttl: string;
  /** In a command to a group, each member has a receipt of its own. */
  readonly needAck: boolean;
}

export const nothingTyped: Typed = { topic: "", payload: "", qos: "1", ttl: "", needAck: true };

export const isChosen = ({ id }: Target): boolean => /^\d+$/.test(id);

/** Where a command goes if nothing is typed. */
export const inbox = "inbox";

/** Leaves out empty fields: the service decides them. */
export function commandBody({ kind, id }: Target, { topic, payload, qos, ttl, needAck }: Typed) {
  const wanted = topic.trim();
  return {
    [kind === "group" ? "groupIntID" : "deviceIntID"]: Number(id),
    payload,
    qos: Number(qos),
    ...(wanted === "" ? {} : { topic: wanted }),
    ...(ttl.trim() === "" ? {} : { ttl: ttl.trim() }),
    ...(kind === "group" ? { needAck: needAck ? 1 : 0 } : {}),
  };
}
