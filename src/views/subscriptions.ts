import type { Subscription } from "../../store/metadata/policies/subscriptions.js";
import type { Stamped } from "./context.js";

export function subscriptionShown({ id, topic, qos, createAt, updateAt }: Subscription, { stamp }: Stamped) {
  return { id, topic, qos, createAt: stamp(createAt), updateAt: stamp(updateAt) };
}
