import type { DeviceAccess, PolicyRule } from "../../store/metadata/devices/access.js";
import { compilePolicies } from "../policies.js";
import { createDeviceIDs, type DirectoryIDs } from "./device-ids.js";
import { type DeviceEntry, type Loaded, toEntry } from "./entries.js";

/** The devices that are in memory: which policies each is bound to, and which may be evicted. */
export interface EntryCache {
  /** The least recently used first. */
  readonly entries: ReadonlyMap<number, DeviceEntry>;
  readonly byDeviceID: DirectoryIDs;
  /** Takes in what has just been read; an entry that is there keeps its identity. */
  admit(loaded: Loaded): DeviceEntry;
  forget(id: number): void;
  setAccess(entry: DeviceEntry, access: DeviceAccess): void;
  setRules(entry: DeviceEntry, rules: readonly PolicyRule[]): void;
  /** The entries that a policy is bound to. */
  boundTo(policy: number): ReadonlySet<DeviceEntry>;
  /** Entries in use are never evicted. */
  hold(id: number): void;
  release(id: number): void;
}

const none: ReadonlySet<DeviceEntry> = new Set();
/** The part of the bound that an eviction leaves, so that the next entries come without one. */
const retainedPart = 0.9;

/** @param devicesMax beyond it entries are evicted */
export function createEntryCache(devicesMax: number): EntryCache {
  const devices = new Map<number, DeviceEntry>();
  const holds = new Map<number, number>();
  const byDeviceID = createDeviceIDs();
  const boundTo = new Map<number, Set<DeviceEntry>>();

  function admit(loaded: Loaded): DeviceEntry {
    const { device, product, access, certificates } = loaded;
    let entry = devices.get(device.id);
    if (entry === undefined) entry = toEntry(loaded);
    else devices.delete(device.id);
    // The order of the map is the order of use.
    devices.set(device.id, entry);
    byDeviceID.add(device.deviceID, device.id);
    entry.device = device;
    entry.product = product;
    entry.certificates = certificates;
    setAccess(entry, access);
    if (devices.size > devicesMax) evict();
    return entry;
  }

  function setAccess(entry: DeviceEntry, { rules, subscriptions }: DeviceAccess): void {
    entry.subscriptions = subscriptions;
    setRules(entry, rules);
  }

  function setRules(entry: DeviceEntry, rules: readonly PolicyRule[]): void {
    unbind(entry);
    entry.rules = rules;
    entry.access = compilePolicies(rules, entry.device);
    for (const { id } of rules) {
      const bound = boundTo.get(id) ?? new Set();
      boundTo.set(id, bound.add(entry));
    }
  }

  function unbind(entry: DeviceEntry): void {
    for (const { id } of entry.rules) {
      const bound = boundTo.get(id);
      bound?.delete(entry);
      if (bound?.size === 0) boundTo.delete(id);
    }
  }

  function forget(id: number): void {
    const entry = devices.get(id);
    if (entry !== undefined) {
      unbind(entry);
      byDeviceID.remove(entry.device.deviceID, id);
    }
    devices.delete(id);
  }

  /** The oldest entries that no connection holds: insertion order is age enough. */
  function evict(): void {
    let surplus = devices.size - Math.floor(devicesMax * retainedPart);
    for (const id of devices.keys()) {
      if (surplus <= 0) return;
      if (holds.has(id)) continue;
      forget(id);
      surplus--;
    }
  }

  return {
    entries: devices,
    byDeviceID,
    admit,
    forget,
    setAccess,
    setRules,
    boundTo: (policy) => boundTo.get(policy) ?? none,
    hold: (id) => {
      holds.set(id, (holds.get(id) ?? 0) + 1);
    },
    release: (id) => {
      const count = (holds.get(id) ?? 1) - 1;
      if (count > 0) holds.set(id, count);
      else holds.delete(id);
    },
  };
}
