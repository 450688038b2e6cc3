import type { PlatformSubscription } from "../../store/journal/message.js";
import { createListenerSet } from "../../store/lib/listeners.js";
import { createLock } from "../../store/lib/scheduling.js";
import { createVersions } from "../../store/lib/versions.js";
import type { Change } from "../../store/metadata/db/changes.js";
import type { DeviceStore } from "../../store/metadata/devices/devices.js";
import { devicesOfCert } from "../../store/metadata/policies/certs.js";
import { mergeSubscriptions } from "../messages/platform-subscriptions.js";
import { createCarried } from "./descendants.js";
import type { DeviceEntry } from "./entries.js";
import { createEntryCache } from "./entry-cache.js";
import { createEntryLoader } from "./entry-loader.js";
import { createFeed } from "./feed.js";
import { createProductCache } from "./product-cache.js";

/** The cache of devices and products that ingest works from, kept true by the change feed. */
export interface Directory {
  findByUsername(deviceUsername: string): Promise<DeviceEntry | undefined>;
  /** The only device that the certificate of this fingerprint is bound to; "several": it is bound to more than one. */
  findByCertificate(fingerprint: string): Promise<DeviceEntry | "several" | undefined>;
  /** From memory only. */
  peek(id: number): DeviceEntry | undefined;
  get(id: number): Promise<DeviceEntry | undefined>;
  /** From memory only, by deviceID: null = nobody has it, undefined = it must be looked up. */
  peekByDeviceID(deviceID: string): DeviceEntry | null | undefined;
  findByDeviceID(deviceID: string): Promise<DeviceEntry | undefined>;
  /** Record ids by deviceID of all devices below this one that are not blocked: from memory once it has been asked. */
  below(id: number): Promise<ReadonlyMap<string, number>>;
  /** Applies one change of the feed. */
  apply(change: Change): Promise<void>;
  /** Called when a device is gone (undefined) or its row has changed, until the returned function is called. */
  onDevice(listener: (id: number, entry: DeviceEntry | undefined) => void): () => void;
  /** What the platform subscribes the device to: as itself, by its product and by its groups; each filter once. */
  platformSubscriptions(entry: DeviceEntry): readonly PlatformSubscription[];
  /** Called when they may have changed, until the returned function is called. */
  onSubscriptions(listener: (entry: DeviceEntry) => void): () => void;
  /** Entries in use are never evicted: a connection holds its device from CONNECT to its end. */
  hold(id: number): void;
  release(id: number): void;
}

const noSubscriptions: readonly PlatformSubscription[] = [];

/** @param devicesMax beyond it devices that no connection holds are forgotten */
export function createDirectory(store: DeviceStore, devicesMax: number): Directory {
  const cache = createEntryCache(devicesMax);
  const products = createProductCache(store);
  const carried = createCarried(store.db);
  /** Versions of devices, products, policies and groups. */
  const versions = createVersions();
  /**
   * No change overtakes a read under this lock: the feed waits, and then applies the change to the record that was
   * read.
   */
  const runExclusive = createLock();
  const loader = createEntryLoader(store, cache, products, versions, runExclusive);
  const deviceListeners = createListenerSet<[id: number, entry: DeviceEntry | undefined]>();
  const subscriptionListeners = createListenerSet<[entry: DeviceEntry]>();
  const applyChanges = createFeed({
    db: store.db,
    cache,
    products,
    loader,
    versions,
    onDevice: deviceListeners.tell,
    onSubscriptions: subscriptionListeners.tell,
  });

  const get = async (id: number) => cache.entries.get(id) ?? loader.byID(id);

  return {
    findByUsername: loader.byUsername,
    findByCertificate: async (fingerprint) => {
      const [only, other] = await devicesOfCert(store.db, fingerprint, 2);
      if (other !== undefined) return "several";
      return only === undefined ? undefined : get(only);
    },
    peek: (id) => cache.entries.get(id),
    peekByDeviceID: (deviceID) => {
      const id = cache.byDeviceID.get(deviceID);
      return id === null || id === undefined ? id : cache.entries.get(id);
    },
    findByDeviceID: loader.byDeviceID,
    get,
    below: carried.below,
    apply: (change) => {
      carried.forget(change);
      return runExclusive(() => applyChanges(change));
    },
    onDevice: deviceListeners.add,
    platformSubscriptions: (entry) =>
      entry.subscriptions.length + entry.product.subscriptions.length === 0
        ? noSubscriptions
        : mergeSubscriptions([...entry.product.subscriptions, ...entry.subscriptions]),
    onSubscriptions: subscriptionListeners.add,
    hold: cache.hold,
    release: cache.release,
  };
}
