import type { Directory } from "../../ingest/directory.js";
import { mayReceive } from "../../ingest/policies.js";
import type { Sessions } from "../../ingest/sessions/live.js";
import type { Broker } from "../../ingest/transports/broker/broker.js";

/** What goes to a device that has no session here goes through the broker, which knows whether it is there. */
export function throughBroker(
  sessions: Sessions,
  broker: Broker["outbound"],
  directory: Pick<Directory, "peek" | "get">,
): Sessions {
  return {
    ...sessions,
    reaches: (device, topic) => {
      if (sessions.reaches(device, topic)) return true;
      const entry = directory.peek(device);
      return broker.isUp && (entry === undefined || mayReceive(entry, topic));
    },
    has: (device) => sessions.has(device) || broker.isUp,
    send: (device, message, settled) => {
      const sent = sessions.send(device, message, settled);
      if (sent !== "none" || !broker.isUp) return sent;
      void directory.get(device).then(
        (entry) => {
          const goes = entry !== undefined && mayReceive(entry, message.topic);
          const done = goes ? broker.send(entry.device.deviceID, { ...message, ttl: 3600 }, settled) : "none";
          if (done === "none") settled(false);
        },
        () => settled(false),
      );
      return message.qos === 0 ? "sent" : "awaited";
    },
  };
}
