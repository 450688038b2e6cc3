import { createLock, createSlice } from "../../store/lib/turns.js";
import { createVersions, recordName } from "../../store/lib/versions.js";
import type { Change } from "../../store/metadata/db/changes.js";
import { fromJson } from "../../store/metadata/db/table.js";
import {
  accessOfDevices,
  type DeviceAccess,
  findRule,
  memberIDs,
  type PolicyRule,
} from "../../store/metadata/devices/access.js";
import type { DeviceStore } from "../../store/metadata/devices/devices.js";
import {
  type DeviceIdentity,
  findIdentity,
  findRowsByDeviceID,
  findRowsByUsername,
  toIdentity,
} from "../../store/metadata/devices/identity.js";
import { mergeSubscriptions, type PlatformSubscription } from "../messages/platform-subscriptions.js";
import { compilePolicies } from "../policies.js";
import { gathered } from "./batch-loader.js";
import { applyCertificateChange, certificatesOf, readCertificateChange } from "./certificates.js";
import { createDeviceIDs } from "./device-ids.js";
import {
  type DeviceEntry,
  type Loaded,
  loadProduct,
  noAccess,
  type ProductEntry,
  toEntry,
} from "./entries.js";

/** The cache of devices and products that ingest works from, kept true by the change feed. */
export interface Directory {
  findByUsername(deviceUsername: string): Promise<DeviceEntry | undefined>;
  /** From memory only. */
  peek(id: number): DeviceEntry | undefined;
  get(id: number): Promise<DeviceEntry | undefined>;
  /** From memory only, by deviceID: null = nobody has it, undefined = it must be looked up. */
  peekByDeviceID(deviceID: string): DeviceEntry | null | undefined;
  findByDeviceID(deviceID: string): Promise<DeviceEntry | undefined>;
  /** Applies one change of the feed. */
  apply(change: Change): Promise<void>;
  /** Called when a device is gone (undefined) or its row has changed. */
  onDevice(listener: (id: number, entry: DeviceEntry | undefined) => void): void;
  /** What the platform subscribes the device to: as itself, by its product and by its groups; each filter once. */
  platformSubscriptions(entry: DeviceEntry): readonly PlatformSubscription[];
  /** Called when they may have changed. */
  onSubscriptions(listener: (entry: DeviceEntry) => void): void;
  /** Entries in use are never evicted: a connection holds its device from CONNECT to its end. */
  hold(id: number): void;
  release(id: number): void;
}

const noSubscriptions: readonly PlatformSubscription[] = [];
/** Devices whose bindings are read at once, so that a large group does not hold the loop. */
const devicesPerRead = 500;
const usernamesPerRead = 50;
/** Entries that are read in one turn with the feed. */
const readsPerTurn = 500;
/** How often an entry is read beside the feed before it is read in turn with it. */
const triesMax = 2;

