import type { Lock } from "../../store/lib/scheduling.js";
import { recordName, type Versions } from "../../store/lib/versions.js";
import { accessOfDevices, type DeviceAccess } from "../../store/metadata/devices/access.js";
import type { DeviceStore } from "../../store/metadata/devices/devices.js";
import {
  type DeviceIdentity,
  findIdentity,
  findRowsByDeviceID,
  findRowsByUsername,
  toIdentity,
} from "../../store/metadata/devices/identity.js";
import { readCertificates } from "./certificates.js";
import { type DeviceEntry, type Loaded, noAccess } from "./entries.js";
import type { EntryCache } from "./entry-cache.js";
import type { ProductCache } from "./product-cache.js";

/** Reads devices that are not in memory, and admits what is still true after the read. */
export interface EntryLoader {
  byUsername(deviceUsername: string): Promise<DeviceEntry | undefined>;
  byDeviceID(deviceID: string): Promise<DeviceEntry | undefined>;
  byID(id: number): Promise<DeviceEntry | undefined>;
  /** Reads one anew, in a turn of the feed. */
  reload(id: number): Promise<Loaded | undefined>;
}

/** Devices whose bindings are read at once, so that a large group does not hold the loop. */
export const devicesPerRead = 500;
const usernamesPerRead = 50;
/** Entries that are read in one turn with the feed. */
const readsPerBatch = 500;
/** How often an entry is read beside the feed before it is read in turn with it. */
const triesMax = 2;

/** @param inTurn what runs under it is not overtaken by the feed */
export function createEntryLoader(
  store: DeviceStore,
  cache: EntryCache,
  products: ProductCache,
  versions: Versions,
  inTurn: Lock,
): EntryLoader {
  const readAccess = (id: number) => accessOfDevices(store.db, [id]).then((found) => found.get(id));
  const gatherAccess = createBatchLoader(
    (ids: readonly number[]) => accessOfDevices(store.db, ids),
    devicesPerRead,
  );
  const readByUsername = createBatchLoader(
    (names: readonly string[]) => findRowsByUsername(store, names),
    usernamesPerRead,
  );
  const readByDeviceID = createBatchLoader(
    (ids: readonly string[]) => findRowsByDeviceID(store, ids),
    usernamesPerRead,
  );

  /** All that an entry is made of. */
  async function load(
    read: () => Promise<DeviceIdentity | undefined>,
    readDeviceAccess: (id: number) => Promise<DeviceAccess | undefined>,
  ): Promise<Loaded | undefined> {
    const device = await read();
    if (device === undefined) return undefined;
    const access = (await readDeviceAccess(device.id)) ?? noAccess;
    const certificates = await readCertificates(store.db, device);
    return { device, access, certificates, product: await products.get(device.productIntID) };
  }

  /**
   * A record that was read while the feed brought a change of it may be older than the change: it is read again. What
   * changes all the time is finally read in turn with the feed, so that endless edits keep no device out.
   */
  async function admitCurrent(
    read: () => Promise<DeviceIdentity | undefined>,
  ): Promise<DeviceEntry | undefined> {
    for (let tries = 1; tries <= triesMax; tries++) {
      const reading = versions.begin();
      try {
        const loaded = await load(read, gatherAccess);
        if (loaded === undefined) return undefined;
        if (reading.holds(listRecordNames(loaded))) return cache.admit(loaded);
      } finally {
        reading.end();
      }
    }
    return queueRead(read);
  }

  /** Those that wait for a turn with the feed: one turn serves many, so that they do not hold it up one by one. */
  const waiting: (() => Promise<void>)[] = [];

  function queueRead(read: () => Promise<DeviceIdentity | undefined>): Promise<DeviceEntry | undefined> {
    return new Promise((resolve, reject) => {
      waiting.push(async () => {
        try {
          const loaded = await load(read, gatherAccess);
          resolve(loaded && cache.admit(loaded));
        } catch (error) {
          reject(error);
        }
      });
      if (waiting.length === 1) admitWaiting();
    });
  }

  function admitWaiting(): void {
    void inTurn(async () => {
      await Promise.all(waiting.splice(0, readsPerBatch).map((one) => one()));
      if (waiting.length > 0) admitWaiting();
    });
  }

  return {
    byUsername: (deviceUsername) =>
      admitCurrent(async () => {
        const row = await readByUsername(deviceUsername);
        return row && toIdentity(store, row);
      }),
    byDeviceID: async (deviceID) => {
      const begun = cache.byDeviceID.begin();
      const entry = await admitCurrent(async () => {
        const row = await readByDeviceID(deviceID);
        return row && toIdentity(store, row);
      });
      if (entry === undefined) cache.byDeviceID.addUnknown(deviceID, begun);
      return entry;
    },
    byID: (id) => admitCurrent(() => findIdentity(store, id)),
    reload: (id) => load(() => findIdentity(store, id), readAccess),
  };
}

/** The records that an entry is made of. */
function* listRecordNames({ device, product, access }: Loaded): Iterable<string> {
  yield recordName("device", device.id);
  yield recordName("product", product.id);
  for (const { id } of access.rules) yield recordName("policy", id);
  for (const { groupIntID } of access.subscriptions) {
    if (groupIntID !== null) yield recordName("group", groupIntID);
  }
}

/** A turn of the loop accepts one connection, so that the next requests come with the turns that follow. */
const gatheringMs = 2;

/**
 * Reads together whatever is asked for within a moment, and returns to each caller its own: thousands of devices
 * connect at once, and a statement costs more than its rows. Nothing is remembered.
 */
function createBatchLoader<Key, Value>(
  read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
  keysMax: number,
): (key: Key) => Promise<Value | undefined> {
  let open: { readonly keys: Set<Key>; readonly found: Promise<ReadonlyMap<Key, Value>> } | null = null;

  return async (key) => {
    if (open === null || open.keys.size >= keysMax) {
      const keys = new Set<Key>();
      const found = new Promise((resolve) => setTimeout(resolve, gatheringMs)).then(() => {
        if (open?.keys === keys) open = null;
        return read([...keys]);
      });
      open = { keys, found };
    }
    open.keys.add(key);
    return (await open.found).get(key);
  };
}
