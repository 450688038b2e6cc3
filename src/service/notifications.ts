import type { Clock } from "../../store/lib/clock.js";
import type { Commands } from "../commands/commands.js";
import type { Config } from "../config/config.js";
import { createAddressGuard } from "../contact-points/addresses.js";
import { createEmailSend } from "../contact-points/email.js";
import { createMqttSend, type SendToDevice } from "../contact-points/mqtt.js";
import { delivered, failed, formatSendError, refuseMessage } from "../contact-points/sending.js";
import { createWebhookSend } from "../contact-points/webhook.js";
import { type Notifier, type NotifierDeps, startNotifier } from "../notifications/notifier.js";
import type { Logger } from "../observability/log.js";
import type { MetadataLayer } from "./metadata-layer.js";

/** Seconds that a message waits for a device that is away. */
const deviceSeconds = 86_400;

export function openNotifier(
  config: Config,
  { db, devices, meter }: Pick<MetadataLayer, "db" | "devices" | "meter">,
  commands: Commands,
  log: Logger,
  { now, monotonic, retentionTime }: Clock & Pick<NotifierDeps, "retentionTime">,
): Notifier {
  const guard = createAddressGuard(config.notifyPrivateAddresses);
  return startNotifier({
    db,
    vault: devices.vault,
    meter,
    senders: {
      webhook: createWebhookSend(guard, now),
      email: createEmailSend(guard, config.mailServer),
      mqtt: createMqttSend(guard, toDevice(commands)),
    },
    mailLimits: config.mailLimits,
    node: config.nodeNumber,
    timezone: config.timezone,
    retentionDays: config.eventRetentionDays,
    log,
    now,
    monotonic,
    retentionTime,
  });
}

/** A message to a device is a command to it: it waits for a device that is away, and has its receipt in the control log. */
function toDevice(commands: Commands): SendToDevice {
  return async (tenant, { deviceIntID, topic }, payload) => {
    const actor = { tenant, userIntID: null, username: null };
    try {
      const target = await commands.target(tenant, { deviceIntID });
      if (target === undefined) return refuseMessage("the device was deleted");
      const isStored = await commands.publish(actor, target, { topic, payload, qos: 1, ttl: deviceSeconds });
      return isStored
        ? delivered("handed over; its receipt is in the control log")
        : failed("the device is not subscribed to the topic, or may not be");
    } catch (error) {
      return failed(formatSendError(error));
    }
  };
}
