/** Publishes messages, points and presence as live events to the streams of tenants, on this node and on others. */
import type { Directory } from "../../ingest/directory/directory.js";
import type { DecodedListener } from "../../ingest/followers/decoded.js";
import { type LiveTopic, type NewEvent, sumRefusals } from "../../ingest/live/tenant-events.js";
import type { TenantFeed } from "../../ingest/live/tenant-feed.js";
import type { LiveCounts } from "../../ingest/live/topic-feed.js";
import { isMessage, isRefused } from "../../store/journal/record.js";
import type { Point } from "../../store/series/series.js";

export interface LivePublisher {
  /** Each message, as the series consumer has decoded it. */
  readonly message: DecodedListener["offer"];
  /** Points that can be read from now on. */
  points(points: readonly Point[]): void;
  /** A device has come or gone. */
  presence(device: number, deviceStatus: 0 | 1): void;
  /** Something of any tenant was missed. */
  missed(): void;
}

/** @param now milliseconds since 1970 */
export function createLivePublisher(
  feeds: readonly Pick<TenantFeed, "wants" | "tell" | "publish" | "miss">[],
  directory: Pick<Directory, "get">,
  now: () => number,
): LivePublisher {
  const wants = (topic: LiveTopic, tenant?: number): boolean =>
    feeds.some((feed) => feed.wants(topic, tenant));
  const tell = (tenant: number, told: NewEvent): void => {
    for (const feed of feeds) feed.tell(tenant, told);
  };
  return {
    message: (_previousID, record, device, decoded) => {
      if (!isMessage(record) || device === undefined || !wants("messages", record.tenant)) return;
      const refused = isRefused(record) ? policyRefusal : sumRefusals(decoded?.refusals ?? []);
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
    points: (points) => {
      for (const feed of feeds) feed.publish(points);
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
    missed: () => {
      for (const feed of feeds) feed.miss(null, now());
    },
  };
}

/** A policy has refused the whole message. */
const policyRefusal = [{ reason: "policy", count: 1 }] as const;

/** Publishes the events of one shard. */
export interface ShardPublisher extends Pick<LivePublisher, "message" | "points" | "presence"> {
  /**
   * All points up to this id of the journal can be read, and their events have been published if a stream wants them.
   */
  settled(id: number): void;
  /** Another process has taken the shard, and publishes its events from now on. */
  end(): void;
}

/** The records of a shard that another process had. */
export interface TakenOver {
  /** The last of them. */
  readonly lastID: number;
  /** Whether that process did not end what it had begun: devices may have gone without a word. */
  readonly isBroken: boolean;
}

/**
 * Only the process that accepted a record publishes it. Records of the shard's previous process are skipped, as that
 * process may have published them. If they include messages, streams receive a gap once all of them can be read.
 */
export function createShardPublisher(
  publisher: LivePublisher,
  { lastID, isBroken }: TakenOver,
): ShardPublisher {
  let isMissed = isBroken;
  let isThrough = false;
  let isOver = false;
  return {
    message: (previousID, record, device, decoded) => {
      if (isOver) return;
      if (record.id > lastID) publisher.message(previousID, record, device, decoded);
      else if (isMessage(record)) isMissed = true;
    },
    points: (points) => {
      if (isThrough && !isOver) publisher.points(points);
      // It is not known whether this process accepted their messages.
      else if (points.length > 0) isMissed = true;
    },
    presence: (device, deviceStatus) => {
      if (!isOver) publisher.presence(device, deviceStatus);
    },
    settled: (id) => {
      if (isThrough || id < lastID) return;
      isThrough = true;
      if (isMissed && !isOver) publisher.missed();
    },
    end: () => {
      isOver = true;
    },
  };
}

/** The figures of all feeds together. */
export function sumLiveCounts(...feeds: readonly { counts(): LiveCounts }[]): { counts(): LiveCounts } {
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
