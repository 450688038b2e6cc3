import type { Directory } from "../../ingest/directory/directory.js";
import type { DeviceEntry } from "../../ingest/directory/entries.js";
import { mayBeSent, type SessionDownlinks } from "../../ingest/sessions/downlinks.js";
import type { Broker } from "../../ingest/transports/broker/broker.js";
import type { ExternalBroker } from "./routing.js";

type Entries = Pick<Directory, "peek" | "get">;

/**
 * A command that reaches no session here goes through the broker, which reports whether anybody received it: the
 * broker's PUBACK is the receipt. Nothing waits here for a broker that is down.
 */
export function throughBroker(
  downlinks: SessionDownlinks,
  broker: Broker["outbound"],
  directory: Entries,
): SessionDownlinks {
  return {
    reach: async (device, protocol, topic, qos) => {
      const here = await downlinks.reach(device, protocol, topic, qos);
      if (here !== null || !broker.isUp) return here;
      const entry = directory.peek(device) ?? (await directory.get(device));
      if (entry === undefined || !mayBeSent(entry, topic)) return null;
      return { entry, qos, outlives: false, isLive: true, opens: null };
    },
    send: (to, message, settled, kept) => {
      const here = downlinks.send(to, message, settled, kept);
      if (here !== "none" || !mayBeSent(to, message.topic)) return here;
      const there = broker.send(to.device.deviceID, message, settled);
      if (there === "awaited") kept(true);
      return there;
    },
  };
}

/** Messages without a receipt, to devices that may be at the broker. */
export function createExternalBroker(broker: Broker["outbound"], directory: Entries): ExternalBroker {
  return {
    get isUp() {
      return broker.isUp;
    },
    send: (device, topic, payload) => {
      if (!broker.isUp) return false;
      const message = { topic, payload, qos: 0, ttl: 0 } as const;
      const sendTo = (entry: DeviceEntry): boolean =>
        mayBeSent(entry, topic) && broker.send(entry.device.deviceID, message, noReceipt) !== "none";
      const entry = directory.peek(device);
      if (entry !== undefined) return sendTo(entry);
      void directory.get(device).then((found) => found && sendTo(found), noReceipt);
      return true;
    },
  };
}

const noReceipt = (): void => undefined;
