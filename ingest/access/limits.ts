import type { DeviceEntry } from "../directory/entries.js";
import { capacity, computeWaitMs, createBucket, draw, msUntil, type TokenBucket } from "./rate-limit.js";

/** The limits of one device, or of all devices of one tenant; 0 = no limit. */
export interface LimitSettings {
  readonly connectionsMax: number;
  readonly messagesPerSecond: number;
  /** Counts topics and payloads. */
  readonly bytesPerSecond: number;
}

/** How fast one connection may publish. */
export interface Limiter {
  /**
   * Takes one message of so many bytes; returns the milliseconds to wait before it, or null if that would be too long.
   */
  take(bytes: number): number | null;
  /**
   * The same for many messages of so many bytes together, which are all let through after the wait or not at all.
   * "never": they are more than it lets through in the longest wait.
   */
  takeAll(messages: number, bytes: number): number | "never" | null;
}

/** What devices and tenants may use of the service. */
export interface IngestLimits {
  /** Counts a connection; false when its device or tenant has as many as it may. */
  enter(device: DeviceEntry): boolean;
  leave(device: DeviceEntry): void;
  /** Null if nothing is limited. */
  limiter(device: DeviceEntry): Limiter | null;
}

/** A message that would have to wait longer ends its connection. */
export const waitMsMax = 10_000;
/** So does one that comes when its connection has been over the limit for so long without a pause. */
export const overMsMax = 60_000;

interface Party {
  connections: number;
  readonly buckets: readonly Metered[];
}

interface Metered {
  readonly bucket: TokenBucket;
  readonly unit: "messages" | "bytes";
}

/** `monotonic`: milliseconds, never set. Null when nothing is limited. */
export function createLimits(
  settings: { readonly device: LimitSettings; readonly tenant: LimitSettings },
  monotonic: () => number,
): IngestLimits | null {
  if ([settings.device, settings.tenant].every(isOff)) return null;
  // A device's part lives as long as its entry in the directory, a tenant's for ever: they are few.
  const devices = new WeakMap<DeviceEntry, Party>();
  const tenants = new Map<number, Party>();

  function findParty<Key>(
    parties: { get(key: Key): Party | undefined; set(key: Key, party: Party): unknown },
    key: Key,
    limits: LimitSettings,
  ): Party {
    let party = parties.get(key);
    if (party === undefined) {
      party = { connections: 0, buckets: createBuckets(limits, monotonic()) };
      parties.set(key, party);
    }
    return party;
  }
  const listParties = (device: DeviceEntry) =>
    [
      [findParty(devices, device, settings.device), settings.device],
      [findParty(tenants, device.device.tenant, settings.tenant), settings.tenant],
    ] as const;

  return {
    enter: (device) => {
      const parties = listParties(device);
      const full = parties.some(
        ([party, { connectionsMax }]) => connectionsMax > 0 && party.connections >= connectionsMax,
      );
      if (!full) for (const [party] of parties) party.connections++;
      return !full;
    },
    leave: (device) => {
      for (const [party] of listParties(device)) party.connections--;
    },
    limiter: (device) => {
      const buckets = listParties(device).flatMap(([party]) => party.buckets);
      return buckets.length === 0 ? null : createLimiter(buckets, monotonic);
    },
  };
}

function isOff({ connectionsMax, messagesPerSecond, bytesPerSecond }: LimitSettings): boolean {
  return connectionsMax === 0 && messagesPerSecond === 0 && bytesPerSecond === 0;
}

function createBuckets({ messagesPerSecond, bytesPerSecond }: LimitSettings, now: number): Party["buckets"] {
  const rates = [
    [messagesPerSecond, "messages"],
    [bytesPerSecond, "bytes"],
  ] as const;
  return rates.flatMap(([rate, unit]) => (rate === 0 ? [] : [{ bucket: createBucket(rate, now), unit }]));
}

function createLimiter(buckets: Party["buckets"], monotonic: () => number): Limiter {
  /** Since when every message has had to wait. */
  let overSince: number | null = null;

  function hasEnough(bytes: number): boolean {
    for (const { bucket, unit } of buckets) if (bucket.tokens <= (unit === "bytes" ? bytes : 1)) return false;
    return true;
  }

  function drawAll(bytes: number): void {
    for (const { bucket, unit } of buckets) draw(bucket, unit === "bytes" ? bytes : 1);
  }

  return {
    take: (bytes) => {
      // Most messages find enough left over and need no clock.
      if (hasEnough(bytes)) {
        overSince = null;
        drawAll(bytes);
        return 0;
      }
      const at = monotonic();
      let wait = 0;
      for (const { bucket } of buckets) wait = Math.max(wait, computeWaitMs(bucket, at));
      if (wait === 0) overSince = null;
      else overSince ??= at;
      if (wait > waitMsMax || (overSince !== null && at - overSince > overMsMax)) return null;
      drawAll(bytes);
      return wait;
    },
    takeAll: (messages, bytes) => {
      const at = monotonic();
      let wait = 0;
      for (const { bucket, unit } of buckets) {
        const count = unit === "bytes" ? bytes : messages;
        const { ratePerSecond } = bucket;
        if (((count - capacity(ratePerSecond)) / ratePerSecond) * 1000 > waitMsMax) return "never";
        wait = Math.max(wait, msUntil(bucket, count, at));
      }
      if (wait > waitMsMax) return null;
      for (const { bucket, unit } of buckets) draw(bucket, unit === "bytes" ? bytes : messages);
      return wait;
    },
  };
}
