import type { BindableDevice } from "../../store/metadata/devices/bound-devices.js";
import { bindingsShownMax, type Policy } from "../../store/metadata/policies/policies.js";
import type { ViewContext } from "./context.js";

export function policyTruncated(policy: Policy): boolean {
  return policy.bindings.length > bindingsShownMax;
}

export function policyStored(policy: Policy, { stamp }: ViewContext) {
  return {
    id: policy.id,
    name: policy.name,
    topic: policy.topic,
    access: policy.access,
    allow: policy.allow,
    description: policy.description,
    mqtt_acl: policy.bindings.slice(0, bindingsShownMax).map((id) => ({ id })),
    userIntID: policy.userIntID,
    createAt: stamp(policy.createAt),
    updateAt: stamp(policy.updateAt),
  };
}

export function policyListed(policy: Policy, context: ViewContext) {
  return {
    ...policyStored(policy, context),
    accessLabel: context.label("access", policy.access),
    allowLabel: context.label("allow", policy.allow),
  };
}

export function policyDetail(policy: Policy, context: ViewContext) {
  return { ...policyListed(policy, context), createUser: policy.createUser };
}

/** deviceType of Variant B: 0 terminal, 1 gateway, 2 smartphone. */
const codesB = { gateway: 1, terminal: 0, smartphone: 2 } as const;
const smartphone = 3;

function deviceTypeLabel({ kind, deviceType }: BindableDevice, context: ViewContext): string | null {
  if (context.variant === "A") return context.label("deviceType", deviceType);
  if (kind === "gateway") return context.labelB("deviceType", codesB.gateway);
  return context.labelB("deviceType", deviceType === smartphone ? codesB.smartphone : codesB.terminal);
}

/** A device that a policy is bound to; in Variant A a gateway has no deviceType. */
export function boundDevice(device: BindableDevice, context: ViewContext) {
  const { id, deviceID, deviceName } = device;
  return { id, deviceID, deviceName, deviceTypeLabel: deviceTypeLabel(device, context) };
}

export function bindableDevice({ id, deviceName, productName }: BindableDevice) {
  return { id, deviceName, productName };
}
