import { t } from "../i18n.js";
import { ResourceList } from "./ResourceList.js";
import { resources } from "./resources.js";

interface SubscriptionsProps {
  /** The path of a device, a group or a product. */
  readonly of: string;
}

/** What the service subscribes the sessions of devices to. */
export function Subscriptions({ of }: SubscriptionsProps) {
  return (
    <>
      <p class="muted">{t("bind.subscriptions")}</p>
      <ResourceList resource={{ ...resources.subscriptions, path: `${of}/subscriptions` }} />
    </>
  );
}
