/** What the streams of tenants, here and at other nodes, are told by the path of uplinks. */
import type { Directory } from "../../ingest/directory/directory.js";
import type { DecodedListener } from "../../ingest/followers/decoded.js";
import { type LiveTopic, refusedOf, type Told } from "../../ingest/live/tenant-events.js";
import type { TenantFeed } from "../../ingest/live/tenant-feed.js";
import type { LiveCounts } from "../../ingest/live/topic-feed.js";
import { isMessage, isRefused } from "../../store/journal/record.js";

export interface Telling {
  /** Each message, as the series consumer has decoded it. */
  readonly message: DecodedListener["offer"];
  /** A device has come or gone. */
  presence(device: number, deviceStatus: 0 | 1): void;
}

/** @param now milliseconds since 1970 */
export function createTelling(
  feeds: readonly Pick<TenantFeed, "wants" | "tell">[],
  directory: Pick<Directory, "get">,
  now: () => number,
): Telling {
  const wants = (topic: LiveTopic, tenant?: number): boolean =>
    feeds.some((feed) => feed.wants(topic, tenant));
  const tell = (tenant: number, told: Told): void => {
    for (const feed of feeds) feed.tell(tenant, told);
  };
  return {
    message: (_previousID, record, device, decoded) => {
      if (!isMessage(record) || device === undefined || !wants("messages", record.tenant)) return;
      const refused = isRefused(record) ? policyRefusal : refusedOf(decoded?.refusals ?? []);
      tell(record.tenant, {
        topic: "messages",
        deviceIntID: device.id,
        deviceID: device.device.deviceID,
        eventID: record.id,
        messageTopic: record.topic,
        size: record.payload.length,
        time: record.receivedAt / 1000,
        points: decoded === null ? 0 : decoded.points.length - decoded.from,
        refused,
      });
    },
    presence: (id, deviceStatus) => {
      if (!wants("presence")) return;
      const time = now();
      const find = async () => {
        const { device } = (await directory.get(id)) ?? {};
        if (device === undefined) return;
        const { tenant, deviceID } = device;
        tell(tenant, { topic: "presence", deviceIntID: id, deviceID, deviceStatus, time });
      };
      // A stream that misses this shows what it asks for again.
      void find().catch(() => undefined);
    },
  };
}

/** A policy has refused the whole message. */
const policyRefusal = [{ reason: "policy", count: 1 }] as const;

/** The figures of all feeds together. */
export function countsOf(...feeds: readonly { counts(): LiveCounts }[]): { counts(): LiveCounts } {
  return {
    counts: () => {
      const all = feeds.map((feed) => feed.counts());
      const sum = (of: keyof LiveCounts) => all.reduce((total, one) => total + one[of], 0);
      return {
        listeners: sum("listeners"),
        queued: sum("queued"),
        bytes: sum("bytes"),
        letGo: sum("letGo"),
      };
    },
  };
}
