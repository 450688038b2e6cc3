/** Keeps the directory in step with the metadata: a cached record is read again once it has changed. */
import { createSlice } from "../../store/lib/scheduling.js";
import { recordName } from "../../store/lib/versions.js";
import type { Change } from "../../store/metadata/db/changes.js";
import { fromJson } from "../../store/metadata/db/table.js";
import { type AccessFeedDeps, createAccessFeed } from "./access-feed.js";
import { applyCertificateChange, readCertificateChange } from "./certificates.js";
import type { DeviceEntry } from "./entries.js";
import type { EntryLoader } from "./entry-loader.js";
import type { ProductCache } from "./product-cache.js";

interface FeedDeps extends AccessFeedDeps {
  readonly products: ProductCache;
  readonly loader: EntryLoader;
  /** A device is gone (undefined), or its row has changed. */
  onDevice(id: number, entry: DeviceEntry | undefined): void;
}

/** Applies the change feed to the cache. Changes must be applied one after the other. */
export function createFeed(deps: FeedDeps): (change: Change) => Promise<void> {
  const { db, cache, products, loader, versions, onDevice, onSubscriptions } = deps;
  const { entries } = cache;
  const access = createAccessFeed(deps);

  async function reloadDevice(id: number, gone: boolean): Promise<void> {
    versions.touch(recordName("device", id));
    // A deleted device may have left a session though nobody has asked for the device since the start.
    if (!entries.has(id) && !gone) return;
    const loaded = gone ? undefined : await loader.reload(id);
    const entry = loaded && cache.admit(loaded);
    if (entry === undefined) cache.forget(id);
    onDevice(id, entry);
  }

  async function reloadProduct(id: number, then?: (entry: DeviceEntry) => void): Promise<void> {
    versions.touch(recordName("product", id));
    if (!products.has(id)) return;
    products.forget(id);
    const loaded = await products.get(id);
    const slice = createSlice();
    for (const entry of [...entries.values()]) {
      if (slice.isOver()) await slice.next();
      if (entry.device.productIntID !== id) continue;
      entry.product = loaded;
      then?.(entry);
    }
  }

  async function reloadSubscription({ detail }: Change): Promise<void> {
    const owner =
      fromJson<{ deviceIntID?: number; groupIntID?: number; productIntID?: number }>(detail) ?? {};
    if (owner.productIntID === undefined) return access.subscription(owner);
    return reloadProduct(owner.productIntID, onSubscriptions);
  }

  /** A created member names its product; an edited or deleted one is found among the loaded products. */
  async function reloadMember(change: Change): Promise<void> {
    const detail = fromJson<{ productIntID?: number }>(change.detail);
    if (detail?.productIntID !== undefined) return reloadProduct(detail.productIntID);
    for (const [id, loading] of products.all()) {
      if ((await loading).members.has(change.recordID)) return reloadProduct(id);
    }
  }

  /** A certificate may be bound to thousands of devices, so their rows are not read again. */
  async function reloadCertificate(change: Change): Promise<void> {
    const certificate = await readCertificateChange(db, change);
    const slice = createSlice();
    for (const id of certificate.devices) {
      versions.touch(recordName("device", id));
      const entry = entries.get(id);
      if (entry !== undefined) {
        applyCertificateChange(entry.certificates, entry.device, certificate);
        onDevice(id, entry);
      }
      if (slice.isOver()) await slice.next();
    }
  }

  const appliers: Readonly<Record<string, (change: Change) => Promise<void>>> = {
    device: async (change) => {
      if (change.action === "create") cache.byDeviceID.forgetUnknown();
      else await reloadDevice(change.recordID, change.action === "delete");
    },
    policy: (change) => access.policy(change.recordID),
    policy_device: access.bound,
    group_member: access.bound,
    device_group: async (change) => {
      if (change.action === "delete") await access.groupGone(change.recordID);
    },
    subscription: reloadSubscription,
    product: (change) => reloadProduct(change.recordID),
    data_point: reloadMember,
    data_stream: reloadMember,
    cert: reloadCertificate,
    cert_device: reloadCertificate,
  };

  return async (change) => appliers[change.entity]?.(change);
}
