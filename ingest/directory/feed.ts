import { createSlice } from "../../store/lib/turns.js";
import { recordName, type Versions } from "../../store/lib/versions.js";
import type { Change } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import { fromJson } from "../../store/metadata/db/table.js";
import { accessOfDevices, findRule, memberIDs } from "../../store/metadata/devices/access.js";
import { applyCertificateChange, readCertificateChange } from "./certificates.js";
import { type DeviceEntry, noAccess } from "./entries.js";
import type { EntryCache } from "./entry-cache.js";
import { devicesPerRead, type EntryLoader } from "./entry-loader.js";
import type { ProductCache } from "./product-cache.js";

interface FeedDeps {
  readonly db: Db;
  readonly cache: EntryCache;
  readonly products: ProductCache;
  readonly loader: EntryLoader;
  readonly versions: Versions;
  /** A device is gone (undefined), or its row has changed. */
  onDevice(id: number, entry: DeviceEntry | undefined): void;
  /** What the platform subscribes the device to may have changed. */
  onSubscriptions(entry: DeviceEntry): void;
}

/** Keeps what is in memory as the change feed says; to be run one change after the other. */
export function createFeed(deps: FeedDeps): (change: Change) => Promise<void> {
  const { db, cache, products, loader, versions, onDevice, onSubscriptions } = deps;
  const { entries } = cache;

  async function reloadDevice(id: number, gone: boolean): Promise<void> {
    versions.touch(recordName("device", id));
    // One that is gone may have left a session though nobody has asked for it since the start.
    if (!entries.has(id) && !gone) return;
    const loaded = gone ? undefined : await loader.reload(id);
    const entry = loaded && cache.admit(loaded);
    if (entry === undefined) cache.forget(id);
    onDevice(id, entry);
  }

  /** What is bound to devices has changed. */
  async function reloadAccess(ids: readonly number[]): Promise<void> {
    const slice = createSlice();
    for (let at = 0; at < ids.length; at += devicesPerRead) {
      const some = ids.slice(at, at + devicesPerRead);
      for (const id of some) versions.touch(recordName("device", id));
      const known = some.filter((id) => entries.has(id));
      const found = known.length === 0 ? null : await accessOfDevices(db, known);
      for (const id of known) {
        const entry = entries.get(id);
        if (entry === undefined) continue;
        cache.setAccess(entry, found?.get(id) ?? noAccess);
        onSubscriptions(entry);
        if (slice.isOver()) await slice.next();
      }
      if (slice.isOver()) await slice.next();
    }
  }

  /** A policy has been edited or is gone. */
  async function reloadPolicy(id: number): Promise<void> {
    versions.touch(recordName("policy", id));
    if (cache.boundTo(id).size === 0) return;
    const rule = await findRule(db, id);
    const slice = createSlice();
    for (const entry of [...cache.boundTo(id)]) {
      // It may have been unbound meanwhile.
      if (cache.boundTo(id).has(entry)) {
        cache.setRules(
          entry,
          entry.rules.flatMap((known) => (known.id === id ? (rule ?? []) : known)),
        );
      }
      if (slice.isOver()) await slice.next();
    }
  }

  /** Devices have been bound to the record, or unbound from it. */
  function reloadBound(change: Change): Promise<void> {
    return reloadAccess(fromJson<{ deviceIntIDs?: number[] }>(change.detail)?.deviceIntIDs ?? []);
  }

  async function reloadSubscription(change: Change): Promise<void> {
    const owner = fromJson<{ deviceIntID?: number; groupIntID?: number; productIntID?: number }>(
      change.detail,
    );
    if (owner?.deviceIntID !== undefined) return reloadAccess([owner.deviceIntID]);
    if (owner?.productIntID !== undefined) return reloadProduct(owner.productIntID, onSubscriptions);
    if (owner?.groupIntID === undefined) return;
    for (let after = 0; ; ) {
      const members = await memberIDs(db, owner.groupIntID, after, devicesPerRead);
      await reloadAccess(members);
      if (members.length < devicesPerRead) return;
      after = members.at(-1) ?? after;
    }
  }

  /** Its memberships went with it: who was in it is known by what it had subscribed. */
  async function forgetGroup(id: number): Promise<void> {
    versions.touch(recordName("group", id));
    const slice = createSlice();
    for (const entry of [...entries.values()]) {
      if (slice.isOver()) await slice.next();
      if (entry.subscriptions.every(({ groupIntID }) => groupIntID !== id)) continue;
      entry.subscriptions = entry.subscriptions.filter(({ groupIntID }) => groupIntID !== id);
      onSubscriptions(entry);
    }
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
    policy: (change) => reloadPolicy(change.recordID),
    policy_device: reloadBound,
    group_member: reloadBound,
    device_group: async (change) => {
      if (change.action === "delete") await forgetGroup(change.recordID);
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