export function createDirectory(store: DeviceStore, devicesMax: number): Directory {
  const devices = new Map<number, DeviceEntry>();
  const products = new Map<number, Promise<ProductEntry>>();
  const holds = new Map<number, number>();
  const byDeviceID = createDeviceIDs();
  /** The entries that each policy is bound to. */
  const boundTo = new Map<number, Set<DeviceEntry>>();
  /** Of devices, products, policies and groups. */
  const versions = createVersions();
  /** What is read under it is not overtaken by a change: the feed waits, and applies to what was read. */
  const inTurn = createLock();
  const listeners: ((id: number, entry: DeviceEntry | undefined) => void)[] = [];
  const subscriptionListeners: ((entry: DeviceEntry) => void)[] = [];

  function product(id: number): Promise<ProductEntry> {
    let entry = products.get(id);
    if (entry === undefined) {
      entry = loadProduct(store, id);
      entry.catch(() => products.delete(id));
      products.set(id, entry);
    }
    return entry;
  }

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
    let surplus = devices.size - Math.floor(devicesMax * 0.9);
    for (const id of devices.keys()) {
      if (surplus <= 0) return;
      if (holds.has(id)) continue;
      forget(id);
      surplus--;
    }
  }

  const readAccess = (id: number) => accessOfDevices(store.db, [id]).then((found) => found.get(id));
  const gatherAccess = gathered((ids: readonly number[]) => accessOfDevices(store.db, ids), devicesPerRead);
  const readByUsername = gathered(
    (names: readonly string[]) => findRowsByUsername(store, names),
    usernamesPerRead,
  );
  const readByDeviceID = gathered(
    (ids: readonly string[]) => findRowsByDeviceID(store, ids),
    usernamesPerRead,
  );

  async function findByDeviceID(deviceID: string): Promise<DeviceEntry | undefined> {
    const begun = byDeviceID.begin();
    const entry = await admitCurrent(async () => {
      const row = await readByDeviceID(deviceID);
      return row && toIdentity(store, row);
    });
    if (entry === undefined) byDeviceID.addUnknown(deviceID, begun);
    return entry;
  }

  /** All that an entry is made of. */
  async function load(
    read: () => Promise<DeviceIdentity | undefined>,
    accessOf: (id: number) => Promise<DeviceAccess | undefined>,
  ): Promise<Loaded | undefined> {
    const device = await read();
    if (device === undefined) return undefined;
    const access = (await accessOf(device.id)) ?? noAccess;
    const certificates = await certificatesOf(store.db, device);
    return { device, access, certificates, product: await product(device.productIntID) };
  }

  /**
   * What was read while the feed brought a change of it may be older than the change: it is read again. What changes
   * all the time is read in turn with the feed in the end, so that an edit without end keeps no device out.
   */
  async function admitCurrent(
    read: () => Promise<DeviceIdentity | undefined>,
  ): Promise<DeviceEntry | undefined> {
    for (let tries = 1; tries <= triesMax; tries++) {
      const reading = versions.begin();
      try {
        const loaded = await load(read, gatherAccess);
        if (loaded === undefined) return undefined;
        if (reading.holds(recordsOf(loaded))) return admit(loaded);
      } finally {
        reading.end();
      }
    }
    return admitInTurn(read);
  }

  /** Those that wait for a turn with the feed: one turn serves many, so that they do not hold it up one by one. */
  const waiting: (() => Promise<void>)[] = [];

  function admitInTurn(read: () => Promise<DeviceIdentity | undefined>): Promise<DeviceEntry | undefined> {
    return new Promise((resolve, reject) => {
      waiting.push(async () => {
        try {
          const loaded = await load(read, gatherAccess);
          resolve(loaded && admit(loaded));
        } catch (error) {
          reject(error);
        }
      });
      if (waiting.length === 1) admitWaiting();
    });
  }

  function admitWaiting(): void {
    void inTurn(async () => {
      await Promise.all(waiting.splice(0, readsPerTurn).map((one) => one()));
      if (waiting.length > 0) admitWaiting();
    });
  }

  async function reloadDevice(id: number, gone: boolean): Promise<void> {
    versions.touch(recordName("device", id));
    // One that is gone may have left a session though nobody has asked for it since the start.
    if (!devices.has(id) && !gone) return;
    const loaded = gone ? undefined : await load(() => findIdentity(store, id), readAccess);
    const entry = loaded && admit(loaded);
    if (entry === undefined) forget(id);
    for (const listener of listeners) listener(id, entry);
  }

  /** What is bound to devices has changed. */
  async function reloadAccess(ids: readonly number[]): Promise<void> {
    const slice = createSlice();
    for (let at = 0; at < ids.length; at += devicesPerRead) {
      const some = ids.slice(at, at + devicesPerRead);
      for (const id of some) versions.touch(recordName("device", id));
      const known = some.filter((id) => devices.has(id));
      const found = known.length === 0 ? null : await accessOfDevices(store.db, known);
      for (const id of known) {
        const entry = devices.get(id);
        if (entry === undefined) continue;
        setAccess(entry, found?.get(id) ?? noAccess);
        subscriptionsChanged(entry);
        if (slice.isOver()) await slice.next();
      }
      if (slice.isOver()) await slice.next();
    }
  }

  function subscriptionsChanged(entry: DeviceEntry): void {
    for (const listener of subscriptionListeners) listener(entry);
  }

  /** A policy has been edited or is gone. */
  async function reloadPolicy(id: number): Promise<void> {
    versions.touch(recordName("policy", id));
    if (!boundTo.has(id)) return;
    const rule = await findRule(store.db, id);
    const slice = createSlice();
    for (const entry of [...(boundTo.get(id) ?? [])]) {
      // It may have been unbound meanwhile.
      if (boundTo.get(id)?.has(entry) === true) {
        setRules(
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
    if (owner?.productIntID !== undefined) return reloadProduct(owner.productIntID, subscriptionsChanged);
    if (owner?.groupIntID === undefined) return;
    for (let after = 0; ; ) {
      const members = await memberIDs(store.db, owner.groupIntID, after, devicesPerRead);
      await reloadAccess(members);
      if (members.length < devicesPerRead) return;
      after = members.at(-1) ?? after;
    }
  }

  /** Its memberships went with it: who was in it is known by what it had subscribed. */
  async function forgetGroup(id: number): Promise<void> {
    versions.touch(recordName("group", id));
    const slice = createSlice();
    for (const entry of [...devices.values()]) {
      if (slice.isOver()) await slice.next();
      if (entry.subscriptions.every(({ groupIntID }) => groupIntID !== id)) continue;
      entry.subscriptions = entry.subscriptions.filter(({ groupIntID }) => groupIntID !== id);
      subscriptionsChanged(entry);
    }
  }

  async function reloadProduct(id: number, then?: (entry: DeviceEntry) => void): Promise<void> {
    versions.touch(recordName("product", id));
    if (!products.has(id)) return;
    products.delete(id);
    const loaded = await product(id);
    const slice = createSlice();
    for (const entry of [...devices.values()]) {
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
    for (const [id, loading] of [...products]) {
      if ((await loading).members.has(change.recordID)) return reloadProduct(id);
    }
  }

  /** A certificate may be bound to thousands of devices, so their rows are not read again. */
  async function reloadCertificate(change: Change): Promise<void> {
    const certificate = await readCertificateChange(store.db, change);
    const slice = createSlice();
    for (const id of certificate.devices) {
      versions.touch(recordName("device", id));
      const entry = devices.get(id);
      if (entry !== undefined) {
        applyCertificateChange(entry.certificates, entry.device, certificate);
        for (const listener of listeners) listener(id, entry);
      }
      if (slice.isOver()) await slice.next();
    }
  }

  const appliers: Readonly<Record<string, (change: Change) => Promise<void>>> = {
    device: async (change) => {
      if (change.action === "create") byDeviceID.forgetUnknown();
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

  return {
    findByUsername: (deviceUsername) =>
      admitCurrent(async () => {
        const row = await readByUsername(deviceUsername);
        return row && toIdentity(store, row);
      }),
    peek: (id) => devices.get(id),
    peekByDeviceID: (deviceID) => {
      const id = byDeviceID.get(deviceID);
      return id === null || id === undefined ? id : devices.get(id);
    },
    findByDeviceID,
    get: async (id) => devices.get(id) ?? admitCurrent(() => findIdentity(store, id)),
    apply: (change) => inTurn(async () => appliers[change.entity]?.(change)),
    onDevice: (listener) => {
      listeners.push(listener);
    },
    platformSubscriptions: (entry) =>
      entry.subscriptions.length + entry.product.subscriptions.length === 0
        ? noSubscriptions
        : mergeSubscriptions([...entry.product.subscriptions, ...entry.subscriptions]),
    onSubscriptions: (listener) => {
      subscriptionListeners.push(listener);
    },
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

/** The records that an entry is made of. */
function* recordsOf({ device, product, access }: Loaded): Iterable<string> {
  yield recordName("device", device.id);
  yield recordName("product", product.id);
  for (const { id } of access.rules) yield recordName("policy", id);
  for (const { groupIntID } of access.subscriptions) {
    if (groupIntID !== null) yield recordName("group", groupIntID);
  }
}
